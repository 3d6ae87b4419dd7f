package cline

import (
	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/fields"
	"github.com/sessctl/sessctl/pkg/speaker"
)

// decoder reads messages and keeps its memory from one to the next.
type decoder struct {
	cursor  jsonl.Cursor // of the record
	block   block
	content jsonl.Cursor

	role, id, when, model []byte
	kind, sort            []byte // of the record, and of its metadata
	body                  []byte // raw JSON of the content
	usage                 session.Usage
	summary               bool // it is the summary of a compaction
	shown                 bool // it is only for the screen: Cline does not send it
	odd                   []byte
	messages              []session.Message

	task   bool // records are those of a task of an editor's extension
	around []session.Part
	answer *session.Message // the result of a tool, while blocks of text belong to it
	plain  bool             // it is a record of the task's history that says nothing

	say, ask, said []byte // of a record of what was shown
	begun          bool   // a person's task was shown
}

// records is what is read of an element of the array of messages (docs/dev/formats.md, "cline").
var records = fields.New(func(d *decoder) []fields.Field {
	u := &d.usage
	return []fields.Field{
		fields.Text("id", &d.id),
		fields.Text("role", &d.role),
		fields.Raw("ts", &d.when),
		fields.Raw("content", &d.body),
		fields.Text("modelInfo.id", &d.model),
		fields.Int("metrics.inputTokens", &u.Input), // with what came from the cache
		fields.Int("metrics.outputTokens", &u.Output),
		fields.Int("metrics.cacheReadTokens", &u.CacheRead),
		fields.Int("metrics.cacheWriteTokens", &u.CacheWrite),
		fields.Text("metadata.kind", &d.sort),
		fields.Flag("metadata.displayOnly", &d.shown),
		fields.Flag("isSummary", &d.summary),
		fields.Text("type", &d.kind),
		fields.Text("say", &d.say),
		fields.Text("ask", &d.ask),
		fields.Text("text", &d.said),
	}
})

// decode reads one element of the array of messages and makes its messages: the
// results of tools, and what is said beside them. It returns an error that wraps
// [jsonl.ErrSyntax] if raw is not one JSON object.
func (d *decoder) decode(raw []byte) error {
	d.role, d.id, d.when, d.model, d.body, d.odd, d.kind, d.sort = nil, nil, nil, nil, nil, nil, nil, nil
	d.say, d.ask, d.said = nil, nil, nil
	d.usage, d.summary, d.shown, d.messages = session.Usage{}, false, false, d.messages[:0]
	d.around, d.answer = nil, nil
	if err := records.Read(d, &d.cursor, raw); err != nil {
		return err
	}
	d.usage.Total = d.usage.Input + d.usage.Output
	d.plain = d.task && (string(d.kind) == "reasoning" || len(d.say)+len(d.ask) > 0)
	d.summary = d.summary || string(d.sort) == "compaction_summary"
	d.build()
	if d.task {
		d.screen()
	}
	return nil
}

// screen makes the message of a record of what an extension showed: a person's words,
// the agent's, and what a command gave. The others repeat what was sent, or are about it.
func (d *decoder) screen() {
	m := session.Message{Role: session.RoleAssistant}
	switch string(d.say) + string(d.ask) {
	case "text":
		if !d.begun {
			m.Role = session.RoleUser
		}
	case "user_feedback":
		m.Role = session.RoleUser
	case "command_output":
		m.Role, m.ToolName = session.RoleToolResult, []byte("execute_command")
	case "completion_result", "followup", "plan_mode_respond":
	default:
		return
	}
	if m.AddText(d.said); len(m.Parts) > 0 {
		d.messages, d.begun = append(d.messages, m), true
	}
}

// known reports whether what was decoded is a message.
func (d *decoder) known() bool { return len(d.role) > 0 && d.body != nil || d.plain }

// build makes the messages of the record.
func (d *decoder) build() {
	if !d.known() || d.plain {
		return
	}
	m := session.Message{ID: d.id, Model: d.model, Usage: d.usage, HasUsage: d.usage.Total > 0}
	switch string(d.role) {
	case "user":
		m.Role = session.RoleUser
	case "assistant":
		m.Role = session.RoleAssistant
	case "system":
		m.Role = session.RoleSystem
	default:
		m.Role, m.CustomType, m.OddRole = session.RoleInjected, append([]byte("role "), d.role...), d.role
	}
	if d.summary {
		m.Role, m.Compaction = session.RoleSummary, true
	}
	d.addContent(&m)
	d.closeAnswer()
	if len(m.Parts) > 0 || len(d.messages) == 0 && len(d.around) == 0 {
		d.messages = append(d.messages, m)
	}
	if len(d.around) > 0 {
		d.messages = append(d.messages, session.Message{ID: d.id, Role: session.RoleInjected, CustomType: customAround, Parts: d.around})
	}
}

// addContent reads content in its shapes: a string, blocks and strings, or one block.
func (d *decoder) addContent(m *session.Message) {
	d.content.Reset(d.body)
	fields.Content(&d.content, func(text []byte) { d.text(m, text) }, func(c *jsonl.Cursor) {
		d.block = block{}
		blocks.Take(&d.block, c)
		d.add(&d.block, m)
	})
}

// block is one block of content while it is read.
type block struct {
	kind, text, thinking, name, id, input []byte
	call, result                          []byte // of a tool's result; result is raw JSON
	failed                                bool
	data                                  []byte // of an image: where it is, raw JSON
}

// blocks is what is read of a block.
var blocks = fields.New(func(b *block) []fields.Field {
	return []fields.Field{
		fields.Text("type", &b.kind),
		fields.Text("text", &b.text),
		fields.Text("thinking", &b.thinking),
		fields.Text("name", &b.name),
		fields.Text("id", &b.id),
		fields.Raw("input", &b.input),
		fields.Text("tool_use_id", &b.call),
		fields.Raw("content", &b.result),
		fields.Flag("is_error", &b.failed),
		fields.Raw("data", &b.data),
		fields.Raw("source", &b.data),
	}
})

// add adds what a block says. A block of a type that is not known is what text it
// has.
func (d *decoder) add(b *block, m *session.Message) {
	switch string(b.kind) {
	case "text", "":
		d.text(m, b.text)
	case "thinking":
		if len(b.thinking) > 0 {
			m.Parts = append(m.Parts, session.Part{Kind: session.PartThinking, Text: b.thinking})
		}
	case "redacted_thinking":
	case "tool_use":
		m.Parts = append(m.Parts, session.Part{Kind: session.PartToolCall, Name: b.name, CallID: b.id, Text: b.input})
	case "tool_result":
		d.closeAnswer()
		d.toolResult(b)
	case "image", "document":
		m.Parts = append(m.Parts, session.Part{Kind: session.PartImage, Size: int64(len(b.data)), Image: b.data})
	default:
		d.odd = b.kind
		m.AddText(b.text)
	}
}

// toolResult makes the message of a tool's result: a string, or what each of
// several queries gave.
func (d *decoder) toolResult(b *block) {
	r := session.Message{ID: d.id, Role: session.RoleToolResult, CallID: b.call, ToolName: b.name, IsError: b.failed}
	c := new(jsonl.Cursor) // a message may hold many results, and all must stay
	c.Reset(b.result)
	switch {
	case len(b.result) == 0 || c.IsNull():
	case c.Kind() == jsonl.Array:
		c.EnterArray()
		for c.NextElement() {
			given(c, &r)
		}
	default:
		given(c, &r)
	}
	if len(r.Parts) == 0 {
		r.Parts = append(r.Parts, session.Part{Kind: session.PartText})
	}
	d.messages = append(d.messages, r)
}

// given reads what one query of a tool gave: its result and its error, a block of
// text or an image. Of any other shape the JSON is what it says.
func given(c *jsonl.Cursor, r *session.Message) {
	if c.Kind() != jsonl.Object {
		r.AddText(textOf(c))
		return
	}
	var q query
	raw := c.Raw()
	var inner jsonl.Cursor
	inner.Reset(raw)
	for ok := inner.EnterObject(); ok && inner.NextKey(); {
		q.member(&inner)
	}
	if q.size > 0 {
		r.Parts = append(r.Parts, session.Part{Kind: session.PartImage, Size: q.size})
		return
	}
	r.IsError = r.IsError || q.failed || len(q.trouble) > 0
	if r.AddText(q.text); !q.read {
		r.AddText(raw)
		return
	}
	r.AddText(q.trouble)
}

// query is one element of a tool's result while it is read.
type query struct {
	text, trouble []byte
	read          bool // its shape is known
	failed        bool
	size          int64 // of an image
}

func (q *query) member(c *jsonl.Cursor) {
	switch string(c.Key()) {
	case "result", "text":
		q.text, q.read = textOf(c), true
	case "error":
		if !c.IsNull() {
			q.trouble, q.read = textOf(c), true
		}
	case "success":
		worked, known := c.Bool()
		q.failed = known && !worked
	case "source", "data":
		q.size = int64(len(c.Raw()))
	}
}

// textOf is a value as text: a string as it is, anything else as JSON.
func textOf(c *jsonl.Cursor) []byte {
	if c.Kind() == jsonl.String {
		text, _ := c.Bytes()
		return text
	}
	return c.Raw()
}

// text adds a block of text.
func (d *decoder) text(m *session.Message, text []byte) {
	if d.task && m.Role == session.RoleUser {
		d.taskText(m, text)
		return
	}
	m.AddText(typed(m, text))
}

// typed is what a person typed, without the tag that Cline puts around it.
func typed(m *session.Message, text []byte) []byte {
	if m.Role != session.RoleUser {
		return text
	}
	if by := speaker.Of("cline", text); by != nil && by.Name == "input" {
		if inside, ok := by.Typed(text); ok {
			return inside
		}
	}
	return text
}
