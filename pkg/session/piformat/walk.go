package piformat

import (
	"context"
	"io"

	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
)

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
