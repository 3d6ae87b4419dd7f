package memory

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/philippgille/chromem-go"
	"github.com/viterin/vek/vek32"
)

// chromemLimit is how many rows chromem-go is asked to search: filling it costs
// more than its search. At 10,000 rows of 1024 a recall by the plain scan takes a
// third of the processor time (docs/performance.md), at 1,000 there is no
// difference to see.
const chromemLimit = 1_000

// rounding is more than two engines' float32 cosines of the same unit vectors
// differ by. What lies closer together than this is told apart in float64.
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
// the rows where they lie. Its own persistence is never used: it is not safe
// (research/memory-store.md section 1).
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

// neverEmbed stands where chromem-go wants to embed texts itself.
func neverEmbed(context.Context, string) ([]float32, error) {
	return nil, errors.New("vectors are given, not made")
}
