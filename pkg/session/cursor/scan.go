package cursor

import (
	"bytes"
	"context"
	"io"

	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
)

// Scan implements [session.Store]: the messages of a transcript in file order. What
// stands around what a person typed is a message of its own, and so is the error or
// the abort that has ended a turn.
func (s *Store) Scan(ctx context.Context, r io.Reader, o session.ScanOptions, emit func(*session.Message) error) (session.Scan, error) {
	scan := &scanner{thinking: o.Thinking}
	return scan.lines.Run(ctx, r, emit, scan.read)
}

// scanner is the state of one scan.
type scanner struct {
	lines    session.LineScan
	cursor   jsonl.Cursor
	thinking bool
	previous int64 // time of the question before
	ended    bool  // the record before says that the turn has ended
	messages []session.Message
}

// record is one line of a transcript.
type record struct{ kind, role, content, status, failure []byte }

func (s *scanner) read(r *jsonl.Record) (known bool, err error) {
	var x record
	if err := s.cursor.Object(r.Raw, x.member); err != nil {
		return false, err
	}
	s.messages = s.messages[:0]
	s.ended = len(x.role) == 0 && string(x.kind) == "turn_ended"
	result := &s.lines.Result
	switch {
	case len(x.role) > 0:
		s.said(&x)
	case s.ended:
		s.turnEnded(&x)
	case string(x.kind) == "metadata": // a summary of the transcript, for lists
	default:
		result.CountUnknown("", x.kind)
		return false, nil
	}
	if len(s.messages) > 0 {
		result.Records++
	}
	for i := range s.messages {
		m := &s.messages[i]
		if m.Time == 0 {
			m.Time, m.TimeInferred = s.previous, true
		}
		m.CutBytes = r.CutBytes
		if err := s.lines.Say(r, m); err != nil {
			return true, err
		}
	}
	return true, nil
}

func (x *record) member(c *jsonl.Cursor) {
	switch string(c.Key()) {
	case "type":
		x.kind, _ = c.Bytes()
	case "role":
		x.role, _ = c.Bytes()
	case "content":
		x.content = c.Raw()
	case "status":
		x.status, _ = c.Bytes()
	case "error":
		x.failure, _ = c.Bytes()
	case "message":
		for ok := c.EnterObject(); ok && c.NextKey(); {
			if string(c.Key()) == "content" {
				x.content = c.Raw()
			}
		}
	}
}

// turnEnded makes a message of how a turn has ended, if not well.
func (s *scanner) turnEnded(x *record) {
	if string(x.status) == "error" || string(x.status) == "aborted" {
		s.messages = append(s.messages, session.Message{Role: session.RoleAssistant, IsError: true, StopReason: x.status, ErrorText: x.failure})
	}
}

// said makes the messages of a record: what stands around what was typed, results
// of tools, and what is said beside them.
func (s *scanner) said(x *record) {
	m := session.Message{Role: session.RoleUser}
	switch string(x.role) {
	case "user":
	case "assistant":
		m.Role = session.RoleAssistant
	case "tool":
		m.Role = session.RoleToolResult
	default:
		m.Role, m.CustomType = session.RoleInjected, append([]byte("role "), x.role...)
		s.lines.Result.CountUnknown("role ", x.role)
	}
	c := new(jsonl.Cursor) // what it decodes must stay until the message is said
	c.Reset(x.content)
	switch {
	case len(x.content) == 0:
	case c.Kind() == jsonl.Array:
		for ok := c.EnterArray(); ok && c.NextElement(); {
			s.block(c.Raw(), &m)
		}
	default:
		s.block(x.content, &m)
	}
	if len(m.Parts) > 0 || len(s.messages) == 0 {
		s.messages = append(s.messages, m)
	}
}

// block is one block of content while it is read.
type block struct {
	kind, text, name, id, call, input, content []byte
	size                                       int64
}

func (s *scanner) block(raw []byte, m *session.Message) {
	var b block
	c := new(jsonl.Cursor)
	c.Reset(raw)
	if c.Kind() == jsonl.String {
		b.text, _ = c.Bytes()
	}
	for ok := c.Kind() == jsonl.Object && c.EnterObject(); ok && c.NextKey(); {
		b.member(c)
	}
	switch string(b.kind) {
	case "text", "":
		s.text(m, b.text)
	case "thinking":
		if s.thinking && len(b.text) > 0 {
			m.Parts = append(m.Parts, session.Part{Kind: session.PartThinking, Text: b.text})
		}
	case "redacted_thinking":
	case "tool_use", "tool_call":
		m.Parts = append(m.Parts, session.Part{Kind: session.PartToolCall, Name: b.name, CallID: b.id, Text: b.input})
	case "tool_result":
		s.result(&b)
	case "image":
		m.Parts = append(m.Parts, session.Part{Kind: session.PartImage, Size: b.size})
	default:
		s.lines.Result.CountUnknown("block ", b.kind)
		s.text(m, b.text)
	}
}

func (b *block) member(c *jsonl.Cursor) {
	switch string(c.Key()) {
	case "type":
		b.kind, _ = c.Bytes()
	case "text", "thinking":
		b.text, _ = c.Bytes()
	case "name":
		b.name, _ = c.Bytes()
	case "id":
		b.id, _ = c.Bytes()
	case "tool_use_id":
		b.call, _ = c.Bytes()
	case "input", "args":
		b.input = c.Raw()
	case "content":
		b.content = c.Raw()
	case "source", "data":
		b.size = int64(len(c.Raw()))
	}
}

// result makes the message of a tool's result: a string, blocks, or anything else as
// JSON.
func (s *scanner) result(b *block) {
	r := session.Message{Role: session.RoleToolResult, CallID: b.call, ToolName: b.name}
	c := new(jsonl.Cursor)
	c.Reset(b.content)
	switch {
	case len(b.content) == 0:
	case c.Kind() == jsonl.Array:
		for ok := c.EnterArray(); ok && c.NextElement(); {
			var inner block
			raw, inside := c.Raw(), new(jsonl.Cursor)
			inside.Reset(raw)
			for ok := inside.EnterObject(); ok && inside.NextKey(); {
				inner.member(inside)
			}
			if len(inner.text) > 0 {
				raw = inner.text
			}
			r.AddText(raw)
		}
	case c.Kind() == jsonl.String:
		text, _ := c.Bytes()
		r.AddText(text)
	default:
		r.AddText(b.content)
	}
	s.messages = append(s.messages, r)
}

// text adds what a text says to a message. Of a person's it is what was typed, with
// the time of the question, after a message of what stands around it.
func (s *scanner) text(m *session.Message, text []byte) {
	switch m.Role {
	case session.RoleUser:
		f := framed(text)
		if f.at > 0 {
			m.Time, s.previous = f.at, f.at
		}
		if len(f.around) > 0 {
			around := session.Message{Role: session.RoleInjected, CustomType: []byte("cursor.context"), Time: f.at}
			around.AddText(f.around)
			s.messages = append(s.messages, around)
		}
		text = f.typed
	case session.RoleAssistant:
		if said, ok := bytes.CutSuffix(text, []byte(redacted)); ok {
			text = bytes.TrimRight(said, "\n")
		}
	}
	m.AddText(text)
}

// redacted stands at the end of an answer in the place of thoughts.
const redacted = "[REDACTED]"
