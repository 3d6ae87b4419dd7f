package weaviate

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sessctl/sessctl/pkg/memory/remote"
)

// Verify hands out the records of a host with their digests, as all nodes of
// the address have them. Of what a node has and does not find in all of its indexes
// the digest is another one, and the next push of it stores it anew. What a node
// merely lacks the cluster brings there by itself.
func (m *Memory) Verify(ctx context.Context, host string, fn func(id string, digest int64) error) error {
	if err := m.verify(ctx, host, fn); err != nil {
		return fmt.Errorf("read what is there: %w", err)
	}
	return nil
}

func (m *Memory) verify(ctx context.Context, host string, fn func(id string, digest int64) error) error {
	m.lookAgain()
	r, sound := m.only(m.eachNode(ctx)...), true
	err := pages("", func(begin string) (whole bool, err error) {
		objects, unfound, err := r.page(ctx, remote.Storable(host), startsWith("record_id", begin))
		for _, o := range objects {
			digest, err := strconv.ParseInt(o.Digest, 10, 64)
			if err != nil {
				return false, fmt.Errorf("%w: the digest of record %s is not understood: %w", remote.ErrUnsuitable, o.RecordID, err)
			}
			if unfound[o.Additional.ID] {
				digest, sound = ^digest, false // of nothing that is there for certain
			}
			if err := fn(o.RecordID, digest); err != nil {
				return false, err
			}
		}
		return unfound != nil, err
	})
	if err != nil || !m.isWhole(len(r.nodes)) {
		return err // there may be others
	}
	if m.verified = host; sound {
		return m.settle(ctx, host)
	}
	return nil
}

// page lists what the nodes have of a host, of records whose ids meet a condition,
// ordered by them, and says which of them a node has and does not find in all of its
// indexes; nil if there are too many for a page.
func (r readers) page(ctx context.Context, host, ids string) (objects []object, unfound map[string]bool, err error) {
	objects, err = r.find(ctx, query{class: r.class(recordsClass), where: and(equal("host", host), ids), limit: pageSize, fields: "record_id digest _additional{id}"})
	if err != nil || len(objects) >= pageSize {
		return nil, nil, err
	}
	unfound = map[string]bool{}
	slices.SortFunc(objects, func(a, b object) int { return strings.Compare(a.RecordID, b.RecordID) })
	for _, n := range r.nodes {
		found, err := r.only(n).indexed(ctx, inEveryIndex(host, ids))
		if err != nil {
			return nil, nil, err
		}
		isFound := func(o object) bool { return found[o.Additional.ID].Digest != "" }
		rest := slices.DeleteFunc(slices.Clone(objects), isFound)
		read, err := each(ctx, rest, func(ctx context.Context, o object) (object, error) { return r.read(ctx, n, o.Additional.ID, one) })
		if err != nil {
			return nil, nil, err
		}
		for i, o := range rest { // what the node lacks has no digest
			unfound[o.Additional.ID] = unfound[o.Additional.ID] || read[i].Digest != ""
		}
	}
	return objects, unfound, nil
}

// read reads an object of records from so many of its replicas. One that is not
// there has no digest.
func (c *cluster) read(ctx context.Context, from *client, id, level string) (object, error) {
	var o struct{ Properties object }
	err := from.ask(ctx, question{method: http.MethodGet, path: "/v1/objects/" + c.class(recordsClass) + "/" + id + "?consistency_level=" + level, into: &o, may404: true})
	if errors.Is(err, errAbsent) {
		err = nil
	}
	return o.Properties, err
}

// indexed returns the objects that meet a condition (inEveryIndex), and that the nodes
// find in their other indexes too, by id.
func (r readers) indexed(ctx context.Context, where string) (map[string]object, error) {
	q := query{class: r.class(recordsClass), where: where, limit: mostResults, fields: "record_id digest model _additional{id}", how: bm25([]string{everyTerm})}
	list, err := r.find(ctx, q)
	found, models := map[string]object{}, map[string]string{}
	for _, o := range list {
		found[o.Additional.ID] = o
		models[o.Model] = o.Additional.ID
	}
	delete(models, marked(""))
	for model, id := range models {
		near, err := r.near(ctx, q, id, vectorName(strings.TrimPrefix(model, marked(""))))
		if err != nil {
			return nil, err
		}
		maps.DeleteFunc(found, func(id string, o object) bool { return o.Model == model && !near[id] })
	}
	return found, err
}

// near are the objects that a search finds by the vector of one of them.
func (r readers) near(ctx context.Context, q query, id, name string) (map[string]bool, error) {
	it, err := r.find(ctx, query{class: q.class, where: equal("id", id), limit: 1, fields: "_additional{vectors{" + name + "}}"})
	if err != nil || len(it) == 0 {
		return nil, err
	}
	q.how, q.fields = nearVector(string(it[0].Additional.Vectors[name]), name), "_additional{id}"
	list, err := r.find(ctx, q)
	near := map[string]bool{}
	for _, o := range list {
		near[o.Additional.ID] = true
	}
	return near, err
}

// settle notes that no record of a host is in doubt any more.
func (m *Memory) settle(ctx context.Context, host string) error {
	o, err := m.host(ctx, host)
	if err != nil || o.Doubt == 0 {
		return err
	}
	m.countedAt = time.Time{}
	o.Kind, o.Doubt = "host", 0
	o.Stamp++
	return m.note(ctx, objectID("host", host), o)
}
