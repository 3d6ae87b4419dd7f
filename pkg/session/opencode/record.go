package opencode

import (
	"slices"

	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/fields"
)

// logLine is a line of a session's log, as package sessiondb writes it. Its
// slices are valid until the cursor is given another text.
type logLine struct {
	kind, table []byte
	format      int64
	row         row
	payload     []byte // JSON
}

// row is what the columns of a row say that matters here.
type row struct {
	id, message []byte
	created     int64
	reverted    []byte // JSON, of a session
	body        []byte // of a message on a board
}

var logLines = fields.New(func(l *logLine) []fields.Field {
	return []fields.Field{
		fields.Text("type", &l.kind), fields.Text("table", &l.table), fields.Int("format", &l.format), fields.Raw("payload", &l.payload),
		fields.Text("row.id", &l.row.id), fields.Text("row.message_id", &l.row.message), fields.Int("row.time_created", &l.row.created), fields.Text("row.revert", &l.row.reverted),
		fields.Text("row.body", &l.row.body),
	}
})

// read reads a line.
func (l *logLine) read(c *jsonl.Cursor, raw []byte) error {
	*l = logLine{}
	err := logLines.Read(l, c, raw)
	own(&l.row.reverted, &l.row.body) // they are read, or said, after more was read by the same cursor
	return err
}

// own copies what lies in a text that a cursor goes over.
func own(texts ...*[]byte) {
	for _, t := range texts {
		*t = slices.Clone(*t)
	}
}

// reverts is what was taken back of a session: the message, or the part, and what
// followed.
var reverts = fields.New(func(r *struct{ message, part []byte }) []fields.Field {
	return []fields.Field{fields.Text("messageID", &r.message), fields.Text("partID", &r.part)}
})

// revert reads what was taken back of a session.
func (r *row) revert(c *jsonl.Cursor) revert {
	var back struct{ message, part []byte }
	reverts.Peek(&back, c, r.reverted)
	return revert{message: string(back.message), part: string(back.part)}
}

// message is the data of a row of messages. Its slices are its own.
type message struct {
	role, parent, provider, model, finish, cwd []byte
	failure, reason                            []byte // of an error: its name, and what it says
	failed                                     bool
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

var messages = fields.New(func(m *message) []fields.Field {
	u := &m.usage
	return []fields.Field{
		fields.Text("role", &m.role), fields.Text("parentID", &m.parent), fields.Text("finish", &m.finish), fields.Text("path.cwd", &m.cwd),
		fields.Text("providerID", &m.provider), fields.Text("model.providerID", &m.provider),
		fields.Text("modelID", &m.model), fields.Text("model.modelID", &m.model),
		fields.Flag("summary", &m.summary), // an object with the changes, of a person's message
		fields.Int("time.created", &m.created),
		fields.Begin("error", func(m *message, _ bool) { m.failed = true }), fields.Text("error.name", &m.failure), fields.Text("error.data.message", &m.reason),
		fields.Int("tokens.total", &u.total), fields.Int("tokens.input", &u.input), fields.Int("tokens.output", &u.output), fields.Int("tokens.reasoning", &u.reasoning),
		fields.Int("tokens.cache.read", &u.cacheRead), fields.Int("tokens.cache.write", &u.cacheWrite),
	}
})

func (m *message) read(c *jsonl.Cursor, raw []byte) {
	messages.Peek(m, c, raw)
	own(&m.role, &m.parent, &m.provider, &m.model, &m.finish, &m.cwd, &m.failure, &m.reason)
	if m.failed && m.failure == nil {
		m.failure = []byte("error")
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
	attachments                              []byte // while it is read
	exit, compacted                          int64
	attached                                 []session.Part
	hasExit                                  bool
	cleared                                  bool // its output is not sent any more
}

// knownParts are the types of parts that are read, or known to say nothing
// that is sent.
var knownParts = map[string]bool{
	"text": true, "reasoning": true, "tool": true, "file": true, "compaction": true, "subtask": true,
	"step-start": true, "step-finish": true, "snapshot": true, "patch": true, "agent": true, "retry": true,
}

func (p *part) known() bool { return knownParts[string(p.kind)] }

var parts = fields.New(func(p *part) []fields.Field {
	s := &p.state
	return []fields.Field{
		fields.Text("type", &p.kind), fields.Text("text", &p.text), fields.Flag("synthetic", &p.synthetic), fields.Flag("ignored", &p.ignored),
		fields.Text("tail_start_id", &p.tail), fields.Text("mime", &p.mime), fields.Text("filename", &p.name), fields.Text("url", &p.url),
		fields.Text("prompt", &p.prompt), fields.Text("tool", &p.tool), fields.Text("callID", &p.call),
		fields.Text("state.status", &s.status), fields.Raw("state.input", &s.input), fields.Text("state.output", &s.output), fields.Text("state.error", &s.failure),
		fields.Int("state.time.compacted", &s.compacted), fields.Raw("state.metadata", &s.metadata), fields.Raw("state.attachments", &s.attachments),
	}
})

// exits is what the runtime notes beside an output of how a program ended.
var exits = fields.New(func(s *toolState) []fields.Field {
	return []fields.Field{fields.Func("exit", func(s *toolState, c *jsonl.Cursor) { s.exit, s.hasExit = c.Int64() })}
})

// read reads a part. What the runtime notes beside an output is kept for whoever asks
// for all of it.
func (p *part) read(c *jsonl.Cursor, raw []byte, details bool) {
	s := &p.state
	parts.Peek(p, c, raw)
	own(&p.kind, &p.text, &p.tail, &p.mime, &p.name, &p.url, &p.prompt, &p.tool, &p.call, &s.status, &s.input, &s.output, &s.failure)
	s.cleared = s.compacted > 0
	s.attach(c)
	exits.Peek(s, c, s.metadata)
	if !details {
		s.metadata = nil
	}
	own(&s.metadata)
}

// attach makes parts of the files that a tool returned.
func (s *toolState) attach(c *jsonl.Cursor) {
	raw := s.attachments
	s.attachments, s.attached = nil, nil
	if len(raw) == 0 || string(raw) == "[]" || string(raw) == "null" {
		return
	}
	c.Reset(raw)
	for ok := c.EnterArray(); ok && c.NextElement(); {
		file := session.Part{Kind: session.PartImage}
		for ok := c.EnterObject(); ok && c.NextKey(); {
			if string(c.Key()) == "url" {
				file.Image = slices.Clone(c.Raw())
			}
		}
		s.attached = append(s.attached, file)
	}
	if len(s.attached) > 0 {
		s.attached[0].Size = int64(len(raw))
	}
}

// binary reports whether a file is sent as it is: text and directories are sent
// as text that stands in another part.
func (p *part) binary() bool {
	mime := string(p.mime)
	return mime != "text/plain" && mime != "application/x-directory"
}
