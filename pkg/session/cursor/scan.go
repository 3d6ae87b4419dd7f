package cursor

import (
	"bytes"
	"context"
	"io"

	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/fields"
)

// Scan implements [session.Store]: the messages of a transcript in file order. What
// stands around what a person typed is a message of its own, and so is the error or
// the abort that has ended a turn.
func (s *Store) Scan(ctx context.Context, r io.Reader, o session.ScanOptions, emit func(*session.Message) error) (session.Scan, error) {
	scan := newScanner(o)
	return scan.lines.Run(ctx, r, emit, scan.read)
}

// scanner is the state of one scan.
type scanner struct {
	lines    session.LineScan
	cursor   jsonl.Cursor // of the record
	record   record
	block    block
	thinking bool
	previous int64 // time of the question before
	ended    bool  // the record before says that the turn has ended
	messages []session.Message
}

func newScanner(o session.ScanOptions) *scanner {
	return &scanner{thinking: o.Thinking}
}

// record is one line of a transcript.
type record struct{ kind, role, content, status, failure, about []byte }

func (s *scanner) read(r *jsonl.Record) (known bool, err error) {
	x := &s.record
	*x = record{}
	if err := records.Read(x, &s.cursor, r.Raw); err != nil {
		return false, err
	}
	s.messages = s.messages[:0]
	s.ended = len(x.role) == 0 && string(x.kind) == "turn_ended"
	result := &s.lines.Result
	switch {
	case len(x.role) > 0:
		s.said(x)
	case s.ended:
		s.turnEnded(x)
	case string(x.kind) == "metadata" && len(x.about) > 0: // a summary of the transcript, for lists
	default:
		result.Meet(session.Strange{Runtime: session.RuntimeCursor, Type: x.kind, Line: r.Line, Raw: r.Raw})
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

// records is what is read of a record (docs/dev/formats.md, "cursor").
var records = fields.New(func(x *record) []fields.Field {
	return []fields.Field{
		fields.Text("type", &x.kind),
		fields.Text("role", &x.role),
		fields.Raw("content", &x.content),
		fields.Raw("message.content", &x.content),
		fields.Text("status", &x.status),
		fields.Text("error", &x.failure),
		fields.Raw("metadata", &x.about),
	}
})

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
		m.Role, m.CustomType, m.OddRole = session.RoleInjected, append([]byte("role "), x.role...), x.role
	}
	c := new(jsonl.Cursor) // what it decodes must stay until the message is said
	c.Reset(x.content)
	fields.Content(c, func(text []byte) { s.text(&m, text) }, func(c *jsonl.Cursor) { s.addBlock(c, &m) })
	if len(m.Parts) > 0 || len(s.messages) == 0 {
		s.messages = append(s.messages, m)
	}
}

// block is one block of content while it is read.
type block struct {
	kind, text, name, id, call, input, content []byte
	source                                     []byte // of an image, raw JSON
}

// blocks is what is read of a block.
var blocks = fields.New(func(b *block) []fields.Field {
	return []fields.Field{
		fields.Text("type", &b.kind),
		fields.Text("text", &b.text),
		fields.Text("thinking", &b.text),
		fields.Text("name", &b.name),
		fields.Text("id", &b.id),
		fields.Text("tool_use_id", &b.call),
		fields.Raw("input", &b.input),
		fields.Raw("args", &b.input),
		fields.Raw("content", &b.content),
		fields.Raw("source", &b.source),
		fields.Raw("data", &b.source),
	}
})

// blockOf reads a block.
func (s *scanner) blockOf(c *jsonl.Cursor) block {
	s.block = block{}
	blocks.Take(&s.block, c)
	return s.block
}

func (s *scanner) addBlock(c *jsonl.Cursor, m *session.Message) {
	b := s.blockOf(c)
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
		m.Parts = append(m.Parts, session.Part{Kind: session.PartImage, Size: int64(len(b.source)), Image: b.source})
	default:
		s.lines.Result.CountUnknown("block ", b.kind)
		s.text(m, b.text)
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
			raw, inside := c.Raw(), new(jsonl.Cursor)
			inside.Reset(raw)
			if inner := s.blockOf(inside); len(inner.text) > 0 {
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
