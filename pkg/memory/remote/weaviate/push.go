package weaviate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sessctl/sessctl/pkg/embed"
	"github.com/sessctl/sessctl/pkg/memory"
	"github.com/sessctl/sessctl/pkg/memory/remote"
)

// stored is an object as it is sent.
type stored struct {
	Class      string               `json:"class"`
	ID         string               `json:"id"`
	Tenant     string               `json:"tenant,omitempty"`
	Properties map[string]any       `json:"properties"`
	Vectors    map[string][]float32 `json:"vectors,omitempty"`
}

// write stores objects on a majority of their replicas, those that are there
// already anew.
func (m *Memory) write(ctx context.Context, objects []stored) error {
	return m.writeOn(ctx, quorum, objects)
}

// writeOn stores objects on so many of their replicas. It does not wait for a node
// that has gone to be noticed where all of them are wanted.
func (m *Memory) writeOn(ctx context.Context, level string, objects []stored) error {
	var results []struct {
		ID     string `json:"id"`
		Result struct {
			Status string `json:"status"`
			Errors struct {
				Error []struct {
					Message string `json:"message"`
				} `json:"error"`
			} `json:"errors"`
		} `json:"result"`
	}
	m.last = count{}
	for try := 0; ; try++ {
		err := m.client.ask(ctx, question{method: http.MethodPost, path: "/v1/batch/objects?consistency_level=" + level, body: map[string]any{"objects": objects}, into: &results, slow: true})
		if err != nil {
			return err
		}
		said := ""
		for _, r := range results {
			if r.Result.Status != "SUCCESS" && len(r.Result.Errors.Error) > 0 {
				said = r.Result.Errors.Error[0].Message
			}
		}
		if said == "" {
			return nil
		}
		if try == len(pauses) || level == everyReplica {
			return fmt.Errorf("%w: %s", remote.ErrUnreachable, m.client.complaint([]byte(said)))
		}
		select { // a node was lost, and the others have not noticed it yet
		case <-time.After(pauses[try]):
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", remote.ErrUnreachable, ctx.Err())
		}
	}
}

// recordObject is the object of a record of a host.
func (m *Memory) recordObject(host string, x memory.Shared, v memory.VectorModel) (o stored, err error) {
	o = stored{Class: m.class(recordsClass), ID: objectID("record", host, x.ID), Tenant: tenantOf(x.Agent)}
	whole, err := json.Marshal(x.Record)
	if err != nil {
		return o, err
	}
	words, length := termsOf(x.Text)
	o.Properties = map[string]any{"record_id": x.ID, "digest": strconv.FormatInt(x.Digest, 10), "host": remote.Storable(host),
		"runtime": remote.Storable(x.Runtime), "session": remote.Storable(x.Session), "category": remote.Storable(x.Category), "kind": "", "model": "",
		"successor": "", "details": "", "created_at": x.CreatedAt, "position": x.Position, "importance": x.Importance, "terms": strings.TrimSpace(everyTerm + " " + words), "length": length, "record": string(whole)}
	if x.Fact != nil {
		details, err := json.Marshal(remote.DetailsOf(*x.Fact))
		if err != nil {
			return o, err
		}
		o.Properties["kind"], o.Properties["successor"], o.Properties["details"] = x.Fact.Kind, x.Fact.Successor, string(details)
	}
	if x.Vector == nil {
		return o, nil
	}
	if len(x.Vector) != v.Dim {
		return o, fmt.Errorf("%w: %d components, not %d", embed.ErrDimension, len(x.Vector), v.Dim)
	}
	o.Properties["model"] = v.Fingerprint
	o.Vectors = map[string][]float32{vectorName(v.Fingerprint): x.Vector}
	return o, nil
}

// longestTerm is how long a term may be to be found, in bytes.
const longestTerm = 1000

// termsOf are the terms of a text, separated by spaces, and how many there are
// with those that are too long.
func termsOf(text string) (words string, length int) {
	all := strings.Fields(string(embed.AppendTerms(nil, remote.Storable(text))))
	short := slices.DeleteFunc(slices.Clone(all), func(term string) bool { return len(term) > longestTerm })
	return strings.Join(short, " "), len(all)
}

// Push writes the records of a batch that are new or changed, and reads back
// which are there. What was forgotten before or meanwhile is not left there.
func (m *Memory) Push(ctx context.Context, b remote.Batch) (r remote.Receipt, err error) {
	if err := m.claim(ctx, b); err != nil {
		return r, fmt.Errorf("push: %w", err)
	}
	if r.Gone, err = m.dropEverywhere(ctx, removal{b.Host, b.Gone, time.Now().UnixMilli()}); err != nil {
		return r, fmt.Errorf("push: %w", err)
	}
	if len(b.Records) == 0 {
		r.At, err = m.register(ctx, b.Host, b.Memory)
		return r, err
	}
	p := &push{memory: m, host: b.Host, identity: b.Memory, objects: make([]stored, len(b.Records)), ids: make([]string, len(b.Records)), records: map[string]string{}, digests: map[string]string{}, last: map[string]stored{}}
	agents := map[string]bool{}
	for i, x := range b.Records {
		agents[x.Agent] = true
		if p.objects[i], err = m.recordObject(b.Host, x, b.Model); err != nil {
			return r, fmt.Errorf("push record %s: %w", x.ID, err)
		}
		p.ids[i] = x.ID
		p.records[p.objects[i].ID] = x.ID
		p.digests[p.objects[i].ID] = strconv.FormatInt(x.Digest, 10)
	}
	if err := m.addModel(ctx, b.Model); err != nil {
		return r, err
	}
	if err := m.addAgents(ctx, slices.Sorted(maps.Keys(agents))); err != nil {
		return r, err
	}
	if err := p.store(ctx, &r); err != nil {
		return remote.Receipt{}, fmt.Errorf("push: %w", err)
	}
	return r, nil
}

// push is a batch under way.
type push struct {
	memory   *Memory
	host     string
	identity string // of the memory that pushes
	objects  []stored
	ids      []string          // of the records, in the same order
	records  map[string]string // their ids, by id of object
	digests  map[string]string // by id of object
	last     map[string]stored // that was written, by tenant
	stamp    int64             // that the host was written with last
	looked   int               // nodes that answered every time it was looked what is there
}

// store writes, reads back, and looks last what was forgotten: a tombstone that
// is written later finds the records that were written here.
func (p *push) store(ctx context.Context, r *remote.Receipt) error {
	m := p.memory
	again := p.again()
	there, err := p.before(ctx)
	if err != nil {
		return err
	}
	for _, o := range again {
		delete(there, o.ID)
	}
	buried, err := m.buried(ctx, p.ids)
	if err != nil {
		return err
	}
	var fresh []stored
	for i, o := range p.objects {
		if !there[o.ID] && !buried[p.ids[i]] {
			fresh = append(fresh, o)
		}
	}
	if len(fresh) > 0 {
		written, err := p.write(ctx, fresh, again)
		if err != nil {
			return err
		}
		maps.Copy(there, written)
		r.At = p.stamp
		if buried, err = m.buried(ctx, p.ids); err != nil {
			return err
		}
		r.Stored = len(written)
	}
	if err := p.drop(ctx, slices.Sorted(maps.Keys(buried)), forGood()); err != nil {
		return err
	}
	for i, o := range p.objects {
		switch {
		case buried[p.ids[i]]:
			r.Buried = append(r.Buried, p.ids[i])
		case there[o.ID]:
			r.Present = append(r.Present, p.ids[i])
		}
	}
	slices.Sort(r.Present)
	return nil
}

// before returns which objects are there already, on every node that answers.
// What only some of them find was under way when nodes were killed, so it is
// written again. Nearly always nothing is there: that is looked at first, with a
// search that is much cheaper.
func (p *push) before(ctx context.Context) (there map[string]bool, err error) {
	ids := map[string][]string{}
	for _, o := range p.objects {
		ids[o.Tenant] = append(ids[o.Tenant], o.ID)
	}
	finders, err := p.memory.finders(ctx, ids)
	if err != nil || len(finders) == 0 {
		return map[string]bool{}, err
	}
	known := slices.DeleteFunc(slices.Clone(p.objects), func(o stored) bool { return finders[o.ID] == 0 })
	there, gaps, err := p.present(ctx, known, false)
	for _, o := range gaps {
		delete(there, o.ID)
	}
	return there, err
}

// write stores objects and returns which of them are there. What a node that
// answers does not find in all of its indexes is stored anew; if it is not found
// then either it is in doubt. The batch is sealed when every node finds it: one
// that is later than the majority may still be at it before. It is looked at last:
// what a node finds then, it has written out.
func (p *push) write(ctx context.Context, fresh, again []stored) (there map[string]bool, err error) {
	if err := p.writeAnew(ctx, fresh); err != nil {
		return nil, err
	}
	p.looked = len(p.memory.alive)
	if there, _, err = p.found(ctx, fresh); err == nil {
		err = p.seal(ctx)
	}
	if err != nil || p.memory.replicas == 1 {
		return there, err
	}
	there, gaps, err := p.present(ctx, fresh, true)
	if err != nil {
		return nil, err
	}
	if p.looked < len(p.memory.alive) || p.memory.hasGone(ctx) {
		gaps = fresh // a node that was away may have returned, and not been asked
	}
	if err := p.settleAll(ctx, again, gaps); err != nil || len(gaps) == 0 {
		return there, err
	}
	return there, p.memory.noteDoubt(ctx, p.host, recordIDs(p.records, gaps))
}

// found returns which of the objects that were written are there, and stores those
// anew that a node does not find. Those that are not found then either are gaps.
func (p *push) found(ctx context.Context, objects []stored) (there map[string]bool, gaps []stored, err error) {
	there, gaps, err = p.present(ctx, objects, true)
	const pause = 300 * time.Millisecond // a replica may be a little later than the majority
	for try := 0; err == nil && len(gaps) > 0 && try < 2; try++ {
		if try == 0 {
			time.Sleep(pause)
			err = p.memory.drained(ctx)
		} else {
			err = p.writeAnew(ctx, gaps)
		}
		if err != nil {
			return nil, nil, err
		}
		var now map[string]bool
		now, gaps, err = p.present(ctx, gaps, true)
		maps.Copy(there, now)
	}
	return there, gaps, err
}

// settleAll forgets doubts about objects that were stored again, unless a node
// still does not find them.
func (p *push) settleAll(ctx context.Context, again, gaps []stored) error {
	settled := map[string]bool{}
	for _, id := range recordIDs(p.records, again) {
		settled[id] = true
	}
	for _, id := range recordIDs(p.records, gaps) {
		delete(settled, id)
	}
	if len(settled) == 0 {
		return nil
	}
	maps.DeleteFunc(p.memory.unindexed, func(id string, _ bool) bool { return settled[id] })
	return p.memory.settle(ctx, p.host, slices.Sorted(maps.Keys(settled)))
}

// present reports which objects are there as they were sent: as many nodes find
// them in all of their indexes as make a majority of the replicas. One that fewer
// find is read from a majority, unless none finds it and it is not wanted for
// certain. gaps are those that a node that answers does not find so.
func (p *push) present(ctx context.Context, objects []stored, certain bool) (there map[string]bool, gaps []stored, err error) {
	sets, err := p.memory.onNodes(ctx, func(ctx context.Context, node *Memory) (map[string]bool, error) {
		return node.indexed(ctx, objects, func(o object) bool { return o.Digest == p.digests[o.Additional.ID] })
	})
	if err != nil {
		return nil, nil, err
	}
	p.looked = min(p.looked, len(sets))
	there = map[string]bool{}
	var doubtful []stored
	for _, o := range objects {
		finders := 0
		for _, set := range sets {
			if set[o.ID] {
				finders++
			}
		}
		if finders < len(sets) {
			gaps = append(gaps, o)
		}
		switch { // where there are more nodes than replicas, two may have asked the same one
		case finders > p.memory.replicas/2 && len(p.memory.address.nodes) <= p.memory.replicas:
			there[o.ID] = true
		case finders > 0 || certain:
			doubtful = append(doubtful, o)
		}
	}
	same, err := each(ctx, doubtful, func(ctx context.Context, o stored) (bool, error) {
		read, err := p.memory.one(ctx, o.Tenant, o.ID)
		if errors.Is(err, errAbsent) {
			return false, nil
		}
		return read.Digest == p.digests[o.ID], err
	})
	for i, o := range doubtful {
		if same[i] {
			there[o.ID] = true
		}
	}
	return there, gaps, err
}
