package hermes

import (
	"bytes"
	"context"
	"encoding/base64"
	"io"

	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/speaker"
)

// Scan implements [session.Store]: what is said in a session, in the order in
// which it was stored. What was taken back is abandoned; what a compaction has
// replaced is no part of the context any more.
func (s *Store) Scan(ctx context.Context, r io.Reader, o session.ScanOptions, emit func(*session.Message) error) (session.Scan, error) {
	scan := &scanner{thinking: o.Thinking}
	return scan.run(ctx, r, emit)
}

// scanner is the state of one scan.
type scanner struct {
	lines     session.LineScan
	cursor    jsonl.Cursor
	inner     jsonl.Cursor
	thinking  bool
	prompted  bool  // the system prompt was said
	started   int64 // when the session began
	last      int64 // time of the message before
	model     []byte
	directory []byte
}

// line takes one line.
func (s *scanner) line(r *jsonl.Record) (known bool, err error) {
	var l logLine
	if err := l.read(&s.cursor, r.Raw); err != nil {
		return false, err
	}
	result := &s.lines.Result
	switch l.kind {
	case "":
		return s.transcribed(r)
	case "hermes.session":
		if result.Headers++; result.Headers == 1 {
			result.SessionID, result.Version = string(l.row["id"].text), int(l.format)
			s.model, s.directory, s.started = l.row["model"].text, l.row["cwd"].text, l.row["started_at"].milliseconds()
		}
		return true, s.prompt(r, l.row["system_prompt"].text)
	case "row":
		switch l.table {
		case "system_prompts":
			return true, s.prompt(r, l.row["prompt"].text)
		case "session_model_usage":
		default:
			result.CountUnknown("table ", []byte(l.table))
		}
		return true, nil
	case "message":
		result.Records++
		return true, s.message(r, l.row)
	case "lost":
		result.CountUnknown(session.RowsLost, []byte(l.table))
		return true, nil
	case "children", "linked":
		return true, nil
	}
	return false, nil
}

// prompt says the prompt of the program, once.
func (s *scanner) prompt(r *jsonl.Record, text []byte) error {
	if len(text) == 0 || s.prompted {
		return nil
	}
	s.prompted = true
	m := session.Message{
		Role: session.RoleInjected, SentAs: session.RoleSystem, CustomType: []byte("hermes.system_prompt"), Time: s.started, TimeInferred: true,
		Parts: []session.Part{{Kind: session.PartText, Text: text}}, CutBytes: r.CutBytes,
	}
	return s.lines.Say(r, &m)
}

// message says a row of messages.
func (s *scanner) message(r *jsonl.Record, row row) error {
	m := session.Message{ID: row["id"].raw, Time: row["timestamp"].milliseconds(), Model: s.model, Directory: s.directory, CutBytes: r.CutBytes}
	if m.Time == 0 {
		m.Time, m.TimeInferred = s.last, true
	}
	s.last = m.Time
	s.role(&m, row)
	if s.thinking {
		s.think(&m, row)
	}
	s.content(&m, row["content"].text)
	s.calls(&m, row["tool_calls"].text)
	if m.Role == session.RoleToolResult {
		s.outcome(&m, row["content"].text)
	}
	switch {
	case row.is("compacted", "1"):
		m.OutOfContext = true
	case row.is("active", "0"):
		m.Branch = session.Abandoned
	}
	if len(m.Parts) == 0 && m.Role != session.RoleToolResult {
		return nil
	}
	return s.lines.Say(r, &m)
}

// role reads who speaks.
func (s *scanner) role(m *session.Message, row row) {
	role, text := row["role"].text, row["content"].text
	switch string(role) {
	case "user", "assistant":
		m.Role = session.RoleUser
		if string(role) == "assistant" {
			m.Role, m.StopReason = session.RoleAssistant, row["finish_reason"].text
		}
		kind := row["display_kind"].text
		by := speaker.Of("hermes", text)
		switch {
		case by != nil && by.Name == "summary":
			m.Role = session.RoleSummary
		case m.Role == session.RoleUser && len(kind) > 0:
			m.Role, m.CustomType = session.RoleInjected, append([]byte("hermes."), kind...)
		}
	case "tool":
		m.Role, m.CallID, m.ToolName = session.RoleToolResult, row["tool_call_id"].text, row["tool_name"].text
	case "system":
		m.Role, m.CustomType = session.RoleInjected, []byte("hermes.system")
	default:
		m.Role, m.CustomType, m.OddRole = session.RoleInjected, append([]byte("hermes."), role...), role
	}
}

// think reads what a model thought: it stands in one column or in two.
func (s *scanner) think(m *session.Message, row row) {
	for _, name := range []string{"reasoning_content", "reasoning"} {
		if text := row[name].text; len(text) > 0 {
			m.Parts = append(m.Parts, session.Part{Kind: session.PartThinking, Text: text})
			return
		}
	}
}

// structuredMark begins content that is a list of parts, as JSON.
const structuredMark = "\x00json:"

// content reads what is said: text, or a list of parts.
func (s *scanner) content(m *session.Message, text []byte) {
	list, structured := bytes.CutPrefix(text, []byte(structuredMark))
	s.inner.Reset(list)
	if !structured || s.inner.Kind() != jsonl.Array || !whole(list) {
		m.AddText(text)
		return
	}
	s.inner.EnterArray()
	for s.inner.NextElement() {
		s.part(m)
	}
}

// whole reports whether text is one value of JSON.
func whole(text []byte) bool {
	var c jsonl.Cursor
	c.Reset(text)
	c.Skip()
	return c.End() == nil
}

// part reads one part of a list.
func (s *scanner) part(m *session.Message) {
	c := &s.inner
	if c.Kind() == jsonl.String {
		m.AddText(clone(c))
		return
	}
	if !c.EnterObject() {
		return
	}
	var kind string
	var text []byte
	var size int
	for c.NextKey() {
		switch string(c.Key()) {
		case "type":
			kind = string(clone(c))
		case "text":
			text = clone(c)
		case "image_url", "image", "source", "input_audio", "file":
			size = len(c.Raw())
		default:
			c.Skip()
		}
	}
	switch kind {
	case "text", "input_text", "output_text", "":
		m.AddText(text)
	case "image_url", "input_image", "image", "input_audio", "file":
		m.Parts = append(m.Parts, session.Part{Kind: session.PartImage, Size: int64(size)})
	default:
		m.AddText(text)
		s.lines.Result.CountUnknown("part ", []byte(kind))
	}
}

func clone(c *jsonl.Cursor) []byte {
	b, _ := c.Bytes()
	return bytes.Clone(b)
}

// calls reads the calls of tools: a list of objects of the chat API.
func (s *scanner) calls(m *session.Message, list []byte) {
	c := &s.inner
	if c.Reset(list); len(list) == 0 || !whole(list) || !c.EnterArray() {
		if len(list) > 0 {
			s.lines.Result.CountUnknown("tool_calls ", []byte("that are no list"))
		}
		return
	}
	for c.NextElement() {
		var p session.Part
		if !c.EnterObject() {
			continue
		}
		p.Kind = session.PartToolCall
		for c.NextKey() {
			switch string(c.Key()) {
			case "id", "call_id":
				if id := clone(c); p.CallID == nil || len(id) > 0 && string(c.Key()) == "id" {
					p.CallID = id
				}
			case "function":
				callee(c, &p)
			default:
				c.Skip()
			}
		}
		m.Parts = append(m.Parts, p)
	}
}

// callee reads the name and the arguments, which are a string of JSON.
func callee(c *jsonl.Cursor, p *session.Part) {
	if !c.EnterObject() {
		return
	}
	for c.NextKey() {
		switch string(c.Key()) {
		case "name":
			p.Name = clone(c)
		case "arguments":
			if c.Kind() == jsonl.String {
				p.Text = arguments(clone(c))
			} else {
				p.Text = bytes.Clone(c.Raw())
			}
		default:
			c.Skip()
		}
	}
}

// arguments are an object of JSON: a text that is none is wrapped.
func arguments(text []byte) []byte {
	var c jsonl.Cursor
	c.Reset(text)
	if c.EnterObject() && c.End() == nil {
		return bytes.TrimSpace(text)
	}
	return append(jsonl.AppendQuoted([]byte(`{"input":`), string(text)), '}')
}

// outcome reads how a call ended: most tools return an object of JSON.
func (s *scanner) outcome(m *session.Message, text []byte) {
	c := &s.inner
	if c.Reset(text); len(text) == 0 || text[0] != '{' || !whole(text) || !c.EnterObject() {
		return
	}
	for c.NextKey() {
		switch string(c.Key()) {
		case "exit_code":
			if n, ok := c.Int64(); ok {
				m.ExitCode, m.HasExit = int(n), true
				m.IsError = m.IsError || n != 0
			}
		case "error":
			m.IsError = m.IsError || c.Kind() == jsonl.String && len(clone(c)) > 0
		default:
			c.Skip()
		}
	}
}

// logLine is a line of a session's log, as package statedb writes it.
type logLine struct {
	kind   string
	table  string
	format int64
	row    row
}

// row is what its columns say.
type row map[string]value

// value is a value of a column: its text, and itself as JSON.
type value struct{ text, raw []byte }

func (r row) is(column, raw string) bool { return string(r[column].raw) == raw }

// milliseconds is a time in seconds as milliseconds, 0 for what is no time.
func (v value) milliseconds() int64 {
	var c jsonl.Cursor
	c.Reset(v.raw)
	seconds, ok := c.Float64()
	const latest = 1 << 32
	if !ok || !(seconds > 0 && seconds < latest) {
		return 0
	}
	return int64(seconds*1000 + 0.5)
}

// read reads a line.
func (l *logLine) read(c *jsonl.Cursor, raw []byte) error {
	if err := c.BeginObject(raw); err != nil {
		return err
	}
	for c.NextKey() {
		switch string(c.Key()) {
		case "type":
			l.kind = string(clone(c))
		case "table":
			l.table = string(clone(c))
		case "format":
			l.format, _ = c.Int64()
		case "row":
			l.columns(c)
		default:
			c.Skip()
		}
	}
	return c.End()
}

func (l *logLine) columns(c *jsonl.Cursor) {
	l.row = row{}
	if !c.EnterObject() {
		return
	}
	for c.NextKey() {
		name := string(c.Key())
		v := value{}
		if c.Kind() == jsonl.String {
			v.text = clone(c)
		} else {
			v.raw = bytes.Clone(c.Raw())
			v.text = wrapped(v.raw)
		}
		l.row[name] = v
	}
}

// wrapped is the text of a value that is no text in UTF-8, nil for any other one.
func wrapped(raw []byte) []byte {
	var c jsonl.Cursor
	if c.Reset(raw); !c.EnterObject() {
		return nil
	}
	for c.NextKey() {
		if key := string(c.Key()); key == "text" || key == "blob" {
			text, _ := base64.StdEncoding.DecodeString(string(clone(&c)))
			return text
		}
		c.Skip()
	}
	return nil
}
