package weaviate

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
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
	where := and(equal("host", h.Host), equal("runtime", marked(h.Runtime)), equal("session", marked(h.Session)), equal("category", marked(h.Category)),
		number("position", "GreaterThanEqual", int64(max(0, h.Position-n))), number("position", "LessThanEqual", int64(h.Position+n)), number("position", "NotEqual", int64(h.Position)))
	objects, err := nodes.find(ctx, query{class: m.class(recordsClass), tenant: tenantOf(h.Agent), where: where, limit: mostResults, fields: "host record _additional{id}"})
	var list []memory.Found
	for _, o := range objects {
		if err == nil {
			var f memory.Found
			f, err = o.found()
			list = append(list, f)
		}
	}
	if err == nil {
		list, err = nodes.remembered(ctx, list)
	}
	if err != nil {
		return near, fmt.Errorf("read what stands around a hit: %w", err)
	}
	here := func(f memory.Found) int { // those of the same archive first
		if f.Archive == h.Archive {
			return 0
		}
		return 1
	}
	slices.SortFunc(list, func(a, b memory.Found) int {
		return cmp.Or(cmp.Compare(a.Position, b.Position), cmp.Compare(here(a), here(b)), strings.Compare(a.ID, b.ID))
	})
	last := -1
	for _, f := range list {
		switch {
		case f.Position == last:
		case f.Position < h.Position:
			near.Before = append(near.Before, f.Record)
		default:
			near.After = append(near.After, f.Record)
		}
		last = f.Position
	}
	return near, nil
}

// Fact is what a hit says as a fact. It has no kind if it is none.
func (m *Memory) Fact(ctx context.Context, h memory.Hit) (f memory.Fact, err error) {
	o, err := m.read(ctx, tenantOf(h.Agent), objectID("record", h.Host, h.ID), quorum)
	if errors.Is(err, errAbsent) {
		return f, nil // it was forgotten a moment ago
	}
	var said remote.FactDetails
	if err == nil && o.Details != "" {
		err = json.Unmarshal([]byte(o.Details), &said)
	}
	if err != nil {
		return f, fmt.Errorf("read a fact: %w", err)
	}
	f.Record, f.Kind, f.Successor = h.Record, strings.TrimPrefix(o.Kind, marked("")), o.Successor
	said.Complete(&f)
	return f, nil
}

// Sessions lists at most n sessions whose ids begin with a text, in order, the
// one that has this id first.
func (m *Memory) Sessions(ctx context.Context, begin string, n int) (ids []string, err error) {
	nodes := m.majority(ctx)
	agents, err := nodes.names(ctx, "agent")
	begin = marked(begin)
	for where := equal("session", begin); err == nil && len(ids) < n; {
		lists, failed := each(ctx, agents, func(ctx context.Context, a object) ([]object, error) {
			return nodes.find(ctx, query{class: m.class(recordsClass), tenant: tenantOf(a.Name), where: where, limit: 1, fields: "session _additional{id}"})
		})
		before := len(ids)
		for _, o := range slices.Concat(lists...) {
			if id := strings.TrimPrefix(o.Session, marked("")); strings.HasPrefix(o.Session, begin) && !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
		if err = failed; len(ids) == before && strings.Contains(where, "And") {
			break
		}
		where = and(text("session", "GreaterThanEqual", quoted(begin)), text("session", "LessThan", quoted(begin+"\U0010FFFF")))
		for _, id := range ids {
			where = and(where, text("session", "NotEqual", quoted(marked(id))))
		}
	}
	if err != nil {
		return nil, fmt.Errorf("look for a session: %w", err)
	}
	slices.Sort(ids)
	return ids[:min(n, len(ids))], nil
}
