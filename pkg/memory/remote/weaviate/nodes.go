package weaviate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/sessctl/sessctl/pkg/memory/remote"
)

// What a search finds is what one replica finds, and that may lack what was
// written while its node was away. What was written is found by a majority of
// the replicas, so of any majority at least one finds it. Whatever must not be
// missed is therefore asked of a majority, each node by itself, and put
// together.

// cluster is all nodes of an address, or one of them as if there were no other.
type cluster struct {
	client   *client
	address  address
	replicas int // of each record
}

// class is the name of a collection.
func (c *cluster) class(suffix string) string { return c.address.name + suffix }

// fresh is for how long it is known which nodes answer.
const fresh = time.Second

// eachNode is each node of the address that answers, or did a moment ago.
func (c *cluster) eachNode(ctx context.Context) (nodes []*cluster) {
	c.client.mu.Lock()
	answering, at := c.client.answering, c.client.looked
	c.client.mu.Unlock()
	if len(answering) == 0 || time.Since(at) > fresh {
		ready, _ := each(ctx, c.address.nodes, func(ctx context.Context, node string) (bool, error) { // none returns an error
			ctx, cancel := context.WithTimeout(ctx, soon)
			defer cancel()
			return c.client.only(node).ask(ctx, question{method: http.MethodGet, path: "/v1/.well-known/ready"}) == nil, nil
		})
		answering = map[string]bool{}
		for i, node := range c.address.nodes {
			answering[node] = ready[i]
		}
		c.client.mu.Lock()
		c.client.answering, c.client.looked = answering, time.Now()
		c.client.mu.Unlock()
	}
	for _, node := range c.address.nodes {
		if answering[node] {
			nodes = append(nodes, &cluster{c.client.only(node), c.address, c.replicas})
		}
	}
	return nodes
}

// isWhole reports whether so many nodes are all that there are.
func (c *cluster) isWhole(nodes int) bool {
	return nodes == len(c.address.nodes) && nodes >= c.replicas
}

// readers are nodes that are asked together.
type readers struct {
	nodes []*cluster
	whole bool // what a majority has they find
}

// majority are as many nodes as together find whatever a majority of the
// replicas has. Where there are more nodes than replicas, all of them are: not
// each has a replica. The node that answered last is among them.
func (c *cluster) majority(ctx context.Context) readers {
	if c.replicas == 1 {
		return readers{[]*cluster{c}, true}
	}
	nodes, most := c.eachNode(ctx), c.replicas/2+1
	missing := len(c.address.nodes) - len(nodes)
	if len(nodes) == 0 {
		return readers{[]*cluster{c}, false} // which says why
	}
	if len(c.address.nodes) > c.replicas {
		return readers{nodes, missing < most}
	}
	c.client.mu.Lock()
	first := c.address.nodes[c.client.first]
	c.client.mu.Unlock()
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
func (r readers) find(ctx context.Context, q query) (all []object, err error) {
	lists, err := each(ctx, r.nodes, func(ctx context.Context, n *cluster) ([]object, error) { return n.find(ctx, q) })
	places := map[string]int{}
	for _, o := range slices.Concat(lists...) {
		at, seen := places[o.Additional.ID]
		switch {
		case !seen:
			places[o.Additional.ID] = len(all)
			all = append(all, o)
		case o.Stamp > all[at].Stamp:
			all[at] = o
		}
	}
	return all, err
}

// counts counts on each of the nodes; the most that any of them finds counts.
func (r readers) counts(ctx context.Context, queries []query) (list []aggregate, err error) {
	lists, err := each(ctx, r.nodes, func(ctx context.Context, n *cluster) ([]aggregate, error) { return n.counts(ctx, queries) })
	if err != nil {
		return nil, err
	}
	list = lists[0]
	for _, other := range lists[1:] {
		for i, a := range other {
			if a.Meta.Count > list[i].Meta.Count {
				list[i] = a
			}
		}
	}
	return list, nil
}

// names are the hosts, the agents or the bids that were noted, in order.
func (r readers) names(ctx context.Context, kind string) ([]object, error) {
	found, err := r.find(ctx, query{class: r.nodes[0].class(namesClass), where: equal("kind", kind), limit: mostResults, fields: "name stamp entry doubt _additional{id}"})
	slices.SortFunc(found, func(a, b object) int { return cmp.Compare(a.Name, b.Name) })
	return found, err
}

// buried returns which of the records were forgotten.
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

// onNodes runs fn for each node that answers. A node that has gone meanwhile is
// left out.
func (c *cluster) onNodes(ctx context.Context, fn func(context.Context, *cluster) (map[string]bool, error)) (sets []map[string]bool, err error) {
	var mu sync.Mutex
	_, err = each(ctx, c.eachNode(ctx), func(ctx context.Context, n *cluster) (struct{}, error) {
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

// nodeStatus is what a cluster says of its nodes.
type nodeStatus struct {
	Nodes []struct {
		Status string `json:"status"`
		Shards []struct {
			Queue int `json:"vectorQueueLength"`
		} `json:"shards"`
	} `json:"nodes"`
}

// health asks how many nodes there are, and how many of them are healthy. That
// takes a while after one was lost: no question waits for it. A node that is away
// is not in the list soon after (Weaviate 1.35), so there are at least as many as
// the address names and as keep each record.
func (c *cluster) health(ctx context.Context) (healthy, all int, err error) {
	var list nodeStatus
	err = c.client.ask(ctx, question{method: http.MethodGet, path: "/v1/nodes", into: &list, slow: true})
	for _, n := range list.Nodes {
		if n.Status == "HEALTHY" {
			healthy++
		}
	}
	return healthy, max(len(list.Nodes), len(c.address.nodes), c.replicas), err
}

// drained waits until the nodes have indexed the vectors that they have queued, as
// they do with ASYNC_INDEXING. It does not wait for ever for a node that is busy.
func (c *cluster) drained(ctx context.Context) error {
	const longest, pause = 2 * time.Minute, 200 * time.Millisecond
	for began := time.Now(); time.Since(began) < longest; {
		var list nodeStatus
		if err := c.client.ask(ctx, question{method: http.MethodGet, path: "/v1/nodes/" + c.class(recordsClass) + "?output=verbose", into: &list, slow: true}); err != nil {
			return fmt.Errorf("look at the nodes: %w", err)
		}
		queued := 0
		for _, n := range list.Nodes {
			for _, s := range n.Shards {
				queued += s.Queue
			}
		}
		if queued == 0 {
			return nil
		}
		if err := wait(ctx, pause); err != nil {
			return err
		}
	}
	return nil
}

// wait waits for what may be different soon.
func wait(ctx context.Context, pause time.Duration) error {
	select {
	case <-time.After(pause):
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", remote.ErrUnreachable, ctx.Err())
	}
}
