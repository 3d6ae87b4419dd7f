package weaviate

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sessctl/sessctl/pkg/memory"
	"github.com/sessctl/sessctl/pkg/memory/remote"
)

// idsAtOnce is how many records are named in one request.
const idsAtOnce = 250

// Bury forgets records of every host: the tombstones first, so that no push
// stores again what is being removed.
func (m *Memory) Bury(ctx context.Context, host string, forgotten []memory.Forgotten) (removed int, err error) {
	if len(forgotten) == 0 {
		return 0, nil
	}
	now := time.Now().UnixMilli()
	for part := range slices.Chunk(forgotten, idsAtOnce) {
		tombstones, ids := make([]stored, len(part)), make([]string, len(part))
		for i, f := range part {
			entry, err := json.Marshal(f)
			if err != nil {
				return removed, fmt.Errorf("forget: %w", err)
			}
			ids[i] = f.ID
			tombstones[i] = stored{Class: m.class(tombstonesClass), ID: objectID("tombstone", f.ID), Properties: map[string]any{"record_id": f.ID, "host": remote.Storable(host), "stamp": now, "entry": string(entry)}}
		}
		if err := m.writeTombstones(ctx, tombstones); err != nil {
			return removed, fmt.Errorf("forget: %w", err)
		}
		n, err := m.dropEverywhere(ctx, removal{ids: ids, at: forGood()})
		removed += n
		if err != nil {
			return removed, fmt.Errorf("forget: %w", err)
		}
	}
	return removed, m.introduce(ctx, host)
}

// writeTombstones writes tombstones and looks whether every node that answers
// finds them. One that does not gets them as other objects: what a node has
// already it does not index again.
func (m *Memory) writeTombstones(ctx context.Context, tombstones []stored) error {
	for try := 0; ; try++ {
		if err := m.write(ctx, tombstones); err != nil || m.replicas == 1 || try == len(pauses) {
			return err
		}
		ids := make([]string, len(tombstones))
		for i, o := range tombstones {
			ids[i], _ = o.Properties["record_id"].(string)
		}
		sets, err := m.onNodes(ctx, func(ctx context.Context, node *Memory) (map[string]bool, error) {
			return readers{nodes: []*Memory{node}}.buried(ctx, ids)
		})
		if err != nil {
			return err
		}
		tombstones = slices.DeleteFunc(tombstones, func(o stored) bool {
			id, _ := o.Properties["record_id"].(string)
			return !slices.ContainsFunc(sets, func(set map[string]bool) bool { return !set[id] })
		})
		if len(tombstones) == 0 {
			return nil
		}
		select { // it may be a little later than the others
		case <-time.After(pauses[try]):
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", remote.ErrUnreachable, ctx.Err())
		}
		for i := range tombstones {
			tombstones[i].ID = objectID("tombstone", tombstones[i].ID)
		}
	}
}

// removal is which records are removed.
type removal struct {
	host string // "" for those of all hosts
	ids  []string
	// at is when, in epoch milliseconds. A copy that was stored before, on a node
	// that is away now, is removed when that node is back. With 0 it is the other
	// way round: to Weaviate such a removal is older than any copy, and the nodes
	// get the record from the one that was away (TestForgottenWhileAway).
	at int64
}

// forGood is when something is removed that nobody stores again: later than
// anything was stored, whichever clock that was by.
func forGood() int64 { return time.Now().UnixMilli() + clockSkew }

// dropEverywhere removes records of whatever agent. The leader says which agents
// there are: none may be left out.
func (m *Memory) dropEverywhere(ctx context.Context, r removal) (removed int, err error) {
	if len(r.ids) == 0 {
		return 0, nil
	}
	var list []struct {
		Name string `json:"name"`
	}
	if err := m.client.ask(ctx, question{method: http.MethodGet, path: "/v1/schema/" + m.class(recordsClass) + "/tenants", into: &list, slow: true}); err != nil {
		return 0, err
	}
	tenants := make([]string, len(list))
	for i, t := range list {
		tenants[i] = t.Name
	}
	if removed, err = m.dropRecords(ctx, tenants, r); err != nil || m.replicas == 1 {
		return removed, err
	}
	return removed, m.settle(ctx, r.host, r.ids)
}

// dropRecords removes records of some agents.
func (m *Memory) dropRecords(ctx context.Context, tenants []string, r removal) (removed int, err error) {
	m.last = count{}
	for part := range slices.Chunk(r.ids, idsAtOnce) {
		counts, err := each(ctx, tenants, func(ctx context.Context, tenant string) (int, error) {
			return m.dropOf(ctx, tenant, removal{r.host, part, r.at})
		})
		for _, n := range counts {
			removed += n
		}
		if err != nil {
			return removed, err
		}
	}
	return removed, nil
}

// deletion is what is to be deleted, and since when, as Weaviate wants it.
type deletion struct {
	Match  match  `json:"match"`
	At     int64  `json:"deletionTimeUnixMilli,omitempty"`
	Output string `json:"output"`
}

type match struct {
	Class string `json:"class"`
	Where any    `json:"where"`
}

// dropOf removes records of an agent. Until none is left: a reply that was lost
// counts nothing.
func (m *Memory) dropOf(ctx context.Context, tenant string, r removal) (removed int, err error) {
	where := map[string]any{"path": []string{"record_id"}, "operator": "ContainsAny", "valueTextArray": r.ids}
	if r.host != "" {
		where = map[string]any{"operator": "And", "operands": []any{where, map[string]any{"path": []string{"host"}, "operator": "Equal", "valueText": remote.Storable(r.host)}}}
	}
	for {
		var reply struct {
			Results struct {
				Matches    int `json:"matches"`
				Successful int `json:"successful"`
				Failed     int `json:"failed"`
			} `json:"results"`
		}
		err := m.client.ask(ctx, question{method: http.MethodDelete, path: "/v1/batch/objects?consistency_level=" + quorum + "&tenant=" + tenant,
			body: deletion{match{m.class(recordsClass), where}, r.at, "minimal"}, into: &reply, slow: true})
		if err != nil {
			return removed, err
		}
		removed += reply.Results.Successful
		if reply.Results.Failed > 0 {
			return removed, fmt.Errorf("%w: %d records could not be removed from a majority of their replicas", remote.ErrUnreachable, reply.Results.Failed)
		}
		if reply.Results.Matches < mostResults {
			return removed, nil
		}
	}
}

// buried returns which of the records were forgotten.
func (m *Memory) buried(ctx context.Context, ids []string) (map[string]bool, error) {
	return m.majority(ctx).buried(ctx, ids)
}

func (r readers) buried(ctx context.Context, ids []string) (map[string]bool, error) {
	buried := map[string]bool{}
	for part := range slices.Chunk(ids, idsAtOnce) {
		found, err := r.find(ctx, query{class: r.nodes[0].class(tombstonesClass), where: anyOf("record_id", part), limit: mostResults, fields: "record_id _additional{id}"})
		if err != nil {
			return nil, err
		}
		for _, o := range found {
			buried[o.RecordID] = true
		}
	}
	return buried, nil
}

// tenants are those of all agents.
func (m *Memory) tenants(ctx context.Context) ([]string, error) {
	agents, err := m.names(ctx, "agent")
	return tenantsOf(agents), err
}

func tenantsOf(agents []object) []string {
	tenants := make([]string, len(agents))
	for i, a := range agents {
		tenants[i] = tenantOf(a.Name)
	}
	return tenants
}

// names are the hosts, the agents or the doubts that were noted, in order.
func (m *Memory) names(ctx context.Context, kind string) ([]object, error) {
	return m.majority(ctx).names(ctx, kind)
}

func (r readers) names(ctx context.Context, kind string) ([]object, error) {
	found, err := r.find(ctx, query{class: r.nodes[0].class(namesClass), where: equal("kind", kind), limit: mostResults, fields: "name stamp entry _additional{id}"})
	slices.SortFunc(found, func(a, b object) int { return cmp.Compare(a.Name, b.Name) })
	return found, err
}

// mark says up to where tombstones were read: how many there were, and how many
// of them were older than a time. Those from then on are read again, because
// the clocks of hosts differ; if there are others before it than there were,
// all are.
type mark struct {
	All    int   `json:"all"`
	Before int   `json:"before"`
	Time   int64 `json:"time"`
}

// clockSkew is by how much the clocks of hosts may differ, in milliseconds.
const clockSkew = 24 * 60 * 60 * 1000

// Forgotten lists the tombstones that a mark does not cover.
func (m *Memory) Forgotten(ctx context.Context, since string) (list []memory.Forgotten, next string, err error) {
	var last, now mark
	_ = json.Unmarshal([]byte(since), &last) // of one that is not understood all are read
	class := m.class(tombstonesClass)
	before := query{class: class, where: number("stamp", "LessThan", last.Time)}
	counted, err := m.counts(ctx, []query{{class: class, fields: " stamp{maximum}"}, before})
	if err != nil {
		return nil, "", fmt.Errorf("read what was forgotten: %w", err)
	}
	now = mark{All: counted[0].Meta.Count, Time: int64(counted[0].Stamp.Maximum) - clockSkew}
	if since != "" && now.All == last.All {
		return nil, since, nil
	}
	where := ""
	if counted[1].Meta.Count == last.Before {
		where = number("stamp", "GreaterThanEqual", last.Time)
	}
	err = m.list(ctx, listing{nodes: m.majority(ctx).nodes, class: class, tenants: []string{""}, where: where, total: now.All, fields: "record_id entry _additional{id}"}, func(o object) error {
		var f memory.Forgotten
		if err := json.Unmarshal([]byte(o.Entry), &f); err != nil {
			return err
		}
		list = append(list, f)
		return nil
	})
	if err == nil {
		counted, err = m.counts(ctx, []query{{class: class, where: number("stamp", "LessThan", now.Time)}})
	}
	if err != nil {
		return nil, "", fmt.Errorf("read what was forgotten: %w", err)
	}
	now.Before = counted[0].Meta.Count
	text, err := json.Marshal(now)
	slices.SortFunc(list, func(a, b memory.Forgotten) int { return cmp.Or(cmp.Compare(a.At, b.At), strings.Compare(a.ID, b.ID)) })
	return list, string(text), err
}

// Verify hands out the records of a host with their digests, as all nodes of
// the address have them. Of what a node has and does not find, or may not find,
// the digest is another one, and the next push of it on this connection stores
// it anew. What a node merely lacks the cluster brings
// there by itself.
func (m *Memory) Verify(ctx context.Context, host string, fn func(id string, digest int64) error) error {
	tenants, err := m.tenants(ctx)
	var counts remote.Counts
	if err == nil {
		counts, err = m.Count(ctx)
	}
	doubts := map[string]map[string]bool{}
	if err == nil {
		doubts, err = m.readDoubts(ctx)
	}
	maps.Copy(m.unindexed, doubts[host])
	if err != nil {
		return fmt.Errorf("read what is there: %w", err)
	}
	err = m.list(ctx, listing{nodes: m.eachNode(ctx), class: m.class(recordsClass), tenants: tenants, where: equal("host", remote.Storable(host)), total: counts.Of(host), fields: "record_id digest host runtime session category kind model created_at position length _additional{id}"}, func(o object) error {
		digest, err := strconv.ParseInt(o.Digest, 10, 64)
		if err != nil {
			return err
		}
		if m.unindexed[o.RecordID] {
			digest = ^digest // of nothing that is there for certain
		}
		return fn(o.RecordID, digest)
	})
	if err != nil {
		return fmt.Errorf("read what is there: %w", err)
	}
	return nil
}

// listing is a search for more objects than a search may return: they are read
// by the beginnings of their record's ids, which are hexadecimal.
type listing struct {
	nodes   []*Memory // each of them is asked
	class   string
	tenants []string
	where   string
	total   int // about so many there are
	fields  string
}

// pageSize is about how many objects are read at once.
const pageSize = 2000

// list hands out what is found, ordered by record id.
func (m *Memory) list(ctx context.Context, l listing, fn func(object) error) error {
	digits := 0
	for n := l.total; n > pageSize; n /= 16 {
		digits++
	}
	return m.listFrom(ctx, l, start{"", digits}, fn)
}

// start is how ids begin, and how many digits more are fixed before anything is
// read.
type start struct {
	text   string
	digits int
}

func (m *Memory) listFrom(ctx context.Context, l listing, s start, fn func(object) error) error {
	if s.digits == 0 {
		found, whole, err := m.listPage(ctx, l, s.text)
		if err != nil {
			return err
		}
		if whole {
			for _, o := range found {
				if err := fn(o); err != nil {
					return err
				}
			}
			return nil
		}
		s.digits = 1
	}
	for _, digit := range "0123456789abcdef" {
		if err := m.listFrom(ctx, l, start{s.text + string(digit), s.digits - 1}, fn); err != nil {
			return err
		}
	}
	return nil
}

// listPage reads those whose ids begin so. They may be too many for that: not
// whole.
func (m *Memory) listPage(ctx context.Context, l listing, begin string) (list []object, whole bool, err error) {
	where := l.where
	if begin != "" {
		where = and(where, startsWith("record_id", begin))
	}
	p := page{}
	for _, node := range l.nodes {
		pages, err := each(ctx, l.tenants, func(ctx context.Context, tenant string) ([]object, error) {
			return node.find(ctx, query{class: l.class, tenant: tenant, where: where, limit: mostResults, fields: l.fields})
		})
		if err != nil {
			return nil, false, err
		}
		for i, found := range pages {
			if len(found) == mostResults {
				return nil, false, nil
			}
			for _, o := range found {
				p[o.RecordID] = placed{o, l.tenants[i]}
			}
		}
	}
	if l.class == m.class(recordsClass) && m.replicas > 1 {
		if err := m.mark(ctx, l.nodes, p); err != nil {
			return nil, false, err
		}
	}
	for _, o := range p {
		list = append(list, o.object)
	}
	slices.SortFunc(list, func(a, b object) int { return strings.Compare(a.RecordID, b.RecordID) })
	return list, true, nil
}

// page is what nodes found, by record.
type page map[string]placed

// placed is an object and where it is.
type placed struct {
	object
	tenant string
}

// indexedAs is the object as far as its indexes are concerned.
func (m *Memory) indexedAs(p placed, models map[string]int) stored {
	o := stored{ID: p.Additional.ID, Tenant: p.tenant, Properties: map[string]any{"record_id": p.RecordID, "host": p.Host, "runtime": p.Runtime,
		"session": p.Session, "category": p.Category, "kind": p.Kind, "model": p.Model, "created_at": int64(p.CreatedAt), "position": int(p.Position)}}
	if n := models[p.Model]; n > 0 {
		o.Vectors = map[string][]float32{vectorName(p.Model): make([]float32, n)}
	}
	return o
}

// mark notes what a node has and does not find in all of its indexes.
func (m *Memory) mark(ctx context.Context, nodes []*Memory, p page) error {
	models, err := m.lengths(ctx)
	if err != nil {
		return err
	}
	var objects []stored
	for _, o := range p {
		objects = append(objects, m.indexedAs(o, models))
	}
	for _, node := range nodes {
		found, err := node.indexed(ctx, objects, func(object) bool { return true })
		if err != nil {
			return err
		}
		lacking := slices.DeleteFunc(slices.Clone(objects), func(o stored) bool { return found[o.ID] })
		has, err := each(ctx, lacking, func(ctx context.Context, o stored) (bool, error) {
			_, err := node.read(ctx, o.Tenant, o.ID, "ONE")
			if errors.Is(err, errAbsent) {
				return false, nil
			}
			return true, err
		})
		if err != nil {
			return err
		}
		for i, o := range lacking {
			if id, _ := o.Properties["record_id"].(string); has[i] {
				m.unindexed[id] = true
			}
		}
	}
	return nil
}

// lengths are how long the vectors of each model are, by its fingerprint.
func (m *Memory) lengths(ctx context.Context) (map[string]int, error) {
	models, err := m.majority(ctx).find(ctx, query{class: m.class(modelsClass), limit: mostResults, fields: "record_id length _additional{id}"})
	lengths := map[string]int{}
	for _, o := range models {
		lengths[o.RecordID] = int(o.Length)
	}
	return lengths, err
}
