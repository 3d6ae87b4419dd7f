package chunk

import (
	"encoding/binary"
	"math/bits"
)

// A code point is a lead byte and the continuation bytes that it announces; a
// byte outside of such a sequence is one code point by itself. Where a text is
// made of whole sequences only, code points can be counted without decoding:
// they are the bytes that are not of the form 10xxxxxx. Eight bytes at a time
// that is ten times as fast as package unicode/utf8 (research/performance.md
// sections 1 and 4).
//
// In the words below byte i of the text is byte i of the word counted from its
// low end, so a shift left by eight moves to the following byte of the text.
const (
	high = 0x8080808080808080 // the top bit of each byte
	word = 8                  // bytes
)

// CountRunes returns the number of code points in text.
func CountRunes(text []byte) int64 {
	if runes, whole := survey(text); whole {
		return int64(runes)
	}
	_, runes := prefixBroken(text, len(text))
	return int64(runes)
}

// survey counts the bytes of text that are no continuation bytes, and tells
// whether all of its sequences are whole, so that the count is that of its
// code points.
func survey(text []byte) (runes int, whole bool) {
	runes = len(text)
	var due, bad uint64 // continuation bytes due in the next word; where they were wrong
	for len(text) >= 4*word {
		if due == 0 && ascii32(text) {
			text = text[4*word:]
			continue
		}
		for range 4 {
			w := binary.LittleEndian.Uint64(text)
			found, wrong, next := continuation(w, due)
			runes -= found
			bad |= wrong
			due = next
			text = text[word:]
		}
	}
	var rest [5 * word]byte // what is left and at least one byte more, which nothing may be due in
	copy(rest[:], text)
	for i := 0; i < len(rest); i += word {
		found, wrong, next := continuation(binary.LittleEndian.Uint64(rest[i:]), due)
		runes -= found
		bad |= wrong
		due = next
	}
	return runes, bad == 0
}

func ascii32(text []byte) bool {
	w := binary.LittleEndian.Uint64(text) | binary.LittleEndian.Uint64(text[word:]) |
		binary.LittleEndian.Uint64(text[2*word:]) | binary.LittleEndian.Uint64(text[3*word:])
	return w&high == 0
}

// continuation looks at one word: how many continuation bytes it has, where
// they differ from those that are due, and where the next word must have some.
func continuation(w, due uint64) (found int, wrong, next uint64) {
	top := w & high
	two := top & (w << 1)   // 11xxxxxx: at least one byte follows
	three := two & (w << 2) // 111xxxxx: at least two
	four := three & (w << 3)
	five := four & (w << 4) // 11111xxx begins nothing
	cont := top &^ two
	due |= two<<8 | three<<16 | four<<24
	next = two>>56 | three>>48 | four>>40
	return bits.OnesCount64(cont), (cont ^ due) | five, next
}

// prefixFunc finds the first n code points of a text, or all if it has fewer:
// their bytes, and how many they are.
type prefixFunc func(text []byte, n int) (size, runes int)

// prefixOf returns the way to read a text: fast if its sequences are whole.
func prefixOf(text []byte) prefixFunc {
	if _, whole := survey(text); whole {
		return prefixWhole
	}
	return prefixBroken
}

// prefixWhole counts n bytes, which hold at most n code points, then as many
// bytes as code points are missing, and so on.
func prefixWhole(text []byte, n int) (size, runes int) {
	for runes < n && size < len(text) {
		end := min(size+n-runes, len(text))
		runes += starts(text[size:end])
		size = end
	}
	for size < len(text) && isContinuation(text[size]) {
		size++
	}
	return size, runes
}

// starts counts the bytes that are no continuation bytes. It adds up the
// flags of 32 bytes in the eight bytes of one word before it sums those.
func starts(text []byte) int {
	const ones = high >> 7
	n := len(text)
	for len(text) >= 4*word {
		a, b := binary.LittleEndian.Uint64(text), binary.LittleEndian.Uint64(text[word:])
		c, d := binary.LittleEndian.Uint64(text[2*word:]), binary.LittleEndian.Uint64(text[3*word:])
		flags := a>>7&^(a>>6)&ones + b>>7&^(b>>6)&ones + c>>7&^(c>>6)&ones + d>>7&^(d>>6)&ones
		n -= int(flags * ones >> 56)
		text = text[4*word:]
	}
	for _, b := range text {
		if isContinuation(b) {
			n--
		}
	}
	return n
}

// prefixBroken goes from sequence to sequence.
func prefixBroken(text []byte, n int) (size, runes int) {
	for runes < n && size < len(text) {
		size += sequence(text[size:])
		runes++
	}
	return size, runes
}

// sequence returns the bytes of the first code point of a text that is not
// empty.
func sequence(text []byte) int {
	n := bits.LeadingZeros8(^text[0])
	if n < 2 || n > 4 || n > len(text) {
		return 1
	}
	for _, b := range text[1:n] {
		if !isContinuation(b) {
			return 1
		}
	}
	return n
}

func isContinuation(b byte) bool { return b&0xC0 == 0x80 }
