package opencode

import (
	"slices"

	"github.com/sessctl/sessctl/pkg/jsonl"
)

// logLine is a line of a session's log, as package sessiondb writes it. Its
// slices are valid until the next line is read.
type logLine struct {
	kind    string
	table   []byte
	format  int64
	row     row
	payload []byte // JSON
}

// row is what the columns of a row say that matters here.
type row struct {
	id, message []byte
	created     int64
	reverted    []byte // JSON, of a session
}

// read reads a line.
func (l *logLine) read(c *jsonl.Cursor, raw []byte) error {
	if err := c.BeginObject(raw); err != nil {
		return err
	}
	for c.NextKey() {
		switch string(c.Key()) {
		case "type":
			l.kind = word(c)
		case "table":
			l.table, _ = c.Bytes()
		case "format":
			l.format, _ = c.Int64()
		case "row":
			l.row.read(c)
		case "payload":
			l.payload = c.Raw()
		default:
			c.Skip()
		}
	}
	return c.End()
}

func (r *row) read(c *jsonl.Cursor) {
	if !c.EnterObject() {
		return
	}
	for c.NextKey() {
		switch string(c.Key()) {
		case "id":
			r.id = text(c)
		case "message_id":
			r.message = text(c)
		case "time_created":
			r.created, _ = c.Int64()
		case "revert":
			r.reverted = text(c)
		default:
			c.Skip()
		}
	}
}

// revert reads what was taken back of a session.
func (r *row) revert(c *jsonl.Cursor) (back revert) {
	c.Reset(r.reverted)
	if len(r.reverted) == 0 || !c.EnterObject() {
		return back
	}
	for c.NextKey() {
		switch string(c.Key()) {
		case "messageID":
			back.message = word(c)
		case "partID":
			back.part = word(c)
		default:
			c.Skip()
		}
	}
	return back
}

// text is a string of its own, nil for anything else.
func text(c *jsonl.Cursor) []byte {
	b, ok := c.Bytes()
	if !ok {
		return nil
	}
	return slices.Clone(b)
}

// word is a short string, "" for anything else.
func word(c *jsonl.Cursor) string {
	b, _ := c.Bytes()
	return string(b)
}

// message is the data of a row of messages. Its slices are its own.
type message struct {
	role, parent, provider, model, finish, cwd []byte
	failure, reason                            []byte // of an error: its name, and what it says
	created                                    int64
	summary                                    bool
	usage                                      usage
}

// usage is what the model has counted. Input is without what came from the
// cache; output is without reasoning.
type usage struct {
	total, input, output, reasoning, cacheRead, cacheWrite int64
}

func (u usage) any() bool { return u.total+u.input+u.output+u.reasoning+u.cacheRead+u.cacheWrite > 0 }

func (m *message) read(c *jsonl.Cursor, raw []byte) {
	c.Reset(raw)
	if !c.EnterObject() {
		return
	}
	for c.NextKey() {
		switch string(c.Key()) {
		case "role":
			m.role = text(c)
		case "parentID":
			m.parent = text(c)
		case "providerID":
			m.provider = text(c)
		case "modelID":
			m.model = text(c)
		case "finish":
			m.finish = text(c)
		case "summary":
			m.summary, _ = c.Bool() // an object with the changes, of a person's message
		case "model":
			fields(c, map[string]func(){"providerID": func() { m.provider = text(c) }, "modelID": func() { m.model = text(c) }})
		case "path":
			fields(c, map[string]func(){"cwd": func() { m.cwd = text(c) }})
		case "time":
			fields(c, map[string]func(){"created": func() { m.created, _ = c.Int64() }})
		case "error":
			fields(c, map[string]func(){"name": func() { m.failure = text(c) }, "data": func() {
				fields(c, map[string]func(){"message": func() { m.reason = text(c) }})
			}})
			if m.failure == nil {
				m.failure = []byte("error")
			}
		case "tokens":
			m.usage.read(c)
		default:
			c.Skip()
		}
	}
}

func (u *usage) read(c *jsonl.Cursor) {
	number := func(to *int64) func() { return func() { *to, _ = c.Int64() } }
	fields(c, map[string]func(){
		"total": number(&u.total), "input": number(&u.input), "output": number(&u.output), "reasoning": number(&u.reasoning),
		"cache": func() { fields(c, map[string]func(){"read": number(&u.cacheRead), "write": number(&u.cacheWrite)}) },
	})
}

// fields calls for each member of an object what belongs to its key. What does
// not take the value leaves it to be passed over.
func fields(c *jsonl.Cursor, take map[string]func()) {
	if !c.EnterObject() {
		return
	}
	for c.NextKey() {
		if do, ok := take[string(c.Key())]; ok {
			do()
		} else {
			c.Skip()
		}
	}
}

// part is the data of a row of parts. Its slices are its own.
type part struct {
	id, kind, text     []byte
	synthetic, ignored bool
	tail               []byte // of a compaction: the first message that it keeps
	mime, name, url    []byte // of a file
	prompt             []byte // of a task for another agent
	tool, call         []byte
	state              toolState
}

// toolState is how a call went.
type toolState struct {
	status, input, output, failure, metadata []byte
	exit                                     int64
	hasExit                                  bool
	cleared                                  bool // its output is not sent any more
	attached                                 int64
}

// knownParts are the types of parts that are read, or known to say nothing
// that is sent.
var knownParts = map[string]bool{
	"text": true, "reasoning": true, "tool": true, "file": true, "compaction": true, "subtask": true,
	"step-start": true, "step-finish": true, "snapshot": true, "patch": true, "agent": true, "retry": true,
}

func (p *part) known() bool { return knownParts[string(p.kind)] }

func (p *part) read(c *jsonl.Cursor, raw []byte, details bool) {
	c.Reset(raw)
	if !c.EnterObject() {
		return
	}
	for c.NextKey() {
		switch string(c.Key()) {
		case "type":
			p.kind = text(c)
		case "text":
			p.text = text(c)
		case "synthetic":
			p.synthetic, _ = c.Bool()
		case "ignored":
			p.ignored, _ = c.Bool()
		case "tail_start_id":
			p.tail = text(c)
		case "mime":
			p.mime = text(c)
		case "filename":
			p.name = text(c)
		case "url":
			p.url = text(c)
		case "prompt":
			p.prompt = text(c)
		case "tool":
			p.tool = text(c)
		case "callID":
			p.call = text(c)
		case "state":
			p.state.read(c, details)
		default:
			c.Skip()
		}
	}
}

func (s *toolState) read(c *jsonl.Cursor, details bool) {
	if !c.EnterObject() {
		return
	}
	for c.NextKey() {
		switch string(c.Key()) {
		case "status":
			s.status = text(c)
		case "input":
			s.input = slices.Clone(c.Raw())
		case "output":
			s.output = text(c)
		case "error":
			s.failure = text(c)
		case "time":
			fields(c, map[string]func(){"compacted": func() { at, _ := c.Int64(); s.cleared = at > 0 }})
		case "metadata":
			s.describe(c, details)
		case "attachments":
			s.attached = int64(len(c.Raw()))
		default:
			c.Skip()
		}
	}
}

// describe reads what the runtime notes beside an output: the exit status, and
// for whoever asks all of it.
func (s *toolState) describe(c *jsonl.Cursor, details bool) {
	raw := c.Raw()
	if details {
		s.metadata = slices.Clone(raw)
	}
	var inner jsonl.Cursor
	inner.Reset(raw)
	fields(&inner, map[string]func(){"exit": func() { s.exit, s.hasExit = inner.Int64() }})
}

// binary reports whether a file is sent as it is: text and directories are sent
// as text that stands in another part.
func (p *part) binary() bool {
	mime := string(p.mime)
	return mime != "text/plain" && mime != "application/x-directory"
}
