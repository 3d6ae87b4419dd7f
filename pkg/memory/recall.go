package memory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/sessctl/sessctl/pkg/embed"
)

// The mix of the two halves, and of relevance and importance
// (research/recall.md sections 1 and 3; seed 002).
const (
	textShare       = 0.6
	vectorShare     = 0.4
	relevanceShare  = 0.7
	importanceShare = 0.3
)

const (
	candidates    = 100  // that each half proposes
	maxCandidates = 1600 // if most of those have the same text
	poolSize      = 50   // by relevance, before importance has its say
)

// Hit is a record that was found.
type Hit struct {
	Record
	Score      float64 // 0.7 * relevance + 0.3 * importance
	Relevance  float64 // 0 to 1 within the pool; the raw cosine under RankSeed
	Duplicates int     // other records found with the same text, or nearly so beside it, and a summary that says no more
}

// Result is what Recall found.
type Result struct {
	Hits   []Hit
	Rank   string // how it was ranked: RankText if the vectors could not be asked
	Notice string // what a person should know about the ranking, or ""
}

// Recall finds the records that answer a query, best first. A record that
// holds an identifier of the query word for word (an id, a path, an error
// code) is among the first three even if its score is lower, save under
// RankVector and RankSeed.
//
// Without an embedder, or while nothing has a vector, the words alone decide
// and Notice says so. ErrOtherModel is returned by RankVector and RankSeed
// when there are vectors, but of another model only; RankHybrid then goes by
// words, with a notice. An unknown Rank is an error.
func (s *Store) Recall(ctx context.Context, q Query, e embed.QueryEmbedder, m embed.Model) (Result, error) {
	r := &recall{store: s, query: q.withDefaults(), model: m, rows: rowReader{dim: m.Dim}, embedder: e}
	r.closely, r.words = r.query.Rank == RankHybrid, r.query.Text
	if !slices.Contains([]string{RankHybrid, RankText, RankVector, RankSeed}, r.query.Rank) {
		return Result{}, fmt.Errorf("unknown rank %q", r.query.Rank)
	}
	var err error
	if r.query.facts, err = s.hasFacts(ctx); err != nil {
		return Result{}, err
	}
	if err := r.prepareVectors(ctx, e, m); err != nil {
		return Result{Rank: r.query.Rank}, err
	}
	if err := r.gather(ctx); err != nil {
		return Result{Rank: r.query.Rank}, err
	}
	hits, err := r.ranked(ctx)
	return Result{Hits: hits, Rank: r.query.Rank, Notice: r.notices()}, err
}

func (q Query) withDefaults() Query {
	q.Limit = cmp.Or(max(q.Limit, 0), 5)
	q.Rank = cmp.Or(q.Rank, RankHybrid)
	return q
}

// recall is one query on its way.
type recall struct {
	store  *Store
	query  Query
	notice string

	embedder embed.QueryEmbedder
	words    string // of the query that full text looks for
	closely  bool   // RankHybrid was asked for, whatever it became

	vector []float32 // of the query, unit length, if the vectors are asked
	model  embed.Model
	sweep  *sweep  // nil where vectors are listed first
	places []place // vectors that pass the filters, if they are listed
	rows   rowReader

	names   []string             // identifiers in the query
	periods []period             // times that it names; only RankHybrid asks for them
	pool    map[int64]*candidate // by row id
}

// candidate is a record that was proposed.
type candidate struct {
	Record
	loaded    bool
	text      float64 // BM25, more is better; 0 if no word matches
	cosine    float64
	hasVector bool
	holds     uint // bit i: holds r.names[i] word for word
}

func (r *recall) at(record int64) *candidate {
	c := r.pool[record]
	if c == nil {
		c = &candidate{}
		r.pool[record] = c
	}
	return c
}

// gather fills the pool. If most of what was proposed has the same text, each
// half is asked for more, so that copies do not crowd out the rest.
func (r *recall) gather(ctx context.Context) error {
	need := max(poolSize, r.query.Limit)
	if r.byWords() {
		names := identifiers(r.query.Text)
		r.names = names[:min(len(names), lifted)]
	}
	if r.closely {
		if err := r.readDates(ctx); err != nil {
			return err
		}
	}
	for n := max(candidates, 2*r.query.Limit); ; n *= 4 {
		r.pool = map[int64]*candidate{}
		more, err := r.propose(ctx, n)
		if err != nil {
			return err
		}
		if err := r.load(ctx); err != nil {
			return err
		}
		if !more || r.distinct() >= need || n >= maxCandidates {
			return r.complete(ctx)
		}
	}
}

// propose asks each half for n records. It reports whether there are more.
func (r *recall) propose(ctx context.Context, n int) (more bool, err error) {
	if r.vector != nil {
		if more, err = r.askVectors(ctx, n); err != nil {
			return false, err
		}
	}
	if !r.byWords() {
		return more, nil
	}
	moreWords, err := r.askWords(ctx, matchAny(r.words), n)
	if err != nil {
		return false, err
	}
	if err := r.askNames(ctx); err != nil {
		return false, err
	}
	return more || moreWords, r.askDates(ctx)
}

func (r *recall) byWords() bool {
	return r.query.Rank == RankHybrid || r.query.Rank == RankText
}

// distinct counts the different texts in the pool.
func (r *recall) distinct() int {
	texts := map[string]bool{}
	for _, c := range r.pool {
		texts[c.Text] = true
	}
	return len(texts)
}

// askVectors proposes the records whose vectors are nearest.
func (r *recall) askVectors(ctx context.Context, n int) (more bool, err error) {
	var found []scored
	r.rows.damaged = 0
	if r.sweep != nil {
		if found, err = r.sweep.nearest(ctx, n, &r.rows); errors.Is(err, errSweepMore) {
			r.sweep = nil
			if r.places, err = r.listPlaces(ctx, r.model); err == nil && len(r.places) == 0 {
				r.vector = nil
				return false, r.explainNone(ctx, r.model)
			}
		}
	}
	if err == nil && r.sweep == nil {
		found, err = r.nearestListed(ctx, n)
	}
	if err != nil {
		return false, fmt.Errorf("search the vectors: %w", err)
	}
	for _, x := range found {
		c := r.at(x.record)
		c.cosine, c.hasVector = x.cosine, true
	}
	return len(found) == n, nil
}

// nearestListed asks the vectors that are listed.
func (r *recall) nearestListed(ctx context.Context, n int) ([]scored, error) {
	q := question{vector: r.vector, places: r.places, n: n}
	if r.query.Rank == RankSeed {
		return highest(ctx, &r.rows, q)
	}
	return nearest(ctx, engineFor(len(r.places)), &r.rows, q)
}

// askWords proposes the records that match a full-text query best.
func (r *recall) askWords(ctx context.Context, words string, n int) (more bool, err error) {
	if words == "" {
		return false, nil
	}
	condition, args := r.query.filter()
	rows, err := r.store.db.QueryContext(ctx, `SELECT r.rowid FROM words JOIN records r ON r.rowid=words.rowid
		WHERE words MATCH ? AND `+condition+` ORDER BY bm25(words), r.rowid LIMIT ?`, append(append([]any{words}, args...), n)...)
	if err != nil {
		return false, fmt.Errorf("search the words: %w", judged(err))
	}
	defer rows.Close()
	count := 0
	for ; rows.Next(); count++ {
		var record int64
		if err := rows.Scan(&record); err != nil {
			return false, fmt.Errorf("search the words: %w", judged(err))
		}
		r.at(record)
	}
	return count == n, judged(rows.Err())
}

// askNames proposes records that may hold an identifier of the query word for
// word: one rare word among many common ones must not be outvoted.
func (r *recall) askNames(ctx context.Context) error {
	for _, name := range r.names {
		if _, err := r.askWords(ctx, matchName(name), poolSize); err != nil {
			return err
		}
	}
	return nil
}
