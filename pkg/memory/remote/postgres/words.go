package postgres

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
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

// Bounds of what is looked at for one question: rows that are ranked, and how many
// of those are scored by BM25. Rows to score are chosen by the weights of their words
// and by ts_rank, which for one word grows with its count as BM25 does, nearly.
const (
	fewMatches  = 1000
	mostMatches = 50_000
	mostScored  = 500
	mostChosen  = 8 // words that choose: every combination of them is counted
)

// Words finds rows by the index of terms and scores them.
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
	if words := x.rarest(m.Any); len(words) > 0 {
		return x.widening(ctx, q, m, words, n)
	}
	return x.matching(ctx, q, matchQuery(m), terms, n)
}

// widening finds rows that have the most telling words of the question together, and
// more if those are too few. In a large memory what has nothing but common words is not
// looked for: it answers no question.
func (x *index) widening(ctx context.Context, q memory.Query, m memory.Match, words []string, n int) (list []int64, err error) {
	terms, asked := slices.Concat(m.All, m.Any), math.Inf(1)
	for _, most := range []float64{fewMatches, mostMatches} {
		if least := x.least(words, most); least < asked {
			list, err = x.matching(ctx, q, termQuery(m.All, x.together(words, least)), terms, n)
			asked = least
		}
		if err != nil || len(list) >= n {
			return list, err
		}
	}
	all := len(words) < mostChosen && asked <= x.statistics.Weight(words[len(words)-1])
	if all || isUnfiltered(q) && x.statistics.Records > mostMatches {
		return list, nil
	}
	return x.matching(ctx, q, matchQuery(m), terms, n)
}

// rarest are the terms that stand in the fewest records, of those that stand in any.
func (x *index) rarest(terms []string) []string {
	sorted := slices.DeleteFunc(slices.Clone(terms), func(term string) bool { return x.statistics.With[term] == 0 })
	slices.SortStableFunc(sorted, func(a, b string) int { return cmp.Compare(x.statistics.With[a], x.statistics.With[b]) })
	return sorted[:min(len(sorted), mostChosen)]
}

// least is what the words of a row weigh together at least, so that so many rows are
// found: as if no word came with another one more often than by chance.
func (x *index) least(words []string, most float64) (least float64) {
	type set struct{ weight, rows float64 } // rows that have these words and no other
	sets := []set{{0, x.statistics.Records}}
	for _, word := range words {
		share := x.statistics.With[word] / x.statistics.Records
		for i, s := range sets {
			sets = append(sets, set{s.weight + x.statistics.Weight(word), s.rows * share})
			sets[i].rows -= s.rows * share
		}
	}
	slices.SortFunc(sets, func(a, b set) int { return cmp.Compare(b.weight, a.weight) })
	rows := 0.0
	for i, s := range sets[:len(sets)-1] { // the last has no word
		if rows += s.rows; rows > most && i > 0 {
			break
		}
		least = s.weight
	}
	return least
}

// together is the tsquery of rows whose words weigh so much at least, "" if none can.
func (x *index) together(words []string, least float64) string {
	if len(words) == 0 {
		return ""
	}
	const rounding = 1e-9
	some := []string{lexeme(words[0])}
	if rest := least - x.statistics.Weight(words[0]); rest > rounding {
		if more := x.together(words[1:], rest); more != "" {
			some[0] += " & (" + more + ")"
		} else {
			some = nil
		}
	}
	if without := x.together(words[1:], least); without != "" {
		some = append(some, without)
	}
	return strings.Join(some, " | ")
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
func (x *index) matching(ctx context.Context, q memory.Query, match string, terms []string, n int) ([]int64, error) {
	lexemes, weights := x.telling(terms)
	where, args := condition(q, 5)
	list, err := x.score(ctx, terms, `SELECT r.key, r.length, tsvectorsend(r.terms) FROM (SELECT r.key, r.length, r.terms FROM records r
		WHERE r.terms @@ $1::tsquery AND `+where+`
		ORDER BY (SELECT sum(w * ts_rank(r.terms, t.q, 1)) FROM unnest($2::text[]::tsquery[], $3::float8[]) AS t (q, w)) DESC, r.key LIMIT $4) r`,
		append([]any{match, lexemes, weights, max(mostScored, 4*n)}, args...)...)
	return remote.Keys(remote.Best(list, n)), err
}

// score computes the BM25 of the rows of a query: key, length and terms, as
// tsvectorsend writes them. Rows that have none of the terms are left out. The query
// is described first: as text the answer would have twice as many bytes.
func (x *index) score(ctx context.Context, terms []string, query string, args ...any) (list []memory.Scored, err error) {
	found, err := x.tx.Query(ctx, query, append([]any{pgx.QueryExecModeCacheDescribe}, args...)...)
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
	list, err := x.score(ctx, terms, "SELECT r.key, r.length, tsvectorsend(r.terms) FROM records r WHERE r.key = ANY ($1) AND r.terms @@ $2::tsquery", keys, matchQuery(m))
	scores := map[int64]float64{}
	for _, s := range list {
		scores[s.Key] = s.Cosine
	}
	return scores, err
}

// matchQuery is a match as a tsquery.
func matchQuery(m memory.Match) string {
	some := make([]string, len(m.Any))
	for i, term := range m.Any {
		some[i] = lexeme(term)
	}
	return termQuery(m.All, strings.Join(some, " | "))
}

// termQuery is the tsquery of rows that have all of some terms and match a tsquery.
func termQuery(terms []string, match string) string {
	var all []string
	for _, term := range terms {
		all = append(all, lexeme(term))
	}
	if match != "" {
		all = append(all, "("+match+")")
	}
	return strings.Join(all, " & ")
}
