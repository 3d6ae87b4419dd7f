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
	m.countedAt = time.Time{}
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
		if err := m.writeTombstones(ctx, tombstones, ids); err != nil {
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
// finds them. If one does not they are written as other objects: what a node has
// already it does not index again.
func (c *cluster) writeTombstones(ctx context.Context, tombstones []stored, ids []string) error {
	for try := 0; ; try++ {
		if err := c.write(ctx, tombstones); err != nil || c.replicas == 1 || try == len(pauses) {
			return err
		}
		sets, err := c.onNodes(ctx, func(ctx context.Context, node *cluster) (map[string]bool, error) {
			return readers{nodes: []*cluster{node}}.buried(ctx, ids)
		})
		if err != nil || !slices.ContainsFunc(sets, func(set map[string]bool) bool { return len(set) < len(ids) }) {
			return err
		}
		if err := wait(ctx, pauses[try]); err != nil { // it may be a little later than the others
			return err
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
func forGood() int64 {
	const clockSkew = 24 * time.Hour // by which the clocks of hosts may differ
	return time.Now().Add(clockSkew).UnixMilli()
}

// dropEverywhere removes records of whatever agent. The leader says which agents
// there are: none may be left out.
func (c *cluster) dropEverywhere(ctx context.Context, r removal) (removed int, err error) {
	if len(r.ids) == 0 {
		return 0, nil
	}
	var list []struct {
		Name string `json:"name"`
	}
	if err := c.client.ask(ctx, question{method: http.MethodGet, path: "/v1/schema/" + c.class(recordsClass) + "/tenants", into: &list, slow: true}); err != nil {
		return 0, err
	}
	tenants := make([]string, len(list))
	for i, t := range list {
		tenants[i] = t.Name
	}
	return c.drop(ctx, tenants, r)
}

// drop removes records of some agents.
func (c *cluster) drop(ctx context.Context, tenants []string, r removal) (removed int, err error) {
	for part := range slices.Chunk(r.ids, idsAtOnce) {
		counts, err := each(ctx, tenants, func(ctx context.Context, tenant string) (int, error) {
			return c.dropOf(ctx, tenant, removal{r.host, part, r.at})
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

// dropOf removes records of an agent. Until none is left: a reply that was lost
// counts nothing.
func (c *cluster) dropOf(ctx context.Context, tenant string, r removal) (removed int, err error) {
	where := map[string]any{"path": []string{"record_id"}, "operator": "ContainsAny", "valueTextArray": r.ids}
	if r.host != "" {
		where = map[string]any{"operator": "And", "operands": []any{where, map[string]any{"path": []string{"host"}, "operator": "Equal", "valueText": remote.Storable(r.host)}}}
	}
	body := map[string]any{"match": map[string]any{"class": c.class(recordsClass), "where": where}, "output": "minimal"}
	if r.at != 0 {
		body["deletionTimeUnixMilli"] = r.at
	}
	for {
		var reply struct {
			Results struct {
				Matches    int `json:"matches"`
				Successful int `json:"successful"`
				Failed     int `json:"failed"`
			} `json:"results"`
		}
		err := c.client.ask(ctx, question{method: http.MethodDelete, path: "/v1/batch/objects?consistency_level=" + quorum + "&tenant=" + tenant, body: body, into: &reply, slow: true})
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

// Forgotten lists the tombstones if there are others than at a mark, which is their
// number: none is ever removed.
func (m *Memory) Forgotten(ctx context.Context, since string) (list []memory.Forgotten, next string, err error) {
	nodes := m.majority(ctx)
	counted, err := nodes.counts(ctx, []query{{class: m.class(tombstonesClass)}})
	if err != nil {
		return nil, "", fmt.Errorf("read what was forgotten: %w", err)
	}
	total := counted[0].Meta.Count
	if next = strconv.Itoa(total); next == since {
		return nil, since, nil
	}
	known := map[string]bool{}
	err = pages(total, func(begin string) (whole bool, err error) {
		found, err := nodes.find(ctx, query{class: m.class(tombstonesClass), where: startsWith("record_id", begin), limit: mostResults, fields: "record_id entry _additional{id}"})
		for _, o := range found {
			var f memory.Forgotten
			if err := json.Unmarshal([]byte(o.Entry), &f); err != nil {
				return false, err
			}
			if !known[f.ID] {
				known[f.ID] = true
				list = append(list, f)
			}
		}
		return len(found) < mostResults, err
	})
	if err != nil {
		return nil, "", fmt.Errorf("read what was forgotten: %w", err)
	}
	slices.SortFunc(list, func(a, b memory.Forgotten) int { return cmp.Or(cmp.Compare(a.At, b.At), strings.Compare(a.ID, b.ID)) })
	return list, next, err
}

// pages reads more objects than a search may return, about so many: by the
// beginnings of their record's ids, which are hexadecimal. read reports whether
// there were not too many for it.
func pages(total int, read func(begin string) (whole bool, err error)) error {
	const size = 2000 // about
	begins := []string{""}
	for n := total; n > size; n /= 16 {
		begins = longer(begins)
	}
	for len(begins) > 0 {
		whole, err := read(begins[0])
		if err != nil {
			return err
		}
		if whole {
			begins = begins[1:]
		} else {
			begins = append(longer(begins[:1]), begins[1:]...)
		}
	}
	return nil
}

// longer are beginnings with one digit more.
func longer(begins []string) (list []string) {
	for _, begin := range begins {
		for _, digit := range "0123456789abcdef" {
			list = append(list, begin+string(digit))
		}
	}
	return list
}

// Verify hands out the records of a host with their digests, as all nodes of
// the address have them. Of what a node has and does not find in all of its indexes
// the digest is another one, and the next push of it on this connection stores it
// anew. What a node merely lacks the cluster brings there by itself.
func (m *Memory) Verify(ctx context.Context, host string, fn func(id string, digest int64) error) error {
	if err := m.verify(ctx, host, fn); err != nil {
		return fmt.Errorf("read what is there: %w", err)
	}
	return nil
}

func (m *Memory) verify(ctx context.Context, host string, fn func(id string, digest int64) error) error {
	counts, err := m.Count(ctx)
	if err != nil {
		return err
	}
	agents, err := m.majority(ctx).names(ctx, "agent")
	if err != nil {
		return err
	}
	models, err := m.majority(ctx).find(ctx, query{class: m.class(modelsClass), limit: mostResults, fields: "record_id length _additional{id}"})
	if err != nil {
		return err
	}
	dims := map[string]int{}
	for _, o := range models {
		dims[o.RecordID] = int(o.Length)
	}
	m.client.forget()
	nodes := m.eachNode(ctx)
	m.lacking = map[string]bool{}
	l := listing{nodes, agents, host, dims}
	err = pages(counts.Of(host), func(begin string) (whole bool, err error) {
		p, whole, err := l.page(ctx, begin)
		if err != nil || !whole {
			return false, err
		}
		for _, node := range nodes {
			if err := node.noteUnfound(ctx, host, p.objects, p.records, m.lacking); err != nil {
				return false, err
			}
		}
		for _, o := range p.objects {
			id := p.records[o.ID]
			digest, err := strconv.ParseInt(p.digests[id], 10, 64)
			if err != nil {
				return false, err
			}
			if m.lacking[id] {
				digest = ^digest // of nothing that is there for certain
			}
			if err := fn(id, digest); err != nil {
				return false, err
			}
		}
		return true, nil
	})
	switch {
	case err != nil || !m.isWhole(len(nodes)):
		m.lacking = nil // there may be others
	case len(m.lacking) == 0:
		return m.settle(ctx, host)
	}
	return err
}

// listing is what is listed: what some nodes have of a host, of all agents. dims are
// the lengths of vectors, by the fingerprint of their model.
type listing struct {
	nodes  []*cluster
	agents []object
	host   string
	dims   map[string]int
}

// page is what was found, ordered by record.
type page struct {
	objects []stored          // as far as their indexes are concerned
	records map[string]string // ids of records, by id of object
	digests map[string]string // by id of record
}

// page lists the records whose ids begin so. They may be too many for that: not
// whole.
func (l listing) page(ctx context.Context, begin string) (p page, whole bool, err error) {
	p = page{records: map[string]string{}, digests: map[string]string{}}
	for _, node := range l.nodes {
		lists, err := each(ctx, l.agents, func(ctx context.Context, a object) ([]object, error) {
			return node.find(ctx, query{class: node.class(recordsClass), tenant: tenantOf(a.Name), where: and(equal("host", remote.Storable(l.host)), startsWith("record_id", begin)), limit: mostResults, fields: "record_id digest model _additional{id}"})
		})
		if err != nil {
			return p, false, err
		}
		for i, list := range lists {
			if len(list) == mostResults {
				return p, false, nil
			}
			for _, o := range list {
				if p.records[o.Additional.ID] == "" {
					p.records[o.Additional.ID], p.digests[o.RecordID] = o.RecordID, o.Digest
					p.objects = append(p.objects, indexedAs(tenantOf(l.agents[i].Name), o, l.dims))
				}
			}
		}
	}
	slices.SortFunc(p.objects, func(a, b stored) int { return strings.Compare(p.records[a.ID], p.records[b.ID]) })
	return p, true, nil
}

// settle notes that no record of a host is in doubt any more.
func (m *Memory) settle(ctx context.Context, host string) error {
	hosts, err := m.majority(ctx).names(ctx, "host")
	for _, h := range hosts {
		if h.Name == remote.Storable(host) && h.Doubt > 0 && err == nil {
			m.countedAt, m.doubted = time.Time{}, false
			err = m.write(ctx, []stored{m.name(objectID("host", host), noted{kind: "host", name: host, identity: h.Entry, stamp: int64(h.Stamp) + 1})})
		}
	}
	return err
}

// indexedAs is an object as far as its indexes are concerned.
func indexedAs(tenant string, o object, dims map[string]int) stored {
	s := stored{ID: o.Additional.ID, Tenant: tenant}
	if fingerprint := strings.TrimPrefix(o.Model, marked("")); dims[fingerprint] > 0 {
		s.Vectors = map[string][]float32{vectorName(fingerprint): make([]float32, dims[fingerprint])}
	}
	return s
}

// noteUnfound adds to lacking what the node has and does not find in all of its
// indexes.
func (c *cluster) noteUnfound(ctx context.Context, host string, objects []stored, records map[string]string, lacking map[string]bool) error {
	found, err := c.indexed(ctx, host, objects, records, func(object) bool { return true })
	if err != nil {
		return err
	}
	unfound := slices.DeleteFunc(slices.Clone(objects), func(o stored) bool { return found[o.ID] })
	has, err := each(ctx, unfound, func(ctx context.Context, o stored) (has bool, err error) {
		_, err = c.read(ctx, o.Tenant, o.ID, "ONE")
		if errors.Is(err, errAbsent) {
			return false, nil
		}
		return true, err
	})
	if err != nil {
		return err
	}
	for i, o := range unfound {
		if has[i] {
			lacking[records[o.ID]] = true
		}
	}
	return nil
}
