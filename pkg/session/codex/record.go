package codex

import (
	"bytes"

	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/fields"
	"github.com/sessctl/sessctl/pkg/speaker"
)

// kind is what a record is for the reader.
type kind uint8

const (
	foreign     kind = iota // nothing of Codex
	bookkeeping             // Codex' own, says nothing
	meta                    // names the thread
	said                    // an item of the context: a message, a call or a result
	reasoning               // an item of the context that is only thinking
	shown                   // an event that repeats a message for the screen
	completed               // an item_completed event that repeats a message
	repeated                // a summary that the compaction after it holds too
	compaction
	bareCompaction // without the history that takes the place of all before it
	tokenCount     // what a model call counted, told at the end of a step
	callCount      // the same, told right after the call
	turnStart
	turnEnd
	rollback
	printed // what a tool printed, as the screen shows it
	patched // what a patch changed, as the screen shows it
)

// item is the payload of a record, or a record that is its own payload. What
// is not a name is kept as raw JSON until it is known what it means.
type item struct {
	kind, role, name, id, callID, phase []byte
	function                            []byte // the name of one
	session                             []byte // the id of a thread, in newer headers

	content, arguments, output, summary, action []byte
	message, inner, history, info, origin       []byte
	printed                                     []byte // all that a command printed
	failure                                     []byte // why a turn failed
	changes                                     []byte // of a patch: the files with their diffs
	turns                                       int64  // num_turns of a rollback
	cwd, fork                                   []byte
}

// record is one decoded line. Its slices are valid until the next decode.
type record struct {
	kind   kind
	name   []byte // the value of "type"
	time   []byte // raw JSON
	item   item
	summed bool // metadata.compaction_output is set: the model's answer is a summary

	bareHeader, bareState bool
	payload               []byte
	unknown               string // what is not known: a type, a role, a block
	unknownName           []byte
}

// decoder turns the text of a line into a record and a message. It keeps its
// memory from line to line.
type decoder struct {
	line    jsonl.Cursor
	payload jsonl.Cursor

	past *decoder // of a history that took the place of all before it

	completed  item         // what an item_completed event is of
	completing jsonl.Cursor // of it
	inner      jsonl.Cursor // of what the payload keeps raw
	deep       jsonl.Cursor // of JSON inside a string
	record     record
	message    session.Message
	wrapped    []byte // arguments made an object
	details    bool   // whether what stands beside a tool's output is wanted
}

// lines is what is read of a line (docs/dev/formats.md, "codex"). What an envelope does not
// have may be a member of a bare item.
var lines = fields.New(func(r *record) []fields.Field {
	return append(r.item.fields(),
		fields.Text("type", &r.name),
		fields.Raw("timestamp", &r.time),
		fields.Raw("created_at", &r.time),
		fields.Func("payload", (*record).keepPayload),
		fields.Flag("metadata.compaction_output", &r.summed),
		fields.Begin("record_type", func(r *record, _ bool) { r.bareState = true }),
		fields.Begin("instructions", func(r *record, _ bool) { r.bareHeader = true }),
	)
})

func (r *record) keepPayload(c *jsonl.Cursor) {
	if c.Kind() == jsonl.Object {
		r.payload = c.Raw()
	}
}

// items is what is read of an item with an envelope.
var items = fields.New(func(i *item) []fields.Field {
	return append(i.fields(), fields.Text("type", &i.kind))
})

func (i *item) fields() []fields.Field {
	return []fields.Field{
		fields.Text("role", &i.role),
		fields.Text("name", &i.name),
		fields.Text("phase", &i.phase),
		fields.ID("id", &i.id),
		fields.ID("session_id", &i.session),
		fields.ID("call_id", &i.callID),
		fields.Text("cwd", &i.cwd),
		fields.ID("forked_from_id", &i.fork),
		fields.Int("num_turns", &i.turns),
		fields.Raw("content", &i.content),
		fields.Raw("arguments", &i.arguments),
		fields.Raw("input", &i.arguments),
		fields.Raw("output", &i.output),
		fields.Raw("result", &i.output),
		fields.Raw("results", &i.output),
		fields.Raw("content_items", &i.output),
		fields.Raw("tools", &i.output),
		fields.Raw("aggregated_output", &i.printed),
		fields.Raw("error", &i.failure),
		fields.Raw("changes", &i.changes),
		fields.Raw("summary", &i.summary),
		fields.Raw("action", &i.action),
		fields.Text("function.name", &i.function), // the oldest form of calls
		fields.Raw("message", &i.message),
		fields.Raw("item", &i.inner),
		fields.Raw("replacement_history", &i.history),
		fields.Raw("info", &i.info),
		fields.Raw("usage", &i.info),
		fields.Raw("internal_chat_message_metadata_passthrough", &i.origin),
	}
}

// settle gives an item that has no id that of its session.
func (i *item) settle() {
	if len(i.id) == 0 {
		i.id = i.session
	}
}

// decode reads one line. It returns an error that wraps [jsonl.ErrSyntax] if
// raw is not one JSON object.
func (d *decoder) decode(raw []byte) error {
	d.record = record{}
	d.message = session.Message{Parts: d.message.Parts[:0]}
	if err := lines.Read(&d.record, &d.line, raw); err != nil {
		return err
	}
	d.record.item.settle()
	d.classify()
	return nil
}

// classify settles what the record is and makes its message.
func (d *decoder) classify() {
	r := &d.record
	if r.payload == nil {
		r.kind = d.bare()
		return
	}
	r.item = item{}
	items.Peek(&r.item, &d.payload, r.payload)
	r.item.settle()
	switch string(r.name) {
	case "session_meta":
		r.kind = meta
	case "response_item":
		r.kind = d.contextItem()
	case "event_msg":
		r.kind = d.event()
	case "compacted":
		r.kind = d.compacted()
	case "token_usage_record":
		r.kind = callCount
	case "turn_context", "world_state", "inter_agent_communication", "inter_agent_communication_metadata":
		r.kind = bookkeeping
	default:
		r.unknown, r.unknownName = "type ", r.name
	}
}

// bare settles what a line without a payload is: until September 2025 items
// stood in the log as they are.
func (d *decoder) bare() kind {
	r := &d.record
	r.item.kind = r.name
	switch {
	case r.bareState:
		return bookkeeping
	case len(r.name) == 0 && r.bareHeader && len(r.item.id) > 0:
		return meta
	case len(r.name) == 0 && len(r.item.role) == 0:
		return foreign
	case string(r.name) == "message" && (len(r.item.role) == 0 || r.item.content == nil):
		return foreign // others have records of this name too
	}
	return d.contextItem()
}

// settleTime gives the message its time, or that of the record before it. It
// returns the time for the record after it.
func (d *decoder) settleTime(previous int64) int64 {
	m := &d.message
	var ok bool
	if m.Time, m.TimeInferred, ok = session.ParseTime(d.record.time); !ok {
		m.Time, m.TimeInferred = previous, true
	}
	return m.Time
}

// event settles what an event_msg is. Most events are for the screen and tell
// what an item tells too.
func (d *decoder) event() kind {
	i, m := &d.record.item, &d.message
	switch string(i.kind) {
	case "user_message":
		m.Role = session.RoleUser
		d.content(i.message)
		return shown
	case "agent_message":
		m.Role = session.RoleAssistant
		d.content(i.message)
		return shown
	case "item_completed":
		return d.completedItem()
	case "token_count":
		return tokenCount
	case "thread_rolled_back":
		return rollback
	case "task_started", "turn_started":
		return turnStart
	case "task_complete", "turn_complete":
		d.failedTurn(i.failure)
		return turnEnd
	case "error":
		d.failedTurn(i.message)
		return turnEnd
	case "turn_aborted":
		return turnEnd
	case "exec_command_end":
		return d.printedBy(i.callID, i.printed)
	case "patch_apply_end":
		return d.patchedBy(i.callID, i.changes)
	case "mcp_tool_call_end", "dynamic_tool_call_response", "web_search_end":
		return d.printedBy(i.callID, i.output)
	}
	return bookkeeping
}

// completedItem makes the message of an item_completed event. Only what is
// said is taken: calls and results are items of the context as well.
func (d *decoder) completedItem() kind {
	raw, inner := d.record.item.inner, &d.completed
	*inner = item{}
	if !items.Peek(inner, &d.completing, raw) {
		return bookkeeping
	}
	inner.settle()
	m := &d.message
	switch string(inner.kind) {
	case "UserMessage":
		m.Role = session.RoleUser
	case "AgentMessage":
		m.Role = session.RoleAssistant
	case "CommandExecution":
		return d.printedBy(inner.id, inner.printed)
	case "FileChange":
		return d.patchedBy(inner.id, inner.changes)
	case "McpToolCall", "DynamicToolCall", "Extension":
		return d.printedBy(inner.id, inner.output)
	default:
		return bookkeeping
	}
	m.ID = inner.id
	d.content(inner.content)
	return completed
}

// ownPrefix begins the names of what Codex itself puts in front of the model.
const ownPrefix = "codex."

// typed tells what a person typed from what Codex says in the person's name.
// Since 0.169 an item says where its content comes from; before, only the text
// shows it.
func (d *decoder) typed() {
	m := &d.message
	m.Role = session.RoleUser
	origin, known := d.origin()
	if origin == nil && !known {
		origin = contextOf(m.FirstText())
	}
	switch {
	case origin == nil:
	case string(origin) == shellTag:
		d.shell()
	default:
		m.Role, m.CustomType = session.RoleInjected, append([]byte(ownPrefix), origin...)
	}
}

// origin reads content_item_kinds: nil and known if a part of the content is
// the person's.
func (d *decoder) origin() (origin []byte, known bool) {
	d.strings(d.record.item.origin, "content_item_kinds", func(kind []byte) {
		switch {
		case bytes.HasPrefix(kind, []byte("user.")):
			origin, known = nil, true
		case !known && origin == nil && string(kind) != "unknown":
			origin = kind
		}
	})
	return origin, known
}

// strings hands each string of a list inside an object to yield.
func (d *decoder) strings(object []byte, key string, yield func([]byte)) {
	c := &d.deep
	c.Reset(object)
	if !c.EnterObject() {
		return
	}
	for c.NextKey() {
		if string(c.Key()) != key || !c.EnterArray() {
			continue
		}
		for c.NextElement() {
			if text, ok := c.Bytes(); ok {
				yield(text)
			}
		}
	}
}

// shellTag marks a command that the person ran by hand.
const shellTag = "user_shell_command"

// contextOf names the kind of a text that Codex put there; nil for any other.
func contextOf(text []byte) []byte {
	if by := speaker.Of("codex", text); by != nil && by.Name != "ide" {
		return []byte(by.Name)
	}
	return nil
}

// shell takes a command and its output out of their tags.
func (d *decoder) shell() {
	m := &d.message
	text := m.FirstText()
	m.Role = session.RoleShell
	command, rest, ok := between(text, "<command>", "</command>")
	if !ok {
		return
	}
	m.Parts = append(m.Parts[:0], session.Part{Kind: session.PartCommand, Text: command})
	result, _, ok := between(rest, "<result>", "</result>")
	if !ok {
		return
	}
	m.ExitCode, m.HasExit = exitOf(result)
	m.IsError = m.HasExit && m.ExitCode != 0
	d.message.AddText(result)
}

func between(text []byte, open, end string) (inside, rest []byte, ok bool) {
	_, text, opened := bytes.Cut(text, []byte(open))
	inside, rest, closed := bytes.Cut(text, []byte(end))
	return bytes.TrimSpace(inside), rest, opened && closed
}

// contextItem makes the message of an item of the model's context. A type that
// is not known is a call or a result by its ending; Codex adds types often.
func (d *decoder) contextItem() kind {
	i := &d.record.item
	d.message.ID = i.id
	switch name := string(i.kind); {
	case name == "message", name == "" && len(i.role) > 0:
		return d.spoken()
	case name == "reasoning":
		d.thinking(&d.inner, i.summary)
		d.thinking(&d.deep, i.content)
		d.message.Role = session.RoleAssistant
		return reasoning
	case name == "agent_message":
		d.message.Role, d.message.CustomType = session.RoleInjected, i.kind
		d.content(i.content)
		return said
	case name == "ghost_snapshot", name == "compaction", name == "context_compaction", name == "compaction_summary":
		return bookkeeping
	case bytes.HasSuffix(i.kind, []byte("_call")):
		return d.call()
	case bytes.HasSuffix(i.kind, []byte("_output")), bytes.HasSuffix(i.kind, []byte("_result")):
		return d.result()
	}
	d.record.unknown, d.record.unknownName = "item ", i.kind
	if d.record.payload == nil {
		return foreign
	}
	return bookkeeping
}

// spoken makes the message of an item with a role.
func (d *decoder) spoken() kind {
	i, m := &d.record.item, &d.message
	switch {
	case i.content != nil:
		d.content(i.content)
	default:
		d.content(i.message)
	}
	switch string(i.role) {
	case "user":
		d.typed()
	case "assistant":
		m.Role = session.RoleAssistant
		if d.record.summed {
			return repeated
		}
	case "developer", "system":
		m.Role, m.CustomType, m.SentAs = session.RoleInjected, append([]byte(ownPrefix), i.role...), session.RoleSystem
	default:
		m.Role, m.CustomType, m.OddRole = session.RoleInjected, append([]byte("role "), i.role...), i.role
	}
	return said
}

// call makes the message of a tool call. Arguments are an object; what a tool
// takes as text becomes the member "input" of one.
func (d *decoder) call() kind {
	i, m := &d.record.item, &d.message
	m.Role = session.RoleAssistant
	part := session.Part{Kind: session.PartToolCall, Name: i.name, CallID: i.callID}
	if len(part.Name) == 0 {
		part.Name = i.function
	}
	if len(part.Name) == 0 {
		part.Name = bytes.TrimSuffix(i.kind, []byte("_call"))
	}
	part.Text = d.arguments(i.arguments)
	if i.arguments == nil {
		part.Text = i.action
	}
	m.Parts = append(m.Parts, part)
	if string(i.kind) == "image_generation_call" && len(i.output) > 2 {
		m.Parts = append(m.Parts, session.Part{Kind: session.PartImage, Size: int64(len(i.output) - 2)})
	}
	return said
}

// arguments returns arguments as an object: a string that holds one is
// unwrapped, any other string is wrapped.
func (d *decoder) arguments(raw []byte) []byte {
	if len(raw) == 0 || raw[0] != '"' {
		if string(raw) == "null" {
			return nil
		}
		return raw
	}
	d.inner.Reset(raw)
	text, _ := d.inner.Bytes()
	d.deep.Reset(text)
	if d.deep.EnterObject() && d.deep.End() == nil {
		return bytes.TrimSpace(text)
	}
	d.wrapped = append(append(append(d.wrapped[:0], `{"input":`...), raw...), '}')
	return d.wrapped
}

// result makes the message of a tool's result.
func (d *decoder) result() kind {
	i, m := &d.record.item, &d.message
	m.Role, m.CallID, m.ToolName = session.RoleToolResult, i.callID, i.name
	d.output(i.output)
	m.IsError = m.HasExit && m.ExitCode != 0
	return said
}

// compacted makes the summary of a compaction. The messages that it repeats
// are not taken again.
func (d *decoder) compacted() kind {
	m := &d.message
	m.Role, m.Compaction, m.KeptFirst = session.RoleSummary, true, true
	d.content(d.record.item.message)
	for i := range m.Parts {
		m.Sent = m.Parts[0].Text
		m.Parts[i].Text = withoutPreamble(m.Parts[i].Text)
	}
	if h := d.record.item.history; len(h) == 0 || h[0] != '[' {
		return bareCompaction
	}
	return compaction
}

// summaryOrigin is the kind of content of a summary in a replaced history.
const summaryOrigin = ownPrefix + "compaction.summary"

// replacement reads the history that a compaction has put in the place of all
// before it, without its summary. What only the runtime's model can read says
// nothing.
func (d *decoder) replacement(history []byte, summary *session.Message) (kept []session.Message) {
	if d.past == nil {
		d.past = &decoder{}
	}
	past := d.past
	var c jsonl.Cursor
	c.Reset(history)
	for ok := c.EnterArray(); ok && c.NextElement(); {
		past.record, past.message = record{payload: history}, session.Message{Parts: past.message.Parts[:0]} // an item of a known place
		items.Take(&past.record.item, &c)
		past.record.item.settle()
		if past.contextItem() != said {
			continue
		}
		m := &past.message
		text := m.FirstText()
		if string(m.CustomType) == summaryOrigin || text != nil && len(m.Parts) == 1 && bytes.Equal(withoutPreamble(text), summary.FirstText()) {
			summary.Sent = bytes.Clone(text)
			continue
		}
		m.Line, m.Offset, m.Length, m.Time, m.TimeInferred = summary.Line, summary.Offset, summary.Length, summary.Time, summary.TimeInferred
		kept = append(kept, clone(m))
	}
	return kept
}

// withoutPreamble leaves out the line that Codex puts before a summary for the
// model that reads it.
func withoutPreamble(text []byte) []byte {
	const preamble = "Another language model started to solve this problem and produced a summary of its thinking process."
	line, rest, more := bytes.Cut(text, []byte("\n"))
	if more && bytes.HasPrefix(line, []byte(preamble)) {
		return rest
	}
	return text
}
