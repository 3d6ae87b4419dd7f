package weaviate

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// How many records have a word is the one thing that the ranking wants to know of
// all records, and Weaviate (1.35) answers it by reading every one that does. Its
// own BM25 knows the number without that: it is in every score that it gives. So
// the first hit for the word alone tells it:
//
//	score = ln((records+1) / (with+½)) · n / (n + k1·(1 − b + b·length/mean))
//
// where n is how often the word is in that record. Two things may be wrong with it.
// A node that was killed takes another mean for a while. So the rarest word that is
// at hand is counted, and if its score does not fit, it says which mean it is. And
// postings of objects that were replaced or removed count until Weaviate has merged
// its segments: a term that every record has says how many those are, and they are
// taken off alike.

// The parameters of the BM25 of a collection that says nothing of them.
const (
	saturation  = 1.2
	lengthShare = 0.75
)

// estimateFrom is how many records must have a word before their number is
// estimated. Fewer are counted.
const estimateFrom = 300

// commonness says how common words are in a tenant.
type commonness struct {
	records float64
	mean    float64   // terms of a record
	with    []float64 // records with each of the terms
	unknown bool      // with is not known
}

// commonness asks how common some terms are.
func (r readers) commonness(ctx context.Context, tenant string, terms []string) (most commonness, err error) {
	answers, err := each(ctx, r.nodes, func(ctx context.Context, node *Memory) (commonness, error) {
		return node.commonness(ctx, tenant, terms)
	})
	if err != nil {
		return most, err
	}
	most = answers[0]
	for _, other := range answers[1:] {
		if other.records > most.records {
			most.records, most.mean = other.records, other.mean
		}
		most.unknown = most.unknown || other.unknown
		for i, n := range other.with {
			most.with[i] = max(most.with[i], n)
		}
	}
	return most, nil
}

func (m *Memory) commonness(ctx context.Context, tenant string, terms []string) (c commonness, err error) {
	c.with = make([]float64, len(terms))
	counted, err := m.counts(ctx, []query{{class: m.class(recordsClass), tenant: tenant, fields: " length{mean}"}})
	if err != nil {
		return c, err
	}
	c.records, c.mean = float64(counted[0].Meta.Count), counted[0].Length.Mean
	first, err := m.best(ctx, tenant, append([]string{everyTerm}, terms...))
	if err != nil {
		return c, err
	}
	held, err := m.held(ctx, tenant, c, first)
	if err != nil || held == nil {
		c.unknown = true
		return c, err
	}
	gone := max(1, c.estimate(first[everyTerm], held)/max(1, c.records))
	for i, term := range terms {
		c.with[i] = c.estimate(first[term], held) / gone
	}
	return c, nil
}

// best is the record that the cluster's BM25 puts first for a term.
type best struct {
	score, times, length float64 // its score, how often it has the term, and how many terms
	terms                string
}

// best returns the best records for each of some terms, as far as there is one.
func (m *Memory) best(ctx context.Context, tenant string, terms []string) (map[string]best, error) {
	found := map[string]best{}
	for part := range slices.Chunk(terms, countsAtOnce) {
		var b strings.Builder
		for i, term := range part {
			q := query{class: m.class(recordsClass), tenant: tenant, limit: 1, fields: "terms _additional{id score}", replicated: m.replicas > 1,
				how: `bm25:{query:` + quoted(term) + `,properties:["terms"]}`}
			b.WriteString("n" + strconv.Itoa(i) + ":" + q.get() + " ")
		}
		var reply graphReply
		if err := m.graph(ctx, "{Get{"+b.String()+"}}", &reply); errors.Is(err, errAbsent) {
			return found, nil // the tenant was removed
		} else if err != nil {
			return nil, err
		}
		for i, term := range part {
			if list := reply.Data.Get["n"+strconv.Itoa(i)]; len(list) > 0 {
				addBest(found, term, list[0])
			}
		}
	}
	return found, nil
}

func addBest(found map[string]best, term string, o object) {
	score, err := strconv.ParseFloat(o.Additional.Score, 64)
	if err != nil {
		return
	}
	b := best{score: score, terms: o.Terms}
	for word := range strings.FieldsSeq(o.Terms) {
		b.length++
		if word == term {
			b.times++
		}
	}
	if b.times > 0 {
		found[term] = b
	}
}

// estimate is how many records have a term, from the best record for it.
func (c commonness) estimate(b best, held func(length float64) float64) float64 {
	if b.times == 0 {
		return 0
	}
	return max(0, (c.records+1)/math.Exp(b.score*(b.times+held(b.length))/b.times)-0.5)
}

// mostToCheck is how many records may have the word that is counted.
const mostToCheck = 1000

// held returns how much the scores of a node hold a record of some length back:
// k1·(1 − b + b·length/mean). It is nil if the scores make no sense.
func (m *Memory) held(ctx context.Context, tenant string, c commonness, first map[string]best) (func(length float64) float64, error) {
	more, err := m.best(ctx, tenant, longest(first))
	if err != nil {
		return nil, err
	}
	maps.Copy(more, first)
	rarest, highest := "", 0.0
	for term, b := range more {
		if weight := b.score * (b.times + saturation) / b.times; weight > highest || weight == highest && term < rarest {
			rarest, highest = term, weight
		}
	}
	if rarest == "" {
		return nil, nil
	}
	list, err := m.find(ctx, query{class: m.class(recordsClass), tenant: tenant, where: equal("terms", rarest), limit: mostToCheck, fields: "_additional{id}"})
	if err != nil || len(list) == 0 || len(list) == mostToCheck {
		return nil, err
	}
	usual := func(length float64) float64 {
		return saturation * (1 - lengthShare + lengthShare*length/(c.mean+1)) // every record has everyTerm beside its terms
	}
	with, b := float64(len(list))+0.5, more[rarest]
	const fits = 0.3 // as a logarithm: a wrong mean makes far more of a rare word
	if math.Abs(math.Log((c.estimate(b, usual)+0.5)/with)) < fits {
		return usual, nil
	}
	ofThis := b.times * (math.Log((c.records+1)/with)/b.score - 1)
	slope := max(0, (ofThis-saturation*(1-lengthShare))/b.length)
	return func(length float64) float64 { return saturation*(1-lengthShare) + slope*length }, nil
}

// longest are the longest of the terms that the best records have beside those
// they were found for. Long words are rare.
func longest(found map[string]best) []string {
	const most = 24
	seen := map[string]bool{}
	for _, b := range found {
		for word := range strings.FieldsSeq(b.terms) {
			if _, known := found[word]; !known {
				seen[word] = true
			}
		}
	}
	list := slices.SortedFunc(maps.Keys(seen), func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	return list[:min(most, len(list))]
}
