package weaviate

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/sessctl/sessctl/pkg/memory"
	"github.com/sessctl/sessctl/pkg/memory/remote"
)

// Options say how to connect.
type Options struct {
	// URL is weaviate+https://NODE[:PORT][,NODE...][/NAME][?replicas=N&ca=FILE].
	// All nodes are named: when one does not answer the next one is asked. NAME
	// begins the names of the collections, Sessctl if there is none; N nodes
	// keep each record, 3 if nothing is said; FILE has certificates to trust.
	URL string
	// Key is sent with every request, "" for none.
	Key string
	// Exact has vectors compared one by one while there are fewer than 100,000
	// of an agent.
	Exact bool
	// SetUp makes the collections.
	SetUp bool
}

// Memory is a connection to a shared memory.
type Memory struct {
	client   *client
	address  address
	exact    bool
	version  string // of the server
	replicas int    // of each record
	identity string
	vectors  map[string]bool // names of vectors that the collection has
	known    map[string]bool // agents and models that were registered

	last      count   // that was made, if nothing was changed since
	estimated float64 // from how many records with a word on their number is estimated

	alive     map[string]bool // nodes that answered after the last batch, nil if that is not known
	unindexed map[string]bool // records that a node may have and not find
}

// Open connects to a shared memory. Errors are those of package remote.
func Open(ctx context.Context, o Options) (*Memory, error) {
	a, err := parseAddress(o.URL)
	if err != nil {
		return nil, err
	}
	m := &Memory{client: newClient(a, o.Key), address: a, exact: o.Exact, vectors: map[string]bool{}, known: map[string]bool{}, unindexed: map[string]bool{}, estimated: estimateFrom}
	if err := m.look(ctx); err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	if o.SetUp {
		if err := m.setUp(ctx); err != nil {
			return nil, err
		}
	}
	return m, m.check(ctx)
}

// look asks which version runs.
func (m *Memory) look(ctx context.Context) error {
	var meta struct {
		Version string `json:"version"`
	}
	if err := m.client.ask(ctx, question{method: http.MethodGet, path: "/v1/meta", into: &meta}); err != nil {
		return err
	}
	m.version = meta.Version
	if remote.IsOlder(m.version, leastVersion) {
		return fmt.Errorf("%w: Weaviate %s is too old: version %s or later is needed", remote.ErrUnsuitable, m.version, leastVersion)
	}
	return nil
}

// health asks how many nodes there are, and how many of them are healthy. That
// takes a while after one was lost: no question waits for it. A node that is away
// is not in the list soon after (Weaviate 1.35), so there are at least as many as
// the address names and as keep each record.
func (m *Memory) health(ctx context.Context) (healthy, all int, err error) {
	var list struct {
		Nodes []struct {
			Status string `json:"status"`
		} `json:"nodes"`
	}
	err = m.client.ask(ctx, question{method: http.MethodGet, path: "/v1/nodes", into: &list, slow: true})
	for _, n := range list.Nodes {
		if n.Status == "HEALTHY" {
			healthy++
		}
	}
	return healthy, max(len(list.Nodes), len(m.address.nodes), m.replicas), err
}

// drained waits until the nodes have indexed the vectors that they have queued, as
// they do with ASYNC_INDEXING. It does not wait for ever for a node that is busy.
func (m *Memory) drained(ctx context.Context) error {
	const longest, pause = 2 * time.Minute, 200 * time.Millisecond
	for began := time.Now(); time.Since(began) < longest; {
		var list struct {
			Nodes []struct {
				Shards []struct {
					Queue int `json:"vectorQueueLength"`
				} `json:"shards"`
			} `json:"nodes"`
		}
		if err := m.client.ask(ctx, question{method: http.MethodGet, path: "/v1/nodes/" + m.class(recordsClass) + "?output=verbose", into: &list, slow: true}); err != nil {
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
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", remote.ErrUnreachable, ctx.Err())
		}
	}
	return nil
}

// Close ends the connection.
func (m *Memory) Close() error {
	m.client.close()
	return nil
}

// Address says where the cluster is, without a key.
func (m *Memory) Address() string { return m.address.String() }

// Server is the identity of the shared memory.
func (m *Memory) Server() string { return m.identity }

// Index has nothing to do: vectors are indexed when they are stored.
func (m *Memory) Index(context.Context, memory.VectorModel) (made int, err error) { return 0, nil }
