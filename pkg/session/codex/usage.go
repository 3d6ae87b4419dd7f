package codex

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
)

// Tokens is what model calls cost. Cached tokens are part of Input, reasoning
// is part of Output (research: codex/codexbar ORACLE.md).
type Tokens struct {
	Input, Cached, CacheWrite, Output, Reasoning int64
	Total                                        int64 // as recorded, or 0
}

// Context returns the tokens that the context held after the call: the
// recorded total, else input and output.
func (t Tokens) Context() int64 {
	if t.Total > 0 {
		return t.Total
	}
	return t.Input + t.Output
}

func (t *Tokens) add(o Tokens) {
	t.Input += o.Input
	t.Cached += o.Cached
	t.CacheWrite += o.CacheWrite
	t.Output += o.Output
	t.Reasoning += o.Reasoning
	t.Total += o.Total
}

// Count is one token_count event: what the last call cost, and all calls of
// the thread so far.
type Count struct{ Last, Sum Tokens }

// ThreadUsage is what one rollout says its model calls cost.
type ThreadUsage struct {
	ID         string
	ForkedFrom string  // id of the thread whose copy the rollout begins with, or ""
	Counts     []Count // in file order, repeated ones included
}

// ReadUsage reads the token counts of a rollout. It returns an error that
// wraps [session.ErrUnknownFormat] for a file that is not one.
func ReadUsage(ctx context.Context, r io.Reader) (ThreadUsage, error) {
	plain, _, err := jsonl.Decompress(r, largestCompressed)
	if err != nil {
		return ThreadUsage{}, fmt.Errorf("read usage: %w", err)
	}
	defer plain.Close()
	var d decoder
	var u ThreadUsage
	headers := 0
	var lines session.LineScan
	_, err = lines.Run(ctx, plain, nil, func(r *jsonl.Record) (bool, error) {
		if err := d.decode(r.Raw); err != nil {
			return false, err
		}
		switch d.record.kind {
		case meta:
			if headers++; headers == 1 {
				u.ID, u.ForkedFrom = string(d.record.item.id), string(d.record.item.fork)
			}
		case tokenCount:
			if last, sum := readUsage(&d.inner, d.record.item.info); last.Context() > 0 {
				u.Counts = append(u.Counts, Count{last, sum})
			}
		}
		return d.record.kind != foreign, nil
	})
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil // a compressed rollout that was cut off
	}
	return u, err
}

// Usage adds up what the calls of some threads cost, each call once: a fork
// begins with the counts of its parent, or if that is not among the threads,
// with those of another fork of it; and an event that repeats the count before
// it was no call.
func Usage(threads []ThreadUsage) Tokens {
	var sum Tokens
	for i, t := range threads {
		for j := copied(threads, i); j < len(t.Counts); j++ {
			if j == 0 || t.Counts[j].Sum != t.Counts[j-1].Sum {
				sum.add(t.Counts[j].Last)
			}
		}
	}
	return sum
}

// copied returns how many counts of a thread another one before it in descent
// has as well.
func copied(threads []ThreadUsage, i int) (n int) {
	t := threads[i]
	if t.ForkedFrom == "" {
		return 0
	}
	for j, other := range threads {
		sibling := j < i && other.ForkedFrom == t.ForkedFrom
		if j != i && (other.ID == t.ForkedFrom || sibling) {
			n = max(n, common(t.Counts, other.Counts))
		}
	}
	return n
}

func common(a, b []Count) (n int) {
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// readUsage reads {"last_token_usage","total_token_usage"}, or one usage that
// stands alone.
func readUsage(c *jsonl.Cursor, raw []byte) (last, sum Tokens) {
	c.Reset(raw)
	if !c.EnterObject() {
		return last, sum
	}
	var alone Tokens
	for c.NextKey() {
		switch string(c.Key()) {
		case "last_token_usage":
			last = tokens(c)
		case "total_token_usage":
			sum = tokens(c)
		default:
			alone.member(c)
		}
	}
	if last == (Tokens{}) && sum == (Tokens{}) {
		return alone, alone
	}
	return last, sum
}

func tokens(c *jsonl.Cursor) (t Tokens) {
	for ok := c.EnterObject(); ok && c.NextKey(); {
		t.member(c)
	}
	return t
}

func (t *Tokens) member(c *jsonl.Cursor) {
	var to *int64
	switch string(c.Key()) {
	case "input_tokens":
		to = &t.Input
	case "cached_input_tokens":
		to = &t.Cached
	case "cache_write_input_tokens":
		to = &t.CacheWrite
	case "output_tokens":
		to = &t.Output
	case "reasoning_output_tokens":
		to = &t.Reasoning
	case "total_tokens":
		to = &t.Total
	default:
		return
	}
	n, _ := c.Int64()
	*to = max(n, 0)
}
