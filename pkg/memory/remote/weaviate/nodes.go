package weaviate

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/sessctl/sessctl/pkg/memory/remote"
)

// What a search finds is what one replica finds, and that may lack what was
// written while its node was away. What was written is found by a majority of
// the replicas, so of any majority at least one finds it. Whatever must not be
// missed is therefore asked of a majority, each node by itself, and put
// together.

// fresh is for how long it is known which nodes answer.
const fresh = time.Second

// answering are the nodes of the address that answer, or did a moment ago.
func (m *Memory) answering(ctx context.Context) map[string]bool {
	c := m.client
	c.mu.Lock()
	known, at := c.answering, c.looked
	c.mu.Unlock()
	if len(known) > 0 && time.Since(at) < fresh {
		return known
	}
	nodes := m.ready(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answering, c.looked = nodes, time.Now()
	return nodes
}

// ready asks every node of the address.
func (m *Memory) ready(ctx context.Context) map[string]bool {
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

// readers are nodes that are asked together.
type readers struct {
	nodes []*Memory
	whole bool // what a majority has they find
}

// majority are as many nodes as together find whatever a majority of the
// replicas has. Where there are more nodes than replicas, all of them are: not
// each has a replica. The node that answered last is among them.
func (m *Memory) majority(ctx context.Context) readers {
	if m.replicas == 1 {
		return readers{[]*Memory{m}, true}
	}
	nodes, most := m.eachNode(ctx), m.replicas/2+1
	missing := len(m.address.nodes) - len(nodes)
	if len(nodes) == 0 {
		return readers{[]*Memory{m}, false} // which says why
	}
	if len(m.address.nodes) > m.replicas {
		return readers{nodes, missing < most}
	}
	m.client.mu.Lock()
	first := m.address.nodes[m.client.first]
	m.client.mu.Unlock()
	for i, n := range nodes {
		if n.client.nodes[0] == first {
			nodes[0], nodes[i] = nodes[i], nodes[0]
		}
	}
	return readers{nodes[:min(most, len(nodes))], len(nodes) >= most}
}

// find searches on each of the nodes and returns each object that any of them
// has found once, those of the first node first; of two that differ in their stamps
// the later one.
func (r readers) find(ctx context.Context, q query) ([]object, error) {
	if len(r.nodes) == 1 {
		return r.nodes[0].find(ctx, q)
	}
	lists, err := each(ctx, r.nodes, func(ctx context.Context, n *Memory) ([]object, error) { return n.find(ctx, q) })
	var all []object
	places := map[string]int{}
	for _, found := range lists {
		for _, o := range found {
			at, seen := places[o.Additional.ID]
			switch {
			case !seen:
				places[o.Additional.ID] = len(all)
				all = append(all, o)
			case o.Stamp > all[at].Stamp:
				all[at] = o
			}
		}
	}
	return all, err
}

// counts counts on each of the nodes; the most that any of them finds counts.
// same reports whether all find the same.
func (r readers) counts(ctx context.Context, queries []query) (list []aggregate, same bool, err error) {
	lists, err := each(ctx, r.nodes, func(ctx context.Context, n *Memory) ([]aggregate, error) { return n.counts(ctx, queries) })
	if err != nil {
		return nil, false, err
	}
	list, same = lists[0], true
	for _, other := range lists[1:] {
		for i, a := range other {
			same = same && a == list[i]
			if a.Meta.Count > list[i].Meta.Count {
				list[i] = a
			}
		}
	}
	return list, same, nil
}

// onNodes runs fn for each node that answers. A node that has gone meanwhile is
// left out.
func (m *Memory) onNodes(ctx context.Context, fn func(context.Context, *Memory) (map[string]bool, error)) (sets []map[string]bool, err error) {
	var mu sync.Mutex
	_, err = each(ctx, m.eachNode(ctx), func(ctx context.Context, n *Memory) (struct{}, error) {
		set, err := fn(ctx, n)
		if errors.Is(err, remote.ErrUnreachable) && ctx.Err() == nil {
			return struct{}{}, nil
		}
		mu.Lock()
		defer mu.Unlock()
		sets = append(sets, set)
		return struct{}{}, err
	})
	return sets, err
}
