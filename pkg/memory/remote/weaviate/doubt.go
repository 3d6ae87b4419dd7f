package weaviate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"
)

// What was under way when a node went away, and what a node that answers does not
// find in all of its indexes (indexed.go), is in doubt. The ids are kept in the
// cluster, and when all nodes are back the next push of that host stores those
// records anew.

// finders counts the nodes that find each object of some tenants. A node that has
// gone counts for none.
func (m *Memory) finders(ctx context.Context, ids map[string][]string) (map[string]int, error) {
	sets, err := m.onNodes(ctx, func(ctx context.Context, node *Memory) (map[string]bool, error) {
		set := map[string]bool{}
		for tenant, list := range ids {
			found, err := node.find(ctx, query{class: m.class(recordsClass), tenant: tenant, where: anyOf("id", list), limit: len(list), fields: "_additional{id}"})
			if err != nil {
				return nil, err
			}
			for _, o := range found {
				set[o.Additional.ID] = true
			}
		}
		return set, nil
	})
	finders := map[string]int{}
	for _, set := range sets {
		for id := range set {
			finders[id]++
		}
	}
	return finders, err
}

// writeWatched writes objects of a host and looks whether a node went away
// meanwhile.
func (m *Memory) writeWatched(ctx context.Context, host string, objects []stored, ids []string) error {
	if m.replicas == 1 {
		return m.write(ctx, objects)
	}
	if m.alive == nil {
		m.alive = m.answering(ctx)
	}
	written := m.write(ctx, objects)
	before := m.alive
	m.client.forget()
	m.alive = m.answering(ctx)
	for node := range before {
		if !m.alive[node] {
			m.alive = nil // it is looked at again before the next batch
			if err := m.noteDoubt(ctx, host, ids); written == nil {
				return err
			}
			break
		}
	}
	return written
}

// hasGone reports whether a node that answered after the last batch was written
// does not now.
func (m *Memory) hasGone(ctx context.Context) bool {
	m.client.forget()
	now := m.answering(ctx)
	for node := range m.alive {
		if !now[node] {
			m.alive = nil // it is looked at again before the next batch
			return true
		}
	}
	return false
}

// doubtKind is the kind of the names that are lists of records in doubt; they
// are named after their host.
const doubtKind = "doubt"

// noteDoubt keeps which records are in doubt.
func (m *Memory) noteDoubt(ctx context.Context, host string, ids []string) error {
	text, err := json.Marshal(ids)
	if err == nil {
		err = m.write(ctx, []stored{{Class: m.class(namesClass), ID: objectID(append([]string{doubtKind, host}, ids...)...), Properties: map[string]any{"name": host, "kind": doubtKind, "stamp": 0, "entry": string(text)}}})
	}
	if err != nil {
		return fmt.Errorf("note what a node may not find: %w", err)
	}
	return nil
}

// readDoubts reads which records are in doubt, by host, if all nodes answer:
// as long as one is away nothing can be done about them.
func (m *Memory) readDoubts(ctx context.Context) (map[string]map[string]bool, error) {
	doubts := map[string]map[string]bool{}
	if m.replicas == 1 || len(m.answering(ctx)) < len(m.address.nodes) {
		return doubts, nil
	}
	lists, err := m.names(ctx, doubtKind)
	if err != nil {
		return nil, err
	}
	for _, o := range lists {
		var ids []string
		if err := json.Unmarshal([]byte(o.Entry), &ids); err != nil {
			return nil, fmt.Errorf("read what was being stored while a node went away: %w", err)
		}
		if doubts[o.Name] == nil {
			doubts[o.Name] = map[string]bool{}
		}
		for _, id := range ids {
			doubts[o.Name][id] = true
		}
	}
	return doubts, nil
}

// settle forgets doubts about records of a host, of all hosts if it is "": they
// were stored anew or dropped.
func (m *Memory) settle(ctx context.Context, host string, ids []string) error {
	lists, err := m.names(ctx, doubtKind)
	if err != nil {
		return err
	}
	done := map[string]bool{}
	for _, id := range ids {
		done[id] = true
	}
	for _, o := range lists {
		var before []string
		if host != "" && o.Name != host || json.Unmarshal([]byte(o.Entry), &before) != nil {
			continue
		}
		left := slices.DeleteFunc(slices.Clone(before), func(id string) bool { return done[id] })
		switch {
		case len(left) == len(before):
		case len(left) == 0:
			err = m.client.ask(ctx, question{method: http.MethodDelete, path: m.namePath(o.Additional.ID), may404: true, slow: true})
		default:
			text, _ := json.Marshal(left) // texts can always be written
			err = m.write(ctx, []stored{{Class: m.class(namesClass), ID: o.Additional.ID, Properties: map[string]any{"name": o.Name, "kind": doubtKind, "stamp": 0, "entry": string(text)}}})
		}
		if err != nil && !errors.Is(err, errAbsent) {
			return fmt.Errorf("settle what was in doubt: %w", err)
		}
	}
	return nil
}

// again are the objects of a batch that are in doubt.
func (p *push) again() (list []stored) {
	for i, id := range p.ids {
		if p.memory.unindexed[id] {
			list = append(list, p.objects[i])
		}
	}
	return list
}

// writeAnew stores objects so that every node makes all of its indexes of them
// again. Those without a vector are dropped first.
func (p *push) writeAnew(ctx context.Context, objects []stored) error {
	var bare []string
	for _, o := range objects {
		if len(o.Vectors) == 0 {
			bare = append(bare, p.records[o.ID])
		}
	}
	if err := p.drop(ctx, bare, 0); err != nil { // what is written next is later, by the clock of a node
		return err
	}
	objects = anew(objects)
	for _, o := range objects {
		p.last[o.Tenant] = o
	}
	p.stamp = time.Now().UnixMilli()
	return p.memory.writeWatched(ctx, p.host, append(objects, p.memory.hostObject(p.host, p.identity, p.stamp)), recordIDs(p.records, objects))
}

// seal stores one object of each tenant once more, as it is. A node takes that
// for nothing new, but writes out what it knows of vectors: of a batch it does so
// before it has looked at them (Weaviate 1.35), so that a node that is killed
// would not find those of the last one. As long as all nodes answer it is not done
// before all have done it.
func (p *push) seal(ctx context.Context) error {
	for tenant, o := range p.last {
		if err := p.sealWith(ctx, []stored{o}); err != nil {
			return err
		}
		delete(p.last, tenant)
	}
	return nil
}

func (p *push) sealWith(ctx context.Context, last []stored) error {
	if len(p.memory.alive) == len(p.memory.address.nodes) && p.memory.writeOn(ctx, everyReplica, last) == nil {
		return nil
	}
	return p.memory.write(ctx, last) // a node has gone
}

func recordIDs(records map[string]string, objects []stored) []string {
	ids := make([]string, len(objects))
	for i, o := range objects {
		ids[i] = records[o.ID]
	}
	return ids
}

// drop drops records of the agents of the batch.
func (p *push) drop(ctx context.Context, ids []string, at int64) error {
	if len(ids) == 0 {
		return nil
	}
	tenants := map[string]bool{}
	for _, o := range p.objects {
		tenants[o.Tenant] = true
	}
	_, err := p.memory.dropRecords(ctx, slices.Sorted(maps.Keys(tenants)), removal{p.host, ids, at})
	return err
}
