package gemini

import (
	"bytes"

	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/partsformat"
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
	name      []byte // the value of "type"
	sessionID []byte
	target    []byte // of a rewind

	time, content, calls, thoughts, tokens, messages []byte
	model                                            []byte
	marks                                            int // members that only metadata has
	sub                                              bool
}

// decoder turns the text of a record into messages. It keeps its memory from
// record to record.
type decoder struct {
	cursor   jsonl.Cursor // of the record
	content  jsonl.Cursor
	calls    jsonl.Cursor
	thoughts jsonl.Cursor
	tokens   jsonl.Cursor
	reader   partsformat.Reader

	record  record
	group   group
	details bool // whether what stands beside a tool's output is wanted
}

// decode reads one record and makes its messages. It returns an error that
// wraps [jsonl.ErrSyntax] if raw is not one JSON object.
func (d *decoder) decode(raw []byte) error {
	d.record, d.group = record{}, group{messages: d.group.messages[:0]}
	if err := d.cursor.Object(raw, d.member); err != nil {
		return err
	}
	d.classify()
	return nil
}

func (d *decoder) member(c *jsonl.Cursor) {
	r := &d.record
	switch string(c.Key()) {
	case "id":
		r.id, _ = c.Bytes()
	case "type":
		r.name, _ = c.Bytes()
	case "timestamp":
		r.time = c.Raw()
	case "content", "parts":
		r.content = c.Raw()
	case "toolCalls":
		r.calls = c.Raw()
	case "thoughts":
		r.thoughts = c.Raw()
	case "tokens":
		r.tokens = c.Raw()
	case "model":
		r.model, _ = c.Bytes()
	case "sessionId":
		r.sessionID, _ = c.Bytes()
	case "projectHash", "startTime", "lastUpdated":
		r.marks++
	case "kind":
		kind, _ := c.Bytes()
		r.sub = string(kind) == "subagent"
	case "messages":
		r.messages = array(c)
	case "$rewindTo":
		r.kind = rewind
		r.target, _ = c.Bytes()
	case "$set":
		d.set(c)
	}
}

// set reads what is set anew.
func (d *decoder) set(c *jsonl.Cursor) {
	r := &d.record
	r.kind = set
	for ok := c.EnterObject(); ok && c.NextKey(); {
		switch string(c.Key()) {
		case "messages":
			r.messages = array(c)
		case "lastUpdated":
			r.time = c.Raw()
		}
	}
	if r.messages != nil {
		r.kind = history
	}
}

// array returns the raw text of an array, nil for anything else.
func array(c *jsonl.Cursor) []byte {
	if c.Kind() != jsonl.Array {
		c.Skip()
		return nil
	}
	return c.Raw()
}

// classify settles what the record is.
func (d *decoder) classify() {
	r := &d.record
	switch {
	case r.kind != foreign:
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
		m.Role, m.CustomType = session.RoleInjected, append([]byte("type "), r.name...)
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
	text := bytes.TrimSpace(m.FirstText())
	switch {
	case bytes.HasPrefix(text, []byte("<state_snapshot>")):
		m.Role, m.Compaction = session.RoleSummary, true
	case bytes.HasPrefix(text, []byte("<session_context>")),
		bytes.HasPrefix(text, []byte("This is the Gemini CLI. We are setting up the context")),
		len(m.ID) == 32 && bytes.IndexByte(m.ID, '-') < 0:
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
	var t call
	t.Kind = session.PartToolCall
	if !c.EnterObject() {
		return nil, false
	}
	for c.NextKey() {
		switch string(c.Key()) {
		case "id":
			t.CallID, _ = c.Bytes()
		case "name":
			t.Name, _ = c.Bytes()
		case "args":
			t.Text = partsformat.Arguments(c)
		case "status":
			t.status, _ = c.Bytes()
		case "result":
			t.result = partsformat.Arguments(c)
		case "resultDisplay":
			if d.details && c.Kind() == jsonl.Object {
				t.details = c.Raw()
				continue
			}
			t.display, t.shown = c.Bytes()
		}
	}
	m.Parts = append(m.Parts, t.Part)
	return d.resultOf(&t)
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
	c := &d.tokens
	c.Reset(d.record.tokens)
	if m.HasUsage = c.EnterObject(); !m.HasUsage {
		return
	}
	u := &m.Usage
	for c.NextKey() {
		key := string(c.Key())
		n, _ := c.Int64()
		n = max(n, 0)
		switch key {
		case "input":
			u.Input += n
		case "output", "thoughts":
			u.Output += n
		case "cached":
			u.CacheRead = n
			u.Input -= n
		case "total":
			u.Total = n
		}
	}
	u.Input = max(u.Input, 0)
}
