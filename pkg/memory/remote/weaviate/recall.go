package weaviate

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

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
		m.client.forget()
	}
}

func (m *Memory) recall(ctx context.Context, q memory.Query, e embed.QueryEmbedder, model embed.Model) (memory.Result, error) {
	x := &index{memory: m, keys: map[string]int64{}, nodes: m.majority(ctx)}
	var err error
	if x.agents, err = x.nodes.names(ctx, "agent"); err != nil {
		return memory.Result{}, err
	}
	result, err := memory.Ask(ctx, x, q, e, model)
	if err == nil {
		result.Hits, err = m.confirm(ctx, result.Hits)
	}
	return result, err
}

// confirm leaves out hits that a majority does not have any more: the node that
// found them may lag behind the others.
func (m *Memory) confirm(ctx context.Context, hits []memory.Hit) ([]memory.Hit, error) {
	there, err := each(ctx, hits, func(ctx context.Context, h memory.Hit) (bool, error) {
		_, err := m.read(ctx, tenantOf(h.Agent), objectID("record", h.Host, h.ID), quorum)
		if errors.Is(err, errAbsent) {
			return false, nil
		}
		return err == nil, err
	})
	kept := hits[:0:0]
	for i, h := range hits {
		if there[i] {
			kept = append(kept, h)
		}
	}
	return kept, err
}

// index looks a question up in the cluster.
type index struct {
	memory *Memory
	nodes  readers
	agents []object // names of all

	query  memory.Query // that vectors are compared for
	model  embed.Model
	vector string // of the question

	rows []row            // that were proposed; the key of a row is its place, from 1 on
	keys map[string]int64 // by id of object
}

// row is an object that was proposed.
type row struct{ tenant, id string }

// add gives objects keys.
func (x *index) add(tenant string, found []object) []int64 {
	keys := make([]int64, len(found))
	for i, o := range found {
		id := o.Additional.ID
		if x.keys[id] == 0 {
			x.rows = append(x.rows, row{tenant, id})
			x.keys[id] = int64(len(x.rows))
		}
		keys[i] = x.keys[id]
	}
	return keys
}

// tenants are those that a query is about.
func (x *index) tenants(agent string) (list []string) {
	for _, a := range x.agents {
		if agent == "" || a.Name == remote.Storable(agent) {
			list = append(list, tenantOf(a.Name))
		}
	}
	return list
}

// filters are a query's conditions, but for the agent, which is the tenant, and
// for facts that are superseded.
func filters(q memory.Query) (list []string) {
	for _, f := range []struct{ property, value string }{{"runtime", q.Runtime}, {"session", q.Session}, {"category", q.Category}, {"kind", q.Kind}} {
		if f.value != "" {
			list = append(list, equal(f.property, marked(f.value)))
		}
	}
	if q.Since != 0 {
		list = append(list, number("created_at", "GreaterThanEqual", q.Since))
	}
	if q.Until != 0 {
		list = append(list, number("created_at", "LessThan", q.Until))
	}
	return list
}

// search finds the first objects of a tenant that pass. Facts whose successor
// is there do not: for each of them one more is asked for.
func (x *index) search(ctx context.Context, q memory.Query, s query) ([]object, error) {
	s.class, s.fields = x.memory.class(recordsClass), "_additional{id distance score} host successor "+s.fields
	least := s.limit
	for {
		found, err := x.nodes.find(ctx, s)
		if err != nil || q.Superseded {
			return found, err
		}
		read := len(found) // by several nodes it may be more than was asked for
		if found, err = x.current(ctx, s.tenant, found); err != nil || len(found) >= least || read < s.limit || s.limit == mostResults {
			return found, err
		}
		s.limit = min(2*s.limit, mostResults)
	}
}

// current leaves out facts whose successor is there.
func (x *index) current(ctx context.Context, tenant string, found []object) ([]object, error) {
	var rows []row
	for _, o := range found {
		if o.Successor != "" {
			rows = append(rows, row{tenant, o.successorID()})
		}
	}
	there := map[string]bool{}
	err := x.eachPart(ctx, rows, query{fields: "_additional{id}"}, func(o object) error {
		there[o.Additional.ID] = true
		return nil
	})
	return slices.DeleteFunc(found, func(o object) bool { return o.Successor != "" && there[o.successorID()] }), err
}

// inTenants does a search in each tenant that a query is about, and adds what was
// found, in an order that does not change.
func (x *index) inTenants(ctx context.Context, q memory.Query, s query) (found []object, keys []int64, err error) {
	tenants := x.tenants(q.Agent)
	lists, err := each(ctx, tenants, func(ctx context.Context, tenant string) ([]object, error) {
		s := s
		s.tenant = tenant
		return x.search(ctx, q, s)
	})
	if err != nil {
		return nil, nil, err
	}
	for i, list := range lists {
		keys = append(keys, x.add(tenants[i], list)...)
		found = append(found, list...)
	}
	return found, keys, nil
}

// HasVectors looks whether any vector of the model passes the filters.
func (x *index) HasVectors(ctx context.Context, q memory.Query, m embed.Model) (bool, error) {
	x.query, x.model = q, m
	if !x.memory.vectors[vectorName(m.Fingerprint())] {
		return false, nil
	}
	found, _, err := x.inTenants(ctx, q, query{where: and(append(filters(q), equal("model", marked(m.Fingerprint())))...), limit: 1})
	if err != nil {
		return false, fmt.Errorf("look for vectors: %w", err)
	}
	return len(found) > 0, nil
}

// Models looks which models made vectors of each agent. To count the vectors would
// take as long as to read them.
func (x *index) Models(ctx context.Context, agent string, m embed.Model) (models memory.Models, err error) {
	known, err := x.nodes.find(ctx, query{class: x.memory.class(modelsClass), limit: mostResults, fields: "name record_id _additional{id}"})
	if err != nil {
		return models, fmt.Errorf("list models: %w", err)
	}
	slices.SortFunc(known, func(a, b object) int { return strings.Compare(a.Name, b.Name) })
	others := map[string]bool{}
	for _, a := range x.agents {
		if agent != "" && a.Name != remote.Storable(agent) {
			continue
		}
		used, err := each(ctx, known, func(ctx context.Context, k object) (bool, error) {
			found, err := x.nodes.find(ctx, query{class: x.memory.class(recordsClass), tenant: tenantOf(a.Name), where: equal("model", marked(k.RecordID)), limit: 1, fields: "_additional{id}"})
			return len(found) > 0, err
		})
		if err != nil {
			return models, fmt.Errorf("list models: %w", err)
		}
		own, other := false, false
		for i, k := range known {
			isOwn := k.RecordID == m.Fingerprint()
			own, other = own || used[i] && isOwn, other || used[i] && !isOwn
			if used[i] && !isOwn && !others[k.Name] {
				others[k.Name] = true
				models.Others = append(models.Others, k.Name)
			}
		}
		models.Own = models.Own || own
		if agent == "" && other && !own {
			models.Without = append(models.Without, a.Name)
		}
	}
	slices.Sort(models.Others)
	return models, nil
}

// Compare takes the question's vector.
func (x *index) Compare(_ context.Context, vector []float32) (bool, error) {
	text, err := json.Marshal(vector)
	x.vector = string(text)
	return true, err
}

// nearVector is the search for near vectors.
func (x *index) nearVector() string { return nearVector(x.vector, vectorName(x.model.Fingerprint())) }

// Nearest compares vectors. With a condition, and fewer than exactBelow vectors
// that pass it, they are all compared.
func (x *index) Nearest(ctx context.Context, n int) ([]memory.Scored, error) {
	conditions := filters(x.query)
	if x.memory.exact {
		conditions = append(conditions, equal("model", marked(x.model.Fingerprint())))
	}
	found, keys, err := x.inTenants(ctx, x.query, query{where: and(conditions...), how: x.nearVector(), limit: n})
	if err != nil {
		return nil, fmt.Errorf("compare vectors: %w", err)
	}
	list := make([]memory.Scored, len(found))
	for i, o := range found {
		list[i] = memory.Scored{Key: keys[i], Cosine: o.cosine()}
	}
	slices.SortStableFunc(list, func(a, b memory.Scored) int { return cmp.Compare(b.Cosine, a.Cosine) })
	return list[:min(n, len(list))], nil
}

// Cosines compares some records.
func (x *index) Cosines(ctx context.Context, keys []int64) (map[int64]float64, error) {
	cosines := map[int64]float64{}
	err := x.eachPart(ctx, x.rowsOf(keys), query{how: x.nearVector(), fields: "_additional{id distance}"}, func(o object) error {
		if o.Additional.Distance != nil {
			cosines[x.keys[o.Additional.ID]] = o.cosine()
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("compare vectors: %w", err)
	}
	return cosines, nil
}

func (x *index) rowsOf(keys []int64) []row {
	rows := make([]row, len(keys))
	for i, key := range keys {
		rows[i] = x.rows[key-1]
	}
	return rows
}

// eachPart searches among some rows only, and hands out what was found, one
// after another.
func (x *index) eachPart(ctx context.Context, rows []row, s query, fn func(object) error) error {
	byTenant := map[string][]string{}
	for _, r := range rows {
		byTenant[r.tenant] = append(byTenant[r.tenant], r.id)
	}
	var searches []query
	for tenant, all := range byTenant {
		for ids := range slices.Chunk(all, idsAtOnce) {
			s.class, s.tenant, s.where, s.limit = x.memory.class(recordsClass), tenant, and(s.where, anyOf("id", ids)), len(ids)
			searches = append(searches, s)
			s.where = ""
		}
	}
	lists, err := each(ctx, searches, x.nodes.find)
	for _, o := range slices.Concat(lists...) {
		if err == nil {
			err = fn(o)
		}
	}
	return err
}

// Read reads records, and leaves out those that were forgotten: the node that
// is asked may have been away.
func (x *index) Read(ctx context.Context, keys []int64) (list []memory.Found, err error) {
	err = x.eachPart(ctx, x.rowsOf(keys), query{fields: "host record _additional{id}"}, func(o object) error {
		f, err := o.found()
		f.Key = x.keys[o.Additional.ID]
		list = append(list, f)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read records: %w", err)
	}
	slices.SortFunc(list, func(a, b memory.Found) int { return cmp.Compare(a.Key, b.Key) })
	return x.nodes.remembered(ctx, list)
}

// remembered leaves out what was forgotten.
func (r readers) remembered(ctx context.Context, list []memory.Found) ([]memory.Found, error) {
	ids := make([]string, len(list))
	for i, f := range list {
		ids[i] = f.ID
	}
	buried, err := r.buried(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("look what was forgotten: %w", err)
	}
	return slices.DeleteFunc(list, func(f memory.Found) bool { return buried[f.ID] }), nil
}

// Span asks every tenant.
func (x *index) Span(ctx context.Context) (first, last int64, err error) {
	var queries []query
	for _, tenant := range x.tenants("") {
		queries = append(queries, query{class: x.memory.class(recordsClass), tenant: tenant, fields: " created_at{minimum maximum}"})
	}
	spans, err := x.nodes.counts(ctx, queries)
	if err != nil {
		return 0, 0, fmt.Errorf("look when records were said: %w", err)
	}
	for _, s := range spans {
		if s.Meta.Count == 0 {
			continue
		}
		low, high := int64(s.CreatedAt.Minimum), int64(s.CreatedAt.Maximum)
		if first == 0 && last == 0 {
			first, last = low, high
		}
		first, last = min(first, low), max(last, high)
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

// Words lets the cluster find objects, best first by its own BM25; the first that
// were said if no word is asked for.
//
// For about a minute after records were stored, as long as they are in memory
// only, the BM25 of Weaviate 1.35.2 leaves out records with rare words when it is
// asked for several words and more records match than it is to return. Each word
// alone it answers right: so the rarest is asked for alone too.
func (x *index) Words(ctx context.Context, q memory.Query, m memory.Match, n int) ([]int64, error) {
	conditions := filters(q)
	if m.IsEmpty() {
		found, keys, err := x.inTenants(ctx, q, query{where: and(conditions...), limit: n, fields: "created_at", how: `sort:[{path:["created_at"],order:asc}]`})
		return best(found, keys, n, func(o object) float64 { return -o.CreatedAt }), err
	}
	terms := slices.Concat(m.All, m.Any)
	if len(m.All) > 0 {
		conditions = append(conditions, allOf("terms", m.All))
		if len(m.Any) > 0 {
			conditions = append(conditions, anyOf("terms", m.Any))
		}
	}
	all, keys, err := x.inTenants(ctx, q, query{where: and(conditions...), how: bm25(terms), limit: n})
	if err != nil {
		return nil, fmt.Errorf("search the words: %w", err)
	}
	keys = best(all, keys, n, object.score)
	rarest, err := x.rarest(ctx, terms)
	if err != nil || len(terms) == 1 || len(keys) < n || rarest == "" {
		return keys, err
	}
	rare, alone, err := x.inTenants(ctx, q, query{where: and(conditions...), how: bm25([]string{rarest}), limit: n})
	if err != nil {
		return nil, fmt.Errorf("search the rarest word: %w", err)
	}
	const share = 4 // of the places at least three quarters are those of all the words
	alone = slices.DeleteFunc(best(rare, alone, n/share, object.score), func(key int64) bool { return slices.Contains(keys, key) })
	return append(keys[:min(len(keys), n-len(alone))], alone...), nil
}

// rarest is the term that the fewest records have, of those that any has.
func (x *index) rarest(ctx context.Context, terms []string) (rarest string, err error) {
	counts, err := x.Count(ctx, terms)
	least := 0
	for i, n := range counts.With {
		if n > 0 && (rarest == "" || n < least) {
			rarest, least = terms[i], n
		}
	}
	return rarest, err
}

// best are the keys of the n best of what was found, each once.
func best(found []object, keys []int64, n int, score func(object) float64) []int64 {
	scores := make(map[int64]float64, len(keys))
	for i, key := range keys {
		scores[key] = score(found[i])
	}
	slices.SortFunc(keys, func(a, b int64) int { return cmp.Or(cmp.Compare(scores[b], scores[a]), cmp.Compare(a, b)) })
	keys = slices.Compact(keys)
	return keys[:min(n, len(keys))]
}

// WordScores has the cluster score some records.
func (x *index) WordScores(ctx context.Context, m memory.Match, keys []int64) (map[int64]float64, error) {
	scores := map[int64]float64{}
	err := x.eachPart(ctx, x.rowsOf(keys), query{how: bm25(slices.Concat(m.All, m.Any)), fields: "_additional{id score}"}, func(o object) error {
		scores[x.keys[o.Additional.ID]] = o.score()
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("score the words: %w", err)
	}
	return scores, nil
}

// Count counts records, and those that have each of the terms. To count records is
// to read them, so of a common term those of a sample are counted.
func (x *index) Count(ctx context.Context, terms []string) (c memory.Counts, err error) {
	c.With = make([]int, len(terms))
	tenants := x.tenants("")
	class := x.memory.class(recordsClass)
	counted, err := each(ctx, tenants, func(ctx context.Context, tenant string) ([]aggregate, error) {
		queries := []query{{class: class, tenant: tenant}}
		for _, term := range terms {
			queries = append(queries, query{class: class, tenant: tenant, where: and(equal("terms", term), equal("sample", sampled))})
		}
		sample, err := x.nodes.counts(ctx, queries)
		if err != nil {
			return nil, err
		}
		var exact []query
		var places []int
		for i, term := range terms {
			if a := &sample[i+1].Meta; a.Count >= countedInSample {
				a.Count *= samples
			} else {
				exact, places = append(exact, query{class: class, tenant: tenant, where: equal("terms", term)}), append(places, i+1)
			}
		}
		counts, err := x.nodes.counts(ctx, exact)
		for i, a := range counts {
			sample[places[i]] = a
		}
		return sample, err
	})
	if err != nil {
		return c, fmt.Errorf("count the records with a word: %w", err)
	}
	for _, ofTenant := range counted {
		c.Records += ofTenant[0].Meta.Count
		for i, a := range ofTenant[1:] {
			c.With[i] += a.Meta.Count
		}
	}
	return c, nil
}

// mostLookedAt is how many objects of an agent are looked at for words near one
// that nobody said.
const mostLookedAt = 400

// Known looks for objects that have any of the terms, and counts the records with
// those of the terms that are in the first ones: a term that is in none of them,
// while there are more, is rarer than others, and not what was meant.
func (x *index) Known(ctx context.Context, _ string, near map[string]bool) (map[string]int, error) {
	all := make([]string, 0, len(near))
	for term := range near {
		all = append(all, term)
	}
	slices.Sort(all)
	seen := map[string]bool{}
	for part := range slices.Chunk(all, idsAtOnce) {
		found, _, err := x.inTenants(ctx, memory.Query{Superseded: true}, query{where: anyOf("terms", part), limit: mostLookedAt, fields: "terms"})
		if err != nil {
			return nil, err
		}
		for _, o := range found {
			for term := range strings.FieldsSeq(o.Terms) {
				seen[term] = near[term] || seen[term]
			}
		}
	}
	all = slices.DeleteFunc(all, func(term string) bool { return !seen[term] })
	counts, err := x.Count(ctx, all)
	known := map[string]int{}
	for i, n := range counts.With {
		if n > 0 {
			known[all[i]] = n
		}
	}
	return known, err
}

// score is what the cluster's BM25 gives.
func (o object) score() float64 {
	score, _ := strconv.ParseFloat(o.Additional.Score, 64)
	return score
}

func (o object) cosine() float64 {
	if o.Additional.Distance == nil {
		return 0
	}
	return 1 - *o.Additional.Distance
}

func (o object) successorID() string { return objectID("record", o.Host, o.Successor) }

func (o object) found() (f memory.Found, err error) {
	f.Host = o.Host
	return f, json.Unmarshal([]byte(o.Record), &f.Record)
}
