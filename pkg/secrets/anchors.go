package secrets

import (
	"bytes"
	"encoding/binary"
	"regexp"
	"sync"
)

// knowledge is everything that is known of how secrets look.
type knowledge struct {
	rules    []rule
	assigned *regexp.Regexp
	computed *regexp.Regexp
	anchors  anchorSet
}

// assignedBit stands for assigned among the bits of an anchorSet; those of the
// rules are their indices.
const assignedBit = 63

// known is made when the first text is searched: most commands search none.
var known = sync.OnceValue(func() *knowledge {
	k := &knowledge{rules: newRules(), assigned: newAssigned(), computed: newComputed(), anchors: anchorSet{starts: map[uint32][]anchor{}}}
	for i, r := range k.rules {
		for _, word := range r.anchors {
			k.anchors.add(word, 1<<i)
		}
	}
	for _, word := range assignedAnchors() {
		k.anchors.add(word, 1<<assignedBit)
	}
	return k
})

// filterBits is the size of the filter of anchors: small enough for the first
// cache, large enough that ordinary text seldom hits it by chance.
const filterBits = 15

// anchor is a word that a secret has in it, in lower case, and the bit that
// stands for what is to be searched then.
type anchor struct {
	word string
	bit  uint64
}

// anchorSet finds all its words in a text in one pass, in any case.
type anchorSet struct {
	// short has a bit for the first two bytes of every anchor of two or three
	// bytes, four one for the first four bytes of every other.
	short [1 << 16 / 64]uint64
	four  [1 << filterBits / 64]uint64
	// starts are the anchors by these two or four bytes.
	starts map[uint32][]anchor
}

// fold makes letters lower-case, whatever it makes of other bytes.
const fold = 0x20202020

func (s *anchorSet) add(word string, bit uint64) {
	start := uint32(word[0]|0x20) | uint32(word[1]|0x20)<<8
	if len(word) < 4 {
		s.short[start/64] |= 1 << (start % 64)
	} else {
		start = binary.LittleEndian.Uint32([]byte(word)) | fold
		h := hash(start)
		s.four[h/64] |= 1 << (h % 64)
	}
	s.starts[start] = append(s.starts[start], anchor{word, bit})
}

// hash maps four bytes to a bit of the filter.
func hash(four uint32) uint32 { return four * 2654435761 >> (32 - filterBits) }

// in returns the bits of all anchors that stand in a text.
func (s *anchorSet) in(text []byte) (bits uint64) {
	if bytes.Contains(text, []byte(kelvin)) {
		text = bytes.ReplaceAll(text, []byte(kelvin), []byte("k"))
	}
	for i := 0; i+4 <= len(text); i++ {
		four := binary.LittleEndian.Uint32(text[i:]) | fold
		if h := hash(four); s.four[h/64]&(1<<(h%64)) != 0 {
			bits |= s.at(text[i:], four)
		}
		if short := four & 0xffff; s.short[short/64]&(1<<(short%64)) != 0 {
			bits |= s.at(text[i:], short)
		}
	}
	for i := max(len(text)-3, 0); i+2 <= len(text); i++ { // where no four are left
		bits |= s.at(text[i:], uint32(text[i]|0x20)|uint32(text[i+1]|0x20)<<8)
	}
	return bits
}

// kelvin is the only character above ASCII that is a letter of an anchor, the
// k, in another case.
const kelvin = "\u212a"

// at returns the bits of the anchors that text begins with, of those that
// begin with start.
func (s *anchorSet) at(text []byte, start uint32) (bits uint64) {
	for _, a := range s.starts[start] {
		if beginsWith(text, a.word) {
			bits |= a.bit
		}
	}
	return bits
}

// beginsWith reports whether text begins with a word in any case.
func beginsWith(text []byte, word string) bool {
	if len(text) < len(word) {
		return false
	}
	for i := range len(word) {
		c := text[i]
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		if c != word[i] {
			return false
		}
	}
	return true
}
