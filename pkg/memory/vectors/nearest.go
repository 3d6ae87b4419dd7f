package vectors

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/philippgille/chromem-go"
	"github.com/viterin/vek/vek32"

	"github.com/sessctl/sessctl/pkg/memory/quantized"
)

// scored is a record and its cosine with the query, and what it is ranked by:
// the same, save where Scope.Score says otherwise.
type scored struct {
	record        int64
	cosine, score float64
}

// vectorQuery asks which n of the vectors at places are best.
type vectorQuery struct {
	vector []float32 // unit length
	places []Place
	n      int
}

// nearest returns the n records whose vectors are nearest to the query, best
// first, equal ones by record. The answer is exact and the same whichever
// engine gives it: the engine chooses in float32, then float64 decides.
func nearest(ctx context.Context, e engine, r *Reader, q vectorQuery) ([]scored, error) {
	best := &shortlist{n: q.n}
	err := r.batches(ctx, q.places, func(b batch) error {
		found, err := e.nearest(ctx, q.vector, b.rows, q.n)
		if err != nil {
			return err
		}
		for _, m := range found {
			if float64(m.cosine) >= best.floor-quantized.Rounding || !best.full {
				cosine := quantized.Dot(q.vector, b.rows[m.row])
				best.add(scored{b.places[m.row].Record, cosine, cosine})
			}
		}
		return nil
	})
	return best.take(), err
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

// match is a row of a block and its cosine with the query, in float32.
type match struct {
	row    int
	cosine float32
}

// engine compares a query with the rows of a block. It returns at least every
// row that is one of the n nearest of the block or within quantized.Rounding of them, in
// any order, each once. Query and rows have unit length.
type engine interface {
	nearest(ctx context.Context, query []float32, rows [][]float32, n int) ([]match, error)
}

// chromemLimit is up to how many rows chromem-go answers a query: filling its
// collection costs more than the search. At 10,000 rows of 1,024 dimensions the
// plain scan takes a third of its processor time; at 1,000 there is no visible
// difference.
const chromemLimit = 1_000

func engineFor(rows int) engine {
	if rows <= chromemLimit {
		return chromemEngine{}
	}
	return scanEngine{}
}

// scanEngine compares the query with every row.
type scanEngine struct{}

func (scanEngine) nearest(_ context.Context, query []float32, rows [][]float32, _ int) ([]match, error) {
	found := make([]match, len(rows))
	for i, row := range rows {
		found[i] = match{i, vek32.Dot(query, row)}
	}
	return found, nil
}

// chromemEngine asks an in-memory chromem-go collection whose documents are
// the rows where they lie. The program was asked for with this library, so it
// answers small memories, those of at most chromemLimit vectors. They would be
// answered as well without it: scanEngine, which takes over above, compares
// every row and is exact at any size, and TestEnginesAgree holds both engines
// to the same list. The library's own files are never used: it loses documents
// (docs/dev/decisions.md D10).
type chromemEngine struct{}

// tieRoom is how many more results are asked for than wanted: chromem-go
// returns equal ones in any order and cuts anywhere among them.
const tieRoom = 64

func (chromemEngine) nearest(ctx context.Context, query []float32, rows [][]float32, n int) ([]match, error) {
	if len(rows) == 0 {
		return nil, nil
	}
	collection, err := newCollection(ctx, rows)
	if err != nil {
		return nil, err
	}
	for want := n + tieRoom; ; want *= 2 {
		want = min(want, len(rows))
		found, err := collection.QueryEmbedding(ctx, query, want, nil, nil)
		if err != nil {
			return nil, fmt.Errorf("query collection: %w", err)
		}
		if want == len(rows) || found[n-1].Similarity-found[want-1].Similarity > quantized.Rounding {
			return matches(found)
		}
	}
}

func newCollection(ctx context.Context, rows [][]float32) (*chromem.Collection, error) {
	collection, err := chromem.NewDB().CreateCollection("recall", nil, neverEmbed)
	if err != nil {
		return nil, fmt.Errorf("make collection: %w", err)
	}
	documents := make([]chromem.Document, len(rows))
	for i, row := range rows {
		documents[i] = chromem.Document{ID: strconv.Itoa(i), Embedding: row}
	}
	if err := collection.AddDocuments(ctx, documents, 1); err != nil {
		return nil, fmt.Errorf("fill collection: %w", err)
	}
	return collection, nil
}

func matches(found []chromem.Result) ([]match, error) {
	list := make([]match, len(found))
	for i, f := range found {
		row, err := strconv.Atoi(f.ID)
		if err != nil {
			return nil, fmt.Errorf("read the collection's answer: %w", err)
		}
		list[i] = match{row, f.Similarity}
	}
	return list, nil
}

// neverEmbed is for chromem-go, which would otherwise embed texts itself.
func neverEmbed(context.Context, string) ([]float32, error) {
	return nil, errors.New("vectors are given, not made")
}
