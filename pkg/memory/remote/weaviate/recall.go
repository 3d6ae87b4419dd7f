package weaviate

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
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
	agents, err := x.nodes.names(ctx, "agent")
	if err == nil {
		x.tenants = tenantsOf(agents)
		err = x.choose(ctx, x.of(q.Agent))
	}
	if err != nil {
		return memory.Result{}, err
	}
	result, err := memory.Ask(ctx, x, q, e, model)
	if err == nil {
		result.Hits, err = m.confirm(ctx, result.Hits)
	}
	return result, err
}

// choose decides whom each tenant is asked of: one node if all of a majority
// say the same of it, and otherwise all of them, one of which may be behind the
// others. What is in doubt any of them may not find.
func (x *index) choose(ctx context.Context, tenants []string) error {
	x.alike = map[string]bool{}
	if len(x.nodes.nodes) == 1 {
		return nil
	}
	doubts, err := x.nodes.names(ctx, doubtKind)
	if err != nil || len(doubts) > 0 {
		return err
	}
	alike, err := each(ctx, tenants, func(ctx context.Context, tenant string) (bool, error) {
		class := x.memory.class(recordsClass)
		// without a condition: to count what passes one takes 80 us for each that does
		_, same, err := x.nodes.counts(ctx, []query{{class: class, tenant: tenant, fields: " length{sum}"}})
		return same, err
	})
	for i, tenant := range tenants {
		x.alike[tenant] = err == nil && alike[i]
	}
	return err
}

// of a tenant these nodes are asked.
func (x *index) readers(tenant string) readers {
	if x.alike[tenant] {
		return readers{x.nodes.nodes[:1], x.nodes.whole}
	}
	return x.nodes
}

// index looks a question up in the cluster.
type index struct {
	memory  *Memory
	nodes   readers
	tenants []string        // of all agents
	alike   map[string]bool // the nodes say the same of a tenant

	query  memory.Query // that vectors are compared for
	model  embed.Model
	vector string // of the question

	rows       []row            // that were proposed; the key of a row is its place, from 1 on
	keys       map[string]int64 // by id of object
	statistics *remote.Statistics
}

// row is an object that was proposed.
type row struct {
	tenant, id string
	known      bool   // terms and length are
	terms      string // of its text
	length     float64
}

// add gives objects keys. What is known of one that was added before stays.
func (x *index) add(tenant string, found []object) []int64 {
	keys := make([]int64, len(found))
	for i, o := range found {
		id := o.Additional.ID
		if x.keys[id] == 0 {
			x.rows = append(x.rows, row{tenant: tenant, id: id})
			x.keys[id] = int64(len(x.rows))
		}
		keys[i] = x.keys[id]
		if r := &x.rows[keys[i]-1]; o.Terms != "" {
			r.known, r.terms, r.length = true, o.Terms, o.Length
		}
	}
	return keys
}

func (x *index) row(key int64) *row { return &x.rows[key-1] }

// of are the tenants that a query is about.
func (x *index) of(agent string) []string {
	if agent == "" {
		return x.tenants
	}
	if tenant := tenantOf(agent); slices.Contains(x.tenants, tenant) {
		return []string{tenant}
	}
	return nil
}

// filters are a query's conditions, but for the agent, which is the tenant, and
// for facts that are superseded.
func filters(q memory.Query) (list []string) {
	for _, f := range []struct{ property, value string }{{"runtime", q.Runtime}, {"session", q.Session}, {"category", q.Category}, {"kind", q.Kind}} {
		if f.value != "" {
			list = append(list, equal(f.property, f.value))
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
// is there do not: for each of them one more is asked for. A majority is asked even
// if all say the same of the tenant: a node that is catching up may count an object
// and not find it yet by its words or its vector.
func (x *index) search(ctx context.Context, q memory.Query, s query) ([]object, error) {
	const always = "_additional{id distance} host successor "
	s.class, s.fields = x.memory.class(recordsClass), always+s.fields
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
	var successors []string
	for _, o := range found {
		if o.Successor != "" {
			successors = append(successors, objectID("record", o.Host, o.Successor))
		}
	}
	if len(successors) == 0 {
		return found, nil
	}
	there := map[string]bool{}
	for part := range slices.Chunk(successors, idsAtOnce) {
		list, err := x.readers(tenant).find(ctx, query{class: x.memory.class(recordsClass), tenant: tenant, where: anyOf("id", part), limit: len(part), fields: "_additional{id}"})
		if err != nil {
			return nil, err
		}
		for _, o := range list {
			there[o.Additional.ID] = true
		}
	}
	return slices.DeleteFunc(found, func(o object) bool {
		return o.Successor != "" && there[objectID("record", o.Host, o.Successor)]
	}), nil
}

// inTenants does each search in each tenant that a query is about, and adds what
// was found, in an order that does not change.
func (x *index) inTenants(ctx context.Context, q memory.Query, searches ...query) (found []object, keys []int64, err error) {
	var all []query
	for _, tenant := range x.of(q.Agent) {
		for _, s := range searches {
			s.tenant = tenant
			all = append(all, s)
		}
	}
	lists, err := each(ctx, all, func(ctx context.Context, s query) ([]object, error) { return x.search(ctx, q, s) })
	if err != nil {
		return nil, nil, err
	}
	for i, list := range lists {
		keys = append(keys, x.add(all[i].tenant, list)...)
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
	found, _, err := x.inTenants(ctx, q, query{where: and(append(filters(q), equal("model", m.Fingerprint()))...), limit: 1})
	if err != nil {
		return false, fmt.Errorf("look for vectors: %w", err)
	}
	return len(found) > 0, nil
}

// Models looks which models made vectors in each tenant.
func (x *index) Models(ctx context.Context, agent string, m embed.Model) (models memory.Models, err error) {
	known, err := x.nodes.find(ctx, query{class: x.memory.class(modelsClass), limit: mostResults, fields: "name record_id _additional{id}"})
	if err != nil {
		return models, fmt.Errorf("list models: %w", err)
	}
	slices.SortFunc(known, func(a, b object) int { return strings.Compare(a.Name, b.Name) })
	used, err := each(ctx, x.of(agent), func(ctx context.Context, tenant string) ([]bool, error) { return x.used(ctx, tenant, known) })
	if err != nil {
		return models, fmt.Errorf("list models: %w", err)
	}
	for i, k := range known {
		switch {
		case !slices.ContainsFunc(used, func(ofTenant []bool) bool { return ofTenant[i] }):
		case k.RecordID == m.Fingerprint():
			models.Own = true
		default:
			models.Others = append(models.Others, k.Name)
		}
	}
	if agent == "" && len(models.Others) > 0 {
		models.Without, err = x.without(ctx, known, used)
	}
	return models, err
}

// used reports which models made any vector of a tenant. To count the vectors
// would take as long as to read them.
func (x *index) used(ctx context.Context, tenant string, models []object) ([]bool, error) {
	return each(ctx, models, func(ctx context.Context, k object) (bool, error) {
		found, err := x.readers(tenant).find(ctx, query{class: x.memory.class(recordsClass), tenant: tenant, where: equal("model", k.RecordID), limit: 1, fields: "_additional{id}"})
		return len(found) > 0, err
	})
}

// without lists the agents that have vectors of other models only.
func (x *index) without(ctx context.Context, known []object, used [][]bool) (agents []string, err error) {
	names, err := x.nodes.names(ctx, "agent")
	if err != nil {
		return nil, fmt.Errorf("list agents: %w", err)
	}
	byTenant := map[string]string{}
	for _, n := range names {
		byTenant[tenantOf(n.Name)] = n.Name
	}
	for t, ofTenant := range used {
		own, others := false, false
		for i, k := range known {
			if k.RecordID == x.model.Fingerprint() {
				own = own || ofTenant[i]
			} else {
				others = others || ofTenant[i]
			}
		}
		if !own && others {
			agents = append(agents, byTenant[x.tenants[t]])
		}
	}
	slices.Sort(agents)
	return agents, nil
}

// Compare takes the question's vector.
func (x *index) Compare(_ context.Context, vector []float32) (bool, error) {
	b := []byte{'['}
	for i, v := range vector {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendFloat(b, float64(v), 'g', -1, 32)
	}
	x.vector = string(append(b, ']'))
	return true, nil
}

// nearVector is the search for near vectors.
func (x *index) nearVector() string {
	return `nearVector:{vector:` + x.vector + `,targetVectors:["` + vectorName(x.model.Fingerprint()) + `"]}`
}

// Nearest compares vectors. With a condition, and fewer than exactBelow vectors
// that pass it, they are all compared.
func (x *index) Nearest(ctx context.Context, n int) ([]memory.Scored, error) {
	conditions := filters(x.query)
	if x.memory.exact {
		conditions = append(conditions, equal("model", x.model.Fingerprint()))
	}
	s := query{where: and(conditions...), how: x.nearVector(), limit: n}
	if x.query.Rank == memory.RankSeed {
		return x.highest(ctx, s, n)
	}
	found, keys, err := x.inTenants(ctx, x.query, s)
	if err != nil {
		return nil, fmt.Errorf("compare vectors: %w", err)
	}
	list := scored(found, keys)
	slices.SortStableFunc(list, func(a, b memory.Scored) int { return cmp.Compare(b.Cosine, a.Cosine) })
	return list[:min(n, len(list))], nil
}

// highest finds those with the highest scores of cosine and importance. Nothing
// that was not read can have a higher one than its cosine, which is at most the
// last that was read, and the importance of 1 make.
func (x *index) highest(ctx context.Context, s query, n int) ([]memory.Scored, error) {
	const seedCosine, seedImportance = 0.7, 0.3
	s.fields = "importance"
	for s.limit = 4 * n; ; s.limit = min(4*s.limit, mostResults) {
		found, keys, err := x.inTenants(ctx, x.query, s)
		if err != nil {
			return nil, fmt.Errorf("compare vectors: %w", err)
		}
		list, scores, lowest := scored(found, keys), map[int64]float64{}, 1.0
		for i, o := range list {
			scores[o.Key] = seedCosine*o.Cosine + seedImportance*found[i].Importance
			lowest = min(lowest, o.Cosine)
		}
		slices.SortStableFunc(list, func(a, b memory.Scored) int { return cmp.Compare(scores[b.Key], scores[a.Key]) })
		if len(list) < s.limit || s.limit == mostResults || scores[list[n-1].Key] >= seedCosine*lowest+seedImportance {
			return list[:min(n, len(list))], nil
		}
	}
}

// scored are the cosines of what was found.
func scored(found []object, keys []int64) []memory.Scored {
	list := make([]memory.Scored, len(found))
	for i, o := range found {
		list[i].Key = keys[i]
		if o.Additional.Distance != nil {
			list[i].Cosine = 1 - *o.Additional.Distance
		}
	}
	return list
}

// Cosines compares some records.
func (x *index) Cosines(ctx context.Context, keys []int64) (map[int64]float64, error) {
	cosines := map[int64]float64{}
	err := x.eachPart(ctx, keys, query{how: x.nearVector(), fields: "_additional{id distance}"}, func(o object) error {
		if o.Additional.Distance != nil {
			cosines[x.keys[o.Additional.ID]] = 1 - *o.Additional.Distance
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("compare vectors: %w", err)
	}
	return cosines, nil
}

// part is some rows of a tenant.
type part struct {
	tenant string
	ids    []string
}

// eachPart searches among some rows only, and hands out what was found, one
// after another.
func (x *index) eachPart(ctx context.Context, keys []int64, s query, fn func(object) error) error {
	byTenant := map[string][]string{}
	for _, key := range keys {
		r := x.row(key)
		byTenant[r.tenant] = append(byTenant[r.tenant], r.id)
	}
	var parts []part
	for _, tenant := range x.tenants {
		for ids := range slices.Chunk(byTenant[tenant], idsAtOnce) {
			parts = append(parts, part{tenant, ids})
		}
	}
	lists, err := each(ctx, parts, func(ctx context.Context, p part) ([]object, error) {
		own := s
		own.class, own.tenant, own.where, own.limit = x.memory.class(recordsClass), p.tenant, anyOf("id", p.ids), len(p.ids)
		return x.readers(p.tenant).find(ctx, own)
	})
	for _, list := range lists {
		for _, o := range list {
			if err == nil {
				err = fn(o)
			}
		}
	}
	return err
}

// Read reads records, and leaves out those that were forgotten: the node that
// is asked may have been away.
func (x *index) Read(ctx context.Context, keys []int64) (list []memory.Found, err error) {
	err = x.eachPart(ctx, keys, query{fields: "host record _additional{id}"}, func(o object) error {
		f, err := foundOf(o)
		f.Key = x.keys[o.Additional.ID]
		list = append(list, f)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read records: %w", err)
	}
	return x.remembered(ctx, list)
}

// confirm leaves out hits that are gone: the node that found them may lag behind
// the others. A hit stays if as many nodes find it as make a majority of the
// replicas; else a majority is asked.
func (m *Memory) confirm(ctx context.Context, hits []memory.Hit) ([]memory.Hit, error) {
	if m.replicas == 1 || len(hits) == 0 {
		return hits, nil
	}
	idOf := func(h memory.Hit) string { return objectID("record", h.Host, h.ID) }
	ids := map[string][]string{}
	for _, h := range hits {
		ids[tenantOf(h.Agent)] = append(ids[tenantOf(h.Agent)], idOf(h))
	}
	finders, err := m.finders(ctx, ids)
	if err != nil {
		return nil, err
	}
	there, err := each(ctx, hits, func(ctx context.Context, h memory.Hit) (bool, error) {
		if finders[idOf(h)] > m.replicas/2 && len(m.address.nodes) <= m.replicas {
			return true, nil
		}
		_, err := m.one(ctx, tenantOf(h.Agent), idOf(h))
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

// one asks a majority for an object of records.
func (m *Memory) one(ctx context.Context, tenant, id string) (object, error) {
	return m.read(ctx, tenant, id, quorum)
}

func (m *Memory) read(ctx context.Context, tenant, id, level string) (object, error) {
	var o struct {
		Properties object `json:"properties"`
	}
	err := m.client.ask(ctx, question{method: http.MethodGet, path: "/v1/objects/" + m.class(recordsClass) + "/" + id + "?tenant=" + tenant + "&consistency_level=" + level, into: &o, may404: true})
	return o.Properties, err
}

func foundOf(o object) (f memory.Found, err error) {
	f.Host = o.Host
	return f, json.Unmarshal([]byte(o.Record), &f.Record)
}

// remembered leaves out what was forgotten.
func (x *index) remembered(ctx context.Context, list []memory.Found) ([]memory.Found, error) {
	ids := make([]string, len(list))
	for i, f := range list {
		ids[i] = f.ID
	}
	buried, err := x.nodes.buried(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("look what was forgotten: %w", err)
	}
	return slices.DeleteFunc(list, func(f memory.Found) bool { return buried[f.ID] }), nil
}

// Span asks every tenant.
func (x *index) Span(ctx context.Context) (first, last int64, err error) {
	spans, err := each(ctx, x.tenants, func(ctx context.Context, tenant string) (aggregate, error) {
		list, _, err := x.readers(tenant).counts(ctx, []query{{class: x.memory.class(recordsClass), tenant: tenant, fields: " created_at{minimum maximum}"}})
		if err != nil {
			return aggregate{}, err
		}
		return list[0], nil
	})
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

// Neighbors returns what stands at most n places before and after a hit, on the
// host that remembers it.
func (m *Memory) Neighbors(ctx context.Context, h memory.Hit, n int) (near memory.Neighborhood, err error) {
	if n < 1 || h.Position < 0 {
		return near, nil
	}
	where := and(equal("host", h.Host), equal("runtime", h.Runtime), equal("session", h.Session), equal("category", h.Category),
		number("position", "GreaterThanEqual", int64(max(0, h.Position-n))), number("position", "LessThanEqual", int64(h.Position+n)), number("position", "NotEqual", int64(h.Position)))
	found, err := m.majority(ctx).find(ctx, query{class: m.class(recordsClass), tenant: tenantOf(h.Agent), where: where, limit: mostResults, fields: "host record _additional{id}"})
	if err != nil {
		return near, fmt.Errorf("read what stands around a hit: %w", err)
	}
	var list []memory.Found
	for _, o := range found {
		f, err := foundOf(o)
		if err != nil {
			return near, fmt.Errorf("read what stands around a hit: %w", err)
		}
		list = append(list, f)
	}
	if list, err = (&index{memory: m, nodes: m.majority(ctx)}).remembered(ctx, list); err != nil {
		return near, err
	}
	here := func(f memory.Found) int { // those of the same archive first
		if f.Archive == h.Archive {
			return 0
		}
		return 1
	}
	slices.SortFunc(list, func(a, b memory.Found) int {
		return cmp.Or(cmp.Compare(a.Position, b.Position), cmp.Compare(here(a), here(b)), strings.Compare(a.ID, b.ID))
	})
	last := -1
	for _, f := range list {
		switch {
		case f.Position == last:
		case f.Position < h.Position:
			near.Before = append(near.Before, f.Record)
		default:
			near.After = append(near.After, f.Record)
		}
		last = f.Position
	}
	return near, nil
}

// Fact is what a hit says as a fact. It has no kind if it is none.
func (m *Memory) Fact(ctx context.Context, h memory.Hit) (f memory.Fact, err error) {
	o, err := m.one(ctx, tenantOf(h.Agent), objectID("record", h.Host, h.ID))
	if errors.Is(err, errAbsent) {
		return f, nil // it was forgotten a moment ago
	}
	var said remote.FactDetails
	if err == nil && o.Details != "" {
		err = json.Unmarshal([]byte(o.Details), &said)
	}
	if err != nil {
		return f, fmt.Errorf("read a fact: %w", err)
	}
	f.Record, f.Kind, f.Successor = h.Record, o.Kind, o.Successor
	said.Complete(&f)
	return f, nil
}

// Sessions lists at most n sessions whose ids begin with a text, in order, the
// one that has this id first.
func (m *Memory) Sessions(ctx context.Context, begin string, n int) (ids []string, err error) {
	tenants, err := m.tenants(ctx)
	if err != nil {
		return nil, fmt.Errorf("look for a session: %w", err)
	}
	nodes := m.majority(ctx)
	for where := equal("session", begin); len(ids) < n; {
		lists, err := each(ctx, tenants, func(ctx context.Context, tenant string) ([]object, error) {
			return nodes.find(ctx, query{class: m.class(recordsClass), tenant: tenant, where: where, limit: 1, fields: "session _additional{id}"})
		})
		if err != nil {
			return nil, fmt.Errorf("look for a session: %w", err)
		}
		before := len(ids)
		for _, o := range slices.Concat(lists...) {
			if strings.HasPrefix(o.Session, begin) && !slices.Contains(ids, o.Session) {
				ids = append(ids, o.Session)
			}
		}
		if len(ids) == before && strings.Contains(where, "And") {
			break
		}
		where = and(text("session", "GreaterThanEqual", quoted(begin)), text("session", "LessThan", quoted(begin+"\U0010FFFF")))
		for _, id := range ids {
			where = and(where, text("session", "NotEqual", quoted(id)))
		}
	}
	slices.Sort(ids)
	return ids[:min(n, len(ids))], nil
}
