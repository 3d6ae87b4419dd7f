package vectors

import (
	"context"
	"errors"
	"fmt"

	"github.com/sessctl/sessctl/pkg/embed"
	"github.com/sessctl/sessctl/pkg/memory/database"
	"github.com/sessctl/sessctl/pkg/memory/quantized"
)

// Scope says which vectors a question may find, and what they are ranked by.
type Scope struct {
	Agent string // whose; "" is everybody's
	// Condition is one over records r, with its arguments, under which a record may be
	// found. It includes the agent, and that it is not hidden.
	Condition string
	Args      []any
	// Unfiltered says that the condition asks for nothing else, and Narrow that few
	// records meet it: then they are looked for first, and their vectors afterwards.
	Unfiltered, Narrow bool
	Hidden             string // a query for records that may not be found, or ""
	First              int    // how many records are asked for when Nearest is called first
	// Score is what vectors are ranked by where that is not their cosine.
	Score func(cosine, importance float64) float64
}

// Scored is a record and its cosine with the question.
type Scored struct {
	Key    int64
	Cosine float64
}

// Search looks for the vectors of a model that are nearest to those of one question.
type Search struct {
	q      database.Querier
	model  embed.Model
	scope  Scope
	vector []float32
	sweep  *sweep  // nil where vectors are listed first
	places []Place // vectors that are in the scope, if they are listed
	reader Reader
}

// NewSearch returns a search among the vectors of a model.
func NewSearch(q database.Querier, m embed.Model) *Search {
	return &Search{q: q, model: m, reader: Reader{q: q, dim: m.Dim}}
}

// Within takes the scope of the question. It prepares a sweep or lists the vectors,
// and reports whether there are any.
func (s *Search) Within(ctx context.Context, scope Scope) (has bool, err error) {
	s.scope = scope
	if s.sweep, err = s.newSweep(ctx); err == nil && s.sweep == nil {
		err = s.list(ctx)
	}
	return s.Sweeps() || len(s.places) > 0, err
}

// Sweeps reports whether the question is compared with all vectors before the names
// of the best are looked up, as long as nothing speaks against it.
func (s *Search) Sweeps() bool { return s.sweep != nil }

// list lists the vectors of the model that are in the scope.
func (s *Search) list(ctx context.Context) error {
	spaces, err := database.Numbers(ctx, s.q, "SELECT space FROM vector_spaces WHERE model=?", s.model.Fingerprint())
	if err != nil {
		return fmt.Errorf("list vectors: %w", err)
	}
	if s.places = nil; len(spaces) == 0 {
		return nil
	}
	from := "vector_rows v CROSS JOIN records r"
	if s.scope.Narrow { // else it is faster to go through all vectors
		from = "records r CROSS JOIN vector_rows v"
	}
	s.places, err = readPlaces(ctx, s.q, "SELECT v.record, v.block, v.crc & 4294967295, r.importance FROM "+from+
		" ON v.record=r.rowid WHERE v.space IN "+database.List(spaces)+" AND "+s.scope.Condition, s.scope.Args...)
	return err
}

// Compare takes the question's vector, of unit length, and sweeps. If that cannot be,
// the vectors are listed: it reports false if there is none after all.
func (s *Search) Compare(ctx context.Context, vector []float32) (bool, error) {
	s.vector = vector
	if !s.Sweeps() {
		return true, nil
	}
	err := s.sweep.compare(ctx, vector)
	if errors.Is(err, errSweepMore) {
		return s.listInstead(ctx)
	}
	return true, err
}

// listInstead lists the vectors in place of a sweep.
func (s *Search) listInstead(ctx context.Context) (has bool, err error) {
	s.sweep = nil
	err = s.list(ctx)
	return len(s.places) > 0, err
}

// Nearest returns at most n records, best first, equal ones by record.
func (s *Search) Nearest(ctx context.Context, n int) ([]Scored, error) {
	s.reader.damaged = 0
	found, err := s.nearest(ctx, n)
	list := make([]Scored, len(found))
	for i, f := range found {
		list[i] = Scored{Key: f.record, Cosine: f.cosine}
	}
	return list, err
}

func (s *Search) nearest(ctx context.Context, n int) ([]scored, error) {
	if s.Sweeps() {
		found, err := s.sweep.nearest(ctx, n, &s.reader)
		if !errors.Is(err, errSweepMore) {
			return found, err
		}
		if has, err := s.listInstead(ctx); err != nil || !has {
			return nil, err
		}
	}
	if s.scope.Score != nil {
		return s.highest(ctx, n)
	}
	return nearest(ctx, engineFor(len(s.places)), &s.reader, vectorQuery{vector: s.vector, places: s.places, n: n})
}

// highest returns the n records with the highest score: it looks at every vector.
func (s *Search) highest(ctx context.Context, n int) ([]scored, error) {
	best := &shortlist{n: n}
	err := s.reader.Each(ctx, s.places, func(p Place, vector []float32) {
		cosine := quantized.Dot(s.vector, vector)
		best.add(scored{p.Record, cosine, s.scope.Score(cosine, p.Importance)})
	})
	return best.take(), err
}

// Cosines returns those of records that have a vector.
func (s *Search) Cosines(ctx context.Context, keys []int64) (cosines map[int64]float64, err error) {
	reader := NewReader(s.q, len(s.vector)) // what is damaged was counted
	cosines = make(map[int64]float64, len(keys))
	take := func(p Place, vector []float32) { cosines[p.Record] = quantized.Dot(s.vector, vector) }
	if s.Sweeps() {
		return cosines, s.sweep.cosines(ctx, keys, reader, take)
	}
	wanted := database.Set(keys)
	var places []Place
	for _, p := range s.places {
		if wanted[p.Record] {
			places = append(places, p)
		}
	}
	return cosines, reader.Each(ctx, places, take)
}

// Damaged is how many vectors Nearest has passed over because they are lost or not
// what was stored.
func (s *Search) Damaged() int { return s.reader.damaged }
