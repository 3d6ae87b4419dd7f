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

// anchorSet finds all its words in a text in one pass. They have three bytes or more.
type anchorSet struct {
	// three has a bit for the first three bytes of every anchor, four one for the
	// first four bytes of those that have as many.
	three, four [1 << filterBits / 64]uint64
	// starts are the anchors by the hash of their first three bytes, in the order of
	// slots; 0 is for none.
	slots  [1 << filterBits]uint16
	starts [][]anchor
	// dotted is for what tokens of Discord's bots have in common: two dots, and how
	// many bytes of which kinds stand beside and between them.
	dotted uint64
}

func newAnchorSet() anchorSet { return anchorSet{starts: make([][]anchor, 1)} }

// fold makes letters lower-case, whatever it makes of other bytes.
const fold = 0x20202020

// add adds an anchor, exact if it begins with \b.
func (s *anchorSet) add(word string, bit uint64) {
	word, exact := strings.CutPrefix(word, `\b`)
	start := firstThree([]byte(word))
	slot := &s.slots[hash(start)]
	if *slot == 0 {
		*slot = uint16(len(s.starts))
		s.starts = append(s.starts, nil)
	}
	s.starts[*slot] = append(s.starts[*slot], anchor{word, exact, bit})
	mark(&s.three, hash(start))
	if len(word) > 3 {
		mark(&s.four, hash(binary.LittleEndian.Uint32([]byte(word))|fold))
		return
	}
	for last := range uint32(1 << 8) {
		mark(&s.four, hash(start|(last|fold&0xff)<<24))
	}
}

func mark(filter *[1 << filterBits / 64]uint64, h uint32) { filter[h/64] |= 1 << (h % 64) }

func has(filter *[1 << filterBits / 64]uint64, h uint32) bool { return filter[h/64]&(1<<(h%64)) != 0 }

// firstThree is what anchors are found by.
func firstThree(text []byte) uint32 {
	return (uint32(text[0]) | uint32(text[1])<<8 | uint32(text[2])<<16) | fold&0xffffff
}

// hash maps three or four bytes to a bit of a filter.
func hash(four uint32) uint32 { return four * 2654435761 >> (32 - filterBits) }

// The bits of an anchorSet that stand for what is no rule; those of the rules are
// their indices.
const (
	labelBit    = 61
	shapeBit    = 62
	assignedBit = 63
)

// sight is what stands in a text: the bits of its anchors, and the places of those that
// are read where they stand.
type sight struct {
	text   []byte
	bits   uint64
	places [assignedBit - labelBit + 1][]int // in ascending order
}

// look finds all anchors of a text, also those that stand there when foldedLetters are
// written plainly; these have no places.
func (s *anchorSet) look(text []byte) sight {
	seen := sight{text: text}
	for i := s.next(text, 0); i < len(text); i = s.next(text, i+1) {
		if bits := s.at(text, i); bits != 0 {
			seen.add(i, bits)
		}
	}
	if s.dotted != 0 && hasDotted(text) {
		seen.bits |= s.dotted
	}
	if hasFolded(text) {
		seen.bits |= s.look(unfolded(text)).bits
	}
	return seen
}

func (seen *sight) add(at int, bits uint64) {
	seen.bits |= bits
	for n := range seen.places {
		if bits&(1<<(labelBit+n)) != 0 {
			seen.places[n] = append(seen.places[n], at)
		}
	}
}

// in returns the bits of all anchors that stand in a text.
func (s *anchorSet) in(text []byte) uint64 { return s.look(text).bits }

// placesIn are the places of the anchors of a bit. A text that was changed since it was
// seen is looked at again.
func (s *anchorSet) placesIn(text []byte, seen *sight, bit int) []int {
	if !isSame(text, seen.text) {
		*seen = s.look(text)
	}
	return seen.places[bit-labelBit]
}

// isSame reports whether two texts are the same memory.
func isSame(a, b []byte) bool { return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0]) }

// next returns the first place from i on where an anchor may stand, the end of the
// text if there is none: that is where nearly all the time of a search goes. Eight
// bytes are read at a time, for the five places at which four of them begin.
func (s *anchorSet) next(text []byte, i int) int {
	for ; i+8 <= len(text); i += 5 {
		eight := binary.LittleEndian.Uint64(text[i:]) | fold<<32 | fold
		switch {
		case s.may(uint32(eight)):
			return i
		case s.may(uint32(eight >> 8)):
			return i + 1
		case s.may(uint32(eight >> 16)):
			return i + 2
		case s.may(uint32(eight >> 24)):
			return i + 3
		case s.may(uint32(eight >> 32)):
			return i + 4
		}
	}
	for ; i+3 <= len(text); i++ {
		if has(&s.three, hash(firstThree(text[i:]))) {
			return i
		}
	}
	return len(text)
}

// may reports whether an anchor may begin with four bytes that are folded.
func (s *anchorSet) may(four uint32) bool {
	return has(&s.three, hash(four&0xffffff)) && has(&s.four, hash(four))
}

// beginning are the anchors that may stand at the beginning of a text of three bytes or
// more.
func (s *anchorSet) beginning(text []byte) []anchor { return s.starts[s.slots[hash(firstThree(text))]] }

// at returns the bits of the anchors at a place with three bytes or more to come.
func (s *anchorSet) at(text []byte, i int) (bits uint64) {
	for _, a := range s.beginning(text[i:]) {
		if a.standsAt(text, i) {
			bits |= a.bit
		}
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

// hasDotted reports whether a text has a place that isDotted.
func hasDotted(text []byte) bool {
	for i := dottedBefore; i < len(text); i++ {
		next := bytes.IndexByte(text[i:], '.')
		if next < 0 {
			return false
		}
		if i += next; isDotted(text, i) {
			return true
		}
	}
	return false
}

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

// unfolded is a text with foldedLetters written plainly.
func unfolded(text []byte) []byte {
	for _, f := range foldedLetters {
		text = bytes.ReplaceAll(text, []byte(f.letter), []byte(f.plain))
	}
	return text
}

// hasFolded reports whether a text has one of foldedLetters.
func hasFolded(text []byte) bool {
	if isASCII(text) {
		return false
	}
	return bytes.Contains(text, []byte(foldedLetters[0].letter)) || bytes.Contains(text, []byte(foldedLetters[1].letter))
}

// isASCII reports whether a text has only bytes of ASCII.
func isASCII(text []byte) bool {
	var all uint64
	for ; len(text) >= 8; text = text[8:] {
		all |= binary.LittleEndian.Uint64(text)
	}
	for _, c := range text {
		all |= uint64(c)
	}
	return all&0x8080808080808080 == 0
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
