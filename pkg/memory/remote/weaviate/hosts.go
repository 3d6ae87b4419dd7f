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

// note stores what is known of something that has a name: of a host when it was
// pushed last (Stamp), the identity of the memory whose records it has (Entry), and
// whether some of them are in doubt (1); of a model its fingerprint, and
// of an agent that of a model of whose vectors it has some (Entry).
func (c *cluster) note(ctx context.Context, id string, o object) error {
	return c.write(ctx, quorum, []stored{{Class: c.class(namesClass), ID: id, Properties: map[string]any{"name": remote.Storable(o.Name), "kind": o.Kind, "stamp": o.Stamp, "entry": o.Entry, "doubt": o.Doubt}}})
}

// register notes that a host has pushed, and returns when.
func (m *Memory) register(ctx context.Context, host, identity string) (stamp int64, err error) {
	stamp = time.Now().UnixMilli()
	o := object{Kind: "host", Name: host, Entry: identity, Stamp: float64(stamp)}
	if m.doubted {
		o.Doubt = 1
	}
	return stamp, m.note(ctx, objectID("host", host), o)
}

// introduce makes a host known that has not pushed yet.
func (m *Memory) introduce(ctx context.Context, host string) error {
	o, err := m.host(ctx, host)
	if err != nil || o.Name != "" {
		return err
	}
	_, err = m.register(ctx, host, "")
	return err
}

// claim sees to it that the host of a batch is that of its memory.
func (m *Memory) claim(ctx context.Context, b remote.Batch) error {
	for try := 0; ; try++ {
		of, err := m.host(ctx, b.Host)
		m.doubted = of.Doubt > 0 && m.verified != b.Host
		switch {
		case err != nil || of.Entry == b.Memory:
			return err
		case of.Entry != "" && !b.TakeOver:
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
		if err := wait(ctx, rand.N(pauses[try])); err != nil { //nolint:gosec // not a secret; not as long as the other
			return err
		}
	}
}

// host is what is noted of a host, without a name if nothing is.
func (m *Memory) host(ctx context.Context, name string) (object, error) {
	var o struct{ Properties object }
	err := m.client.ask(ctx, question{method: http.MethodGet, path: m.namePath(objectID("host", name)), into: &o, may404: true})
	if errors.Is(err, errAbsent) {
		err = nil
	}
	return o.Properties, err
}

// bid says that a memory wants a host that has none, and reports whether no other
// does. The cluster has nothing that only one of two can do. But both write first
// and look second, and what a majority has every majority finds: whoever looks
// later sees the bid of the other, or the owner that it has become, since a bid
// is withdrawn by those only that have not become it. Both may see each other:
// then both withdraw. A bid that was left by a push that was cut off stands in the
// way until the name is taken over.
func (m *Memory) bid(ctx context.Context, b remote.Batch) (alone bool, err error) {
	const kind = "bid"
	id := objectID(kind, b.Host, b.Memory)
	if err := m.note(ctx, id, object{Kind: kind, Name: b.Host, Entry: b.Memory, Stamp: float64(time.Now().UnixMilli())}); err != nil {
		return false, err
	}
	bids, err := m.majority(ctx).names(ctx, kind)
	if err != nil {
		return false, err
	}
	others := slices.ContainsFunc(bids, func(o object) bool { return o.Name == remote.Storable(b.Host) && o.Entry != b.Memory })
	of, err := m.host(ctx, b.Host)
	if err != nil {
		return false, err
	}
	if !others && of.Entry == "" {
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
