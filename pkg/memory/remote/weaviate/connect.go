package weaviate

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
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
	// Exact has vectors compared one by one while fewer than 100,000 pass the
	// filters of a question.
	Exact bool
	// SetUp makes the collections.
	SetUp bool
}

// Memory is a connection to a shared memory.
type Memory struct {
	cluster

	exact    bool
	version  string // of the server
	identity string
	vectors  map[string]bool // names of vectors that the collection has
	known    map[string]bool // agents and models that were registered
	doubted  bool            // a node may have records of the host and not find them
	verified string          // host whose records were looked at on all nodes, on this connection

	counted   remote.Counts // if nothing was changed since
	countedAt time.Time
}

// Open connects to a shared memory. Errors are those of package remote.
func Open(ctx context.Context, o Options) (*Memory, error) {
	a, err := parseAddress(o.URL)
	if err != nil {
		return nil, err
	}
	m := &Memory{cluster: cluster{client: newClient(a, o.Key), address: a}, exact: o.Exact, vectors: map[string]bool{}, known: map[string]bool{}}
	var meta struct{ Version string }
	if err := m.client.ask(ctx, question{method: http.MethodGet, path: "/v1/meta", into: &meta}); err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	if m.version = meta.Version; remote.IsOlder(m.version, leastVersion) {
		return nil, fmt.Errorf("connect: %w: Weaviate %s is too old: version %s or later is needed", remote.ErrUnsuitable, m.version, leastVersion)
	}
	if o.SetUp {
		if err := m.setUp(ctx); err != nil {
			return nil, err
		}
	}
	return m, m.check(ctx)
}

// Close ends the connection.
func (m *Memory) Close() error {
	m.client.http.CloseIdleConnections()
	return nil
}

// Address says where the cluster is, without a key.
func (m *Memory) Address() string { return m.address.String() }

// Server is the identity of the shared memory.
func (m *Memory) Server() string { return m.identity }

// Index has nothing to do: vectors are indexed when they are stored.
func (m *Memory) Index(context.Context, memory.VectorModel) (made int, err error) { return 0, nil }

// countHolds is for how long what was counted is not counted again. To count
// records is to read them: a node takes 20 to 80 us for each.
const countHolds = 10 * time.Second

// Count counts what each host has. Every node of the address is asked, and the
// least that any of them finds in all of its indexes is what counts, and one less
// of a host that is in doubt: so a push notices that a node lags behind or does not
// find what it has. It may be what was counted a moment ago, if this connection has
// changed nothing since.
func (m *Memory) Count(ctx context.Context) (c remote.Counts, err error) {
	if time.Since(m.countedAt) > countHolds {
		if m.counted, err = m.count(ctx); err != nil {
			return m.counted, fmt.Errorf("count: %w", err)
		}
		m.countedAt = time.Now()
	}
	return m.counted, nil
}

func (m *Memory) count(ctx context.Context) (c remote.Counts, err error) {
	c = remote.Counts{Server: m.identity, Hosts: []remote.HostCount{}, Schema: schemaVersion, Words: "the cluster's BM25"}
	healthy, all, err := m.health(ctx)
	c.Engine = fmt.Sprintf("Weaviate %s, %d of %d nodes", m.version, healthy, all)
	if err != nil {
		return c, err
	}
	nodes := m.majority(ctx)
	hosts, err := nodes.names(ctx, "host")
	buried, uncounted := nodes.counts(ctx, []query{{class: m.class(tombstonesClass)}})
	if err := cmp.Or(err, uncounted); err != nil {
		return c, err
	}
	c.Tombstones = buried[0]
	c.Hosts, err = each(ctx, hosts, func(ctx context.Context, h object) (remote.HostCount, error) {
		n, err := m.countHost(ctx, h)
		return remote.HostCount{Host: h.Name, Records: n, LastPush: int64(h.Stamp), Memory: h.Entry}, err
	})
	return c, err
}

// countHost is the least that any node finds of a host.
func (m *Memory) countHost(ctx context.Context, h object) (least int, err error) {
	query := query{class: m.class(recordsClass), where: inEveryIndex(h.Name, "")}
	found, err := each(ctx, m.eachNode(ctx), func(ctx context.Context, node *client) (int, error) { return m.only(node).count(ctx, query) })
	if err != nil || len(found) == 0 {
		return 0, err
	}
	if least = slices.Min(found); least > 0 && h.Doubt > 0 && m.isWhole(len(found)) {
		least--
	}
	return least, nil
}
