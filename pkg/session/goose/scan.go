package goose

import (
	"context"
	"io"
	"slices"

	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
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
	thinking bool
	cwd      []byte

	row      row
	messages []session.Message
}

// row is the row of a message while it is read.
type row struct {
	id, role, content, metadata, session, directory []byte
	at                                              int64
}

func (s *scanner) read(r *jsonl.Record) (known bool, err error) {
	c, kind, inner := &s.line, "", []byte(nil)
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
	case "message":
		s.decode(inner)
		result.Records++
		s.build()
		for i := range s.messages {
			s.messages[i].CutBytes = r.CutBytes
			if err := s.lines.Say(r, &s.messages[i]); err != nil {
				return true, err
			}
		}
		return true, nil
	case "row":
		return true, nil
	}
	result.CountUnknown("", []byte(kind))
	return false, nil
}

// decode reads the row of a session or of a message.
func (s *scanner) decode(raw []byte) {
	s.row = row{}
	c := new(jsonl.Cursor)
	c.Reset(raw)
	for ok := c.EnterObject(); ok && c.NextKey(); {
		switch string(c.Key()) {
		case "id":
			s.row.session, _ = c.Bytes()
		case "message_id":
			s.row.id, _ = c.Bytes()
		case "role":
			s.row.role, _ = c.Bytes()
		case "content_json":
			s.row.content, _ = c.Bytes()
		case "metadata_json":
			s.row.metadata, _ = c.Bytes()
		case "working_dir":
			s.row.directory, _ = c.Bytes()
		case "created_timestamp":
			s.row.at, _ = c.Int64()
		}
	}
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
		m.Role, m.CustomType = session.RoleInjected, append([]byte("role "), s.row.role...)
		s.lines.Result.CountUnknown("role ", s.row.role)
	case !user: // the program's own: the summary of a compaction, an order to go on
		m.Role, m.CustomType = session.RoleInjected, []byte("agent only")
	}
	s.blocks(&m)
	if len(m.Parts) > 0 || len(s.messages) == 0 {
		s.messages = append(s.messages, m)
	}
}

// visible reads who is shown a message: both, unless the row says otherwise.
func (s *scanner) visible() (user, agent bool) {
	user, agent = true, true
	c := new(jsonl.Cursor)
	c.Reset(s.row.metadata)
	if len(s.row.metadata) == 0 {
		return user, agent
	}
	for ok := c.EnterObject(); ok && c.NextKey(); {
		switch string(c.Key()) {
		case "userVisible":
			if v, known := c.Bool(); known {
				user = v
			}
		case "agentVisible":
			if v, known := c.Bool(); known {
				agent = v
			}
		}
	}
	return user, agent
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
	kind, id, text, thinking, call, result []byte
	size                                   int64
}

func (s *scanner) block(raw []byte, m *session.Message) {
	var b block
	c := new(jsonl.Cursor) // what it decodes must stay until the message is said
	c.Reset(raw)
	for ok := c.EnterObject(); ok && c.NextKey(); {
		b.member(c)
	}
	switch string(b.kind) {
	case "text":
		m.AddText(b.text)
	case "thinking":
		if s.thinking && len(b.thinking) > 0 {
			m.Parts = append(m.Parts, session.Part{Kind: session.PartThinking, Text: b.thinking})
		}
	case "image":
		m.Parts = append(m.Parts, session.Part{Kind: session.PartImage, Size: b.size})
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

func (b *block) member(c *jsonl.Cursor) {
	switch string(c.Key()) {
	case "type":
		b.kind, _ = c.Bytes()
	case "id":
		b.id, _ = c.Bytes()
	case "text":
		b.text, _ = c.Bytes()
	case "thinking":
		b.thinking, _ = c.Bytes()
	case "toolCall", "tool_call":
		b.call = c.Raw()
	case "toolResult", "tool_result":
		b.result = c.Raw()
	case "data":
		b.size = int64(len(c.Raw()))
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

func (s *scanner) request(b *block, m *session.Message) {
	value, trouble := outcome(b.call)
	p := session.Part{Kind: session.PartToolCall, CallID: b.id, Text: trouble}
	c := new(jsonl.Cursor)
	c.Reset(value)
	for ok := len(value) > 0 && c.EnterObject(); ok && c.NextKey(); {
		switch string(c.Key()) {
		case "name":
			p.Name, _ = c.Bytes()
		case "arguments":
			p.Text = c.Raw()
		}
	}
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
		given(c, &r)
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

func given(c *jsonl.Cursor, r *session.Message) {
	switch c.Kind() {
	case jsonl.Array:
		for ok := c.EnterArray(); ok && c.NextElement(); {
			givenBlock(c, r)
		}
	case jsonl.Object:
		for ok := c.EnterObject(); ok && c.NextKey(); {
			switch string(c.Key()) {
			case "content":
				for inner := c.EnterArray(); inner && c.NextElement(); {
					givenBlock(c, r)
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

func givenBlock(c *jsonl.Cursor, r *session.Message) {
	var b block
	raw := c.Raw()
	inner := new(jsonl.Cursor)
	inner.Reset(raw)
	for ok := inner.EnterObject(); ok && inner.NextKey(); {
		b.member(inner)
	}
	switch string(b.kind) {
	case "text":
		r.AddText(b.text)
	case "image", "audio":
		r.Parts = append(r.Parts, session.Part{Kind: session.PartImage, Size: b.size})
	default:
		r.AddText(raw)
	}
}
