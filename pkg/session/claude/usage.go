package claude

import (
	"context"
	"hash/maphash"
	"io"

	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
)

// windowReplies is how many replies are remembered. The records of one reply
// stand close together; only what sub-agents say stands between them.
const windowReplies = 4096

// replies remembers what the last replies of the model cost, by message id.
type replies struct {
	seed  maphash.Seed
	costs map[uint64]session.Usage
	ring  []uint64
	next  int
}

func newReplies() *replies {
	return &replies{seed: maphash.MakeSeed(), costs: make(map[uint64]session.Usage)}
}

// grew takes in the usage of one record. It reports whether it is the first
// of its reply, or more than the records before it said.
func (r *replies) grew(id []byte, u session.Usage) bool {
	if len(id) == 0 {
		return true
	}
	k := maphash.Bytes(r.seed, id)
	before, known := r.costs[k]
	after := most(before, u)
	if known && after == before {
		return false
	}
	r.costs[k] = after
	if !known {
		r.remember(k)
	}
	return true
}

func (r *replies) remember(k uint64) {
	if len(r.ring) < windowReplies {
		r.ring = append(r.ring, k)
		return
	}
	delete(r.costs, r.ring[r.next])
	r.ring[r.next] = k
	r.next = (r.next + 1) % windowReplies
}

// most is the larger of each count: the usage of a reply grows from record to
// record.
func most(a, b session.Usage) session.Usage {
	return session.Usage{
		Input: max(a.Input, b.Input), Output: max(a.Output, b.Output),
		CacheRead: max(a.CacheRead, b.CacheRead), CacheWrite: max(a.CacheWrite, b.CacheWrite),
	}
}

// Usage adds up what all model calls of a log cost, sub-agents in it
// included, each call once: the records of one reply repeat its usage
// (research/formats.md section 10). It returns the number of calls, and an
// error that wraps [session.ErrUnknownFormat] for a file that is no log.
func Usage(ctx context.Context, r io.Reader) (sum session.Usage, calls int, err error) {
	var d decoder
	seen := newReplies()
	var lines session.LineScan
	_, err = lines.Run(ctx, r, nil, func(r *jsonl.Record) (bool, error) {
		if err := d.decode(r.Raw); err != nil {
			return false, err
		}
		if d.record.kind == assistant && d.message.HasUsage {
			before, known := seen.cost(d.record.reply)
			if seen.grew(d.record.reply, d.message.Usage) {
				sum = plus(sum, most(before, d.message.Usage), before)
			}
			if !known {
				calls++
			}
		}
		return d.record.ours(), nil
	})
	return sum, calls, err
}

func (r *replies) cost(id []byte) (session.Usage, bool) {
	if len(id) == 0 {
		return session.Usage{}, false
	}
	u, known := r.costs[maphash.Bytes(r.seed, id)]
	return u, known
}

// plus is sum and what a reply costs now, less what it had cost before.
func plus(sum, now, before session.Usage) session.Usage {
	return session.Usage{
		Input: sum.Input + now.Input - before.Input, Output: sum.Output + now.Output - before.Output,
		CacheRead: sum.CacheRead + now.CacheRead - before.CacheRead, CacheWrite: sum.CacheWrite + now.CacheWrite - before.CacheWrite,
	}
}
