package piformat

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
)

const (
	// tailBlock is the size up to which a log's messages are counted exactly.
	tailBlock = 64 << 10
	// tailSample is how much of the end of a larger log is looked at to
	// estimate them. It is less than two of the blocks of 16 KiB that are read
	// at once, so that the line at their edge is not read.
	tailSample = 28 << 10
)

// Tail says how big the context of a session is and whether its last turn is
// answered. It reads backwards, follows the parents from the last entry as
// the runtime does, and stops early; 32 KiB are normal.
//
// The context is what the last model call counted (an assistant's usage that
// is above zero and whose turn did not end in an error and was not aborted)
// plus an estimate of what follows, if that call lies after the last
// compaction and the last reset. Else it is an estimate: of the compaction's
// summary, the messages that it kept and what follows, or of everything.
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
	err := t.read(ctx)
	if errors.Is(err, jsonl.ErrUTF16) {
		return session.Tail{}, fmt.Errorf("%w: %w", session.ErrUnknownFormat, err)
	}
	if err != nil {
		return session.Tail{}, fmt.Errorf("read the end of the log: %w", err)
	}
	if t.strange() {
		return session.Tail{}, fmt.Errorf("%w: none of the last %d lines is a record of pi or OpenClaw", session.ErrUnknownFormat, t.lines)
	}
	if err := t.keptByIndex(ctx); err != nil {
		return session.Tail{}, fmt.Errorf("read what the compaction kept: %w", err)
	}
	return t.finish(modTime), nil
}

// tailReader is the state of one walk from the end of a log to its root.
type tailReader struct {
	decoder
	counter counter
	tailState
}

// tailState is what is of one log.
type tailState struct {
	backward *jsonl.BackwardReader
	log      io.ReaderAt
	size     int64
	offset   int64 // of the line that is read

	walk     walk
	context  contextSize
	result   session.Tail
	turn     bool  // whether the last turn is answered is known
	lastTime int64 // epoch milliseconds, 0 before it is known
	messages int   // records of type message seen
	known    int   // records of this format seen
	lines    int   // with text, so far
	pending  bool  // the last line looks like a record that is still being written
}

func (t *tailReader) read(ctx context.Context) error {
	for !t.enough() {
		if err := ctx.Err(); err != nil {
			return err
		}
		line, err := t.backward.Prev()
		if errors.Is(err, io.EOF) {
			t.offset = 0
			return nil
		}
		if err != nil {
			return err
		}
		t.offset = line.Offset
		if err := t.line(ctx, line); err != nil {
			return err
		}
	}
	return nil
}

// enough reports whether nothing further back matters.
func (t *tailReader) enough() bool {
	seen := t.size - t.offset
	return t.settled() && t.size > tailBlock && seen >= tailSample ||
		t.known == 0 && t.lines >= strangeLines && seen >= strangeBytes
}

// A file of which so many lines and bytes at the end are no records of this
// format is not a session.
const (
	strangeLines = 16
	strangeBytes = 1 << 20
)

// strange reports whether the file has text but is not of this format.
func (t *tailReader) strange() bool {
	onlyPending := t.lines == 1 && t.pending
	return t.known == 0 && t.lines > 0 && !onlyPending
}

// settled reports whether nothing further back changes the context or the
// turn.
func (t *tailReader) settled() bool {
	return t.known > 0 && (t.walk.ended || (t.context.sized && t.turn))
}

// line reads one line. Of a line that is not one record, what a scan would
// save counts.
func (t *tailReader) line(ctx context.Context, line jsonl.Line) error {
	if len(bytes.TrimSpace(line.Raw)) == 0 {
		return nil
	}
	t.lines++
	if t.record(line.Raw) == nil {
		return nil
	}
	var records [][]byte
	counts, err := jsonl.Scan(ctx, bytes.NewReader(line.Raw), jsonl.Options{}, func(r *jsonl.Record) error {
		err := t.decode(r.Raw)
		if err == nil {
			records = append(records, bytes.Clone(r.Raw))
		}
		return err
	})
	if err != nil && !errors.Is(err, jsonl.ErrUTF16) {
		return err
	}
	if t.lines == 1 && !line.Complete && counts.Torn {
		t.result.Torn = true
		t.pending = bytes.HasPrefix(bytes.TrimLeft(line.Raw, "\x00\t\r "), []byte("{"))
	}
	for i := len(records) - 1; i >= 0; i-- {
		if err := t.record(records[i]); err != nil {
			return err
		}
	}
	return nil
}

// record reads one record, and only its type once nothing else matters.
func (t *tailReader) record(raw []byte) error {
	if t.settled() && t.lastTime != 0 {
		is, err := t.counter.isMessage(raw)
		if is {
			t.messages++
		}
		return err
	}
	if err := t.decode(raw); err != nil {
		return err
	}
	if t.entry.ours() {
		t.known++
	}
	if t.entry.kind == message {
		t.messages++
	}
	if t.lastTime == 0 {
		t.lastTime = t.settleTime(0)
	}
	if t.walk.step(&t.entry) {
		t.visit()
	}
	return nil
}

// visit takes in one entry of the active branch.
func (t *tailReader) visit() {
	e, m := &t.entry, &t.message
	t.context.add(e, m, t.offset)
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
	tail.Messages, tail.MessagesExact = t.messages, t.offset == 0
	if seen := t.size - t.offset; !tail.MessagesExact && seen > 0 {
		tail.Messages = int(float64(t.messages) * float64(t.size) / float64(seen))
	}
	tail.SetLast(t.lastTime, modTime)
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
	sized     bool   // nothing further back belongs to it
	firstKept []byte // the first entry that the compaction kept, while it is looked for
	pending   int64  // of the entries since, not yet in sum
	keptIndex int64  // in version 1: the index of the first record that was kept
	keptEnd   int64  // in version 1: where the compaction stands, 0 if there is none
}

// add takes in one entry of the active branch; offset is where it stands.
func (c *contextSize) add(e *entry, m *session.Message, offset int64) {
	switch {
	case c.sized:
	case len(c.firstKept) > 0:
		c.addKept(e, m)
	case e.kind == compaction:
		c.addCompaction(e, m, offset)
	case usable(e, m):
		c.sum += m.Usage.Context()
		c.counted, c.sized = true, true
	case e.kind.says():
		c.sum += m.EstimateTokens()
	}
}

// usable reports whether the message has a model call's own count.
func usable(e *entry, m *session.Message) bool {
	failed := string(m.StopReason) == "error" || string(m.StopReason) == "aborted"
	return e.kind == message && m.Role == session.RoleAssistant && !failed && m.Usage.Context() > 0
}

func (c *contextSize) addCompaction(e *entry, m *session.Message, offset int64) {
	c.sum += m.EstimateTokens()
	if len(e.firstKept) > 0 {
		c.firstKept = append(c.firstKept, e.firstKept...)
		return
	}
	c.sized = true
	if e.hasKept {
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
