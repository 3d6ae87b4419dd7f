package weaviate

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"time"

	"github.com/sessctl/sessctl/pkg/memory/remote"
)

// noted is what is known of a host, an agent or a bid: of a host when it was pushed
// last, the identity of the memory whose records it has, and whether some of them
// are in doubt.
type noted struct {
	kind, name, identity string
	stamp                int64
	doubt                bool
}

// name is the object that notes it.
func (c *cluster) name(id string, n noted) stored {
	doubt := map[bool]int{true: 1}[n.doubt]
	return stored{Class: c.class(namesClass), ID: id, Properties: map[string]any{"name": remote.Storable(n.name), "kind": n.kind, "stamp": n.stamp, "entry": n.identity, "doubt": doubt}}
}

// register notes that a host has pushed, and returns when.
func (m *Memory) register(ctx context.Context, host, identity string) (stamp int64, err error) {
	stamp = time.Now().UnixMilli()
	return stamp, m.write(ctx, []stored{m.name(objectID("host", host), noted{"host", host, identity, stamp, m.doubted})})
}

// introduce makes a host known that has not pushed yet.
func (m *Memory) introduce(ctx context.Context, host string) error {
	hosts, err := m.majority(ctx).names(ctx, "host")
	if err != nil || slices.ContainsFunc(hosts, func(h object) bool { return h.Name == remote.Storable(host) }) {
		return err
	}
	_, err = m.register(ctx, host, "")
	return err
}

// claim sees to it that the host of a batch is that of its memory.
func (m *Memory) claim(ctx context.Context, b remote.Batch) error {
	for try := 0; ; try++ {
		of, err := m.owner(ctx, b.Host)
		switch {
		case err != nil || of == b.Memory:
			return err
		case of != "" && !b.TakeOver:
			return fmt.Errorf("%w: %s", remote.ErrOtherMemory, b.Host)
		}
		alone := b.TakeOver
		if !alone {
			if alone, err = m.bid(ctx, b); err != nil {
				return err
			}
		}
		if alone {
			_, err = m.register(ctx, b.Host, b.Memory)
			return err
		}
		if try == len(pauses) {
			return fmt.Errorf("%w: %s: another memory pushes under this name for the first time, or was cut off when it did", remote.ErrOtherMemory, b.Host)
		}
		select { // not as long as the other
		case <-time.After(rand.N(pauses[try])): //nolint:gosec // not a secret
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", remote.ErrUnreachable, ctx.Err())
		}
	}
}

// owner is the identity of the memory that a host is of, "" of none. It also reads
// whether its records are in doubt.
func (m *Memory) owner(ctx context.Context, host string) (string, error) {
	var o struct {
		Properties object `json:"properties"`
	}
	err := m.client.ask(ctx, question{method: http.MethodGet, path: m.namePath(objectID("host", host)), into: &o, may404: true})
	if errors.Is(err, errAbsent) {
		err = nil
	}
	m.doubted = o.Properties.Doubt > 0
	return o.Properties.Entry, err
}

// bidKind is the kind of the names with which memories say that they want to be
// that of a host; they are named after it.
const bidKind = "bid"

// bid says that a memory wants a host that has none, and reports whether no other
// does. The cluster has nothing that only one of two can do. But both write first
// and look second, and what a majority has every majority finds: whoever looks
// later sees the bid of the other, or the owner that it has become, since a bid
// is withdrawn by those only that have not become it. Both may see each other:
// then both withdraw. A bid that was left by a push that was cut off stands in the
// way until the name is taken over.
func (m *Memory) bid(ctx context.Context, b remote.Batch) (alone bool, err error) {
	id := objectID(bidKind, b.Host, b.Memory)
	if err := m.write(ctx, []stored{m.name(id, noted{kind: bidKind, name: b.Host, identity: b.Memory, stamp: time.Now().UnixMilli()})}); err != nil {
		return false, err
	}
	bids, err := m.majority(ctx).find(ctx, query{class: m.class(namesClass), where: and(equal("kind", bidKind), equal("name", remote.Storable(b.Host))), limit: mostResults, fields: "entry _additional{id}"})
	if err != nil {
		return false, err
	}
	others := slices.ContainsFunc(bids, func(o object) bool { return o.Entry != b.Memory })
	of, err := m.owner(ctx, b.Host)
	if err != nil {
		return false, err
	}
	if !others && of == "" {
		return true, nil
	}
	err = m.client.ask(ctx, question{method: http.MethodDelete, path: m.namePath(id), may404: true, slow: true})
	if errors.Is(err, errAbsent) {
		err = nil
	}
	return false, err
}

// namePath is where an object of names is read and removed.
func (c *cluster) namePath(id string) string {
	return "/v1/objects/" + c.class(namesClass) + "/" + id + "?consistency_level=" + quorum
}
