package annabelle

import (
	"bytes"
	"context"
	"io"

	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/fields"
)

// Scan implements [session.Store]: every message of every turn, and the
// summary of the compaction. Of a turn with a chain of messages the chain
// counts, because it says the same as the two texts and more. All messages of
// a turn have the place of its record.
func (s *Store) Scan(ctx context.Context, r io.Reader, _ session.ScanOptions, emit func(*session.Message) error) (session.Scan, error) {
	scan := &scanner{}
	return scan.lines.Run(ctx, r, emit, scan.read)
}

type scanner struct {
	decoder
	inner    jsonl.Cursor // of the chain
	link     jsonl.Cursor // of one message of it
	core     coreMessage
	part     corePart
	lines    session.LineScan
	message  session.Message
	source   []byte // the object of the chain that the message is of
	previous int64  // time of the record before
	time     int64  // of this record
	inferred bool
}

func (s *scanner) read(r *jsonl.Record) (bool, error) {
	if err := s.decode(r.Raw); err != nil {
		return false, err
	}
	var ok bool
	if s.time, _, ok = session.ParseTime(s.record.time); !ok {
		s.time = s.previous
	}
	s.previous, s.inferred = s.time, !ok
	switch string(s.record.kind) {
	case kindHeader:
		s.header()
		return true, nil
	case kindTurn:
		return true, s.turn(r)
	case kindCompaction:
		m := s.start(session.RoleSummary)
		m.Compaction, m.Own = true, string(s.record.by) == session.SummaryBy
		return true, s.say(r, s.record.summary)
	}
	s.lines.Result.Meet(session.Strange{Type: s.record.kind, Line: r.Line, Sent: true})
	return false, nil
}

func (s *scanner) header() {
	result := &s.lines.Result
	if result.Headers++; result.Headers == 1 {
		result.SessionID, result.Version = string(s.record.chat), int(s.record.version)
	}
}

// start begins a message of the record.
func (s *scanner) start(role session.Role) *session.Message {
	s.message = session.Message{Parts: s.message.Parts[:0], Role: role, Time: s.time, TimeInferred: s.inferred}
	return &s.message
}

// say ends a message whose only part is a text.
func (s *scanner) say(r *jsonl.Record, text []byte) error {
	if len(text) == 0 {
		return nil
	}
	s.message.Parts = append(s.message.Parts, session.Part{Kind: session.PartText, Text: text})
	return s.end(r)
}

// end hands out the message. What was left out of the record counts once, with
// its first message.
func (s *scanner) end(r *jsonl.Record) error {
	s.message.CutBytes, r.CutBytes = r.CutBytes, 0
	s.message.Core = s.source
	if !s.message.Compaction {
		s.lines.Result.Records++
	}
	return s.lines.Say(r, &s.message)
}

func (s *scanner) turn(r *jsonl.Record) error {
	if said, err := s.chain(r); said || err != nil {
		return err
	}
	s.start(session.RoleUser)
	if err := s.say(r, s.record.user); err != nil {
		return err
	}
	s.usage(s.start(session.RoleAssistant))
	return s.say(r, s.record.assistant)
}

// usage gives the last message of a turn what its last model call cost.
func (s *scanner) usage(m *session.Message) {
	m.Usage = session.Usage{Input: s.record.prompt, Output: s.record.completion}
	m.HasUsage = m.Usage.Context() > 0
}

// chain hands out the messages of a turn in which tools ran; false if there
// are none.
func (s *scanner) chain(r *jsonl.Record) (bool, error) {
	c := &s.inner
	c.Reset(s.record.messages)
	if len(s.record.messages) == 0 || !c.EnterArray() {
		return false, nil
	}
	said := false
	defer func() { s.source = nil }()
	whole := r.CutBytes == 0
	for c.NextElement() {
		raw := c.Raw()
		if s.core = (coreMessage{}); !cores.Peek(&s.core, &s.link, raw) {
			continue
		}
		if s.source = nil; whole {
			s.source = raw
		}
		one, err := s.spoken(r)
		if said = said || one; err != nil {
			return said, err
		}
	}
	return said, nil
}

// coreMessage is one message of a chain.
type coreMessage struct{ role, content []byte }

var cores = fields.New(func(x *coreMessage) []fields.Field {
	return []fields.Field{fields.ID("role", &x.role), fields.Raw("content", &x.content)}
})

// spoken hands out a message; every result of a tool message is one of its own.
func (s *scanner) spoken(r *jsonl.Record) (bool, error) {
	x := &s.core
	role := session.RoleInjected
	switch string(x.role) {
	case "user":
		role = session.RoleUser
	case "assistant":
		role = session.RoleAssistant
	case "system":
		role = session.RoleSystem
	case "tool":
		role = session.RoleToolResult
	default:
		s.lines.Result.CountUnknown("role ", x.role)
	}
	s.startOf(role)
	before := s.lines.Result.Messages
	err := s.content(r, x.content)
	if err == nil && len(s.message.Parts) > 0 {
		err = s.end(r)
	}
	return s.lines.Result.Messages > before, err
}

// startOf begins a message of a chain.
func (s *scanner) startOf(role session.Role) {
	if m := s.start(role); role == session.RoleAssistant {
		s.usage(m)
	}
}

// content reads a string or an array of parts.
func (s *scanner) content(r *jsonl.Record, raw []byte) error {
	var c jsonl.Cursor
	c.Reset(raw)
	if c.Kind() == jsonl.String {
		b, _ := c.Bytes()
		s.add(session.Part{Kind: session.PartText, Text: b})
		return nil
	}
	if !c.EnterArray() {
		return nil
	}
	for c.NextElement() {
		if s.part = (corePart{}); parts.Take(&s.part, &c) {
			if err := s.addPart(r); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *scanner) add(p session.Part) {
	if p.Kind != session.PartText || len(p.Text) > 0 {
		s.message.Parts = append(s.message.Parts, p)
	}
}

// corePart is one part of a core message.
type corePart struct{ kind, text, id, name, args, result []byte }

// parts is what is read of a part.
var parts = fields.New(func(p *corePart) []fields.Field {
	return []fields.Field{
		fields.ID("type", &p.kind),
		fields.ID("text", &p.text),
		fields.ID("toolCallId", &p.id),
		fields.ID("toolName", &p.name),
		fields.Raw("args", &p.args),
		fields.Raw("input", &p.args),
		fields.Func("result", func(p *corePart, c *jsonl.Cursor) { p.result = plain(c) }),
		fields.Func("output", func(p *corePart, c *jsonl.Cursor) { p.result = plain(c) }),
	}
})

func (s *scanner) addPart(r *jsonl.Record) error {
	p := &s.part
	switch string(p.kind) {
	case "tool-call":
		s.add(session.Part{Kind: session.PartToolCall, Name: p.name, CallID: p.id, Text: p.args})
	case "tool-result":
		return s.result(r)
	case "image", "file":
		s.add(session.Part{Kind: session.PartImage})
	default:
		s.add(session.Part{Kind: session.PartText, Text: p.text})
	}
	return nil
}

// plain reads a value as text: what a string says, or raw JSON.
func plain(c *jsonl.Cursor) []byte {
	if c.Kind() == jsonl.String {
		b, _ := c.Bytes()
		return b
	}
	return bytes.TrimSpace(c.Raw())
}

// result hands out the result of one tool, and before it what the message it
// stands in has said so far.
func (s *scanner) result(r *jsonl.Record) error {
	p, role := &s.part, s.message.Role
	if len(s.message.Parts) > 0 {
		if err := s.end(r); err != nil {
			return err
		}
	}
	m := s.start(session.RoleToolResult)
	m.CallID, m.ToolName = p.id, p.name
	m.Parts = append(m.Parts, session.Part{Kind: session.PartText, Text: p.result})
	if err := s.end(r); err != nil {
		return err
	}
	s.startOf(role)
	return nil
}

// The record types.
const (
	kindHeader     = "header"
	kindTurn       = "turn"
	kindCompaction = "compaction"
)

// record is one decoded line. Its slices are valid until the next decode.
type record struct {
	kind               []byte
	chat, agent        []byte // of a header
	version            int64
	user, assistant    []byte
	messages           []byte // raw JSON array, or empty
	time               []byte // raw JSON
	prompt, completion int64
	summary            []byte
	by                 []byte  // who wrote the summary
	compacted          float64 // turns that a compaction replaced: may end in .5
}

// decoder reads records and keeps its memory from one to the next.
type decoder struct {
	cursor jsonl.Cursor
	record record
}

// decode reads one record. It returns an error that wraps [jsonl.ErrSyntax] if
// raw is not one JSON object.
func (d *decoder) decode(raw []byte) error {
	d.record = record{}
	return records.Read(&d.record, &d.cursor, raw)
}

// records is what is read of a record (docs/dev/formats.md, "annabelle").
var records = fields.New(func(r *record) []fields.Field {
	return []fields.Field{
		fields.Text("type", &r.kind),
		fields.ID("chatId", &r.chat),
		fields.ID("agentId", &r.agent),
		fields.Int("version", &r.version),
		fields.ID("user", &r.user),
		fields.ID("assistant", &r.assistant),
		fields.Raw("messages", &r.messages),
		fields.Raw("timestamp", &r.time),
		fields.Int("tokens.prompt", &r.prompt),
		fields.Int("tokens.completion", &r.completion),
		fields.ID("summary", &r.summary),
		fields.ID("summaryBy", &r.by),
		fields.Func("compactedTurns", func(r *record, c *jsonl.Cursor) { r.compacted, _ = c.Float64() }),
	}
})
