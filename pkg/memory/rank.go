package memory

import (
	"cmp"
	"context"
	"slices"
	"strings"
)

// rated is a candidate with its scores.
type rated struct {
	*candidate
	relevance, score float64
	duplicates       int
}

func (x *rated) hit() Hit {
	return Hit{Record: x.Record, Score: x.score, Relevance: x.relevance, Duplicates: x.duplicates}
}

// ranked turns the pool into hits, best first.
func (r *recall) ranked(ctx context.Context) ([]Hit, error) {
	list := r.relevant()
	if r.closely {
		r.favourDated(list)
		lean(list)
		sortByRelevance(list)
		list = r.keep(list, r.worthwhile(list))
		if err := r.refine(ctx, list); err != nil {
			return nil, err
		}
	}
	if r.query.Rank == RankSeed {
		for _, x := range list {
			x.score = relevanceShare*x.cosine + importanceShare*x.Importance
		}
	} else {
		list = r.keep(list, max(poolSize, r.query.Limit))
		blend(list)
	}
	slices.SortFunc(list, func(x, y *rated) int {
		return cmp.Or(cmp.Compare(y.score, x.score), strings.Compare(x.ID, y.ID))
	})
	list = fold(list, nearlyEqual)
	if r.byWords() {
		list = r.foldSummaries(list)
	}
	list = slices.DeleteFunc(list, func(x *rated) bool { return x.score < r.query.MinScore })
	list = lift(list, len(r.names))
	hits := make([]Hit, 0, r.query.Limit)
	for _, x := range list[:min(len(list), r.query.Limit)] {
		hits = append(hits, x.hit())
	}
	return hits, nil
}

// relevant rates the pool by relevance, best first, equal texts folded.
func (r *recall) relevant() []*rated {
	texts, cosines := span{}, span{}
	var list []*rated
	for _, c := range r.pool {
		if !c.loaded {
			continue // it was forgotten a moment ago
		}
		list = append(list, &rated{candidate: c})
		texts.add(c.text)
		if c.hasVector {
			cosines.add(c.cosine)
		}
	}
	for _, x := range list {
		x.relevance = r.relevance(x.candidate, texts, cosines)
	}
	sortByRelevance(list)
	return fold(list, func(x, y Record) bool { return x.Text == y.Text })
}

// relevance mixes the two halves. A record without a vector goes by its words;
// seed 002's formula takes the raw cosine.
func (r *recall) relevance(c *candidate, texts, cosines span) float64 {
	switch {
	case r.query.Rank == RankSeed:
		return c.cosine
	case r.query.Rank == RankVector:
		return cosines.share(c.cosine)
	case r.query.Rank == RankText || !c.hasVector:
		return texts.share(c.text)
	}
	return textShare*texts.share(c.text) + vectorShare*cosines.share(c.cosine)
}

// keep drops what is behind the first n, save the first holder of each
// identifier of the query.
func (r *recall) keep(list []*rated, n int) []*rated {
	if n >= len(list) {
		return list
	}
	kept := list[:n:n]
	for i := range r.names {
		holder := func(x *rated) bool { return x.holds>>i&1 == 1 }
		if at := slices.IndexFunc(list, holder); at >= n && !slices.ContainsFunc(kept[n:], holder) {
			kept = append(kept, list[at])
		}
	}
	return kept
}

// blend normalises the relevance inside the pool and lets importance have its
// share (research/recall.md section 3: on raw scores it would have all).
func blend(list []*rated) {
	pool := span{}
	for _, x := range list {
		pool.add(x.relevance)
	}
	for _, x := range list {
		x.relevance = pool.share(x.relevance)
		x.score = relevanceShare*x.relevance + importanceShare*x.Importance
	}
}

// lifted is how many places at the top are open to holders of identifiers.
const lifted = 3

// lift sees to it that the first three hold each identifier of the query that
// any of the list holds. Otherwise the order stays.
func lift(list []*rated, names int) []*rated {
	var first []int
	for i := range names {
		at := slices.IndexFunc(list, func(x *rated) bool { return x.holds>>i&1 == 1 })
		if at >= 0 && len(first) < lifted && !slices.Contains(first, at) {
			first = append(first, at)
		}
	}
	for at := 0; at < len(list) && len(first) < lifted; at++ {
		if !slices.Contains(first, at) {
			first = append(first, at)
		}
	}
	slices.Sort(first)
	ordered := make([]*rated, 0, len(list))
	for _, at := range first {
		ordered = append(ordered, list[at])
	}
	for at, x := range list {
		if !slices.Contains(first, at) {
			ordered = append(ordered, x)
		}
	}
	return ordered
}

// span is the range of a score in a pool.
type span struct {
	low, high float64
	any       bool
}

func (s *span) add(x float64) {
	if !s.any {
		s.low, s.high, s.any = x, x, true
		return
	}
	s.low, s.high = min(s.low, x), max(s.high, x)
}

// share is where x lies in the span, 0 to 1; a span without width is all 1.
func (s span) share(x float64) float64 {
	if s.high == s.low {
		return 1
	}
	return (x - s.low) / (s.high - s.low)
}
