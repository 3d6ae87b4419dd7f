package memory

import (
	"cmp"
	"context"
	"slices"
)

// scored is a record and its cosine with the query, and what it is ranked by:
// the same, unless the seed's formula ranks.
type scored struct {
	record        int64
	cosine, score float64
}

// question asks which n of the vectors at places are best.
type question struct {
	vector []float32 // unit length
	places []place
	n      int
}

// nearest returns the n records whose vectors are nearest to the query, best
// first, equal ones by record. The answer is exact and the same whichever
// engine gives it: the engine chooses in float32, then float64 decides.
func nearest(ctx context.Context, e engine, r *rowReader, q question) ([]scored, error) {
	best := &shortlist{n: q.n}
	err := r.each(ctx, q.places, func(b block) error {
		found, err := e.nearest(ctx, q.vector, b.rows, q.n)
		if err != nil {
			return err
		}
		for _, m := range found {
			if float64(m.cosine) >= best.floor-rounding || !best.full {
				cosine := dot(q.vector, b.rows[m.row])
				best.add(scored{b.places[m.row].record, cosine, cosine})
			}
		}
		return nil
	})
	return best.take(), err
}

// highest returns the n records with the highest 0.7 * cosine + 0.3 *
// importance, on raw cosines: seed 002 to the letter.
func highest(ctx context.Context, r *rowReader, q question) ([]scored, error) {
	best := &shortlist{n: q.n}
	err := r.each(ctx, q.places, func(b block) error {
		for i, row := range b.rows {
			cosine := dot(q.vector, row)
			best.add(scored{b.places[i].record, cosine, relevanceShare*cosine + importanceShare*b.places[i].importance})
		}
		return nil
	})
	return best.take(), err
}

// dot is the inner product in float64.
func dot(x, y []float32) float64 {
	sum := 0.0
	for i := range x {
		sum += float64(x[i]) * float64(y[i])
	}
	return sum
}

// shortlist keeps the n best of many.
type shortlist struct {
	n     int
	list  []scored
	floor float64 // what is below it is not among the n best
	full  bool    // floor is known
}

func (s *shortlist) add(x scored) {
	if s.full && x.score < s.floor {
		return
	}
	s.list = append(s.list, x)
	if len(s.list) >= 2*s.n+64 {
		s.cut()
	}
}

func (s *shortlist) cut() {
	slices.SortFunc(s.list, func(x, y scored) int {
		return cmp.Or(cmp.Compare(y.score, x.score), cmp.Compare(x.record, y.record))
	})
	if len(s.list) >= s.n {
		s.list = s.list[:s.n]
		s.floor, s.full = s.list[s.n-1].score, true
	}
}

func (s *shortlist) take() []scored {
	s.cut()
	return s.list
}
