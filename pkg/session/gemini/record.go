package gemini

import (
	"bytes"
	"fmt"

	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
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
	deep     jsonl.Cursor

	record record
	group  group
}

// decode reads one record and makes its messages. It returns an error that
// wraps [jsonl.ErrSyntax] if raw is not one JSON object.
func (d *decoder) decode(raw []byte) error {
	d.record, d.group = record{}, group{messages: d.group.messages[:0]}
	c := &d.cursor
	c.Reset(raw)
	if c.Kind() != jsonl.Object {
		if err := c.End(); err != nil {
			return err
		}
		return fmt.Errorf("%w: not an object", jsonl.ErrSyntax)
	}
	c.EnterObject()
	for c.NextKey() {
		d.member(c)
	}
	if err := c.End(); err != nil {
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
