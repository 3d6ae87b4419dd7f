package codex

import (
	"bytes"
	"maps"
	"slices"

	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/fields"
)

// failedTurn makes the message of a turn that failed: a text, or an object with
// one. It is never sent to the model.
func (d *decoder) failedTurn(raw []byte) {
	c := &d.inner
	c.Reset(raw)
	var why failure
	why.text, _ = c.Bytes()
	if failures.Peek(&why, &d.deep, raw); len(bytes.TrimSpace(why.text)) == 0 {
		return
	}
	m := &d.message
	m.Role, m.IsError, m.OutOfContext = session.RoleAssistant, true, true
	m.ErrorText = bytes.Clone(why.text)
}

// failure is what a turn that failed says.
type failure struct{ text []byte }

var failures = fields.New(func(f *failure) []fields.Field {
	return []fields.Field{fields.Text("message", &f.text)}
})

// printedBy makes the message of what a tool printed, from an event for the
// screen. The model is sent an item, which may have less of it.
func (d *decoder) printedBy(call []byte, raws ...[]byte) kind {
	m := &d.message
	m.Role, m.OutOfContext, m.CallID = session.RoleToolResult, true, call
	var text []byte
	for _, raw := range raws {
		if len(raw) > 0 {
			d.deep.Reset(raw)
			text = appendTexts(text, &d.deep, "text")
		}
	}
	if text = bytes.TrimSpace(text); len(text) == 0 {
		return bookkeeping
	}
	m.Parts = append(m.Parts, session.Part{Kind: session.PartUnsent, Text: text})
	return printed
}

// patchedBy keeps what a patch changed for the item of its call, if it is wanted.
func (d *decoder) patchedBy(call, changes []byte) kind {
	if !d.details || len(call) == 0 || len(changes) == 0 {
		return bookkeeping
	}
	d.message.CallID, d.message.Details = call, changes
	return patched
}

// appendTexts appends the texts in a value, each on lines of its own: of an
// object only those that a tool may have printed.
func appendTexts(dst []byte, c *jsonl.Cursor, key string) []byte {
	switch c.Kind() {
	case jsonl.String:
		if !printedKey(key) {
			c.Skip()
			return dst
		}
		if len(dst) > 0 && dst[len(dst)-1] != '\n' {
			dst = append(dst, '\n')
		}
		dst, _ = c.AppendString(dst)
	case jsonl.Array:
		for ok := c.EnterArray(); ok && c.NextElement(); {
			dst = appendTexts(dst, c, key)
		}
	case jsonl.Object:
		for ok := c.EnterObject(); ok && c.NextKey(); {
			dst = appendTexts(dst, c, string(c.Key()))
		}
	default:
		c.Skip()
	}
	return dst
}

func printedKey(key string) bool {
	switch key {
	case "text", "content", "title", "url", "snippet", "Err", "error", "message":
		return true
	}
	return false
}

const (
	// openOutputs is how many outputs wait at most for the item that the model
	// was sent of them. The item follows the event, with those of parallel calls
	// between them.
	openOutputs = 16
	// openBytes bounds their text.
	openBytes = 4 << 20
)

// outputs holds what tools printed until the items of their calls tell what of
// it the model was sent.
type outputs struct {
	open     map[string]session.Message // by call id
	bytes    int
	answered map[string]struct{} // calls of this turn whose item was read
	patches  map[string][]byte   // by call id: what patches changed; nil if that is not wanted
}

func newOutputs() outputs {
	return outputs{open: map[string]session.Message{}, answered: map[string]struct{}{}}
}

// printed takes in what a tool printed. Where the item of its call cannot
// follow any more it is said at once.
func (s *scanner) printed() error {
	o, call := &s.outputs, string(s.message.CallID)
	if _, told := o.answered[call]; told || call == "" {
		return s.offer(printed)
	}
	if _, twice := o.open[call]; twice {
		return s.offer(printed)
	}
	o.open[call] = clone(&s.message)
	o.bytes += len(s.message.Parts[0].Text)
	if len(o.open) > openOutputs || o.bytes > openBytes {
		return s.sayOutputs()
	}
	return nil
}

// patched takes in what a patch changed.
func (o *outputs) patched(m *session.Message) {
	if o.patches == nil {
		o.patches = map[string][]byte{}
	}
	if len(o.patches) < openOutputs && len(m.Details) < openBytes/openOutputs {
		o.patches[string(m.CallID)] = bytes.Clone(m.Details)
	}
}

// answer adds to a call's item what else its tool printed.
func (s *scanner) answer() {
	m, o := &s.message, &s.outputs
	if m.Role != session.RoleToolResult || len(m.CallID) == 0 {
		return
	}
	call := string(m.CallID)
	o.answered[call] = struct{}{}
	if changes, ok := o.patches[call]; ok {
		delete(o.patches, call)
		m.Details = changes
	}
	if whole, ok := o.open[call]; ok {
		delete(o.open, call)
		o.bytes -= len(whole.Parts[0].Text)
		m.AddUnsent(whole.Parts[0].Text)
	}
}

// endTurn says what no item has claimed, and why the turn failed.
func (s *scanner) endTurn() error {
	failure := clone(&s.message)
	if err := s.sayOutputs(); err != nil {
		return err
	}
	clear(s.outputs.answered)
	clear(s.outputs.patches)
	if len(failure.ErrorText) == 0 || bytes.Equal(failure.ErrorText, s.failure) {
		return nil // an error stands in an event of its own and in that of the turn
	}
	s.failure = bytes.Clone(failure.ErrorText)
	s.message = failure
	return s.offer(turnEnd)
}

// sayOutputs says the outputs that wait, in the order of the log.
func (s *scanner) sayOutputs() error {
	waiting := slices.SortedFunc(maps.Values(s.outputs.open), func(x, y session.Message) int { return x.Line - y.Line })
	clear(s.outputs.open)
	s.outputs.bytes = 0
	for _, m := range waiting {
		s.message = m
		if err := s.offer(printed); err != nil {
			return err
		}
	}
	return nil
}
