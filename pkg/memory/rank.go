package memory

import (
	"cmp"
	"slices"
	"strings"
)

// relevant turns the pool into scored hits.
func (r *recall) relevant() []Hit {
	var hits []Hit
	var exact []bool
	texts, cosines := span{}, span{}
	for _, c := range r.pool {
		if c.loaded {
			texts.add(c.text)
			cosines.add(c.cosine)
		}
	}
	type mixed struct {
		Hit
		exact bool
	}
	var all []mixed
	for _, c := range r.pool {
		if c.loaded {
			all = append(all, mixed{Hit{Record: c.record, Relevance: r.relevance(c, texts, cosines)}, c.exact})
		}
	}
	slices.SortFunc(all, func(x, y mixed) int {
		return cmp.Or(-compareBool(x.exact, y.exact), cmp.Compare(y.Relevance, x.Relevance), strings.Compare(x.ID, y.ID))
	})
	if r.query.Rank != RankSeed {
		all = all[:min(len(all), poolSize)]
	}
	for _, m := range all {
		hits, exact = append(hits, m.Hit), append(exact, m.exact)
	}
	r.score(hits, exact)
	return hits
}

func compareBool(x, y bool) int {
	switch {
	case x == y:
		return 0
	case x:
		return 1
	}
	return -1
}

// relevance mixes the two halves; seed 002's formula takes the raw cosine.
func (r *recall) relevance(c *candidate, texts, cosines span) float64 {
	switch r.query.Rank {
	case RankText:
		return texts.share(c.text)
	case RankVector:
		return cosines.share(c.cosine)
	case RankSeed:
		return c.cosine
	}
	return textShare*texts.share(c.text) + vectorShare*cosines.share(c.cosine)
}

// score normalises the relevance inside the pool and lets importance have its
// share.
func (r *recall) score(hits []Hit, exact []bool) {
	pool := span{}
	for _, h := range hits {
		pool.add(h.Relevance)
	}
	for i := range hits {
		h := &hits[i]
		if r.query.Rank != RankSeed {
			h.Relevance = pool.share(h.Relevance)
		}
		h.Score = relevanceShare*h.Relevance + importanceShare*h.Importance
		if exact[i] && r.query.Rank == RankHybrid {
			h.Score += exactBonus
		}
	}
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
