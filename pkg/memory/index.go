package memory

import (
	"context"

	"github.com/sessctl/sessctl/pkg/embed"
	"github.com/sessctl/sessctl/pkg/memory/vectors"
	"github.com/sessctl/sessctl/pkg/memory/words"
)

// Index is what a question is looked up in: the database of a memory on this
// host, or of one that many hosts share. It proposes records and says what is
// known of them; how they are ranked is the business of [Ask], the same for
// all. An Index answers one question. It names records by keys of its own.
type Index interface {
	// HasVectors reports whether any vector of the model passes the filters.
	HasVectors(ctx context.Context, q Query, m embed.Model) (bool, error)
	// Models says which models made the vectors of an agent, or of all if that
	// is "".
	Models(ctx context.Context, agent string, m embed.Model) (Models, error)
	// Compare takes the question's vector, of unit length. It reports false if
	// there is none to compare it with after all.
	Compare(ctx context.Context, vector []float32) (bool, error)
	// Nearest returns at most n records whose vectors are nearest to the
	// question's, nearest first.
	Nearest(ctx context.Context, n int) ([]Scored, error)
	// Cosines returns those of records that have a vector.
	Cosines(ctx context.Context, keys []int64) (map[int64]float64, error)
	// Words returns at most n records that pass the filters and match, best
	// first by BM25; the earliest that pass if the match is empty.
	Words(ctx context.Context, q Query, m Match, n int) ([]int64, error)
	// WordScores returns the BM25 of records that match. More is better.
	WordScores(ctx context.Context, m Match, keys []int64) (map[int64]float64, error)
	// Read returns records. Those that are gone or damaged are left out.
	Read(ctx context.Context, keys []int64) ([]Found, error)
	// Count counts all records, and those that have each of the terms.
	Count(ctx context.Context, terms []string) (Counts, error)
	// Known counts the records with each of the terms near another one. Those that
	// no record has are left out, and in a very large memory all may be.
	Known(ctx context.Context, term string, near map[string]bool) (map[string]int, error)
	// Span is when the oldest and the newest record were said, in epoch
	// milliseconds.
	Span(ctx context.Context) (first, last int64, err error)
	// Notices are what a person should know of how the question was looked up.
	Notices() []string
}

// Match says which texts to find by their terms.
type Match = words.Match

// Scored is a record and its cosine with the question.
type Scored = vectors.Scored

// Found is a record that was read. Host is where it was remembered, "" in a
// memory of one host.
type Found struct {
	Key  int64
	Host string
	Record
}

// Counts say how common words are.
type Counts struct {
	Records int   // all
	With    []int // each of the terms that were asked for
}

// Models say who made the vectors of a memory.
type Models struct {
	Own     bool     // the model that was asked for did
	Others  []string // models that did, by name
	Without []string // agents that have vectors of others only; unless one agent was asked for
	// Elsewhere says that the vectors of the others are those of other hosts, where
	// alone they can be made anew.
	Elsewhere bool
}

// Ask answers a query from an index: Result is that of [Store.Recall].
func Ask(ctx context.Context, index Index, q Query, e embed.QueryEmbedder, m embed.Model) (Result, error) {
	r, err := newRecall(index, q, e, m)
	if err != nil {
		return Result{}, err
	}
	return r.answer(ctx)
}
