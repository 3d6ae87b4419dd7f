package gemini

import (
	"bytes"

	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/fields"
	"github.com/sessctl/sessctl/pkg/session/partsformat"
	"github.com/sessctl/sessctl/pkg/speaker"
)

// kind is what a record is.
type kind uint8

const (
	foreign  kind = iota // nothing of Gemini
	metadata             // names the chat
	message              // somebody said something
	history              // all messages anew
	rewind               // messages are taken back
	set                  // metadata changed
)

// record is one line, or one message of a history. What is not a name is kept
// as raw JSON until it is known what it means. Its slices are valid until the
// next decode.
type record struct {
	kind      kind
	id        []byte
	name      []byte // the value of "type"; in a saved chat of "role"
	role      []byte
	sessionID []byte
	target    []byte // of a rewind

	time, content, calls, thoughts, tokens, messages []byte
	model                                            []byte
	marks                                            int    // members that only metadata has
	sort                                             []byte // of a chat: "subagent", say
}

// decoder turns the text of a record into messages. It keeps its memory from
// record to record.
type decoder struct {
	cursor   jsonl.Cursor // of the record
	content  jsonl.Cursor
	calls    jsonl.Cursor
	thoughts jsonl.Cursor
	reader   partsformat.Reader

	tokens  jsonl.Cursor
	call    call
	counted counts

	record  record
	group   group
	saved   bool // of a saved chat: a record has a role and neither type nor id
	details bool // whether what stands beside a tool's output is wanted
}

// records is what is read of a record (docs/dev/formats.md, "gemini").
var records = fields.New(func(d *decoder) []fields.Field {
	r := &d.record
	mark := func(d *decoder, _ bool) { d.record.marks++ }
	return []fields.Field{
		fields.Text("id", &r.id),
		fields.Text("type", &r.name),
		fields.Text("role", &r.role),
		fields.Raw("timestamp", &r.time),
		fields.Raw("content", &r.content),
		fields.Raw("parts", &r.content),
		fields.Raw("toolCalls", &r.calls),
		fields.Raw("thoughts", &r.thoughts),
		fields.Raw("tokens", &r.tokens),
		fields.Text("model", &r.model),
		fields.Text("sessionId", &r.sessionID),
		fields.Begin("projectHash", mark),
		fields.Begin("startTime", mark),
		fields.Begin("lastUpdated", mark),
		fields.Text("kind", &r.sort),
		fields.Func("messages", (*decoder).messages),
		fields.Begin("$rewindTo", func(d *decoder, _ bool) { d.record.kind = rewind }),
		fields.Text("$rewindTo", &r.target),
		fields.Begin("$set", func(d *decoder, _ bool) { d.record.kind = set }),
		fields.Func("$set.messages", (*decoder).messages),
		fields.Raw("$set.lastUpdated", &r.time),
	}
})

// toolCalls is what is read of a call of a tool, into call.
var toolCalls = fields.New(func(d *decoder) []fields.Field {
	t := &d.call
	return []fields.Field{
		fields.Text("id", &t.CallID),
		fields.Text("name", &t.Name),
		fields.Value("args", &t.Text),
		fields.Text("status", &t.status),
		fields.Value("result", &t.result),
		fields.Func("resultDisplay", (*decoder).display),
	}
})

func (d *decoder) display(c *jsonl.Cursor) {
	t := &d.call
	if d.details && c.Kind() == jsonl.Object {
		t.details = c.Raw()
		return
	}
	t.display, t.shown = c.Bytes()
}

// usages is what is read of what a model call counted.
var usages = fields.New(func(t *counts) []fields.Field {
	return []fields.Field{
		fields.Count("input", &t.input),
		fields.Count("output", &t.output),
		fields.Count("thoughts", &t.thoughts),
		fields.Count("cached", &t.cached),
		fields.Count("total", &t.total),
	}
})

// decode reads one record and makes its messages. It returns an error that
// wraps [jsonl.ErrSyntax] if raw is not one JSON object.
func (d *decoder) decode(raw []byte) error {
	d.record, d.group = record{}, group{messages: d.group.messages[:0]}
	if err := records.Read(d, &d.cursor, raw); err != nil {
		return err
	}
	d.classify()
	return nil
}

// messages keeps a list of messages; anything else is none.
func (d *decoder) messages(c *jsonl.Cursor) {
	if d.record.messages = nil; c.Kind() == jsonl.Array {
		d.record.messages = c.Raw()
	}
}

// classify settles what the record is.
func (d *decoder) classify() {
	r := &d.record
	switch {
	case r.kind == set && r.messages != nil:
		r.kind = history
	case r.kind != foreign:
	case d.saved && len(r.name) == 0 && len(r.role) > 0 && r.content != nil:
		r.kind, r.name = message, r.role
		d.build()
	case len(r.sessionID) > 0 && r.marks > 0 && len(r.name) == 0:
		r.kind = metadata
	case len(r.name) > 0 && (len(r.id) > 0 || r.time != nil) && (r.content != nil || r.calls != nil):
		r.kind = message
		d.build()
	}
}

// settleTime gives the messages their time, or that of the record before. It
// returns the time for the record after it.
func (d *decoder) settleTime(previous int64) int64 {
	ms, naive, ok := session.ParseTime(d.record.time)
	if !ok {
		ms, naive = previous, true
	}
	for i := range d.group.messages {
		m := &d.group.messages[i]
		m.Time, m.TimeInferred = ms, naive
	}
	return ms
}

// eachMessage decodes the messages of a history, one after the other, and
// tells where each begins in the text that raw is part of.
func (d *decoder) eachMessage(raw []byte, yield func(at, length int) error) error {
	var c jsonl.Cursor // the decoder's own are used for each message
	c.Reset(raw)
	c.EnterArray()
	for c.NextElement() {
		entry := c.Raw()
		if entry == nil || d.decode(entry) != nil || d.record.kind != message {
			continue
		}
		if err := yield(cap(raw)-cap(entry), len(entry)); err != nil {
			return err
		}
	}
	return nil
}

// group is what one record says: a message, and the results of the tools that
// it called.
type group struct {
	id       []byte
	growing  bool // a model's message, which is written again as its tools run
	messages []session.Message
}

// clone copies a group with all that it points to.
func (g *group) clone() group {
	c := group{id: bytes.Clone(g.id), growing: g.growing, messages: make([]session.Message, len(g.messages))}
	for i := range g.messages {
		m := g.messages[i]
		m.ID, m.CallID, m.ToolName = bytes.Clone(m.ID), bytes.Clone(m.CallID), bytes.Clone(m.ToolName)
		m.CustomType, m.ErrorText, m.Model = bytes.Clone(m.CustomType), bytes.Clone(m.ErrorText), bytes.Clone(m.Model)
		m.Details = bytes.Clone(m.Details)
		parts := make([]session.Part, len(m.Parts))
		for j, p := range m.Parts {
			p.Text, p.Name, p.CallID = bytes.Clone(p.Text), bytes.Clone(p.Name), bytes.Clone(p.CallID)
			parts[j] = p
		}
		m.Parts = parts
		c.messages[i] = m
	}
	return c
}

// ownPrefix begins the names of what Gemini itself says.
const ownPrefix = "gemini."

// build makes the messages of a record.
func (d *decoder) build() {
	r := &d.record
	d.group.id, d.reader.ID = r.id, r.id
	m := session.Message{ID: r.id, Model: r.model}
	switch name := string(r.name); name {
	case "user":
		m.Role = session.RoleUser
	case "gemini", "model", "assistant":
		m.Role = session.RoleAssistant
		d.group.growing = true
	case "info", "warning", "error":
		m.Role, m.CustomType = session.RoleInjected, []byte(ownPrefix+name)
		m.IsError, m.OutOfContext = name == "error", true // for the person, not for the model
	default:
		m.Role, m.CustomType, m.OddRole = session.RoleInjected, append([]byte("type "), r.name...), r.name
	}
	d.thinking(&m)
	results := d.reader.Parts(&d.content, r.content, &m)
	results = append(results, d.toolCalls(&m)...)
	d.usage(&m)
	if m.Role == session.RoleUser {
		d.typed(&m)
	}
	if m.IsError {
		m.ErrorText = m.FirstText()
	}
	if len(m.Parts) > 0 || len(results) == 0 {
		d.group.messages = append(d.group.messages, m)
	}
	d.group.messages = append(d.group.messages, results...)
}

// typed tells what a person typed from what Gemini says in the person's name:
// the summary of a compression, and the description of the workspace that opens
// a chat, which has a hash for an id.
func (d *decoder) typed(m *session.Message) {
	by := speaker.Of("gemini", m.FirstText())
	switch {
	case by != nil && by.Name == "summary":
		m.Role, m.Compaction = session.RoleSummary, true
	case by != nil && by.Name == "session_context", len(m.ID) == 32 && bytes.IndexByte(m.ID, '-') < 0:
		m.Role, m.CustomType = session.RoleInjected, []byte(ownPrefix+"session_context")
	}
}

// toolCalls adds the calls of a model's message, and returns the results of
// those that have run.
func (d *decoder) toolCalls(m *session.Message) (results []session.Message) {
	c := &d.calls
	c.Reset(d.record.calls)
	if !c.EnterArray() {
		return nil
	}
	for c.NextElement() {
		if result, ok := d.toolCall(c, m); ok {
			results = append(results, result...)
		}
	}
	return results
}

// call is one element of toolCalls while it is read.
type call struct {
	session.Part
	status  []byte
	result  []byte // raw
	details []byte // raw, of a display that is no string
	display []byte
	shown   bool // display is a string
}

func (d *decoder) toolCall(c *jsonl.Cursor, m *session.Message) ([]session.Message, bool) {
	t := &d.call
	*t = call{Part: session.Part{Kind: session.PartToolCall}}
	if !toolCalls.Take(d, c) {
		return nil, false
	}
	m.Parts = append(m.Parts, t.Part)
	return d.resultOf(t)
}

// resultOf makes the messages of a call's result: usually one. A call that is
// still running has none.
func (d *decoder) resultOf(t *call) ([]session.Message, bool) {
	whole := session.Message{ID: d.record.id, Role: session.RoleToolResult}
	var results []session.Message
	switch {
	case t.result != nil:
		var c jsonl.Cursor // a message may hold many results, and all must stay
		results = d.reader.Parts(&c, t.result, &whole)
	case t.shown && finished(t.status):
		whole.AddText(t.display)
	}
	if len(whole.Parts) > 0 && len(results) > 0 {
		results[0].Parts = append(results[0].Parts, whole.Parts...)
	} else if len(whole.Parts) > 0 {
		results = append(results, whole)
	}
	for i := range results {
		r := &results[i]
		r.CallID, r.ToolName, r.Details = t.CallID, t.Name, t.details
		r.IsError = r.IsError || string(t.status) == "error" || string(t.status) == "cancelled"
		if code, ok := partsformat.ExitOf(r.FirstText()); ok {
			r.ExitCode, r.HasExit = code, true
			r.IsError = r.IsError || code != 0
		}
	}
	return results, true
}

func finished(status []byte) bool {
	switch string(status) {
	case "success", "error", "cancelled":
		return true
	}
	return false
}

// thinking adds the thoughts of a model's message.
func (d *decoder) thinking(m *session.Message) {
	c := &d.thoughts
	c.Reset(d.record.thoughts)
	if !c.EnterArray() {
		return
	}
	for c.NextElement() {
		for ok := c.EnterObject(); ok && c.NextKey(); {
			if key := string(c.Key()); key != "subject" && key != "description" {
				continue
			}
			if text, _ := c.Bytes(); len(text) > 0 {
				m.Parts = append(m.Parts, session.Part{Kind: session.PartThinking, Text: text})
			}
		}
	}
}

// usage reads what the model call behind a message counted. Cached tokens are
// part of Gemini's input.
func (d *decoder) usage(m *session.Message) {
	d.counted = counts{}
	if m.HasUsage = usages.Peek(&d.counted, &d.tokens, d.record.tokens); m.HasUsage {
		t := &d.counted
		m.Usage = session.Usage{
			Input: max(t.input-t.cached, 0), Output: t.output + t.thoughts, CacheRead: t.cached, Total: t.total,
		}
	}
}

// counts are tokens of a model call.
type counts struct{ input, output, thoughts, cached, total int64 }
