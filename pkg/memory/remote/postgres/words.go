package postgres

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/sessctl/sessctl/pkg/memory"
	"github.com/sessctl/sessctl/pkg/memory/remote"
)

// know counts records and those with each of the terms.
func (x *index) know(ctx context.Context, terms []string) error {
	if x.statistics == nil {
		s := &remote.Statistics{With: map[string]float64{}}
		if err := x.tx.QueryRow(ctx, "SELECT coalesce(sum(records), 0)::float8, coalesce(sum(tokens), 0)::float8 FROM hosts").Scan(&s.Records, &s.Tokens); err != nil {
			return fmt.Errorf("count records: %w", err)
		}
		x.statistics = s
	}
	unknown := x.statistics.Unknown(terms)
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

// occurrences says how often a row r has each term of $1. One that has no
// positions occurs once.
const occurrences = `ARRAY(SELECT CASE WHEN u.lexeme IS NULL THEN 0 ELSE coalesce(array_length(u.positions, 1), 1) END FROM unnest($1::text[]) WITH ORDINALITY t (term, n)
	LEFT JOIN unnest(r.terms) u ON u.lexeme=t.term ORDER BY t.n)`

// matching returns the best of the rows that match, by BM25 over terms.
func (x *index) matching(ctx context.Context, q memory.Query, m memory.Match, terms []string, n int) ([]int64, error) {
	lexemes, weights := make([]string, len(terms)), make([]float64, len(terms))
	for i, term := range terms {
		lexemes[i], weights[i] = lexeme(term), x.statistics.Weight(term)
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
		list = append(list, memory.Scored{Key: key, Cosine: x.statistics.Score(terms, counts, length)})
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
