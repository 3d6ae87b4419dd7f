package remote

import (
	"math"

	"github.com/sessctl/sessctl/pkg/memory"
)

// BM25 as SQLite computes it (FTS5), so that a shared memory proposes what the
// memory of a host would: how fast a repeated term stops adding to the score,
// how much a long text is held back, and the least weight of a term.
const (
	saturation  = 1.2
	lengthShare = 0.75
	leastWeight = 1e-6
)

// Statistics are what BM25 needs to know of all records.
type Statistics struct {
	Records, Tokens float64            // all records, and the terms of all their texts
	With            map[string]float64 // records that have a term, as far as it was asked for
}

// Unknown returns the terms that were not asked for yet, each once, and counts
// them as standing nowhere.
func (s *Statistics) Unknown(terms []string) (unknown []string) {
	for _, term := range terms {
		if _, ok := s.With[term]; !ok {
			s.With[term] = 0
			unknown = append(unknown, term)
		}
	}
	return unknown
}

// Weight is how much a term says: the rarer, the more.
func (s *Statistics) Weight(term string) float64 {
	w := math.Log((s.Records - s.With[term] + 0.5) / (s.With[term] + 0.5))
	if !(w > 0) {
		return leastWeight
	}
	return w
}

// Score is the BM25 of a text of so many terms that has each of these terms so
// many times.
func (s *Statistics) Score(terms []string, counts []int32, length int32) (score float64) {
	mean := s.Tokens / max(s.Records, 1)
	for i, term := range terms {
		if n := float64(counts[i]); n > 0 {
			score += s.Weight(term) * n * (saturation + 1) / (n + saturation*(1-lengthShare+lengthShare*float64(length)/max(mean, 1)))
		}
	}
	return score
}

// Known are the counts of those of some terms, asked for before, that any record has.
func (s *Statistics) Known(terms map[string]bool) map[string]int {
	known := map[string]int{}
	for term := range terms {
		if n := int(s.With[term]); n > 0 {
			known[term] = n
		}
	}
	return known
}

// Counts are the counts of some terms that were asked for.
func (s *Statistics) Counts(terms []string) memory.Counts {
	c := memory.Counts{Records: int(s.Records), With: make([]int, len(terms))}
	for i, term := range terms {
		c.With[i] = int(s.With[term])
	}
	return c
}
