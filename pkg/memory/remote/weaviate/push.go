package weaviate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
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
func (c *cluster) write(ctx context.Context, objects []stored) error {
	return c.writeOn(ctx, quorum, objects)
}

// writeOn stores objects on so many of their replicas. It does not wait for a node
// that has gone to be noticed where all of them are wanted.
func (c *cluster) writeOn(ctx context.Context, level string, objects []stored) error {
	var results []struct {
		Result struct {
			Status string `json:"status"`
			Errors struct {
				Error []struct {
					Message string `json:"message"`
				} `json:"error"`
			} `json:"errors"`
		} `json:"result"`
	}
	for try := 0; ; try++ {
		err := c.client.ask(ctx, question{method: http.MethodPost, path: "/v1/batch/objects?consistency_level=" + level, body: map[string]any{"objects": objects}, into: &results, slow: true})
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
			return fmt.Errorf("%w: %s", remote.ErrUnreachable, c.client.complaint([]byte(said)))
		}
		if err := wait(ctx, pauses[try]); err != nil { // a node was lost, and the others have not noticed it yet
			return err
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
	o.Properties = map[string]any{"record_id": x.ID, "digest": strconv.FormatInt(x.Digest, 10), "host": remote.Storable(host),
		"runtime": marked(x.Runtime), "session": marked(x.Session), "category": marked(x.Category), "kind": marked(""), "model": marked(""), "sample": "no",
		"successor": "", "details": "", "created_at": x.CreatedAt, "position": x.Position, "terms": termsOf(x.Text), "record": string(whole)}
	if at, err := strconv.ParseUint(o.ID[:2], 16, 8); err == nil && at%samples == 0 {
		o.Properties["sample"] = sampled
	}
	if x.Fact != nil {
		details, err := json.Marshal(remote.DetailsOf(*x.Fact))
		if err != nil {
			return o, err
		}
		o.Properties["kind"], o.Properties["successor"], o.Properties["details"] = marked(x.Fact.Kind), x.Fact.Successor, string(details)
	}
	if x.Vector == nil {
		return o, nil
	}
	if len(x.Vector) != v.Dim {
		return o, fmt.Errorf("%w: %d components, not %d", embed.ErrDimension, len(x.Vector), v.Dim)
	}
	o.Properties["model"] = marked(v.Fingerprint)
	o.Vectors = map[string][]float32{vectorName(v.Fingerprint): x.Vector}
	return o, nil
}

// termsOf are the terms of a text, separated by spaces, but for those that are too
// long to be found, and one that every text has.
func termsOf(text string) string {
	const longest = 1000 // bytes
	all := strings.Fields(everyTerm + " " + string(embed.AppendTerms(nil, remote.Storable(text))))
	return strings.Join(slices.DeleteFunc(all, func(term string) bool { return len(term) > longest }), " ")
}

// Push writes the records of a batch that are new or changed, and reads back
// which are there. What was forgotten before or meanwhile is not left there.
func (m *Memory) Push(ctx context.Context, b remote.Batch) (r remote.Receipt, err error) {
	m.countedAt = time.Time{}
	if err := m.claim(ctx, b); err != nil {
		return r, fmt.Errorf("push: %w", err)
	}
	if r.Gone, err = m.dropEverywhere(ctx, removal{b.Host, b.Gone, time.Now().UnixMilli()}); err != nil {
		return r, fmt.Errorf("push: %w", err)
	}
	for _, id := range b.Gone {
		delete(m.lacking, id)
	}
	p := &push{Memory: m, batch: b, records: map[string]string{}, digests: map[string]string{}, last: map[string]stored{}}
	agents := map[string]bool{}
	for _, x := range b.Records {
		agents[x.Agent] = true
		o, err := m.recordObject(b.Host, x, b.Model)
		if err != nil {
			return r, fmt.Errorf("push record %s: %w", x.ID, err)
		}
		p.objects = append(p.objects, o)
		p.records[o.ID], p.digests[o.ID] = x.ID, strconv.FormatInt(x.Digest, 10)
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
	r.At, err = m.register(ctx, b.Host, b.Memory)
	return r, err
}

// push is a batch under way.
type push struct {
	*Memory

	batch   remote.Batch
	objects []stored
	records map[string]string // ids of records, by id of object
	digests map[string]string // by id of object
	last    map[string]stored // that was written, by tenant
}

// store writes, reads back, and looks last what was forgotten: a tombstone that
// is written later finds the records that were written here.
func (p *push) store(ctx context.Context, r *remote.Receipt) error {
	if len(p.objects) == 0 {
		return nil
	}
	there, gaps, err := p.look(ctx, p.objects)
	if err != nil {
		return err
	}
	buried, err := p.majority(ctx).buried(ctx, p.ids(p.objects))
	if err != nil {
		return err
	}
	var todo []stored
	for _, o := range p.objects {
		if id := p.records[o.ID]; !buried[id] && (!there[o.ID] || gaps[o.ID] || p.lacking[id]) {
			todo = append(todo, o)
		}
	}
	if len(todo) > 0 {
		if there, err = p.write(ctx, todo, there); err != nil {
			return err
		}
		if buried, err = p.majority(ctx).buried(ctx, p.ids(p.objects)); err != nil {
			return err
		}
		r.Stored = len(todo)
	}
	if _, err := p.drop(ctx, p.tenants(), removal{p.batch.Host, slices.Sorted(maps.Keys(buried)), forGood()}); err != nil {
		return err
	}
	for _, o := range p.objects {
		switch id := p.records[o.ID]; {
		case buried[id]:
			r.Buried = append(r.Buried, id)
		case there[o.ID]:
			r.Present = append(r.Present, id)
		}
	}
	slices.Sort(r.Present)
	return nil
}

// write stores objects and returns which are there now. What a node that answers
// does not find in all of its indexes is stored anew; if one does not find it then
// either, or went away meanwhile, the host is in doubt: when all nodes are back the
// next push compares all that it has.
func (p *push) write(ctx context.Context, todo []stored, there map[string]bool) (map[string]bool, error) {
	p.client.forget()
	all := len(p.address.nodes)
	whole := len(p.eachNode(ctx)) == all
	gaps := map[string]bool{}
	for _, o := range todo {
		gaps[o.ID] = true
	}
	const pause, tries = 300 * time.Millisecond, 3 // a replica may be a little later than the majority
	for try := 0; len(gaps) > 0 && try < tries; try++ {
		lacking := slices.DeleteFunc(slices.Clone(todo), func(o stored) bool { return !gaps[o.ID] })
		if try > 0 {
			if err := errors.Join(wait(ctx, pause), p.drained(ctx)); err != nil {
				return nil, err
			}
		}
		if try != 1 {
			if err := p.writeAnew(ctx, lacking); err != nil {
				return nil, err
			}
		}
		now, left, err := p.look(ctx, lacking)
		if err != nil {
			return nil, err
		}
		maps.Copy(there, now)
		gaps = left
	}
	if p.replicas == 1 {
		return there, nil
	}
	if err := p.seal(ctx, whole && len(gaps) == 0); err != nil {
		return nil, err
	}
	now, left, err := p.look(ctx, todo)
	if err != nil {
		return nil, err
	}
	maps.Copy(there, now)
	p.client.forget()
	whole = whole && len(left) == 0 && len(p.eachNode(ctx)) == all
	for _, o := range todo {
		if !left[o.ID] {
			delete(p.lacking, p.records[o.ID])
		}
	}
	switch {
	case !whole:
		p.doubted = true
	case p.lacking != nil && len(p.lacking) == 0:
		p.doubted = false
	}
	return there, nil
}

// writeAnew stores objects so that every node makes all of its indexes of them: with
// a vector that differs, in a bit that nobody notices, from what a node may have
// already. To store the same again changes no index. Those without a vector are
// dropped first.
func (p *push) writeAnew(ctx context.Context, objects []stored) error {
	objects = slices.Clone(objects)
	var bare []stored
	for i, o := range objects {
		if len(o.Vectors) == 0 {
			bare = append(bare, o)
		}
		vectors := make(map[string][]float32, len(o.Vectors))
		for name, v := range o.Vectors {
			v = slices.Clone(v)
			at := rand.IntN(len(v)) //nolint:gosec // any will do
			v[at] = math.Float32frombits(math.Float32bits(v[at]) ^ 1)
			vectors[name] = v
		}
		objects[i].Vectors = vectors
		p.last[o.Tenant] = objects[i]
	}
	// what is written next is later than 0, by the clock of a node
	if _, err := p.drop(ctx, p.tenants(), removal{p.batch.Host, p.ids(bare), 0}); err != nil {
		return err
	}
	return p.Memory.write(ctx, objects)
}

// tenants are those of the batch.
func (p *push) tenants() []string {
	tenants := map[string]bool{}
	for _, o := range p.objects {
		tenants[o.Tenant] = true
	}
	return slices.Sorted(maps.Keys(tenants))
}

// seal stores one object of each tenant once more, as it is. A node takes that
// for nothing new, but writes out what it knows of vectors: of a batch it does so
// before it has looked at them (Weaviate 1.35), so that a node that is killed
// would not find those of the last one. As long as all nodes answer it is not done
// before all have done it.
func (p *push) seal(ctx context.Context, whole bool) error {
	list := slices.Collect(maps.Values(p.last))
	if whole && p.writeOn(ctx, everyReplica, list) == nil {
		return nil
	}
	return p.Memory.write(ctx, list) // a node has gone
}

func (p *push) ids(objects []stored) []string {
	ids := make([]string, len(objects))
	for i, o := range objects {
		ids[i] = p.records[o.ID]
	}
	return ids
}

// look reports which objects are there as they were sent: as many nodes find them
// in all of their indexes as make a majority of the replicas, or a majority has
// them. gaps are those that a node that answers does not find so.
func (p *push) look(ctx context.Context, objects []stored) (there, gaps map[string]bool, err error) {
	sets, err := p.onNodes(ctx, func(ctx context.Context, node *cluster) (map[string]bool, error) {
		return node.indexed(ctx, p.batch.Host, objects, p.records, func(o object) bool { return o.Digest == p.digests[o.Additional.ID] })
	})
	if err != nil {
		return nil, nil, err
	}
	there, gaps = map[string]bool{}, map[string]bool{}
	finders := map[string]int{}
	for _, set := range sets {
		for id := range set {
			finders[id]++
		}
	}
	var doubtful []stored
	for _, o := range objects {
		n := finders[o.ID]
		if n < len(sets) {
			gaps[o.ID] = true
		}
		switch { // where there are more nodes than replicas, two may have asked the same one
		case n > p.replicas/2 && len(p.address.nodes) <= p.replicas:
			there[o.ID] = true
		case n > 0:
			doubtful = append(doubtful, o)
		}
	}
	same, err := each(ctx, doubtful, func(ctx context.Context, o stored) (bool, error) {
		read, err := p.read(ctx, o.Tenant, o.ID, quorum)
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

// indexed returns which objects of a host the node finds in each of its indexes, if
// they are right. records are the ids of their records.
func (c *cluster) indexed(ctx context.Context, host string, objects []stored, records map[string]string, right func(object) bool) (map[string]bool, error) {
	type group struct{ tenant, vector string }
	groups := map[group][]stored{}
	for _, o := range objects {
		g := group{tenant: o.Tenant}
		for g.vector = range o.Vectors {
		}
		groups[g] = append(groups[g], o)
	}
	found := map[string]bool{}
	for g, alike := range groups {
		for part := range slices.Chunk(alike, idsAtOnce) {
			ids := make([]string, len(part))
			for i, o := range part {
				ids[i] = records[o.ID]
			}
			q := query{class: c.class(recordsClass), tenant: g.tenant, limit: len(part), fields: "digest _additional{id}", where: inEveryIndex(host, ids), how: bm25([]string{everyTerm})}
			list, err := c.find(ctx, q)
			if err != nil {
				return nil, err
			}
			near := map[string]bool{}
			if g.vector != "" && len(list) > 0 {
				n := len(part[0].Vectors[g.vector])
				q.how = nearVector("[1"+strings.Repeat(",0", n-1)+"]", g.vector)
				nearest, err := c.find(ctx, q)
				if err != nil {
					return nil, err
				}
				for _, o := range nearest {
					near[o.Additional.ID] = true
				}
			}
			for _, o := range list {
				if right(o) && (g.vector == "" || near[o.Additional.ID]) {
					found[o.Additional.ID] = true
				}
			}
		}
	}
	return found, nil
}

// read reads an object of records from so many of its replicas.
func (c *cluster) read(ctx context.Context, tenant, id, level string) (object, error) {
	var o struct {
		Properties object `json:"properties"`
	}
	err := c.client.ask(ctx, question{method: http.MethodGet, path: "/v1/objects/" + c.class(recordsClass) + "/" + id + "?tenant=" + tenant + "&consistency_level=" + level, into: &o, may404: true})
	return o.Properties, err
}
