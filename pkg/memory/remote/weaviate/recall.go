package weaviate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/pkg/agentset"
	"github.com/sessctl/sessctl/pkg/embed"
	"github.com/sessctl/sessctl/pkg/memory"
	"github.com/sessctl/sessctl/pkg/memory/remote"
)

// Recall answers a question. A node that goes away meanwhile is left for the
// others, and the question is asked again.
func (m *Memory) Recall(ctx context.Context, q memory.Query, e embed.QueryEmbedder, model embed.Model) (memory.Result, error) {
	for try := 0; ; try++ {
		result, err := m.recall(ctx, q, e, model)
		if err == nil {
			return result, nil
		}
		if !errors.Is(err, remote.ErrUnreachable) || try == 2 || m.replicas == 1 || ctx.Err() != nil {
			return result, fmt.Errorf("ask the shared memory: %w", err)
		}
		m.lookAgain()
	}
}

func (m *Memory) recall(ctx context.Context, q memory.Query, e embed.QueryEmbedder, model embed.Model) (memory.Result, error) {
	x := &index{memory: m, keys: map[string]int64{}, nodes: m.majority(ctx)}
	result, err := memory.Ask(ctx, x, q, e, model)
	if err == nil {
		result.Hits, err = m.confirm(ctx, result.Hits)
	}
	return result, err
}

// confirm leaves out hits that a majority does not have any more: the node that
// found them may lag behind the others.
func (m *Memory) confirm(ctx context.Context, hits []memory.Hit) ([]memory.Hit, error) {
	read, err := each(ctx, hits, func(ctx context.Context, h memory.Hit) (object, error) {
		return m.read(ctx, m.client, objectID("record", h.Host, h.ID), quorum)
	})
	kept := hits[:0:0]
	for i, h := range hits {
		if read[i].Digest != "" {
			kept = append(kept, h)
		}
	}
	return kept, err
}

// index looks a question up in the cluster.
type index struct {
	memory *Memory
	nodes  readers

	query  memory.Query // that vectors are compared for
	model  embed.Model
	vector string // of the question

	rows []object         // that were proposed; the key of a row is its place, from 1 on
	keys map[string]int64 // by id of object
}

// key is the key of an object.
func (x *index) key(o object) int64 {
	id := o.Additional.ID
	if x.keys[id] == 0 {
		x.rows = append(x.rows, o)
		x.keys[id] = int64(len(x.rows))
	}
	return x.keys[id]
}

// filters are a query's conditions, but for facts that are superseded. Agents of several
// runtimes may have one name.
func filters(q memory.Query) (list []string) {
	var owners []string
	for _, pair := range q.Agent.Pairs() {
		owners = append(owners, marked(pair))
	}
	switch {
	case owners != nil:
		list = append(list, anyOf("owner", owners))
	case q.Agent != "":
		list = append(list, equal("agent", marked(q.Agent.String())))
	}
	for _, f := range []struct{ property, value string }{{"runtime", q.Runtime}, {"session", q.Session}, {"category", q.Category}, {"kind", q.Kind}} {
		if f.value != "" {
			list = append(list, equal(f.property, marked(f.value)))
		}
	}
	if q.Host != "" {
		list = append(list, equal("host", remote.Storable(q.Host)))
	}
	if q.Since != 0 {
		list = append(list, number("created_at", "GreaterThanEqual", q.Since))
	}
	if q.Until != 0 {
		list = append(list, number("created_at", "LessThan", q.Until))
	}
	return list
}

// search finds the first objects that a query is about. Facts whose successor is there
// do not pass: for each of them one more is asked for.
func (x *index) search(ctx context.Context, q memory.Query, s query) ([]object, error) {
	s.class, s.fields = x.memory.class(recordsClass), "_additional{id distance score} host record successor "+s.fields
	for least := s.limit; ; s.limit = min(2*s.limit, mostResults) {
		found, err := x.nodes.find(ctx, s)
		if err != nil || q.Superseded {
			return found, err
		}
		current, err := x.current(ctx, found)
		if err != nil || len(current) >= least || len(found) < s.limit || s.limit == mostResults {
			return current, err
		}
	}
}

// current leaves out facts whose successor is there.
func (x *index) current(ctx context.Context, found []object) ([]object, error) {
	var successors []string
	for _, o := range found {
		if o.Successor != "" {
			successors = append(successors, o.successor())
		}
	}
	there, err := x.among(ctx, successors, query{})
	superseded := func(o object) bool {
		return slices.ContainsFunc(there, func(s object) bool { return s.Additional.ID == o.successor() })
	}
	return slices.DeleteFunc(slices.Clone(found), superseded), err
}

// among searches among some objects only, by their ids.
func (x *index) among(ctx context.Context, ids []string, s query) ([]object, error) {
	s.class, s.fields = x.memory.class(recordsClass), "_additional{id distance score}"
	var searches []query
	for part := range slices.Chunk(ids, idsAtOnce) {
		s.where, s.limit = anyOf("id", part), len(part)
		searches = append(searches, s)
	}
	lists, err := each(ctx, searches, x.nodes.find)
	return slices.Concat(lists...), err
}

// scores are the scores of what a search finds among some records.
func (x *index) scores(ctx context.Context, keys []int64, s query, score func(object) float64) (map[int64]float64, error) {
	ids := make([]string, len(keys))
	for i, key := range keys {
		ids[i] = x.rows[key-1].Additional.ID
	}
	found, err := x.among(ctx, ids, s)
	scores := map[int64]float64{}
	for _, o := range found {
		scores[x.key(o)] = score(o)
	}
	return scores, err
}

// best are the records that a search finds, best first.
func (x *index) best(ctx context.Context, q memory.Query, s query, score func(object) float64) ([]memory.Scored, error) {
	found, err := x.search(ctx, q, s)
	list := make([]memory.Scored, len(found))
	for i, o := range found {
		list[i] = memory.Scored{Key: x.key(o), Cosine: score(o)}
	}
	return remote.Best(list, s.limit), err
}

// HasVectors looks whether any vector of the model passes the filters.
func (x *index) HasVectors(ctx context.Context, q memory.Query, m embed.Model) (bool, error) {
	x.query, x.model = q, m
	if !x.memory.vectors[vectorName(m.Fingerprint())] {
		return false, nil
	}
	found, err := x.search(ctx, q, query{where: and(append(filters(q), equal("model", marked(m.Fingerprint())))...), limit: 1})
	return len(found) > 0, err
}

// Models looks which models made vectors of each agent. To count the vectors would
// take as long as to read them.
func (x *index) Models(ctx context.Context, agent string, m embed.Model) (models memory.Models, err error) {
	known, err := x.nodes.names(ctx, "model")
	for _, k := range known {
		conditions := append(filters(memory.Query{Agent: agentset.Set(agent)}), equal("model", marked(k.Entry)))
		found, err := x.search(ctx, memory.Query{Superseded: true}, query{where: and(conditions...), limit: 1})
		switch {
		case err != nil:
			return models, err
		case len(found) == 0:
		case k.Entry == m.Fingerprint():
			models.Own = true
		default:
			models.Others = append(models.Others, k.Name)
		}
	}
	if err != nil || agent != "" || len(models.Others) == 0 {
		return models, err
	}
	noted, err := x.nodes.names(ctx, "vectors")
	hasOwn := func(agent string) bool {
		return slices.ContainsFunc(noted, func(o object) bool { return o.Name == agent && o.Entry == m.Fingerprint() })
	}
	for _, o := range noted {
		if !hasOwn(o.Name) && !slices.Contains(models.Without, o.Name) {
			models.Without = append(models.Without, o.Name)
		}
	}
	return models, err
}

// Compare takes the question's vector.
func (x *index) Compare(_ context.Context, vector []float32) (bool, error) {
	text, err := json.Marshal(vector)
	x.vector = nearVector(string(text), vectorName(x.model.Fingerprint()))
	return true, err
}

// Nearest compares vectors. With a condition, and fewer than exactBelow vectors
// that pass it, they are all compared.
func (x *index) Nearest(ctx context.Context, n int) ([]memory.Scored, error) {
	conditions := filters(x.query)
	if x.memory.exact {
		conditions = append(conditions, equal("model", marked(x.model.Fingerprint())))
	}
	return x.best(ctx, x.query, query{where: and(conditions...), how: x.vector, limit: n}, object.cosine)
}

// Cosines compares some records.
func (x *index) Cosines(ctx context.Context, keys []int64) (map[int64]float64, error) {
	return x.scores(ctx, keys, query{how: x.vector}, object.cosine)
}

// Words lets the cluster find objects, best first by its own BM25; the first that
// were said if no word is asked for.
//
// For about a minute after records were stored, as long as they are in memory
// only, the BM25 of Weaviate 1.35.2 leaves out records with rare words when it is
// asked for several words and more records match than it is to return. Each word
// alone it answers right: so the rarest is asked for alone too, and has at most a
// quarter of the places.
func (x *index) Words(ctx context.Context, q memory.Query, m memory.Match, n int) ([]int64, error) {
	s := query{where: and(filters(q)...), limit: n}
	if m.IsEmpty() {
		s.how, s.fields = byTime("asc"), "created_at"
		list, err := x.best(ctx, q, s, func(o object) float64 { return -o.CreatedAt })
		return remote.Keys(list), err
	}
	if len(m.All) > 0 {
		s.where = and(s.where, allOf("terms", m.All))
		if len(m.Any) > 0 {
			s.where = and(s.where, anyOf("terms", m.Any))
		}
	}
	terms := slices.Concat(m.All, m.Any)
	s.how = bm25(terms)
	list, err := x.best(ctx, q, s, object.score)
	keys := remote.Keys(list)
	if err != nil || len(terms) == 1 || len(keys) < n {
		return keys, err
	}
	rarest, err := x.rarest(ctx, terms)
	if err != nil {
		return nil, err
	}
	s.how = bm25([]string{rarest})
	rare, err := x.best(ctx, q, s, object.score)
	alone := slices.DeleteFunc(remote.Keys(rare[:min(len(rare), n/4)]), func(key int64) bool { return slices.Contains(keys, key) })
	return append(keys[:min(len(keys), n-len(alone))], alone...), err
}

// rarest is the term that the fewest records have, of those that any has.
func (x *index) rarest(ctx context.Context, terms []string) (rarest string, err error) {
	counts, err := x.Count(ctx, terms)
	least := math.MaxInt
	for i, n := range counts.With {
		if n > 0 && n < least {
			rarest, least = terms[i], n
		}
	}
	return rarest, err
}

// WordScores has the cluster score some records.
func (x *index) WordScores(ctx context.Context, m memory.Match, keys []int64) (map[int64]float64, error) {
	return x.scores(ctx, keys, query{how: bm25(slices.Concat(m.All, m.Any))}, object.score)
}

// Read has read the records with their keys, and leaves out those that were
// forgotten.
func (x *index) Read(ctx context.Context, keys []int64) ([]memory.Found, error) {
	objects := make([]object, len(keys))
	for i, key := range keys {
		objects[i] = x.rows[key-1]
	}
	list, err := x.nodes.remembered(ctx, objects)
	for i, f := range list {
		list[i].Key = x.keys[objectID("record", f.Host, f.ID)]
	}
	return list, err
}

// Count counts records, and those that have each of the terms. To count records is
// to read them, so of a common term those of a sample are counted.
func (x *index) Count(ctx context.Context, terms []string) (c memory.Counts, err error) {
	c.With = make([]int, len(terms))
	all := query{class: x.memory.class(recordsClass)}
	if c.Records, err = x.nodes.count(ctx, all); err != nil {
		return c, err
	}
	exact, sample := make([]query, len(terms)), make([]query, len(terms))
	for i, term := range terms {
		exact[i], sample[i] = all, all
		exact[i].where = equal("terms", term)
		sample[i].where = and(exact[i].where, equal("sample", sampled))
	}
	counts, err := x.nodes.counts(ctx, sample)
	if err != nil {
		return c, err
	}
	var rare []query
	var places []int // of those in exact
	for i, n := range counts {
		if c.With[i] = n * samples; n < countedInSample {
			rare, places = append(rare, exact[i]), append(places, i)
		}
	}
	counts, err = x.nodes.counts(ctx, rare)
	for i, n := range counts {
		c.With[places[i]] = n
	}
	return c, err
}

// mostLookedAt is how many objects of an agent are looked at for words near one
// that nobody said.
const mostLookedAt = 400

// Known looks for objects that have any of the terms, and counts the records with
// those of the terms that are in the first ones: a term that is in none of them,
// while there are more, is rarer than others, and not what was meant. To count all
// of some hundred terms would take ten times as long.
func (x *index) Known(ctx context.Context, _ string, near map[string]bool) (map[string]int, error) {
	seen, known := map[string]bool{}, map[string]int{}
	for part := range slices.Chunk(slices.Sorted(maps.Keys(near)), idsAtOnce) {
		found, err := x.search(ctx, memory.Query{Superseded: true}, query{where: anyOf("terms", part), limit: mostLookedAt, fields: "terms"})
		if err != nil {
			return nil, err
		}
		for _, o := range found {
			for term := range strings.FieldsSeq(o.Terms) {
				seen[term] = true
			}
		}
	}
	maps.DeleteFunc(seen, func(term string, _ bool) bool { return !near[term] })
	terms := slices.Sorted(maps.Keys(seen))
	counts, err := x.Count(ctx, terms)
	for i, n := range counts.With {
		known[terms[i]] = n
	}
	return known, err
}

// Span looks for the first and the last.
func (x *index) Span(ctx context.Context) (first, last int64, err error) {
	for order, at := range map[string]*int64{"asc": &first, "desc": &last} {
		found, err := x.search(ctx, memory.Query{Superseded: true}, query{how: byTime(order), limit: 1, fields: "created_at"})
		if err != nil || len(found) == 0 {
			return 0, 0, err
		}
		*at = int64(found[0].CreatedAt)
	}
	return first, last, nil
}

// Notices says when too few nodes answer.
func (x *index) Notices() []string {
	if x.nodes.whole {
		return nil
	}
	return []string{fmt.Sprintf("%d of %d nodes of the shared memory answer, and %d keep each record: what the others have may be missing", len(x.nodes.nodes), len(x.memory.address.nodes), x.memory.replicas)}
}
