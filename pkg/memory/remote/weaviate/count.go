package weaviate

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/sessctl/sessctl/pkg/memory/remote"
)

// count is what was counted, and when.
type count struct {
	remote.Counts
	at time.Time
}

// countHolds is for how long what was counted is not counted again. To count
// records is to read them: a node takes 20 to 80 us for each.
const countHolds = 10 * time.Second

// Count counts what each host has. Every node of the address is asked, and the
// least that any of them finds is what counts, without what is in doubt: so a
// push notices that one lags behind or does not find what it has. It may be what
// was counted a moment ago, if this connection has changed nothing since.
func (m *Memory) Count(ctx context.Context) (remote.Counts, error) {
	if time.Since(m.last.at) < countHolds {
		c := m.last.Counts
		c.Hosts = slices.Clone(c.Hosts)
		return c, nil
	}
	c, err := m.countNow(ctx)
	if err != nil {
		return c, fmt.Errorf("count: %w", err)
	}
	m.last = count{c, time.Now()}
	c.Hosts = slices.Clone(c.Hosts)
	return c, nil
}

func (m *Memory) countNow(ctx context.Context) (c remote.Counts, err error) {
	c = remote.Counts{Server: m.identity, Hosts: []remote.HostCount{}, Schema: schemaVersion, Words: "the cluster's BM25"}
	healthy, all, err := m.health(ctx)
	c.Engine = fmt.Sprintf("Weaviate %s, %d of %d nodes", m.version, healthy, all)
	var hosts []object
	if err == nil {
		hosts, err = m.names(ctx, "host")
	}
	var tenants []string
	if err == nil {
		tenants, err = m.tenants(ctx)
	}
	var buried []aggregate
	if err == nil {
		buried, _, err = m.majority(ctx).counts(ctx, []query{{class: m.class(tombstonesClass)}})
	}
	if err != nil {
		return c, err
	}
	c.Tombstones = buried[0].Meta.Count
	names := make([]string, len(hosts))
	for i, h := range hosts {
		names[i] = h.Name
		c.Hosts = append(c.Hosts, remote.HostCount{Host: h.Name, Records: -1, LastPush: int64(h.Stamp), Memory: h.Entry})
	}
	doubts, err := m.readDoubts(ctx)
	if err != nil {
		return c, err
	}
	found, err := each(ctx, m.eachNode(ctx), func(ctx context.Context, node *Memory) ([]int, error) { return node.countAll(ctx, tenants, names) })
	if err != nil {
		return c, err
	}
	for _, ofNode := range found {
		for i, n := range ofNode {
			if h := &c.Hosts[i]; h.Records < 0 || n < h.Records {
				h.Records = n
			}
		}
	}
	for i := range c.Hosts {
		h := &c.Hosts[i]
		h.Records = max(0, h.Records-len(doubts[h.Host]))
	}
	return c, nil
}

// countAll counts what hosts have of all agents.
func (m *Memory) countAll(ctx context.Context, tenants, hosts []string) ([]int, error) {
	all := make([]int, len(hosts))
	counts, err := each(ctx, tenants, func(ctx context.Context, tenant string) ([]int, error) { return m.countHosts(ctx, tenant, hosts) })
	for _, ofTenant := range counts {
		for i, n := range ofTenant {
			all[i] += n
		}
	}
	return all, err
}

// countHosts counts what hosts have of an agent.
func (m *Memory) countHosts(ctx context.Context, tenant string, hosts []string) ([]int, error) {
	queries := make([]query, len(hosts))
	for i, host := range hosts {
		queries[i] = query{class: m.class(recordsClass), tenant: tenant, where: counted(host)}
	}
	counted, err := m.counts(ctx, queries)
	numbers := make([]int, len(hosts))
	for i, a := range counted {
		numbers[i] = a.Meta.Count
	}
	return numbers, err
}
