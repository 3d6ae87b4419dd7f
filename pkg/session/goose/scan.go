package goose

import (
	"context"
	"io"
	"slices"

	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/fields"
	"github.com/sessctl/sessctl/pkg/session/goose/goosedb"
)

// Scan implements [session.Store]: the messages of a session's log, in the order of
// its rows. The results of tools are messages of their own. What a compaction has
// taken out of the context is marked so.
func (s *Store) Scan(ctx context.Context, r io.Reader, o session.ScanOptions, emit func(*session.Message) error) (session.Scan, error) {
	scan := &scanner{thinking: o.Thinking}
	return scan.lines.Run(ctx, r, emit, scan.read)
}

// scanner is the state of one scan.
type scanner struct {
	lines    session.LineScan
	line     jsonl.Cursor
	content  jsonl.Cursor
	cursors  []*jsonl.Cursor // each with what it has decoded of the row
	used     int             // of them
	thinking bool
	cwd      []byte
	said     map[string]bool // ids of messages, without those of threads

	row      row
	messages []session.Message
}

// row is the row of a message while it is read.
type row struct {
	id, role, content, metadata, session, directory []byte
	at                                              int64
}

// cursor is one that nothing of the row was decoded with: what is decoded must stay
// until the messages of the row are said.
func (s *scanner) cursor() *jsonl.Cursor {
	if s.used == len(s.cursors) {
		s.cursors = append(s.cursors, new(jsonl.Cursor))
	}
	s.used++
	return s.cursors[s.used-1]
}

func (s *scanner) read(r *jsonl.Record) (known bool, err error) {
	c, kind, inner, table := &s.line, "", []byte(nil), []byte(nil)
	if err := c.BeginObject(r.Raw); err != nil {
		return false, err
	}
	for c.NextKey() {
		switch string(c.Key()) {
		case "type":
			text, _ := c.Bytes()
			kind = string(text)
		case "row":
			inner = c.Raw()
		case "table":
			text, _ := c.Bytes()
			table = slices.Clone(text)
		}
	}
	if err := c.End(); err != nil {
		return false, err
	}
	result := &s.lines.Result
	switch kind {
	case "goose.session":
		s.decode(inner)
		result.SessionID, result.Headers = string(s.row.session), 1
		s.cwd = slices.Clone(s.row.directory)
		return true, nil
	case "lost":
		result.CountUnknown(session.RowsLost, table)
		return true, nil
	case "message", "row":
		if kind == "row" && string(table) != "thread_messages" {
			return true, nil
		}
		s.decode(inner)
		result.Records++
		if s.again(kind) {
			return true, nil
		}
		s.build()
		for i := range s.messages {
			s.messages[i].CutBytes = r.CutBytes
			if err := s.lines.Say(r, &s.messages[i]); err != nil {
				return true, err
			}
		}
		return true, nil
	}
	result.Meet(session.Strange{Runtime: session.RuntimeGoose, Type: []byte(kind), Line: r.Line, Raw: r.Raw, Data: inner})
	return false, nil
}

// again reports whether a message of a thread was said as one of the session.
func (s *scanner) again(kind string) bool {
	if id := string(s.row.id); id != "" && kind == "message" {
		if s.said == nil {
			s.said = map[string]bool{}
		}
		s.said[id] = true
	}
	return kind == "row" && s.said[string(s.row.id)]
}

var rows = fields.New(func(r *row) []fields.Field {
	return []fields.Field{
		fields.Text("id", &r.session), fields.Text("message_id", &r.id), fields.Text("role", &r.role), fields.Text("content_json", &r.content),
		fields.Text("metadata_json", &r.metadata), fields.Text("working_dir", &r.directory), fields.Int("created_timestamp", &r.at),
	}
})

// decode reads the row of a session or of a message.
func (s *scanner) decode(raw []byte) {
	s.row = row{}
	s.used = 0
	rows.Peek(&s.row, s.cursor(), raw)
}

// build makes the messages of a row: the results of tools, then what is said beside
// them.
func (s *scanner) build() {
	s.messages = s.messages[:0]
	m := session.Message{ID: s.row.id, Directory: s.cwd, Role: session.RoleUser}
	if at := goosedb.Moment(s.row.at); at.IsZero() {
		m.Time, m.TimeInferred = s.lines.Result.Last, true
	} else {
		m.Time = at.UnixMilli()
	}
	user, agent := s.visible()
	m.OutOfContext = !agent
	switch {
	case string(s.row.role) == "assistant":
		m.Role = session.RoleAssistant
	case string(s.row.role) != "user":
		m.Role, m.CustomType, m.OddRole = session.RoleInjected, append([]byte("role "), s.row.role...), s.row.role
	case !user: // the program's own: the summary of a compaction, an order to go on
		m.Role, m.CustomType = session.RoleInjected, []byte("agent only")
	}
	s.blocks(&m)
	if len(m.Parts) > 0 || len(s.messages) == 0 {
		s.messages = append(s.messages, m)
	}
}

// shown is who is shown a message: both, unless the row says otherwise.
type shown struct{ user, agent bool }

var visibilities = fields.New(func(v *shown) []fields.Field {
	return []fields.Field{
		fields.Func("userVisible", func(v *shown, c *jsonl.Cursor) { v.user = boolOr(c, v.user) }),
		fields.Func("agentVisible", func(v *shown, c *jsonl.Cursor) { v.agent = boolOr(c, v.agent) }),
	}
})

func boolOr(c *jsonl.Cursor, otherwise bool) bool {
	if b, known := c.Bool(); known {
		return b
	}
	return otherwise
}

func (s *scanner) visible() (user, agent bool) {
	v := shown{true, true}
	visibilities.Peek(&v, s.cursor(), s.row.metadata)
	return v.user, v.agent
}

func (s *scanner) blocks(m *session.Message) {
	c := &s.content
	c.Reset(s.row.content)
	if c.Kind() != jsonl.Array {
		if len(s.row.content) > 0 {
			m.Parts = append(m.Parts, session.Part{Kind: session.PartText, Text: s.row.content})
		}
		return
	}
	c.EnterArray()
	for c.NextElement() {
		s.block(c.Raw(), m)
	}
}

// block is one block of content while it is read.
type block struct {
	kind, id, text, thinking, call, result, data []byte
}

var blocks = fields.New(func(b *block) []fields.Field {
	return []fields.Field{
		fields.Text("type", &b.kind), fields.Text("id", &b.id), fields.Text("text", &b.text), fields.Text("thinking", &b.thinking), fields.Raw("data", &b.data),
		fields.Raw("toolCall", &b.call), fields.Raw("tool_call", &b.call), fields.Raw("toolResult", &b.result), fields.Raw("tool_result", &b.result),
	}
})

// image is the block as an image, of so many bytes.
func (b *block) image() session.Part {
	return session.Part{Kind: session.PartImage, Size: int64(len(b.data)), Image: b.data}
}

func (s *scanner) block(raw []byte, m *session.Message) {
	var b block
	blocks.Peek(&b, s.cursor(), raw)
	switch string(b.kind) {
	case "text":
		m.AddText(b.text)
	case "thinking":
		if s.thinking && len(b.thinking) > 0 {
			m.Parts = append(m.Parts, session.Part{Kind: session.PartThinking, Text: b.thinking})
		}
	case "image":
		m.Parts = append(m.Parts, b.image())
	case "toolRequest", "frontendToolRequest":
		s.request(&b, m)
	case "toolResponse":
		s.response(&b, m)
	case "redactedThinking", "toolConfirmationRequest", "actionRequired", "systemNotification", "contextLengthExceeded", "summarizationRequested", "conversationCompacted":
	default:
		s.lines.Result.CountUnknown("block ", b.kind)
		m.AddText(b.text)
	}
}

// outcome is what a call or a result is wrapped in: {"status", "value"} or
// {"status", "error"}. Raw is all of it where it is not wrapped.
func outcome(raw []byte) (value, trouble []byte) {
	c := new(jsonl.Cursor)
	c.Reset(raw)
	if c.Kind() != jsonl.Object {
		return raw, nil
	}
	for ok := c.EnterObject(); ok && c.NextKey(); {
		switch string(c.Key()) {
		case "value":
			value = c.Raw()
		case "error":
			if c.Kind() == jsonl.String {
				trouble, _ = c.Bytes()
			} else {
				trouble = c.Raw()
			}
		}
	}
	if value == nil && trouble == nil {
		return raw, nil
	}
	return value, trouble
}

var requests = fields.New(func(p *session.Part) []fields.Field {
	return []fields.Field{fields.Text("name", &p.Name), fields.Raw("arguments", &p.Text)}
})

func (s *scanner) request(b *block, m *session.Message) {
	value, trouble := outcome(b.call)
	p := session.Part{Kind: session.PartToolCall, CallID: b.id, Text: trouble}
	requests.Peek(&p, s.cursor(), value)
	m.Parts = append(m.Parts, p)
}

// response makes the message of a tool's result: a list of content, in later versions
// within an object that says whether the tool failed.
func (s *scanner) response(b *block, m *session.Message) {
	r := session.Message{ID: m.ID, Role: session.RoleToolResult, CallID: b.id, Time: m.Time, TimeInferred: m.TimeInferred, Directory: m.Directory, OutOfContext: m.OutOfContext}
	value, trouble := outcome(b.result)
	c := new(jsonl.Cursor)
	if len(value) > 0 {
		c.Reset(value)
		s.given(c, &r)
	}
	if len(trouble) > 0 {
		r.IsError = true
		r.AddText(trouble)
	}
	if len(r.Parts) == 0 {
		r.Parts = append(r.Parts, session.Part{Kind: session.PartText})
	}
	s.messages = append(s.messages, r)
}

func (s *scanner) given(c *jsonl.Cursor, r *session.Message) {
	switch c.Kind() {
	case jsonl.Array:
		for ok := c.EnterArray(); ok && c.NextElement(); {
			s.givenBlock(c, r)
		}
	case jsonl.Object:
		for ok := c.EnterObject(); ok && c.NextKey(); {
			switch string(c.Key()) {
			case "content":
				for inner := c.EnterArray(); inner && c.NextElement(); {
					s.givenBlock(c, r)
				}
			case "isError":
				failed, _ := c.Bool()
				r.IsError = r.IsError || failed
			}
		}
	case jsonl.String:
		text, _ := c.Bytes()
		r.AddText(text)
	}
}

func (s *scanner) givenBlock(c *jsonl.Cursor, r *session.Message) {
	var b block
	raw := c.Raw()
	blocks.Peek(&b, s.cursor(), raw)
	switch string(b.kind) {
	case "text":
		r.AddText(b.text)
	case "image", "audio":
		r.Parts = append(r.Parts, b.image())
	default:
		r.AddText(raw)
	}
}
