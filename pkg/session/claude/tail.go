package claude

import (
	"bytes"
	"context"
	"fmt"
	"hash/maphash"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
)

// readTail reads backwards, follows the parents from the last message as the
// runtime does, and stops early; 32 KiB are normal.
//
// The context is what the last model call counted plus an estimate of what
// follows, if that call lies after the last compaction. Else it is an estimate
// of the compaction's summary, the messages that it kept and what follows, with
// the prompt and the tools as the first call of the log counted them; or of
// everything, without the prompt and the tools.
func readTail(ctx context.Context, log *os.File, info os.FileInfo, ref session.Ref) (session.Tail, error) {
	if ref.Kind == session.KindOutput {
		return session.Tail{}, fmt.Errorf("%w: the output of a tool", session.ErrUnknownFormat)
	}
	t := newTailReader(info.Size())
	t.walk.side = strings.HasPrefix(filepath.Base(ref.Path), agentStart)
	return t.tail(ctx, log, info.ModTime())
}

// tailReader is the state of one walk from the end of a log to its root.
type tailReader struct {
	session.TailWalk
	decoder
	records session.MessageRecords

	walk    walk
	context contextSize
	turn    turn
	role    session.Role // of the last message
}

func newTailReader(size int64) *tailReader {
	t := &tailReader{TailWalk: session.TailWalk{Runtime: "Claude Code", Size: size, Exact: session.ExactTail}, records: messageRecords()}
	t.thinking, t.walk.any, t.Unread.Own = true, true, session.FormatClaude
	return t
}

func (t *tailReader) tail(ctx context.Context, log io.ReaderAt, modTime time.Time) (session.Tail, error) {
	err := t.Walk(ctx, jsonl.NewBackwardReader(log, t.Size, jsonl.Options{}), t)
	if err != nil {
		return session.Tail{}, err
	}
	if t.context.summary && !t.context.counted {
		before, err := t.promptSize(ctx, log)
		if err != nil {
			return session.Tail{}, err
		}
		t.context.sum += before
	}
	return t.finish(modTime), nil
}

// promptSize is how many tokens the runtime sends beside the messages, 0 if that cannot
// be told.
func (t *tailReader) promptSize(ctx context.Context, log io.ReaderAt) (tokens int64, err error) {
	var d decoder
	return session.PromptSize(ctx, log, t.Size, func(raw []byte) *session.Message {
		if d.decode(raw) != nil || d.record.sidechain != t.walk.side || !d.record.kind.says() {
			return nil
		}
		return &d.message
	})
}

// settled reports whether nothing further back changes the context or the
// turn.
func (t *tailReader) settled() bool {
	return t.Known > 0 && (t.walk.ended || t.context.sized && t.turn.decided)
}

// Decode implements [session.TailReader].
func (t *tailReader) Decode(raw []byte) error { return t.decode(raw) }

// Take implements [session.TailReader]. It reads only the type of a record
// once nothing else matters.
func (t *tailReader) Take(raw []byte) (settled bool, err error) {
	if t.settled() && t.LastTime != 0 {
		is, err := t.records.Has(raw)
		if is {
			t.Messages++
		}
		return true, err
	}
	if err := t.decode(raw); err != nil {
		return false, err
	}
	r, m := &t.record, &t.message
	if r.ours() {
		t.Known++
	}
	if r.counts() {
		t.Messages++
	}
	if t.LastTime == 0 {
		t.LastTime, _, _ = session.ParseTime(r.time)
	}
	switch t.walk.step(r, m) {
	case onPath:
		t.visit()
	case beside:
		t.context.aside(r, m)
	}
	return t.settled(), nil
}

// visit takes in one record of the active branch.
func (t *tailReader) visit() {
	r, m := &t.record, &t.message
	t.context.add(r, m)
	if r.kind.says() && t.role == 0 {
		t.role = m.Role
	}
	t.turn.add(r, m)
}

func (t *tailReader) finish(modTime time.Time) session.Tail {
	tail := session.Tail{
		Tokens: t.context.sum, TokenSource: session.TokensFromEstimate,
		LastRole: t.role, Answered: !t.turn.decided || t.turn.answered,
	}
	if t.context.counted {
		tail.TokenSource = session.TokensFromUsage
	}
	t.Complete(&tail, modTime)
	return tail
}

// place says where a record stands while a log is read backwards.
type place uint8

const (
	elsewhere place = iota // on another branch, or of no branch
	onPath                 // on the path from the last message to the root
	beside                 // a call or a tool's result on no path: maybe a parallel one
)

// walk follows the active branch from the last message of a log to its root.
type walk struct {
	side  bool   // the log is a sub-agent's own
	any   bool   // the next message is on the path, whatever its id
	want  []byte // else the record with this id
	ended bool
}

func (w *walk) step(r *record, m *session.Message) place {
	named := r.kind.says() || r.kind == boundary || r.kind == link
	if w.ended || !named || r.sidechain != w.side {
		return elsewhere
	}
	if len(r.id) == 0 {
		return onlyIf(r.kind.says(), onPath)
	}
	if w.any && r.kind == link {
		return elsewhere // a note at the end leads nowhere
	}
	if !w.any && string(w.want) != string(r.id) {
		return onlyIf(m.Role == session.RoleToolResult || r.kind == assistant && len(r.reply) > 0, beside)
	}
	parent := r.parent
	if len(parent) == 0 {
		parent = r.logical
	}
	w.any = len(parent) == 0 && (!r.root || r.kind == boundary)
	w.want = append(w.want[:0], parent...)
	w.ended = len(parent) == 0 && !w.any
	return onPath
}

func onlyIf(yes bool, p place) place {
	if yes {
		return p
	}
	return elsewhere
}

// maxAside is how many records beside the path are kept in mind.
const maxAside = 256

// contextSize adds up the tokens of a context from its end.
type contextSize struct {
	sum     int64
	counted bool   // the sum begins with a model call's own count
	sized   bool   // nothing further back belongs to it
	reply   []byte // of the call that was counted, while its other records follow

	asides []aside // what may turn out to be part of a reply on the path

	summary bool   // a compaction's summary was read: its boundary follows
	kept    []byte // the first message that the compaction kept, while it is looked for
	from    []byte // the last of them, while that is looked for
	pending int64  // of the messages since, not yet in sum
}

// aside is a record beside the path: a result, or a call of a reply.
type aside struct {
	id, parent, reply string
	tokens            int64
}

// aside keeps a record in mind. It counts if its call, or another record of
// its reply, is on the path.
func (c *contextSize) aside(r *record, m *session.Message) {
	if !c.sized && len(c.asides) < maxAside {
		c.asides = append(c.asides, aside{string(r.id), string(r.parent), string(r.reply), m.EstimateTokens()})
	}
}

// add takes in one record of the active branch.
func (c *contextSize) add(r *record, m *session.Message) {
	switch {
	case c.sized:
	case c.counted:
		c.sized = r.kind != link && !bytes.Equal(r.reply, c.reply)
		if !c.sized {
			c.collect(r)
		}
	case len(c.kept) > 0:
		c.addKept(r, m)
	case r.kind == boundary:
		c.addBoundary(r)
	case c.summary && r.kind.says():
		c.sized = true // a summary without a boundary stands for everything
	case !r.kind.says():
	case m.Compaction:
		c.sum += m.EstimateTokens()
		c.summary = true
	case r.kind == assistant && m.HasUsage && !m.IsError:
		c.sum += m.Usage.Context()
		c.counted, c.sized = true, len(r.reply) == 0
		c.reply = append(c.reply[:0], r.reply...)
		c.collect(r)
	default:
		c.sum += m.EstimateTokens()
		c.collect(r)
	}
}

// collect adds what belongs to a record on the path: the results of its calls,
// the other records of its reply and their results. What the model's own count
// holds is not added again.
func (c *contextSize) collect(r *record) {
	if len(r.id) == 0 || len(c.asides) == 0 {
		return
	}
	calls := map[string]bool{string(r.id): true}
	for _, x := range c.asides {
		if x.reply != "" && x.reply == string(r.reply) {
			calls[x.id] = true
		}
	}
	c.asides = slices.DeleteFunc(c.asides, func(x aside) bool {
		call, result := x.reply != "" && calls[x.id], x.reply == "" && calls[x.parent]
		if result || call && !c.counted {
			c.sum += x.tokens
		}
		return call || result
	})
}

func (c *contextSize) addBoundary(r *record) {
	if len(r.head) == 0 {
		c.sized = true
		return
	}
	c.kept = append(c.kept, r.head...)
	c.from = append(c.from, r.tail...)
}

// addKept takes in a record before the boundary. An older compaction's summary
// is not part of the context any more.
func (c *contextSize) addKept(r *record, m *session.Message) {
	if len(c.from) > 0 && string(r.id) != string(c.from) {
		return
	}
	c.from = c.from[:0]
	if r.kind.says() && !m.Compaction {
		c.pending += m.EstimateTokens()
	}
	if string(r.id) == string(c.kept) {
		c.sum += c.pending
		c.sized = true
	}
}

// turn finds out whether the last turn is answered, from its end.
type turn struct {
	decided, answered bool
	printed           bool // what a command printed was read: its echo follows
}

func (t *turn) add(r *record, m *session.Message) {
	switch {
	case t.decided:
	case r.kind == boundary:
		t.decided, t.answered = true, string(r.trigger) != "auto"
	case !r.kind.says(), m.Compaction:
	case r.kind == assistant:
		t.decided, t.answered = true, complete(m)
	case m.Role == session.RoleToolResult:
		t.decided = true
	case r.text == interrupted:
		t.decided, t.answered = true, true
	case r.text == output:
		t.printed = true
	case r.text == command && t.printed:
		t.printed = false
	case r.text == injected && !t.taken(m):
	default:
		t.decided = true
	}
}

// taken reports whether the model answers a message that the runtime put in.
func (t *turn) taken(m *session.Message) bool { return bytes.Equal(m.CustomType, customTask) }

// complete reports whether an assistant's record ends its turn: it is neither
// a call, nor a thought, nor a text before a call.
func complete(m *session.Message) bool {
	if m.IsError {
		return true
	}
	switch string(m.StopReason) {
	case "tool_use", "pause_turn":
		return false
	}
	said := len(m.Parts) == 0
	for i := range m.Parts {
		switch m.Parts[i].Kind {
		case session.PartToolCall:
			return false
		case session.PartThinking:
		default:
			said = true
		}
	}
	return said
}

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
