package piformat

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
)

// Tail says how big the context of a session is and whether its last turn is
// answered. It reads backwards, follows the parents from the last entry as
// the runtime does, and stops early; 32 KiB are normal.
//
// The context is what the last model call counted (an assistant's usage that
// is above zero and whose turn did not end in an error and was not aborted)
// plus an estimate of what follows, if that call lies after the last
// compaction and the last reset, and nothing before it was taken out of the context or
// replaced since. Else it is an estimate: of the compaction's
// summary, the messages that it kept and what follows, with the prompt and the
// tools as the first call of the log counted them; or of everything, without these.
//
// The last activity is the time of the last record that has one, but never
// later than modTime. A parent is the nearest entry before its child that has
// the id.
//
// Tail returns an error that wraps [session.ErrUnknownFormat] if there is text
// but no record of this format, and io.ErrUnexpectedEOF, wrapped, if the log
// became shorter while it was read.
func Tail(ctx context.Context, r io.ReaderAt, size int64, modTime time.Time) (session.Tail, error) {
	return (&Reader{}).Tail(ctx, r, size, modTime)
}

// run is [Tail] with what begin has set.
func (t *tailReader) run(ctx context.Context, modTime time.Time) (session.Tail, error) {
	if err := t.Walk(ctx, t.backward, t); err != nil {
		return session.Tail{}, err
	}
	if err := t.keptByIndex(ctx); err != nil {
		return session.Tail{}, fmt.Errorf("read what the compaction kept: %w", err)
	}
	if err := t.addPrompt(ctx); err != nil {
		return session.Tail{}, err
	}
	return t.finish(modTime), nil
}

// tailReader is the state of one walk from the end of a log to its root.
type tailReader struct {
	decoder
	records session.MessageRecords
	tailState
}

// tailState is what is of one log.
type tailState struct {
	session.TailWalk
	backward *jsonl.BackwardReader
	log      io.ReaderAt

	walk    walk
	context contextSize
	edits   contextEdits
	result  session.Tail
	turn    bool // whether the last turn is answered is known
}

// settled reports whether nothing further back changes the context or the
// turn.
func (t *tailReader) settled() bool {
	return t.Known > 0 && (t.walk.ended || (t.context.sized && t.turn))
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
	if t.entry.ours() {
		t.Known++
	}
	t.Unread.Says(t.entry.kind.says())
	if t.entry.kind == message {
		t.Messages++
	}
	if t.LastTime == 0 {
		t.LastTime = t.settleTime(0)
	}
	if t.walk.step(&t.entry) {
		t.visit()
	}
	return t.settled(), nil
}

// visit takes in one entry of the active branch.
func (t *tailReader) visit() {
	e, m := &t.entry, &t.message
	if e.kind == contextEdit {
		t.edits.meet(e)
	}
	t.edits.apply(&t.decoder)
	t.context.add(e, m, t.Offset, len(t.edits) == 0)
	if !e.kind.says() {
		return
	}
	if t.result.LastRole == 0 {
		t.result.LastRole = m.Role
	}
	if t.turn {
		return
	}
	switch m.Role {
	case session.RoleUser, session.RoleToolResult:
		t.turn = true
	case session.RoleAssistant:
		t.turn, t.result.Answered = true, complete(m)
	}
}

// complete reports whether an assistant's message ends its turn. No tool runs
// for a message that failed or was aborted, so its calls are not open.
func complete(m *session.Message) bool {
	switch string(m.StopReason) {
	case "error", "aborted":
		return true
	case "toolUse":
		return false
	}
	for i := range m.Parts {
		if m.Parts[i].Kind == session.PartToolCall {
			return false
		}
	}
	return true
}

func (t *tailReader) finish(modTime time.Time) session.Tail {
	tail := t.result
	if !t.turn {
		tail.Answered = true
	}
	tail.Tokens, tail.TokenSource = t.context.sum, session.TokensFromEstimate
	if t.context.counted {
		tail.TokenSource = session.TokensFromUsage
	}
	t.Complete(&tail, modTime)
	return tail
}

// walk follows the active branch from the last entry of a log to its root,
// while the log is read backwards.
type walk struct {
	any   bool   // the next entry is on the branch, whatever its id
	want  []byte // else the entry with this id
	ended bool
}

// step reports whether the entry is on the branch. Entries without an id
// follow the entry before them, so they are.
func (w *walk) step(e *entry) bool {
	if w.ended {
		return false
	}
	if e.kind == header {
		w.ended = w.any || string(w.want) == string(e.id)
		return false
	}
	if len(e.id) == 0 {
		w.ended = e.kind == reset
		return true
	}
	if !w.any && string(w.want) != string(e.id) {
		return false
	}
	w.any = len(e.parent) == 0
	w.want = append(w.want[:0], e.parent...)
	w.ended = e.root || e.kind == reset
	return true
}

// contextSize adds up the tokens of a context from its end.
type contextSize struct {
	sum       int64
	counted   bool   // the sum begins with a model call's own count
	summary   bool   // it has a compaction's summary
	sized     bool   // nothing further back belongs to it
	firstKept []byte // the first entry that the compaction kept, while it is looked for
	pending   int64  // of the entries since, not yet in sum
	keptIndex int64  // in version 1: the index of the first record that was kept
	keptEnd   int64  // in version 1: where the compaction stands, 0 if there is none
}

// add takes in one entry of the active branch; offset is where it stands. whole says
// that nothing before it was edited after it: what its call counted is sent yet.
func (c *contextSize) add(e *entry, m *session.Message, offset int64, whole bool) {
	switch {
	case c.sized:
	case len(c.firstKept) > 0:
		c.addKept(e, m)
	case e.kind == compaction:
		c.addCompaction(e, m, offset)
	case whole && usable(e, m):
		c.sum += m.Usage.Context()
		c.counted, c.sized = true, true
	case e.kind.says():
		c.sum += m.EstimateTokens()
	}
}

// usable reports whether the message has a model call's own count.
func usable(e *entry, m *session.Message) bool {
	return e.kind == message && m.Counted() && !m.OutOfContext
}

// addPrompt adds the prompt and the tools to a context that begins with a summary, and
// that no call has counted since.
func (t *tailReader) addPrompt(ctx context.Context) error {
	if !t.context.summary || t.context.counted {
		return nil
	}
	tokens, err := session.PromptSize(ctx, t.log, t.Size, func(raw []byte) *session.Message {
		if t.decode(raw) != nil || !t.entry.kind.says() {
			return nil
		}
		return &t.message
	})
	t.context.sum += tokens
	return err
}

func (c *contextSize) addCompaction(e *entry, m *session.Message, offset int64) {
	c.sum += m.EstimateTokens()
	c.summary = true
	if len(e.firstKept) > 0 {
		c.firstKept = append(c.firstKept, e.firstKept...)
		return
	}
	c.sized = true
	if e.hasKept && e.keptIndex > 0 { // the header is no entry that could be kept
		c.keptIndex, c.keptEnd = e.keptIndex, offset
	}
}

// addKept takes in an entry before the compaction. An older compaction's
// summary is not part of the context any more.
func (c *contextSize) addKept(e *entry, m *session.Message) {
	if e.kind.says() && e.kind != compaction {
		c.pending += m.EstimateTokens()
	}
	if string(e.id) == string(c.firstKept) {
		c.sum += c.pending
		c.sized = true
	}
}

// keptByIndex adds the entries that a compaction of version 1 kept. Only their
// place in the file says which, so the file is read from its beginning.
func (t *tailReader) keptByIndex(ctx context.Context) error {
	if t.context.keptEnd == 0 {
		return nil
	}
	index := int64(-1)
	before := io.NewSectionReader(t.log, 0, t.context.keptEnd)
	_, err := jsonl.Scan(ctx, before, jsonl.Options{}, func(r *jsonl.Record) error {
		if err := t.decode(r.Raw); err != nil {
			return err
		}
		index++
		if k := t.entry.kind; index >= t.context.keptIndex && k.says() && k != compaction {
			t.context.sum += t.message.EstimateTokens()
		}
		return nil
	})
	return err
}
