package weaviate

import (
	"context"
	"encoding/json"
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
	Properties map[string]any       `json:"properties"`
	Vectors    map[string][]float32 `json:"vectors,omitempty"`

	record, digest, model string // of an object of records
}

// write stores objects on so many of their replicas, those that are there already
// anew. It does not wait for a node that has gone to be noticed where all replicas
// are wanted.
func (c *cluster) write(ctx context.Context, level string, objects []stored) error {
	for try := 0; ; try++ {
		var results []struct {
			Result struct {
				Status string
				Errors struct{ Error []struct{ Message string } }
			}
		}
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
	o = stored{Class: m.class(recordsClass), ID: objectID("record", host, x.ID), record: x.ID, digest: strconv.FormatInt(x.Digest, 10), model: marked("")}
	whole, err := json.Marshal(x.Record)
	if err != nil {
		return o, err
	}
	kind, successor, details, sample := "", "", "", "no"
	if at, err := strconv.ParseUint(o.ID[:2], 16, 8); err == nil && at%samples == 0 {
		sample = sampled
	}
	if x.Fact != nil {
		kind, successor = x.Fact.Kind, x.Fact.Successor
		if details, err = remote.EncodeDetails(*x.Fact); err != nil {
			return o, err
		}
	}
	if x.Vector != nil {
		if len(x.Vector) != v.Dim {
			return o, fmt.Errorf("%w: %d components, not %d", embed.ErrDimension, len(x.Vector), v.Dim)
		}
		o.model = marked(v.Fingerprint)
		o.Vectors = map[string][]float32{vectorName(v.Fingerprint): x.Vector}
	}
	o.Properties = map[string]any{"record_id": x.ID, "digest": o.digest, "host": remote.Storable(host), "agent": marked(x.Agent), "owner": marked(x.Runtime + "/" + x.Agent), "runtime": marked(x.Runtime), "session": marked(x.Session), "category": marked(x.Category),
		"kind": marked(kind), "model": o.model, "sample": sample, "successor": successor, "details": details, "created_at": x.CreatedAt, "position": x.Position, "terms": termsOf(x.Text), "record": string(whole)}
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
	p := &push{Memory: m, batch: b}
	for _, x := range b.Records {
		o, err := m.recordObject(b.Host, x, b.Model)
		if err != nil {
			return r, fmt.Errorf("push record %s: %w", x.ID, err)
		}
		p.objects = append(p.objects, o)
	}
	for _, step := range []func(context.Context, *remote.Receipt) error{p.begin, p.store, p.end} {
		if err := step(ctx, &r); err != nil {
			return remote.Receipt{}, fmt.Errorf("push: %w", err)
		}
	}
	return r, nil
}

// push is a batch under way.
type push struct {
	*Memory

	batch   remote.Batch
	objects []stored
}

// begin takes the host, drops what it has no more, and makes the place for what it
// has.
func (p *push) begin(ctx context.Context, r *remote.Receipt) (err error) {
	if err := p.claim(ctx, p.batch); err != nil {
		return err
	}
	if r.Gone, err = p.drop(ctx, removal{host: p.batch.Host, ids: p.batch.Gone, at: time.Now().UnixMilli()}); err != nil {
		return err
	}
	return p.addModel(ctx, p.batch)
}

// end notes when the host was pushed.
func (p *push) end(ctx context.Context, r *remote.Receipt) (err error) {
	r.At, err = p.register(ctx, p.batch.Host, p.batch.Memory)
	return err
}

// store writes, reads back, and looks last what was forgotten: a tombstone that
// is written later finds the records that were written here.
func (p *push) store(ctx context.Context, r *remote.Receipt) error {
	if len(p.objects) == 0 {
		return nil
	}
	ids := idsOf(p.objects)
	there, gaps, err := p.look(ctx, p.objects)
	if err != nil {
		return err
	}
	buried, err := p.majority(ctx).buried(ctx, ids)
	if err != nil {
		return err
	}
	todo := slices.DeleteFunc(slices.Clone(p.objects), func(o stored) bool { return buried[o.record] || there[o.ID] && !gaps[o.ID] })
	if r.Stored = len(todo); r.Stored > 0 {
		if err := p.write(ctx, todo, there); err != nil {
			return err
		}
		if buried, err = p.majority(ctx).buried(ctx, ids); err != nil {
			return err
		}
	}
	if _, err := p.drop(ctx, removal{p.batch.Host, slices.Sorted(maps.Keys(buried)), forGood()}); err != nil {
		return err
	}
	for _, o := range p.objects {
		switch {
		case buried[o.record]:
			r.Buried = append(r.Buried, o.record)
		case there[o.ID]:
			r.Present = append(r.Present, o.record)
		}
	}
	slices.Sort(r.Present)
	return nil
}

// write stores objects and adds those that are there now. What a node that answers
// does not find in all of its indexes is stored anew; if one does not find it then
// either, or went away meanwhile, the host is in doubt: when all nodes are back the
// next push compares all that it has.
func (p *push) write(ctx context.Context, todo []stored, there map[string]bool) error {
	const tries = 4
	p.lookAgain()
	whole, left, last := p.isWhole(len(p.eachNode(ctx))), todo, map[string]stored{}
	for try := 0; len(left) > 0 && try < tries; try++ {
		if try > 0 {
			if err := wait(ctx, pauses[try-1]); err != nil { // a replica may be a little later than the majority
				return err
			}
		}
		if try%2 == 0 {
			if err := p.writeAnew(ctx, left, last); err != nil {
				return err
			}
		}
		var err error
		if left, err = p.lookFor(ctx, left, there); err != nil {
			return err
		}
	}
	if err := p.seal(ctx, slices.Collect(maps.Values(last)), whole && len(left) == 0); err != nil {
		return err
	}
	left, err := p.lookFor(ctx, todo, there)
	p.lookAgain()
	if !whole || len(left) > 0 || !p.isWhole(len(p.eachNode(ctx))) {
		p.doubted, p.verified = true, ""
	}
	return err
}

// lookFor looks which objects are there, and returns those that a node does not find.
func (p *push) lookFor(ctx context.Context, objects []stored, there map[string]bool) ([]stored, error) {
	now, gaps, err := p.look(ctx, objects)
	maps.Copy(there, now)
	return slices.DeleteFunc(slices.Clone(objects), func(o stored) bool { return !gaps[o.ID] }), err
}

// seal stores objects once more, as they are. A node takes that for nothing new, but
// writes out what it knows of vectors: of a batch it does so before it has looked at
// them (Weaviate 1.35), so that a node that is killed would not find those of the last
// one. So it comes when they are found, and as long as all nodes answer it is not done
// before all have done it.
func (p *push) seal(ctx context.Context, last []stored, whole bool) error {
	if whole && p.cluster.write(ctx, everyReplica, last) == nil {
		return nil
	}
	return p.cluster.write(ctx, quorum, last) // a node has gone
}

// writeAnew stores objects so that every node makes all of its indexes of them: with
// a vector that differs, in a bit that nobody notices, from what a node may have
// already. To store the same again changes no index. Those without a vector are
// dropped first. last is what was stored last, by id.
func (p *push) writeAnew(ctx context.Context, objects []stored, last map[string]stored) error {
	objects = slices.Clone(objects)
	var bare []stored
	for i, o := range objects {
		if len(o.Vectors) == 0 {
			bare = append(bare, o)
		}
		objects[i].Vectors = nudged(o.Vectors)
		last[o.ID] = objects[i]
	}
	// what is written next is later than 0, by the clock of a node
	if _, err := p.drop(ctx, removal{p.batch.Host, idsOf(bare), 0}); err != nil {
		return err
	}
	return p.cluster.write(ctx, quorum, objects)
}

// nudged are vectors that differ in a bit.
func nudged(vectors map[string][]float32) map[string][]float32 {
	others := make(map[string][]float32, len(vectors))
	for name, v := range vectors {
		v = slices.Clone(v)
		at := rand.IntN(len(v)) //nolint:gosec // any will do
		v[at] = math.Float32frombits(math.Float32bits(v[at]) ^ 1)
		others[name] = v
	}
	return others
}

// idsOf are the ids of the records of objects.
func idsOf(objects []stored) []string {
	ids := make([]string, len(objects))
	for i, o := range objects {
		ids[i] = o.record
	}
	return ids
}

// look reports which objects are there as they were sent: as many nodes find them
// in all of their indexes as make a majority of the replicas, or a majority has
// them. gaps are those that a node that answers does not find so.
func (p *push) look(ctx context.Context, objects []stored) (there, gaps map[string]bool, err error) {
	sets, err := p.onNodes(ctx, func(ctx context.Context, node readers) (map[string]bool, error) {
		return node.finds(ctx, p.batch.Host, objects)
	})
	there, gaps = map[string]bool{}, map[string]bool{}
	var doubtful []stored
	for _, o := range objects {
		n := 0
		for _, set := range sets {
			if set[o.ID] {
				n++
			}
		}
		gaps[o.ID] = n < len(sets)
		// where there are more nodes than replicas, two may have asked the same one
		if there[o.ID] = n > p.replicas/2 && len(p.address.nodes) <= p.replicas; !there[o.ID] && n > 0 {
			doubtful = append(doubtful, o)
		}
	}
	if err != nil {
		return nil, nil, err
	}
	read, err := each(ctx, doubtful, func(ctx context.Context, o stored) (object, error) {
		return p.read(ctx, p.client, o.ID, quorum)
	})
	for i, o := range doubtful {
		there[o.ID] = read[i].Digest == o.digest
	}
	return there, gaps, err
}

// finds returns which objects of a host the node finds in each of its indexes as
// they were sent.
func (r readers) finds(ctx context.Context, host string, objects []stored) (map[string]bool, error) {
	finds := map[string]bool{}
	for part := range slices.Chunk(objects, idsAtOnce) {
		found, err := r.indexed(ctx, inEveryIndex(host, anyOf("record_id", idsOf(part))))
		if err != nil {
			return nil, err
		}
		for _, o := range part {
			f := found[o.ID]
			finds[o.ID] = f.Digest == o.digest && f.Model == o.model
		}
	}
	return finds, nil
}
