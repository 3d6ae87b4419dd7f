package weaviate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"github.com/sessctl/sessctl/pkg/memory/remote"
)

// A node that is killed while it stores a batch may come back with records that
// it has and does not find: they are in its store of objects and not in all of
// its indexes (seen with 1.35.2), and the cluster sees no difference. So what was
// under way when a node went away is in doubt. The ids are kept in the cluster,
// and when all nodes are back the next push of that host stores those records
// anew.

// answering are the nodes of the address that answer.
func (m *Memory) answering(ctx context.Context) map[string]bool {
	ready, _ := each(ctx, m.address.nodes, func(ctx context.Context, node string) (bool, error) { // none returns an error
		ctx, cancel := context.WithTimeout(ctx, soon)
		defer cancel()
		return m.client.only(node).ask(ctx, question{method: http.MethodGet, path: "/v1/.well-known/ready"}) == nil, nil
	})
	nodes := map[string]bool{}
	for i, node := range m.address.nodes {
		if ready[i] {
			nodes[node] = true
		}
	}
	return nodes
}

// eachNode is each node of the address that answers, as if there were no other.
func (m *Memory) eachNode(ctx context.Context) (nodes []*Memory) {
	answering := m.answering(ctx)
	for _, node := range m.address.nodes {
		if answering[node] {
			own := *m
			own.client = m.client.only(node)
			nodes = append(nodes, &own)
		}
	}
	return nodes
}

// finders counts the nodes that find each object of some tenants as it should
// be. A node that has gone counts for none.
func (m *Memory) finders(ctx context.Context, ids map[string][]string, right func(object) bool) (map[string]int, error) {
	finders := map[string]int{}
	for _, node := range m.eachNode(ctx) {
		for tenant, list := range ids {
			found, err := node.find(ctx, query{class: m.class(recordsClass), tenant: tenant, where: anyOf("id", list), limit: len(list), fields: "digest _additional{id}"})
			if errors.Is(err, remote.ErrUnreachable) && ctx.Err() == nil {
				break
			}
			if err != nil {
				return nil, err
			}
			for _, o := range found {
				if right(o) {
					finders[o.Additional.ID]++
				}
			}
		}
	}
	return finders, nil
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

// doubtKind is the kind of the names that are lists of records in doubt; they
// are named host, space, first record.
const doubtKind = "doubt"

// noteDoubt keeps which records are in doubt.
func (m *Memory) noteDoubt(ctx context.Context, host string, ids []string) error {
	text, err := json.Marshal(ids)
	if err == nil {
		err = m.write(ctx, []stored{{Class: m.class(namesClass), ID: objectID(doubtKind, host, ids[0]), Properties: map[string]any{"name": host, "kind": doubtKind, "stamp": 0, "entry": string(text)}}})
	}
	if err != nil {
		return fmt.Errorf("note what was being stored while a node went away: %w", err)
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
			err = m.client.ask(ctx, question{method: http.MethodDelete, path: "/v1/objects/" + m.class(namesClass) + "/" + o.Additional.ID + "?consistency_level=" + quorum, may404: true, slow: true})
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

// again drops the records of a batch that are in doubt, so that they are stored
// anew, and returns their ids.
func (p *push) again(ctx context.Context) (ids []string, err error) {
	for _, id := range p.ids {
		if p.memory.unindexed[id] {
			ids = append(ids, id)
		}
	}
	return ids, p.drop(ctx, ids)
}

// drop drops records of the agents of the batch.
func (p *push) drop(ctx context.Context, ids []string) error {
	tenants := map[string]bool{}
	for _, o := range p.objects {
		tenants[o.Tenant] = true
	}
	_, err := p.memory.dropRecords(ctx, slices.Sorted(maps.Keys(tenants)), p.host, ids)
	return err
}
