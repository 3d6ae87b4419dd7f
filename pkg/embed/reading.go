package embed

import (
	"hash/maphash"

	"github.com/sessctl/sessctl/pkg/embed/internal/wordtable"
)

// A reading is what one text holds, and the room to work it out in. It is
// used for many texts, one after another.
//
// Sums run in the order words are first seen, in float64, and products are
// rounded by float64() before they are added, so that no compiler fuses the
// two: every platform gets the same vector to the last bit.
type reading struct {
	table      *wordtable.Table // nil where no vectors are made
	vocabulary *Vocabulary      // nil where no terms are numbered
	scanner    scanner
	seed       maphash.Seed
	recent     []describedWord // of this text and others, by their hashes
	text       uint32          // that is read: a number of its own

	others tally   // words of this text that are not in recent, by their hashes
	places []int32 // of those, in words
	words  []word
	length float64 // words that count towards the text's length

	stems   tally // of words without inflection
	counts  []float64
	numbers []int32 // of the stems, in the vocabulary
	buffer  []byte

	lexical  [lexicalDim]float64
	semantic [semanticDim]float64
}

// word is what is known of a distinct word of the text.
type word struct {
	stem   uint64 // hash of its stem
	row    int32  // in the word table, or -1
	number int32  // of its stem, in the vocabulary
	stop   bool
	count  int
}

// describedWord is what is known of a word, by 64 bits of hash. It has no pointer, and
// two of them fill a line of the processor's cache.
type describedWord struct {
	sum    uint64 // 0 for none
	stem   uint64
	text   uint32 // that had the word last
	at     int32  // its place in the words of that text
	number int32  // -1 of a stop word
	row    int32
}

// describedWords are known from one text to the next: their table stays in the
// processor's second cache, which a larger one does not.
const describedWords = 1 << 13

func newReading(table *wordtable.Table, v *Vocabulary) *reading {
	r := &reading{table: table, vocabulary: v, seed: maphash.MakeSeed(), recent: make([]describedWord, describedWords)}
	r.scanner.emit = r.add
	return r
}

// read takes the words of text and reports whether there are any to embed.
func (r *reading) read(text string) bool {
	r.others.reset()
	r.stems.reset()
	r.places, r.words, r.counts, r.numbers, r.length = r.places[:0], r.words[:0], r.counts[:0], r.numbers[:0], 0
	if r.text++; r.text == 0 { // after so many texts the words of the first look like those of this one
		clear(r.recent)
		r.text = 1
	}
	r.scanner.scan(text)
	for i := range r.words {
		w := &r.words[i]
		if w.stop {
			continue
		}
		n, isNew := r.stems.number(w.stem)
		if isNew {
			r.counts, r.numbers = append(r.counts, 0), append(r.numbers, w.number)
		}
		r.counts[n] += float64(w.count)
	}
	return len(r.counts) > 0
}

// add counts one occurrence of a word. Extras do not make a text longer.
func (r *reading) add(text []byte, extra bool) {
	w := &r.words[r.place(text)]
	w.count++
	if !extra && !w.stop {
		r.length++
	}
}

// place is where a word stands in the words of the text. Words that were read
// lately are neither stemmed nor looked up again.
func (r *reading) place(text []byte) int32 {
	sum := maphash.Bytes(r.seed, text)
	d := &r.recent[sum&uint64(len(r.recent)-1)]
	if d.sum != sum {
		if d.text == r.text { // its place is taken until the next text
			return r.placeOfOther(sum, text)
		}
		w := r.lookUp(text)
		*d = describedWord{sum: sum, stem: w.stem, number: w.number, row: w.row}
		if w.stop {
			d.number = -1
		}
	}
	if d.text != r.text {
		d.text, d.at = r.text, int32(len(r.words))
		r.words = append(r.words, word{stem: d.stem, row: d.row, number: d.number, stop: d.number < 0})
	}
	return d.at
}

// placeOfOther is place of a word that is not kept for other texts.
func (r *reading) placeOfOther(sum uint64, text []byte) int32 {
	n, isNew := r.others.number(sum)
	if isNew {
		r.places = append(r.places, int32(len(r.words)))
		r.words = append(r.words, r.lookUp(text))
	}
	return r.places[n]
}

func (r *reading) lookUp(text []byte) word {
	if isStop(text) {
		return word{stop: true}
	}
	r.buffer = append(r.buffer[:0], text...)
	term, hash := stem(r.buffer), wordtable.Hash(text)
	w := word{stem: hash}
	if string(term) != string(text) {
		w.stem = wordtable.Hash(term)
	}
	if r.vocabulary != nil {
		w.number = r.vocabulary.Number(term)
	}
	if r.table != nil {
		w.row = int32(r.table.Lookup(hash, text))
	}
	return w
}

// A tally numbers distinct hashes in the order they are first seen. Two words
// with the same 64-bit hash count as one; that is not seen in practice.
type tally struct {
	hashes []uint64
	slots  []int32 // number + 1, or 0; a power of two, at most half full
}

// number returns the number of hash and whether it is new.
func (t *tally) number(hash uint64) (int, bool) {
	if 2*len(t.hashes) >= len(t.slots) {
		t.grow()
	}
	at := t.find(hash)
	if n := t.slots[at]; n != 0 {
		return int(n - 1), false
	}
	t.hashes = append(t.hashes, hash)
	t.slots[at] = int32(len(t.hashes))
	return len(t.hashes) - 1, true
}

// find returns the slot of hash, or the empty one where it belongs.
func (t *tally) find(hash uint64) int {
	mask := len(t.slots) - 1
	at := int(hash) & mask
	for t.slots[at] != 0 && t.hashes[t.slots[at]-1] != hash {
		at = (at + 1) & mask
	}
	return at
}

func (t *tally) grow() {
	t.slots = make([]int32, max(1024, 2*len(t.slots)))
	for i, hash := range t.hashes {
		t.slots[t.find(hash)] = int32(i + 1)
	}
}

// reset forgets all hashes and keeps the room.
func (t *tally) reset() {
	t.hashes = t.hashes[:0]
	clear(t.slots)
}
