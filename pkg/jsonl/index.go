package jsonl

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// index finds what is expensive to find byte by byte: where strings end and
// where they are escaped. It is made once per text, 64 bytes at a time and
// without a branch that depends on the text, because a branch that is guessed
// wrong costs as much as thirty bytes read, and escapes come every seventeen
// bytes (docs/dev/decisions.md D2). The cursor then gets from quote to quote by
// looking for set bits.
type index struct {
	blocks  []block
	high    bool // the text holds bytes above 0x7f
	control bool // the text holds control characters
	odd     bool // either of them
}

// block has a bit for each of 64 bytes of the text, lowest bit first.
type block struct {
	quotes  uint64 // quotes that are not escaped: every other one ends a string
	escaped uint64 // bytes that a backslash stands for: the one after it
}

// What indexBlocks saw besides quotes and backslashes.
const (
	sawHigh    = 1 << 0
	sawControl = 1 << 1
)

// build makes the index of text. It ends with a block without marks.
func (x *index) build(text []byte) {
	whole := len(text) / 64
	x.blocks = slices.Grow(x.blocks[:0], whole+2)[:whole+2]
	carry, flags := indexBlocks(text, x.blocks, 0)
	tail := blank
	copy(tail[:], text[whole*64:])
	_, more := indexBlocks(tail[:], x.blocks[whole:], carry)
	x.blocks[whole+1] = block{}
	flags |= more
	x.high, x.control, x.odd = flags&sawHigh != 0, flags&sawControl != 0, flags != 0
}

// blank fills the last block up. It is constant.
var blank = [64]byte([]byte("                                                                "))

// window returns the marks of the 64 bytes from byte i on.
func (x *index) window(i int) (quotes, escaped uint64) {
	k := uint(i) >> 6
	if k+1 >= uint(len(x.blocks)) {
		return 0, 0
	}
	m, n := &x.blocks[k], &x.blocks[k+1]
	return m.quotes>>(i&63) | n.quotes<<1<<(^i&63), m.escaped>>(i&63) | n.escaped<<1<<(^i&63)
}

// stringEnd returns the index after the quote that ends the string whose text
// begins at i, or -1 if none does.
func (x *index) stringEnd(i int) int {
	if w := x.blocks[i>>6].quotes >> (i & 63); w != 0 {
		return i + bits.TrailingZeros64(w) + 1
	}
	return x.farStringEnd(i)
}

// farStringEnd is stringEnd for a string that ends in another block.
func (x *index) farStringEnd(i int) int {
	for k := i>>6 + 1; k < len(x.blocks); k++ {
		if w := x.blocks[k].quotes; w != 0 {
			return k<<6 + bits.TrailingZeros64(w) + 1
		}
	}
	return -1
}

// anyEscape tells whether text[from:to] holds an escape.
func (x *index) anyEscape(from, to int) bool {
	k, last := from>>6, to>>6
	w := x.blocks[k].escaped &^ (1<<(from&63) - 1)
	for ; k < last; k++ {
		if w != 0 {
			return true
		}
		w = x.blocks[k+1].escaped
	}
	return w&(1<<(to&63)-1) != 0
}

// Eight bytes are looked at in one step: arithmetic on a word marks every byte
// of it at once.
const (
	ones = 0x0101010101010101
	low7 = 0x7f * ones
	high = 0x80 * ones
)

// indexBlocksGo fills blocks for the whole blocks of 64 bytes in text. carry is
// 1 if the byte before text escapes the first one; carryOut is the same for
// what follows.
func indexBlocksGo(text []byte, blocks []block, carry uint64) (carryOut, flags uint64) {
	var or, control uint64
	for k := 0; len(text) >= 64; k++ {
		var q, s uint64
		bytes := (*[64]byte)(text)
		for i := 0; i < 64; i += 8 {
			w := binary.LittleEndian.Uint64(bytes[i : i+8])
			or |= w
			control |= (w - ' '*ones) &^ w
			q |= zeroBytes(w^'"'*ones) << i
			s |= zeroBytes(w^'\\'*ones) << i
		}
		m := &blocks[k]
		m.escaped, carry = escapedBits(s, carry)
		m.quotes = q &^ m.escaped
		text = text[64:]
	}
	if or&high != 0 {
		flags |= sawHigh
	}
	if control&high != 0 {
		flags |= sawControl
	}
	return carry, flags
}

// zeroBytes returns a bit for each byte of w: set if it is zero. The product
// gathers the high bits of the eight bytes in the highest byte.
func zeroBytes(w uint64) uint64 {
	return (^(w&low7 + low7 | w) & high) * 0x0002040810204081 >> 56
}

// escapedBits returns the bytes that are escaped, given the backslashes and
// whether the first byte is escaped (carry), and whether the byte after the
// last is.
//
// In a run of backslashes every other one escapes what follows it, beginning
// with the first. Subtracting the start of each run from the odd bits, with
// the bit after it set, carries through the run and leaves the odd bits
// flipped exactly where a backslash escapes or the run ends.
func escapedBits(backslashes, carry uint64) (escaped, carryOut uint64) {
	const odd = 0xaaaaaaaaaaaaaaaa
	starts := backslashes &^ carry
	flipped := (starts<<1 | odd) - starts ^ odd
	return flipped ^ (backslashes | carry), (flipped & backslashes) >> 63
}
