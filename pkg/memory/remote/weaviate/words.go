package weaviate

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/pkg/memory"
	"github.com/sessctl/sessctl/pkg/memory/remote"
)

// mostScored is how many objects of an agent are scored for a question: those
// that the cluster's own BM25 puts first.
const mostScored = 400

// know counts records, their terms, and those with each of the terms.
func (x *index) know(ctx context.Context, terms []string) error {
	if x.statistics == nil {
		x.statistics = &remote.Statistics{With: map[string]float64{}}
	}
	s := x.statistics
	first, unknown := s.Records == 0, x.statistics.Unknown(terms)
	if len(unknown) == 0 && !first {
		return nil
	}
	counts, err := each(ctx, x.tenants, func(ctx context.Context, tenant string) ([]aggregate, error) {
		class := x.memory.class(recordsClass)
		queries := []query{{class: class, tenant: tenant, fields: " length{mean}"}}
		for _, term := range unknown {
			queries = append(queries, query{class: class, tenant: tenant, where: equal("terms", term)})
		}
		list, _, err := x.readers(tenant).counts(ctx, queries)
		return list, err
	})
	if err != nil {
		return fmt.Errorf("count the records with a word: %w", err)
	}
	for _, ofTenant := range counts {
		if first {
			s.Records += float64(ofTenant[0].Meta.Count)
			s.Tokens += float64(ofTenant[0].Meta.Count) * ofTenant[0].Length.Mean
		}
		for i, term := range unknown {
			s.With[term] += float64(ofTenant[i+1].Meta.Count)
		}
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

// Words lets the cluster find objects and scores them here.
func (x *index) Words(ctx context.Context, q memory.Query, m memory.Match, n int) ([]int64, error) {
	if m.IsEmpty() {
		return x.earliest(ctx, q, n)
	}
	terms := slices.Concat(m.All, m.Any)
	if err := x.know(ctx, terms); err != nil {
		return nil, err
	}
	conditions := filters(q)
	if len(m.All) > 0 {
		conditions = append(conditions, allOf("terms", m.All))
		if len(m.Any) > 0 {
			conditions = append(conditions, anyOf("terms", m.Any))
		}
	}
	_, keys, err := x.inTenants(ctx, q, query{where: and(conditions...), limit: max(mostScored, 4*n), fields: "terms length",
		how: `bm25:{query:` + quoted(strings.Join(terms, " ")) + `,properties:["terms"]}`})
	if err != nil {
		return nil, fmt.Errorf("search the words: %w", err)
	}
	scores := make(map[int64]float64, len(keys))
	for _, key := range keys {
		scores[key] = x.score(x.row(key), terms)
	}
	slices.SortFunc(keys, func(a, b int64) int { return cmp.Or(cmp.Compare(scores[b], scores[a]), cmp.Compare(a, b)) })
	return keys[:min(n, len(keys))], nil
}

// earliest are the first that pass, whatever their words.
func (x *index) earliest(ctx context.Context, q memory.Query, n int) ([]int64, error) {
	found, keys, err := x.inTenants(ctx, q, query{where: and(filters(q)...), limit: n, fields: "created_at", how: `sort:[{path:["created_at"],order:asc}]`})
	if err != nil {
		return nil, fmt.Errorf("search by time: %w", err)
	}
	times := make(map[int64]float64, len(keys))
	for i, key := range keys {
		times[key] = found[i].CreatedAt
	}
	slices.SortFunc(keys, func(a, b int64) int { return cmp.Or(cmp.Compare(times[a], times[b]), cmp.Compare(a, b)) })
	return keys[:min(n, len(keys))], nil
}

// WordScores scores some records.
func (x *index) WordScores(ctx context.Context, m memory.Match, keys []int64) (map[int64]float64, error) {
	terms := slices.Concat(m.All, m.Any)
	if err := x.know(ctx, terms); err != nil {
		return nil, err
	}
	var unknown []int64
	for _, key := range keys {
		if !x.row(key).known {
			unknown = append(unknown, key)
		}
	}
	err := x.eachPart(ctx, unknown, query{fields: "terms length _additional{id}"}, func(o object) error {
		r := x.row(x.keys[o.Additional.ID])
		r.known, r.terms, r.length = true, o.Terms, o.Length
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("search the words: %w", err)
	}
	scores := map[int64]float64{}
	for _, key := range keys {
		if r := x.row(key); matches(r.terms, m) {
			scores[key] = x.score(r, terms)
		}
	}
	return scores, nil
}

// matches reports whether a text of these terms matches.
func matches(words string, m memory.Match) bool {
	has := map[string]bool{}
	for word := range strings.FieldsSeq(words) {
		has[word] = true
	}
	is := func(term string) bool { return has[term] }
	for _, term := range m.All {
		if !has[term] {
			return false
		}
	}
	return len(m.Any) == 0 || slices.ContainsFunc(m.Any, is)
}

// score is the BM25 of a row.
func (x *index) score(r *row, terms []string) float64 {
	counts := make([]int32, len(terms))
	for word := range strings.FieldsSeq(r.terms) {
		for i, term := range terms {
			if word == term {
				counts[i]++
			}
		}
	}
	return x.statistics.Score(terms, counts, int32(r.length))
}
