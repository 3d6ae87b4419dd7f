package weaviate

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/sessctl/sessctl/pkg/memory"
	"github.com/sessctl/sessctl/pkg/memory/remote"
)

// What a search finds is what one replica finds, and that may lack what was
// written while its node was away. What was written is found by a majority of
// the replicas, so of any majority at least one finds it. Whatever must not be
// missed is therefore asked of a majority, each node by itself, and put
// together.

// cluster is all nodes of an address.
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
func (c *cluster) eachNode(ctx context.Context) (nodes []*client) {
	k := c.client
	k.mu.Lock()
	defer k.mu.Unlock()
	if time.Since(k.looked) > fresh || !slices.Contains(k.answering, true) {
		k.answering, _ = each(ctx, k.nodes, func(ctx context.Context, node string) (bool, error) { // none returns an error
			ctx, cancel := context.WithTimeout(ctx, soon)
			defer cancel()
			return k.only(node).ask(ctx, question{method: http.MethodGet, path: "/v1/.well-known/ready"}) == nil, nil
		})
		k.looked = time.Now()
	}
	for i, node := range k.nodes {
		if k.answering[i] {
			nodes = append(nodes, k.only(node))
		}
	}
	return nodes
}

// lookAgain has it asked anew which nodes answer.
func (c *cluster) lookAgain() {
	c.client.mu.Lock()
	defer c.client.mu.Unlock()
	c.client.looked = time.Time{}
}

// isWhole reports whether so many nodes are all that there are.
func (c *cluster) isWhole(nodes int) bool {
	return nodes == len(c.client.nodes) && nodes >= c.replicas
}

// readers are nodes that are asked together, each by itself.
type readers struct {
	*cluster

	nodes []*client
	whole bool // what a majority has they find
}

// only asks some nodes, whatever the others have.
func (c *cluster) only(nodes ...*client) readers { return readers{c, nodes, false} }

// majority are as many nodes as together find whatever a majority of the
// replicas has. Where there are more nodes than replicas, all of them are: not
// each has a replica.
func (c *cluster) majority(ctx context.Context) readers {
	all, most := len(c.client.nodes), c.replicas/2+1
	r := readers{c, nil, true}
	if c.replicas > 1 {
		r.nodes = c.eachNode(ctx)
		r.whole = len(r.nodes) >= most
	}
	switch {
	case len(r.nodes) == 0:
		r.nodes = []*client{c.client} // which says why, if none answers
	case all > c.replicas:
		r.whole = all-len(r.nodes) < most
	case r.whole:
		r.nodes = r.nodes[:most]
	}
	return r
}

// names are the hosts, the models, the agents with vectors or the bids that were noted,
// in order.
func (r readers) names(ctx context.Context, kind string) ([]object, error) {
	found, err := r.find(ctx, query{class: r.class(namesClass), where: equal("kind", kind), limit: mostResults, fields: "name stamp entry doubt _additional{id}"})
	slices.SortFunc(found, func(a, b object) int { return cmp.Compare(a.Name, b.Name) })
	return found, err
}

// buried returns which of the records were forgotten.
func (r readers) buried(ctx context.Context, ids []string) (map[string]bool, error) {
	buried := map[string]bool{}
	for part := range slices.Chunk(ids, idsAtOnce) {
		found, err := r.find(ctx, query{class: r.class(tombstonesClass), where: anyOf("record_id", part), limit: mostResults, fields: "record_id _additional{id}"})
		if err != nil {
			return nil, err
		}
		for _, o := range found {
			buried[o.RecordID] = true
		}
	}
	return buried, nil
}

// remembered are the records of objects, but for those that were forgotten: the
// node that found them may have been away. One that cannot be read costs the others
// nothing.
func (r readers) remembered(ctx context.Context, objects []object) (list []memory.Found, err error) {
	var ids []string
	for _, o := range objects {
		if f, ok := o.found(); ok {
			list, ids = append(list, f), append(ids, f.ID)
		}
	}
	buried, err := r.buried(ctx, ids)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(list, func(f memory.Found) bool { return buried[f.ID] }), nil
}

// onNodes runs fn for each node that answers. A node that has gone meanwhile is
// left out.
func (c *cluster) onNodes(ctx context.Context, fn func(context.Context, readers) (map[string]bool, error)) (sets []map[string]bool, err error) {
	sets, err = each(ctx, c.eachNode(ctx), func(ctx context.Context, n *client) (map[string]bool, error) {
		set, err := fn(ctx, c.only(n))
		if errors.Is(err, remote.ErrUnreachable) && ctx.Err() == nil {
			return nil, nil
		}
		return set, err
	})
	return slices.DeleteFunc(sets, func(set map[string]bool) bool { return set == nil }), err
}

// health asks how many nodes there are, and how many of them are healthy. That
// takes a while after one was lost: no question waits for it. A node that is away
// is not in the list soon after (Weaviate 1.35), so there are at least as many as
// the address names and as keep each record.
func (c *cluster) health(ctx context.Context) (healthy, all int, err error) {
	var list struct{ Nodes []struct{ Status string } }
	err = c.client.ask(ctx, question{method: http.MethodGet, path: "/v1/nodes", into: &list, slow: true})
	for _, n := range list.Nodes {
		if n.Status == "HEALTHY" {
			healthy++
		}
	}
	return healthy, max(len(list.Nodes), len(c.client.nodes), c.replicas), err
}
