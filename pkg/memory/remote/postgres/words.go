package postgres

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/sessctl/sessctl/pkg/memory"
	"github.com/sessctl/sessctl/pkg/memory/remote"
)

// Counts of all records are kept. Who may not read those counts its own.
const (
	countAll = "SELECT coalesce(sum(records), 0)::float8, coalesce(sum(tokens), 0)::float8 FROM hosts"
	countOwn = "SELECT count(*)::float8, coalesce(sum(length), 0)::float8 FROM records"

	countAllWith = "SELECT term, sum(records)::float8 FROM term_counts WHERE term = ANY ($1) GROUP BY term"
	countOwnWith = "SELECT u.lexeme, count(*)::float8 FROM records r CROSS JOIN LATERAL unnest(r.terms) u WHERE u.lexeme = ANY ($1) GROUP BY u.lexeme"
)

// know counts records and those with each of the terms.
func (x *index) know(ctx context.Context, terms []string) error {
	all, with := countAll, countAllWith
	if !x.readsAll {
		all, with = countOwn, countOwnWith
	}
	if x.statistics == nil {
		s := &remote.Statistics{With: map[string]float64{}}
		if err := x.tx.QueryRow(ctx, all).Scan(&s.Records, &s.Tokens); err != nil {
			return fmt.Errorf("count records: %w", err)
		}
		x.statistics = s
	}
	unknown := x.statistics.Unknown(terms)
	if len(unknown) == 0 {
		return nil
	}
	found, err := x.tx.Query(ctx, with, unknown)
	if err != nil {
		return fmt.Errorf("count the records with a word: %w", err)
	}
	var term string
	var records float64
	_, err = pgx.ForEachRow(found, []any{&term, &records}, func() error {
		x.statistics.With[term] = records
		return nil
	})
	if err != nil {
		return fmt.Errorf("count the records with a word: %w", err)
	}
	return nil
}

// Count counts records, and those that have each of the terms.
func (x *index) Count(ctx context.Context, terms []string) (memory.Counts, error) {
	if err := x.know(ctx, terms); err != nil {
		return memory.Counts{}, err
	}
	return x.statistics.Counts(terms), nil
}

// Known looks each of the terms up: a word has some hundred near it.
func (x *index) Known(ctx context.Context, _ string, near map[string]bool) (map[string]int, error) {
	if err := x.know(ctx, slices.Collect(maps.Keys(near))); err != nil {
		return nil, err
	}
	return x.statistics.Known(near), nil
}

// Bounds of what is looked at for one question: rows that a search by the
// question's rarer words may match, and how many of those are scored by BM25. To
// count the words of a row costs more than all else of a question, so they are
// chosen by the weights of their words and by ts_rank, which for one word grows
// with its count and falls with the length of the text as BM25 does, nearly.
const (
	mostMatches = 20_000
	mostScored  = 500
)

// Words finds rows by the index of terms and scores them. Words that stand in
// very many records propose none if rarer ones do: what has nothing but those
// answers no question.
func (x *index) Words(ctx context.Context, q memory.Query, m memory.Match, n int) ([]int64, error) {
	if m.IsEmpty() {
		return x.earliest(ctx, q, n)
	}
	terms := slices.Concat(m.All, m.Any)
	if err := x.know(ctx, terms); err != nil {
		return nil, err
	}
	if x.textSearch != "" && len(m.All) == 0 && isUnfiltered(q) {
		return x.ranked(ctx, q, terms, n)
	}
	rare := m
	rare.Any = x.rarest(m.Any)
	list, err := x.matching(ctx, q, rare, terms, n)
	if err == nil && len(list) < n && len(rare.Any) < len(m.Any) {
		list, err = x.matching(ctx, q, m, terms, n)
	}
	return list, err
}

// rarest are the terms that stand in the fewest records, as many as match no
// more than mostMatches rows together, but at least one.
func (x *index) rarest(terms []string) []string {
	sorted := slices.Clone(terms)
	slices.SortStableFunc(sorted, func(a, b string) int { return cmp.Compare(x.statistics.With[a], x.statistics.With[b]) })
	sum := 0.0
	for i, term := range sorted {
		if sum += x.statistics.With[term]; sum > mostMatches && i > 0 && x.statistics.With[sorted[i-1]] > 0 {
			return sorted[:i]
		}
	}
	return terms
}

func (x *index) earliest(ctx context.Context, q memory.Query, n int) ([]int64, error) {
	where, args := condition(q, 2)
	found, err := x.tx.Query(ctx, "SELECT r.key FROM records r WHERE "+where+" ORDER BY r.created_at, r.key LIMIT $1", append([]any{n}, args...)...)
	if err != nil {
		return nil, fmt.Errorf("search by time: %w", err)
	}
	return pgx.CollectRows(found, pgx.RowTo[int64])
}

// telling are the terms that choose among rows, with their weights: to rank a row by
// one that says next to nothing takes as long as by the others.
func (x *index) telling(terms []string) (lexemes []string, weights []float64) {
	const least = 0.05 // of the weight of the rarest
	most := 0.0
	for _, term := range terms {
		most = max(most, x.statistics.Weight(term))
	}
	for _, term := range terms {
		if w := x.statistics.Weight(term); w >= least*most {
			lexemes, weights = append(lexemes, lexeme(term)), append(weights, w)
		}
	}
	return lexemes, weights
}

// matching returns the best of the rows that match, by BM25 over terms.
func (x *index) matching(ctx context.Context, q memory.Query, m memory.Match, terms []string, n int) ([]int64, error) {
	lexemes, weights := x.telling(terms)
	where, args := condition(q, 5)
	list, err := x.score(ctx, terms, `SELECT r.key, r.length, tsvectorsend(r.terms) FROM (SELECT r.key, r.length, r.terms FROM records r
		WHERE r.terms @@ $1::tsquery AND `+where+`
		ORDER BY (SELECT sum(w * ts_rank(r.terms, t.q, 1)) FROM unnest($2::text[]::tsquery[], $3::float8[]) AS t (q, w)) DESC, r.key LIMIT $4) r`,
		append([]any{termQuery(m), lexemes, weights, max(mostScored, 4*n)}, args...)...)
	return remote.Keys(remote.Best(list, n)), err
}

// score computes the BM25 of the rows of a query: key, length and terms, as
// tsvectorsend writes them. Rows that have none of the terms are left out.
func (x *index) score(ctx context.Context, terms []string, query string, args ...any) (list []memory.Scored, err error) {
	found, err := x.tx.Query(ctx, query, args...)
	if err != nil {
		return nil, fmt.Errorf("search the words: %w", err)
	}
	counter := newTermCounter(terms)
	var key int64
	var length int32
	var vector []byte
	_, err = pgx.ForEachRow(found, []any{&key, &length, &vector}, func() error {
		counts, err := counter.count(vector)
		if score := x.statistics.Score(terms, counts, length); err == nil && score > 0 {
			list = append(list, memory.Scored{Key: key, Cosine: score})
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("search the words: %w", err)
	}
	return list, nil
}

// termCounter counts how often terms stand in a tsvector. The server would take
// ten times as long for it.
type termCounter struct {
	at     map[string]int // of each term
	counts []int32
}

func newTermCounter(terms []string) *termCounter {
	c := &termCounter{at: map[string]int{}, counts: make([]int32, len(terms))}
	for i, term := range terms {
		c.at[term] = i
	}
	return c
}

// errTermVector is returned of what no server of PostgreSQL sends.
var errTermVector = errors.New("a tsvector of the server is not understood")

// count counts them in a tsvector as it is sent: how many lexemes, then each
// with a NUL behind it, how many positions it has, and these. One without
// positions stands there once. What it returns holds until the next call.
func (c *termCounter) count(vector []byte) ([]int32, error) {
	clear(c.counts)
	if len(vector) < 4 {
		return nil, errTermVector
	}
	n, rest := binary.BigEndian.Uint32(vector), vector[4:]
	for range n {
		end := bytes.IndexByte(rest, 0)
		if end < 0 || len(rest) < end+3 {
			return nil, errTermVector
		}
		positions := int(binary.BigEndian.Uint16(rest[end+1:]))
		if i, ok := c.at[string(rest[:end])]; ok {
			c.counts[i] = int32(max(positions, 1))
		}
		if rest = rest[end+3:]; len(rest) < 2*positions {
			return nil, errTermVector
		}
		rest = rest[2*positions:]
	}
	return c.counts, nil
}

// WordScores scores some records.
func (x *index) WordScores(ctx context.Context, m memory.Match, keys []int64) (map[int64]float64, error) {
	terms := slices.Concat(m.All, m.Any)
	if err := x.know(ctx, terms); err != nil {
		return nil, err
	}
	list, err := x.score(ctx, terms, "SELECT r.key, r.length, tsvectorsend(r.terms) FROM records r WHERE r.key = ANY ($1) AND r.terms @@ $2::tsquery", keys, termQuery(m))
	scores := map[int64]float64{}
	for _, s := range list {
		scores[s.Key] = s.Cosine
	}
	return scores, err
}

// termQuery is a match as a tsquery.
func termQuery(m memory.Match) string {
	some := make([]string, len(m.Any))
	for i, term := range m.Any {
		some[i] = lexeme(term)
	}
	var all []string
	for _, term := range m.All {
		all = append(all, lexeme(term))
	}
	if len(some) > 0 {
		all = append(all, "("+strings.Join(some, " | ")+")")
	}
	return strings.Join(all, " & ")
}
