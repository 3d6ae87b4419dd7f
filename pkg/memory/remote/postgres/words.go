package postgres

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/sessctl/sessctl/pkg/memory"
)

// BM25 as SQLite computes it (FTS5), so that the shared memory proposes what
// the memory of a host would: how fast a repeated term stops adding to the
// score, how much a long text is held back, and the least weight of a term.
const (
	saturation  = 1.2
	lengthShare = 0.75
	leastWeight = 1e-6
)

// statistics are what BM25 needs to know of all records.
type statistics struct {
	records, tokens float64
	with            map[string]float64 // records that have a term, as far as it was asked for
}

// know counts records and those with each of the terms.
func (x *index) know(ctx context.Context, terms []string) error {
	if x.statistics == nil {
		s := &statistics{with: map[string]float64{}}
		if err := x.tx.QueryRow(ctx, "SELECT coalesce(sum(records), 0)::float8, coalesce(sum(tokens), 0)::float8 FROM hosts").Scan(&s.records, &s.tokens); err != nil {
			return fmt.Errorf("count records: %w", err)
		}
		x.statistics = s
	}
	var unknown []string
	for _, term := range terms {
		if _, ok := x.statistics.with[term]; !ok {
			x.statistics.with[term] = 0
			unknown = append(unknown, term)
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	found, err := x.tx.Query(ctx, `SELECT x.term, c.records FROM unnest($1::text[]) AS x (term)
		CROSS JOIN LATERAL (SELECT coalesce(sum(c.records), 0)::float8 AS records FROM term_counts c WHERE c.term=x.term) c`, unknown)
	if err != nil {
		return fmt.Errorf("count the records with a word: %w", err)
	}
	var term string
	var records float64
	_, err = pgx.ForEachRow(found, []any{&term, &records}, func() error {
		x.statistics.with[term] = records
		return nil
	})
	if err != nil {
		return fmt.Errorf("count the records with a word: %w", err)
	}
	return nil
}

// weight is how much a term says: the rarer, the more.
func (s *statistics) weight(term string) float64 {
	w := math.Log((s.records - s.with[term] + 0.5) / (s.with[term] + 0.5))
	if !(w > 0) {
		return leastWeight
	}
	return w
}

// score is the BM25 of a text that has each term so many times.
func (s *statistics) score(terms []string, counts []int32, length int32) (score float64) {
	mean := s.tokens / max(s.records, 1)
	for i, term := range terms {
		if n := float64(counts[i]); n > 0 {
			score += s.weight(term) * n * (saturation + 1) / (n + saturation*(1-lengthShare+lengthShare*float64(length)/max(mean, 1)))
		}
	}
	return score
}

// Count counts records, and those that have each of the terms.
func (x *index) Count(ctx context.Context, terms []string) (memory.Counts, error) {
	if err := x.know(ctx, terms); err != nil {
		return memory.Counts{}, err
	}
	c := memory.Counts{Records: int(x.statistics.records), With: make([]int, len(terms))}
	for i, term := range terms {
		c.With[i] = int(x.statistics.with[term])
	}
	return c, nil
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
	slices.SortStableFunc(sorted, func(a, b string) int { return cmp.Compare(x.statistics.with[a], x.statistics.with[b]) })
	sum := 0.0
	for i, term := range sorted {
		if sum += x.statistics.with[term]; sum > mostMatches && i > 0 && x.statistics.with[sorted[i-1]] > 0 {
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

// occurrences says how often a row r has each term of $1. One that has no
// positions occurs once.
const occurrences = `ARRAY(SELECT CASE WHEN u.lexeme IS NULL THEN 0 ELSE coalesce(array_length(u.positions, 1), 1) END FROM unnest($1::text[]) WITH ORDINALITY t (term, n)
	LEFT JOIN unnest(r.terms) u ON u.lexeme=t.term ORDER BY t.n)`

// matching returns the best of the rows that match, by BM25 over terms.
func (x *index) matching(ctx context.Context, q memory.Query, m memory.Match, terms []string, n int) ([]int64, error) {
	lexemes, weights := make([]string, len(terms)), make([]float64, len(terms))
	for i, term := range terms {
		lexemes[i], weights[i] = lexeme(term), x.statistics.weight(term)
	}
	where, args := condition(q, 6)
	list, err := x.score(ctx, terms, `SELECT r.key, r.length, `+occurrences+` FROM (SELECT r.key, r.length, r.terms FROM records r
		WHERE r.terms @@ $2::tsquery AND `+where+`
		ORDER BY (SELECT sum(w * ts_rank(r.terms, t.q, 1)) FROM unnest($3::text[]::tsquery[], $4::float8[]) AS t (q, w)) DESC, r.key LIMIT $5) r`,
		append([]any{terms, termQuery(m), lexemes, weights, max(mostScored, 4*n)}, args...)...)
	slices.SortFunc(list, func(a, b memory.Scored) int {
		return cmp.Or(cmp.Compare(b.Cosine, a.Cosine), cmp.Compare(a.Key, b.Key))
	})
	keys := make([]int64, 0, n)
	for _, s := range list[:min(n, len(list))] {
		keys = append(keys, s.Key)
	}
	return keys, err
}

// score computes the BM25 of the rows of a query: key, length, and how often
// each term occurs.
func (x *index) score(ctx context.Context, terms []string, query string, args ...any) ([]memory.Scored, error) {
	found, err := x.tx.Query(ctx, query, args...)
	if err != nil {
		return nil, fmt.Errorf("search the words: %w", err)
	}
	var list []memory.Scored
	var key int64
	var length int32
	var counts []int32
	_, err = pgx.ForEachRow(found, []any{&key, &length, &counts}, func() error {
		list = append(list, memory.Scored{Key: key, Cosine: x.statistics.score(terms, counts, length)})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("search the words: %w", err)
	}
	return list, nil
}

// WordScores scores some records.
func (x *index) WordScores(ctx context.Context, m memory.Match, keys []int64) (map[int64]float64, error) {
	terms := slices.Concat(m.All, m.Any)
	if err := x.know(ctx, terms); err != nil {
		return nil, err
	}
	list, err := x.score(ctx, terms, "SELECT r.key, r.length, "+occurrences+" FROM records r WHERE r.key = ANY ($2) AND r.terms @@ $3::tsquery", terms, keys, termQuery(m))
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
