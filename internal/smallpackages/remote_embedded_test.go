package smallpackages_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"testing"

	"github.com/sessctl/sessctl/pkg/embed"
	"github.com/sessctl/sessctl/pkg/memory"
	"github.com/sessctl/sessctl/pkg/memory/remote"
	"github.com/sessctl/sessctl/pkg/memory/remote/conformance"
)

// TestRemoteEmbeddedMemoryConforms: what is demanded of a shared memory is what the
// memory of a host does.
func TestRemoteEmbeddedMemoryConforms(t *testing.T) {
	for _, r := range conformance.Requirements(conformance.AsHosts) {
		if slices.Contains([]string{"a repeated push adds nothing", "what is gone is dropped, of its host only", "what is forgotten is gone everywhere and stays away", "a host is that of one memory"}, r.Name) {
			continue // these are about several hosts
		}
		t.Run(r.Name, func(t *testing.T) {
			var stores [2]*memory.Store
			for i := range stores {
				s, err := memory.Open(t.Context(), t.TempDir(), memory.Options{})
				if err != nil {
					t.Fatal(err)
				}
				defer s.Close()
				stores[i] = s
			}
			if err := r.Check(t.Context(), &embeddedMemory{store: stores[0], digests: map[string]int64{}}, stores[1]); err != nil {
				t.Error(err)
			}
		})
	}
}

// embeddedMemory is the memory of a host as if it were shared.
type embeddedMemory struct {
	store   *memory.Store
	digests map[string]int64
}

func (em *embeddedMemory) Push(ctx context.Context, b remote.Batch) (r remote.Receipt, err error) {
	models := map[int]embed.Model{8: {Provider: "builtin", Name: "another", Dim: 8}}
	if e, err := embed.NewBuiltin(); err == nil {
		m := e.Model()
		models[m.Dim] = m
		m.Name, m.Dim = "another", 8
		models[8] = m
	}
	vectors := map[string][]memory.Vector{}
	var facts []memory.Fact
	var records []memory.Record
	for _, x := range b.Records {
		if em.digests[x.ID] != x.Digest {
			r.Stored++
		}
		em.digests[x.ID] = x.Digest
		r.Present = append(r.Present, x.ID)
		if x.Fact != nil {
			facts = append(facts, *x.Fact)
			continue
		}
		records = append(records, x.Record)
		if x.Vector != nil {
			vectors[x.Agent] = append(vectors[x.Agent], memory.Vector{ID: x.ID, Values: x.Vector})
		}
	}
	_, err = em.store.Put(ctx, memory.Source{}, func(yield func(memory.Record, error) bool) {
		for _, x := range records {
			if !yield(x, nil) {
				return
			}
		}
	})
	for agent, list := range vectors {
		err = errors.Join(err, em.store.PutVectors(ctx, models[b.Model.Dim], agent, list, nil))
	}
	if len(facts) > 0 {
		superseded := map[string]string{}
		for _, f := range facts {
			if f.Successor != "" {
				superseded[f.ID] = f.Successor
			}
		}
		_, put := em.store.PutFacts(ctx, memory.Extraction{}, facts, superseded)
		err = errors.Join(err, put)
	}
	return r, err
}

func (em *embeddedMemory) Bury(ctx context.Context, _ string, list []memory.Forgotten) (int, error) {
	return em.store.Honour(ctx, list)
}

func (em *embeddedMemory) Forgotten(ctx context.Context, since string) ([]memory.Forgotten, string, error) {
	list, err := em.store.UnsharedTombstones(ctx, "")
	from, _ := strconv.Atoi(since)
	return list[min(from, len(list)):], strconv.Itoa(len(list)), err
}

func (em *embeddedMemory) Recall(ctx context.Context, q memory.Query, e embed.QueryEmbedder, m embed.Model) (memory.Result, error) {
	result, err := em.store.Recall(ctx, q, e, m)
	for i := range result.Hits {
		result.Hits[i].Host = conformance.Host
	}
	return result, err
}

func (em *embeddedMemory) Neighbors(ctx context.Context, h memory.Hit, n int) (memory.Neighborhood, error) {
	return em.store.Neighbors(ctx, h.Record, n)
}

func (em *embeddedMemory) Count(ctx context.Context) (remote.Counts, error) {
	stats, err := em.store.Stats(ctx)
	n := 0
	for _, agent := range stats.Agents {
		n += agent.Records
	}
	return remote.Counts{Hosts: []remote.HostCount{{Host: conformance.Host, Records: n}}}, err
}

func (em *embeddedMemory) Verify(_ context.Context, _ string, fn func(id string, digest int64) error) error {
	for _, id := range slices.Sorted(maps.Keys(em.digests)) {
		if err := fn(id, em.digests[id]); err != nil {
			return err
		}
	}
	return nil
}

func (em *embeddedMemory) Close() error { return em.store.Close() }

// ticking is a memory that stamps a host whenever it is looked at, and counts no
// tombstones, as a cluster may.
type ticking struct {
	*embeddedMemory
	stamped bool
	at      int64
	step    int64
	of      string // identity of the memory that pushed
}

func (m *ticking) Push(ctx context.Context, b remote.Batch) (remote.Receipt, error) {
	m.of = b.Memory
	return m.embeddedMemory.Push(ctx, b)
}

func (m *ticking) Count(ctx context.Context) (remote.Counts, error) {
	c, err := m.embeddedMemory.Count(ctx)
	m.at += m.step
	c.Hosts[0].LastPush, c.Hosts[0].Memory, c.Stamped = m.at, m.of, m.stamped
	return c, err
}

// TestSetBack: a server that is in another state than the last push left it in
// is compared with all that is here, where its stamps say so and only there. It
// was set back only if it is behind.
func TestRemoteSetBack(t *testing.T) {
	for _, x := range []struct {
		stamped           bool
		step              int64
		setBack, compared bool
	}{{true, -1, true, true}, {true, 1, false, true}, {false, -1, false, false}, {false, 1, false, false}} {
		var stores [2]*memory.Store
		for i := range stores {
			s, err := memory.Open(t.Context(), t.TempDir(), memory.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			stores[i] = s
		}
		if err := conformance.Fill(t.Context(), stores[0], "mine", 5); err != nil {
			t.Fatal(err)
		}
		m := &ticking{embeddedMemory: &embeddedMemory{store: stores[1], digests: map[string]int64{}}, stamped: x.stamped, at: 1000, step: x.step}
		p := remote.Pusher{Local: stores[0], Shared: m, Host: conformance.Host, Server: "x", Compare: true}
		for round := range 2 {
			r, err := p.Push(t.Context())
			if err != nil || r.SetBack != (round > 0 && x.setBack) || r.Compared != (round == 0 || x.compared) {
				t.Errorf("%+v, push %d: %+v: %v", x, round+1, r, err)
			}
			p.Compare = false
		}
	}
}
