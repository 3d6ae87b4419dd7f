package memory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/philippgille/chromem-go"
	"github.com/sessctl/sessctl/pkg/embed"
	"github.com/sessctl/sessctl/pkg/memory/database"
	"github.com/sessctl/sessctl/pkg/memory/rank"
	"github.com/viterin/vek/vek32"
)

// prepareVectors embeds the query and compares it with the vectors. If that
// cannot be, the words alone decide and the notice says why.
func (r *recall) prepareVectors(ctx context.Context) error {
	if r.query.Rank == RankText {
		return nil
	}
	if r.embedder == nil {
		r.goByWords("there is no embedder; found by words only")
		return nil
	}
	if has, err := r.index.HasVectors(ctx, r.query, r.model); err != nil {
		return err
	} else if !has {
		return r.explainNone(ctx)
	}
	vector, err := slices.Clone(r.known.vector), r.known.err
	if vector == nil && err == nil {
		vector, err = r.embedder.EmbedQuery(ctx, r.query.Text)
	}
	if err == nil {
		err = embed.Check([][]float32{vector}, 1, r.model.Dim)
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, embed.ErrNoVector):
		r.goByWords("") // there is nothing in it to compare
	case err != nil:
		r.goByWords("the query could not be embedded (" + err.Error() + "); found by words only")
	default:
		r.vector = toUnit(vector)
		return r.compare(ctx)
	}
	return nil
}

// compare compares the query with the vectors.
func (r *recall) compare(ctx context.Context) error {
	if found, err := r.index.Compare(ctx, r.vector); err != nil {
		return err
	} else if !found {
		r.vector = nil
		return r.explainNone(ctx)
	}
	return r.noteOthers(ctx)
}

// listPlaces lists the vectors of the model that pass the filters.
func (x *embeddedIndex) listPlaces(ctx context.Context) ([]place, error) {
	spaces, err := database.Numbers(ctx, x.store.reads(), "SELECT space FROM vector_spaces WHERE model=?", x.model.Fingerprint())
	if err != nil {
		return nil, fmt.Errorf("list vectors: %w", err)
	}
	if len(spaces) == 0 {
		return nil, nil
	}
	condition, args := x.query.filter()
	from := "vector_rows v CROSS JOIN records r"
	if x.query.isNarrow() {
		from = "records r CROSS JOIN vector_rows v"
	}
	return readPlaces(ctx, x.store.reads(), "SELECT v.record, v.block, v.crc & 4294967295, r.importance FROM "+from+" ON v.record=r.rowid WHERE v.space IN "+database.List(spaces)+" AND "+condition, args...)
}

// isNarrow says whether few records may pass: then they are looked for first, and
// their vectors afterwards. Else it is faster to go through all vectors.
func (q Query) isNarrow() bool {
	return q.Session != "" || q.Agent != "" || q.Since != 0 || q.Until != 0
}

// unfiltered reports whether there is no filter but the agent, and that for
// superseded facts.
func (x *embeddedIndex) unfiltered() bool {
	q := x.query
	bare := Query{Text: q.Text, Agent: q.Agent, Limit: q.Limit, MinScore: q.MinScore, LeastFit: q.LeastFit, Rank: q.Rank, Superseded: q.Superseded, Now: q.Now, facts: q.facts}
	return bare == q && q.Rank != RankSeed
}

// scored is a record and its cosine with the query, and what it is ranked by:
// the same, save under RankSeed.
type scored struct {
	record        int64
	cosine, score float64
}

// vectorQuery asks which n of the vectors at places are best.
type vectorQuery struct {
	vector []float32 // unit length
	places []place
	n      int
}

// nearest returns the n records whose vectors are nearest to the query, best
// first, equal ones by record. The answer is exact and the same whichever
// engine gives it: the engine chooses in float32, then float64 decides.
func nearest(ctx context.Context, e engine, r *rowReader, q vectorQuery) ([]scored, error) {
	best := &shortlist{n: q.n}
	err := r.each(ctx, q.places, func(b rowsAtOnce) error {
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
// importance, on raw cosines: the ranking of RankSeed.
func highest(ctx context.Context, r *rowReader, q vectorQuery) ([]scored, error) {
	best := &shortlist{n: q.n}
	err := r.each(ctx, q.places, func(b rowsAtOnce) error {
		for i, row := range b.rows {
			cosine := dot(q.vector, row)
			best.add(scored{b.places[i].record, cosine, rank.SeedScore(cosine, b.places[i].importance)})
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

// rounding is more than what two engines' float32 cosines of the same unit
// vectors differ by. Cosines that are closer than this are compared in float64.
const rounding = 1e-5

// match is a row of a block and its cosine with the query, in float32.
type match struct {
	row    int
	cosine float32
}

// engine compares a query with the rows of a block. It returns at least every
// row that is one of the n nearest of the block or within rounding of them, in
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
		if want == len(rows) || found[n-1].Similarity-found[want-1].Similarity > rounding {
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
