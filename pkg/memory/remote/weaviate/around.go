package weaviate

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/pkg/memory"
	"github.com/sessctl/sessctl/pkg/memory/remote"
)

// Neighbors returns what stands at most n places before and after a hit, on the
// host that remembers it.
func (m *Memory) Neighbors(ctx context.Context, h memory.Hit, n int) (near memory.Neighborhood, err error) {
	if n < 1 || h.Position < 0 {
		return near, nil
	}
	nodes := m.majority(ctx)
	where := and(equal("host", remote.Storable(h.Host)), equal("agent", marked(h.Agent)), equal("runtime", marked(h.Runtime)), equal("session", marked(h.Session)), equal("category", marked(h.Category)),
		number("position", "GreaterThanEqual", int64(max(0, h.Position-n))), number("position", "LessThanEqual", int64(h.Position+n)), number("position", "NotEqual", int64(h.Position)))
	objects, err := nodes.find(ctx, query{class: m.class(recordsClass), where: where, limit: mostResults, fields: "host record _additional{id}"})
	if err != nil {
		return near, fmt.Errorf("read what stands around a hit: %w", err)
	}
	list, err := nodes.remembered(ctx, objects)
	slices.SortFunc(list, func(a, b memory.Found) int {
		if a.Position == b.Position && (a.Archive == h.Archive) != (b.Archive == h.Archive) {
			return map[bool]int{true: -1, false: 1}[a.Archive == h.Archive]
		}
		return cmp.Or(cmp.Compare(a.Position, b.Position), strings.Compare(a.ID, b.ID))
	})
	return remote.Around(h, list), err
}

// Fact is what a hit says as a fact. It has no kind if it is none.
func (m *Memory) Fact(ctx context.Context, h memory.Hit) (f memory.Fact, err error) {
	o, err := m.read(ctx, m.client, objectID("record", h.Host, h.ID), quorum)
	if err != nil || o.Digest == "" {
		return f, err // it was forgotten a moment ago
	}
	f.Record, f.Kind, f.Successor = h.Record, strings.TrimPrefix(o.Kind, marked("")), o.Successor
	return f, remote.DecodeDetails(o.Details, &f)
}

// Sessions lists at most n sessions whose ids begin with a text, in order.
func (m *Memory) Sessions(ctx context.Context, begin string, n int) (ids []string, err error) {
	found, err := m.majority(ctx).search(ctx, "Aggregate", []query{{class: m.class(recordsClass), where: startsWith("session", marked(begin)), how: `groupBy:["session"]`, limit: mostResults, fields: "groupedBy{value}"}})
	for _, o := range found[0] {
		if id := strings.TrimPrefix(o.GroupedBy.Value, marked("")); strings.HasPrefix(id, begin) { // begin may have what stands for any letter
			ids = append(ids, id)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("look for a session: %w", err)
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	return ids[:min(n, len(ids))], nil
}
