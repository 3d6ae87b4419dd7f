package weaviate

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/pkg/memory"
	"github.com/sessctl/sessctl/pkg/memory/remote"
)

// mostScored is how many objects of an agent are scored for a question: those
// that the cluster's own BM25 puts first.
const mostScored = 400

// mostRare is how many records the rarest words of a question may be in together
// for all of them to be scored, whatever the cluster's own BM25 says of them. For
// about a minute after records were stored, as long as they are in memory only,
// the BM25 of Weaviate 1.35.2 leaves out records with rare words when it is asked
// for several words and more records match than it is to return. (Each word alone
// it answers right, and the index of conditions too.) So those are not left to it.
const mostRare = 1000

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
	samples, err := each(ctx, x.tenants, func(ctx context.Context, tenant string) (commonness, error) {
		return x.readers(tenant).commonness(ctx, tenant, unknown)
	})
	if err != nil {
		return fmt.Errorf("look how common words are: %w", err)
	}
	estimated := x.memory.estimated
	for _, ofTenant := range samples {
		if ofTenant.unknown && ofTenant.records > 0 {
			estimated = math.Inf(1)
		}
		if first {
			s.Records += ofTenant.records
			s.Tokens += ofTenant.records * ofTenant.mean
		}
		for i, term := range unknown {
			s.With[term] += ofTenant.with[i]
		}
	}
	return x.count(ctx, slices.DeleteFunc(unknown, func(term string) bool { return s.With[term] >= estimated }))
}

// count counts the records with each of the terms one by one.
func (x *index) count(ctx context.Context, terms []string) error {
	if len(terms) == 0 {
		return nil
	}
	counts, err := each(ctx, x.tenants, func(ctx context.Context, tenant string) ([]aggregate, error) {
		queries := make([]query, len(terms))
		for i, term := range terms {
			queries[i] = query{class: x.memory.class(recordsClass), tenant: tenant, where: equal("terms", term)}
		}
		list, _, err := x.readers(tenant).counts(ctx, queries)
		return list, err
	})
	if err != nil {
		return fmt.Errorf("count the records with a word: %w", err)
	}
	for i, term := range terms {
		x.statistics.With[term] = 0
		for _, ofTenant := range counts {
			x.statistics.With[term] += float64(ofTenant[i].Meta.Count)
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

// mostLookedAt is how many objects of an agent are looked at for words near one
// that nobody said.
const mostLookedAt = 400

// Known looks for objects that have any of the terms, and counts the records with
// those of the terms that are in the first ones: a term that is in none of them,
// while there are more, is rarer than others, and not what was meant.
func (x *index) Known(ctx context.Context, _ string, near map[string]bool) (map[string]int, error) {
	var searches []query
	for part := range slices.Chunk(slices.Sorted(maps.Keys(near)), idsAtOnce) {
		searches = append(searches, query{where: anyOf("terms", part), limit: mostLookedAt, fields: "terms length"})
	}
	found, _, err := x.inTenants(ctx, memory.Query{Superseded: true}, searches...)
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for _, o := range found {
		for word := range strings.FieldsSeq(o.Terms) {
			if near[word] {
				seen[word] = true
			}
		}
	}
	if err := x.know(ctx, slices.Collect(maps.Keys(seen))); err != nil {
		return nil, err
	}
	return x.statistics.Known(seen), nil
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
	searches := []query{{where: and(conditions...), limit: max(mostScored, 4*n), fields: "terms length", how: `bm25:{query:` + quoted(strings.Join(terms, " ")) + `,properties:["terms"]}`}}
	if rare := x.rarest(terms); len(rare) > 0 {
		searches = append(searches, query{where: and(append(conditions, anyOf("terms", rare))...), limit: 2 * mostRare, fields: "terms length"})
	}
	_, keys, err := x.inTenants(ctx, q, searches...)
	if err != nil {
		return nil, fmt.Errorf("search the words: %w", err)
	}
	scores := make(map[int64]float64, len(keys))
	for _, key := range keys {
		scores[key] = x.score(x.row(key), terms)
	}
	slices.SortFunc(keys, func(a, b int64) int { return cmp.Or(cmp.Compare(scores[b], scores[a]), cmp.Compare(a, b)) })
	keys = slices.Compact(keys) // a node that was killed finds some twice for a while
	return keys[:min(n, len(keys))], nil
}

// rarest are the rarest of some terms, as many as together are in at most mostRare
// records.
func (x *index) rarest(terms []string) (rare []string) {
	with := x.statistics.With
	terms = slices.Clone(terms)
	slices.SortFunc(terms, func(a, b string) int { return cmp.Or(cmp.Compare(with[a], with[b]), strings.Compare(a, b)) })
	records := 0.0
	for _, term := range slices.Compact(terms) {
		if records += with[term]; records > mostRare {
			break
		}
		if with[term] > 0 {
			rare = append(rare, term)
		}
	}
	return rare
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
