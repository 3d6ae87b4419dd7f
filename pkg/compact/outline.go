package compact

import (
	"math"
	"slices"

	"github.com/sessctl/sessctl/pkg/session"
)

// outline is what the cut of a session is decided on: one small entry for each
// message of its context. It is built while the log is read.
type outline struct {
	keep     session.Keep
	messages []outlined
	opened   map[string]int // ordinals of the messages whose calls are not answered yet, by call id

	from        int   // ordinal of the first message of the context
	count       int   // of its messages, forgotten ones included
	tokens      int64 // of its messages, forgotten ones included
	previous    bool  // a compaction's summary stands before them
	previousAt  int   // its ordinal
	previousTok int64
	next        int // one more than the ordinal of the last message
	limit       int // messages from which on those that will be cut away are forgotten
}

// outlined is what the cut needs to know of one message.
type outlined struct {
	ordinal, line int
	offset        int64
	id            string
	role          session.Role
	tokens        int64
	opener        int // of a tool result: ordinal of the message with its call, else maxOpener
}

const (
	maxOpener = math.MaxInt
	// outlineLimit bounds the memory of an outline: a session of a million
	// messages is outlined in about a megabyte.
	outlineLimit = 8192
)

func newOutline(keep session.Keep) *outline {
	return &outline{keep: keep, opened: map[string]int{}, from: -1, limit: outlineLimit}
}

// add takes in the next message of the log.
func (o *outline) add(m *session.Message) error {
	o.next = m.Ordinal + 1
	if m.Branch != session.Active || m.OutOfContext {
		return nil
	}
	if m.Compaction {
		o.compacted(m)
		return nil
	}
	if o.from < 0 {
		o.from = m.Ordinal
	}
	x := outlined{
		ordinal: m.Ordinal, line: m.Line, offset: m.Offset, id: string(m.ID), role: m.Role,
		tokens: m.EstimateTokens(), opener: o.openerOf(m),
	}
	o.messages = append(o.messages, x)
	o.count++
	o.tokens += x.tokens
	o.open(m)
	if len(o.messages) >= 2*o.limit {
		o.forget()
	}
	return nil
}

// openerOf finds the message whose call a tool result answers. An id that was
// used twice means its last use.
func (o *outline) openerOf(m *session.Message) int {
	if m.Role != session.RoleToolResult {
		return maxOpener
	}
	if opener, ok := o.opened[string(m.CallID)]; ok {
		delete(o.opened, string(m.CallID)) // only what is never answered takes up memory
		return opener
	}
	return maxOpener
}

func (o *outline) open(m *session.Message) {
	for i := range m.Parts {
		if p := &m.Parts[i]; p.Kind == session.PartToolCall && len(p.CallID) > 0 {
			o.opened[string(p.CallID)] = m.Ordinal
		}
	}
}

// compacted is an earlier compaction: of what came before only the tail that
// it kept is still in the context, and nothing if that is not there
// (research/behaviours.md section 2, "Context rebuild").
func (o *outline) compacted(m *session.Message) {
	o.previous, o.previousAt, o.previousTok = true, m.Ordinal, m.EstimateTokens()
	kept := slices.IndexFunc(o.messages, func(x outlined) bool { return len(x.id) > 0 && x.id == string(m.FirstKept) })
	if kept < 0 && len(m.FirstKept) > 0 && o.count > len(o.messages) {
		return // among the forgotten: to sum up too much loses nothing
	}
	if kept < 0 {
		kept = len(o.messages)
	}
	o.messages = append(o.messages[:0], o.messages[kept:]...)
	o.count, o.tokens, o.from = len(o.messages), 0, -1
	for i := range o.messages {
		o.tokens += o.messages[i].tokens
	}
	if o.count > 0 {
		o.from = o.messages[0].ordinal
	}
}

// forget drops messages that are certain to be cut away: the cut only ever
// moves on as messages are added.
func (o *outline) forget() {
	at, ok := o.find()
	if !ok {
		return
	}
	at = min(at, len(o.messages)-o.limit) // a later result may push the cut back a little
	if at <= 0 {
		return
	}
	o.messages = append(o.messages[:0], o.messages[at:]...)
}
