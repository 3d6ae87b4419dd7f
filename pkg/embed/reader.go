package embed

// Reader reads texts once for both an index of their terms and their vectors. It
// is for one goroutine.
type Reader struct {
	reading    *reading
	vocabulary *Vocabulary
}

// TermCount is how often a text has a term.
type TermCount struct {
	Number int32 // of the term, in the vocabulary of the reader
	Times  uint32
}

// NewReader returns a reader whose vectors are those of b. With nil it has none.
func NewReader(b *Builtin) *Reader {
	v := NewVocabulary()
	r := &Reader{vocabulary: v, reading: newReading(nil, v)}
	if b != nil {
		r.reading.table = &b.table
	}
	return r
}

// Vocabulary has the terms of the texts that were read since Renew.
func (r *Reader) Vocabulary() *Vocabulary { return r.vocabulary }

// Renew begins with an empty vocabulary. The one before stays as it is.
func (r *Reader) Renew() {
	r.vocabulary = NewVocabulary()
	r.reading.vocabulary = r.vocabulary
	clear(r.reading.recent) // their numbers are those of the vocabulary before
}

// Read reads a text.
func (r *Reader) Read(text string) { r.reading.read(text) }

// AppendCounts appends the terms of the text that was read last (see
// [AppendTerms]), each once, in the order in which they are first seen.
func (r *Reader) AppendCounts(dst []TermCount) []TermCount {
	for i, number := range r.reading.numbers {
		dst = append(dst, TermCount{number, uint32(r.reading.counts[i])})
	}
	return dst
}

// Vector writes the vector of the text that was read last into out: what
// [Builtin.EmbedDocuments] returns of it. It returns ErrNoVector for a text without
// words to embed, and of a reader that has no vectors.
func (r *Reader) Vector(out []float32) error {
	if r.reading.table == nil || len(r.reading.counts) == 0 {
		return ErrNoVector
	}
	clear(out)
	r.reading.document(out[:builtinDim])
	return nil
}
