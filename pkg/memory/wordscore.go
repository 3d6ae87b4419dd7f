package memory

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/sessctl/sessctl/pkg/embed"
)

// How fast a repeated term stops adding to a passage's score, and how much a
// long passage is held back (research/recall.md section 2).
const (
	wordSaturation  = 0.9
	wordLengthShare = 0.4
)

// term is a word of a query and how much it says: the rarer in all of memory,
// the more.
type term struct {
	text   string
	weight float64
}

// weigh returns the terms of a query that stand anywhere in memory.
func (s *Store) weigh(ctx context.Context, query string) (terms []term, err error) {
	var all float64
	if err := s.db.QueryRowContext(ctx, "SELECT count(*) FROM records").Scan(&all); err != nil {
		return nil, fmt.Errorf("count records: %w", judged(err))
	}
	for _, quoted := range quotedTerms(query) {
		var have float64
		if err := s.db.QueryRowContext(ctx, "SELECT count(*) FROM words WHERE words MATCH ?", quoted).Scan(&have); err != nil {
			return nil, fmt.Errorf("count the records with a word: %w", judged(err))
		}
		if have > 0 {
			text := strings.ReplaceAll(quoted[1:len(quoted)-1], `""`, `"`)
			terms = append(terms, term{text, math.Log(1 + (max(all, have)-have+0.5)/(have+0.5))})
		}
	}
	return terms, nil
}

// wordScore scores passages by BM25. All are read first, because their mean
// length is part of each score.
type wordScore struct {
	terms   []term
	number  map[string]int         // of a term
	counts  [][]int                // by passage and term
	lengths []int                  // of passages, in terms
	total   int                    // of lengths
	answer  func(term []byte) bool // what the answer must have; nil if nothing is known of it
	answers []bool                 // passages that have it
	buffer  []byte
}

func newWordScore(terms []term) *wordScore {
	w := &wordScore{terms: terms, number: map[string]int{}}
	for n, t := range terms {
		w.number[t.text] = n
	}
	return w
}

// read takes the next passage.
func (w *wordScore) read(passage string) {
	w.buffer = embed.AppendTerms(w.buffer[:0], passage)
	counts, length, answers := make([]int, len(w.terms)), 0, false
	for word := range bytes.FieldsSeq(w.buffer) {
		length++
		answers = answers || w.answer != nil && w.answer(word)
		if n, ok := w.number[string(word)]; ok {
			counts[n]++
		}
	}
	w.counts, w.lengths, w.total = append(w.counts, counts), append(w.lengths, length), w.total+length
	w.answers = append(w.answers, answers)
}

// score is that of a passage, by its place in the order of reading.
func (w *wordScore) score(passage int) (score float64) {
	mean := float64(w.total) / float64(len(w.lengths))
	pivot := wordSaturation * (1 - wordLengthShare + wordLengthShare*float64(w.lengths[passage])/max(mean, 1))
	for n, count := range w.counts[passage] {
		if count > 0 {
			f := float64(count)
			score += w.terms[n].weight * f * (wordSaturation + 1) / (f + pivot)
		}
	}
	return score
}
