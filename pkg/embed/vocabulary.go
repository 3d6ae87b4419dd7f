package embed

import (
	"hash/maphash"
	"strings"
)

// Vocabulary numbers the terms of texts (see [AppendTerms]): whoever reads many
// texts counts numbers. It grows with every term that it has not seen. It is for
// one goroutine, but what Terms has returned may be read by others meanwhile.
type Vocabulary struct {
	seed    maphash.Seed
	slots   []termSlot // by the hashes of terms; a power of two, at most half full
	terms   []string
	letters strings.Builder // of the terms that were added last: one piece of memory for many
	size    int
}

// termSlot is where a term is looked for. Two terms with the same 64 bits of hash would
// be one; the seed is another in every vocabulary. A slot has no pointer, so that a
// collection of garbage passes over all of them, and no letters are read to find a term.
type termSlot struct {
	low, high uint32
	number    int32 // and one more; 0 for none
}

// letterBytes is how many bytes terms are kept together.
const letterBytes = 16 << 10

// knownBytes is about what a term takes beside its letters.
const knownBytes = 48

// NewVocabulary returns one that has no terms.
func NewVocabulary() *Vocabulary {
	return &Vocabulary{seed: maphash.MakeSeed(), slots: make([]termSlot, 1<<10)}
}

// Number returns the number of a term, a new one if it has none.
func (v *Vocabulary) Number(term []byte) int32 {
	hash := maphash.Bytes(v.seed, term)
	slot := v.find(uint32(hash), uint32(hash>>32))
	if slot.number != 0 {
		return slot.number - 1
	}
	number := int32(len(v.terms))
	*slot = termSlot{low: uint32(hash), high: uint32(hash >> 32), number: number + 1}
	v.terms = append(v.terms, v.kept(term))
	v.size += len(term) + knownBytes
	if 2*len(v.terms) > len(v.slots) {
		v.grow()
	}
	return number
}

// find returns the slot of a hash, or the empty one where it belongs.
func (v *Vocabulary) find(low, high uint32) *termSlot {
	mask := uint32(len(v.slots) - 1)
	for at := low & mask; ; at = (at + 1) & mask {
		if slot := &v.slots[at]; slot.number == 0 || slot.low == low && slot.high == high {
			return slot
		}
	}
}

// grow doubles the slots.
func (v *Vocabulary) grow() {
	old := v.slots
	v.slots = make([]termSlot, 2*len(old))
	for _, slot := range old {
		if slot.number != 0 {
			*v.find(slot.low, slot.high) = slot
		}
	}
}

// kept is a term in memory of its own, which it shares with others.
func (v *Vocabulary) kept(term []byte) string {
	if v.letters.Len()+len(term) > v.letters.Cap() {
		v.letters = strings.Builder{}
		v.letters.Grow(max(letterBytes, len(term)))
	}
	from := v.letters.Len()
	v.letters.Write(term)
	return v.letters.String()[from:]
}

// Terms are all terms, in the order of their numbers.
func (v *Vocabulary) Terms() []string { return v.terms }

// Size is about how many bytes the vocabulary takes.
func (v *Vocabulary) Size() int { return v.size }
