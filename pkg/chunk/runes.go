package chunk

import (
	"encoding/binary"
	"math/bits"
)

// A code point is a lead byte and the continuation bytes that it announces; a
// byte outside of such a sequence is one code point by itself. Where a text is
// made of whole sequences only, code points can be counted without decoding:
// they are the bytes that are not of the form 10xxxxxx. Eight bytes at a time
// that is seven times as fast as package unicode/utf8 (docs/dev/decisions.md D3).
//
// In the words below byte i of the text is byte i of the word counted from its
// low end, so a shift left by eight moves to the following byte of the text.
const (
	high = 0x8080808080808080 // the top bit of each byte
	word = 8                  // bytes
)

// CountRunes returns the number of code points in text.
func CountRunes(text []byte) int64 {
	_, runes := prefixOf(text)(text, len(text))
	return int64(runes)
}

// whole tells whether text is made of whole sequences only.
func whole(text []byte) bool {
	due, wrong := checkWords(text, 0)
	var rest [2 * word]byte // what is left, and a zero byte at least, before which all must be complete
	copy(rest[:], text[len(text)/word*word:])
	_, more := checkWords(rest[:], due)
	return wrong|more == 0
}

// checkWords looks at the whole words of text. In due and in the result of
// the same name, the top bit of each byte of the next word that must be a
// continuation byte is set; wrong has a bit set if some byte was not what it
// had to be.
func checkWords(text []byte, due uint64) (next, wrong uint64) {
	for len(text) >= word {
		w := binary.LittleEndian.Uint64(text)
		text = text[word:]
		top := w & high
		if top|due == 0 {
			text = skipASCII(text)
			continue
		}
		two := top & (w << 1)   // 11xxxxxx: at least one byte follows
		three := two & (w << 2) // 111xxxxx: at least two
		four := three & (w << 3)
		five := four & (w << 4) // 11111xxx begins nothing
		wrong |= five | ((top &^ two) ^ (due | two<<8 | three<<16 | four<<24))
		due = two>>56 | three>>48 | four>>40
		if due == 0 && top>>40 == 0x808080 {
			text = skipThrees(text)
		}
	}
	return due, wrong
}

// skipASCII goes past a run of single bytes.
func skipASCII(text []byte) []byte {
	for len(text) >= 4*word {
		w := binary.LittleEndian.Uint64(text) | binary.LittleEndian.Uint64(text[word:]) |
			binary.LittleEndian.Uint64(text[2*word:]) | binary.LittleEndian.Uint64(text[3*word:])
		if w&high != 0 {
			break
		}
		text = text[4*word:]
	}
	return text
}

// skipThrees goes past a run of sequences of three bytes (1110xxxx 10xxxxxx
// 10xxxxxx), which is what Chinese, Japanese and Korean text consists of. It
// looks at eight sequences at a time.
func skipThrees(text []byte) []byte {
	const (
		mask1, want1 = 0xC0F0C0C0F0C0C0F0, 0x80E08080E08080E0
		mask2, want2 = 0xF0C0C0F0C0C0F0C0, 0xE08080E08080E080
		mask3, want3 = 0xC0C0F0C0C0F0C0C0, 0x8080E08080E08080
	)
	for len(text) >= 3*word {
		a, b, c := binary.LittleEndian.Uint64(text), binary.LittleEndian.Uint64(text[word:]), binary.LittleEndian.Uint64(text[2*word:])
		if (a&mask1) != want1 || (b&mask2) != want2 || (c&mask3) != want3 {
			break
		}
		text = text[3*word:]
	}
	return text
}

// prefixFunc finds the first n code points of a text, or all if it has fewer:
// their bytes, and how many they are.
type prefixFunc func(text []byte, n int) (size, runes int)

// prefixOf returns the way to read a text: fast if its sequences are whole.
func prefixOf(text []byte) prefixFunc {
	if whole(text) {
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
