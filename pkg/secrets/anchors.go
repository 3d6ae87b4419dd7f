package secrets

import (
	"bytes"
	"encoding/binary"
	"strings"
)

// filterBits is the size of the filter of anchors: small enough for the first
// cache, large enough that ordinary text seldom hits it by chance.
const filterBits = 15

// anchor is a word that a secret has in it, and the bit that stands for what is
// to be searched then. An exact one stands where a word begins, in the case in
// which it is written; the others are in lower case and stand in any.
type anchor struct {
	word  string
	exact bool
	bit   uint64
}

// anchorSet finds all its words in a text in one pass.
type anchorSet struct {
	// short has a bit for the first two bytes of every anchor of two or three
	// bytes, four one for the first four bytes of every other.
	short [1 << 16 / 64]uint64
	four  [1 << filterBits / 64]uint64
	// starts are the anchors by these two or four bytes.
	starts map[uint32][]anchor
	// dotted is for what tokens of Discord's bots have in common: two dots, and how
	// many bytes of which kinds stand beside and between them.
	dotted uint64
}

func newAnchorSet() anchorSet { return anchorSet{starts: map[uint32][]anchor{}} }

// fold makes letters lower-case, whatever it makes of other bytes.
const fold = 0x20202020

// add adds an anchor, exact if it begins with \b.
func (s *anchorSet) add(word string, bit uint64) {
	word, exact := strings.CutPrefix(word, `\b`)
	start := short([]byte(word), 0)
	if len(word) < 4 {
		s.short[start/64] |= 1 << (start % 64)
	} else {
		start = binary.LittleEndian.Uint32([]byte(word)) | fold
		h := hash(start)
		s.four[h/64] |= 1 << (h % 64)
	}
	s.starts[start] = append(s.starts[start], anchor{word, exact, bit})
}

// hash maps four bytes to a bit of the filter.
func hash(four uint32) uint32 { return four * 2654435761 >> (32 - filterBits) }

// in returns the bits of all anchors that stand in a text, also those that
// stand there when foldedLetters are written plainly.
func (s *anchorSet) in(text []byte) uint64 {
	bits := s.inPlain(text)
	if !hasFolded(text) {
		return bits
	}
	for _, f := range foldedLetters {
		text = bytes.ReplaceAll(text, []byte(f.letter), []byte(f.plain))
	}
	return bits | s.inPlain(text)
}

func (s *anchorSet) inPlain(text []byte) (bits uint64) {
	for i := s.next(text, 0); i+2 <= len(text); i = s.next(text, i+1) {
		bits |= s.at(text, i)
	}
	return bits
}

// places are where the anchors of a text stand, in ascending order. A letter of
// foldedLetters is taken for no other.
func (s *anchorSet) places(text []byte) (places []int) {
	for i := s.next(text, 0); i+2 <= len(text); i = s.next(text, i+1) {
		if s.at(text, i) != 0 {
			places = append(places, i)
		}
	}
	return places
}

// next returns the first place from i on where an anchor may stand: that is
// where nearly all the time of a search goes.
func (s *anchorSet) next(text []byte, i int) int {
	for ; i+4 <= len(text); i++ {
		four := binary.LittleEndian.Uint32(text[i:]) | fold
		if h := hash(four); s.four[h/64]&(1<<(h%64)) != 0 {
			return i
		}
		if two := four & 0xffff; s.short[two/64]&(1<<(two%64)) != 0 {
			return i
		}
		if text[i] == '.' && i+7 < len(text) && text[i+7] == '.' {
			return i
		}
	}
	return i
}

// at returns the bits of the anchors at a place with two bytes or more to come.
func (s *anchorSet) at(text []byte, i int) (bits uint64) {
	two := short(text, i)
	if s.short[two/64]&(1<<(two%64)) != 0 {
		bits |= s.startingAt(text, i, two)
	}
	if i+4 <= len(text) {
		bits |= s.startingAt(text, i, binary.LittleEndian.Uint32(text[i:])|fold)
	}
	if text[i] == '.' && isDotted(text, i) {
		bits |= s.dotted
	}
	return bits
}

// The parts of a token of Discord's bots: the last bytes of the first part, the
// part between the dots, and the first bytes of the last.
const (
	dottedBefore  = 22
	dottedBetween = 6
	dottedAfter   = 27
)

// isDotted reports whether a dot may be the first of a token of Discord's bots:
// lines of source code have thousands of two dots that are as far apart, and the
// expression would go over every text that has them.
func isDotted(text []byte, dot int) bool {
	second := dot + 1 + dottedBetween
	if dot < dottedBefore || second+dottedAfter >= len(text) || text[second] != '.' {
		return false
	}
	for _, part := range [...][]byte{text[dot+1 : second], text[dot-dottedBefore : dot], text[second+1 : second+1+dottedAfter]} {
		for _, c := range part {
			if !isWord(c) && c != '-' {
				return false
			}
		}
	}
	return true
}

// foldedLetters are the characters above ASCII that are letters of an anchor in
// another case: the Kelvin sign, and the long s.
var foldedLetters = [...]struct{ letter, plain string }{{"\u212a", "k"}, {"\u017f", "s"}}

// hasFolded reports whether a text has one of foldedLetters.
func hasFolded(text []byte) bool {
	return bytes.Contains(text, []byte(foldedLetters[0].letter)) || bytes.Contains(text, []byte(foldedLetters[1].letter))
}

// short is what anchors of two or three bytes are found by.
func short(text []byte, i int) uint32 { return uint32(text[i]|0x20) | uint32(text[i+1]|0x20)<<8 }

// startingAt returns the bits of the anchors at a place, of those that begin with
// start.
func (s *anchorSet) startingAt(text []byte, i int, start uint32) (bits uint64) {
	for _, a := range s.starts[start] {
		if a.standsAt(text, i) {
			bits |= a.bit
		}
	}
	return bits
}

func (a anchor) standsAt(text []byte, i int) bool {
	if a.exact {
		return bytes.HasPrefix(text[i:], []byte(a.word)) && wordBegins(text, i)
	}
	return beginsWith(text[i:], a.word)
}

// wordBegins is the \b of regular expressions before a letter or digit of ASCII.
func wordBegins[T string | []byte](text T, i int) bool {
	return i == 0 || !isWord(text[i-1])
}

func isWord(c byte) bool {
	return '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z' || c == '_'
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
