package claude

import (
	"bytes"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/fields"
	"github.com/sessctl/sessctl/pkg/speaker"
)

// kind is what a record is.
type kind uint8

const (
	unknown     kind = iota
	user             // what a person, a tool or the runtime said to the model
	assistant        // one block of what the model said
	queued           // what a person typed while the model was at work
	attached         // a file that a person attached, or one that a compaction has put back
	boundary         // the context starts anew from here
	link             // says nothing, but stands in the tree
	bookkeeping      // known, says nothing
	prompt           // a line of the history: what a person typed, perhaps all that is left of its session
	pastedText       // a text that was pasted into the prompt before, as a log of prompts has it
)

// kindOf maps the value of "type" (docs/dev/formats.md, "claude").
func kindOf(name []byte) kind {
	switch string(name) {
	case "user":
		return user
	case "assistant":
		return assistant
	case "system", "attachment", "progress":
		return link
	case "summary", "queue-operation", "file-history-snapshot", "permission-mode", "mode", "agent-name", "custom-title",
		"ai-title", "last-prompt", "frame-link", "pr-link", "started", "result", "relocated", "worktree-state", "bridge-session",
		"api-request", "api-request-blob", "api-request-shape", "cost-state", "tools-used", "atis-latch":
		return bookkeeping
	case pasteType:
		return pastedText
	}
	return unknown
}

// says reports whether records of the kind are messages for the reader.
func (k kind) says() bool {
	return k == user || k == assistant || k == queued || k == attached || k == prompt || k == pastedText
}

// record is one decoded line. Its slices are valid until the next decode.
type record struct {
	kind      kind
	name      []byte // the value of "type"
	id        []byte // uuid, empty if the record has none
	parent    []byte
	logical   []byte // of a boundary: the message before it
	root      bool   // parentUuid is null
	leaf      []byte // leafUuid
	session   []byte
	cwd       []byte
	project   []byte // of a line of the history: where it was typed
	sidechain bool
	time      []byte // raw JSON

	meta    bool   // put in by the runtime, not typed
	summary bool   // what a compaction made of all before
	failed  bool   // an error of the API as a message
	origin  []byte // who a user record is of, in newer versions
	subtype []byte // of a system record
	trigger []byte // of a boundary: "auto" if the runtime compacted by itself, within a turn
	head    []byte // of a boundary: the first message before it that stays
	tail    []byte // and the last one

	attachment []byte // its type
	rendered   []byte // the same: what of it was sent, raw JSON; versions before 2.1.330 do not say
	file       []byte // the same: the text
	picture    []byte // the same: what is no text, as base64
	mode       []byte // of a queued command
	sender     []byte // the same: who it is of
	prompt     []byte // the same, raw JSON
	printed    []byte // toolUseResult, raw JSON
	display    []byte // of a line of the history: what was typed, raw JSON
	pasted     []byte // the same: what was pasted, raw JSON
	content    []byte // of a pasted text, raw JSON

	hasMessage bool
	reply      []byte // the message's id: records of one reply have the same
	oddBlock   []byte // the type of a block that is not known
	text       class  // what the text of a user record is
}

// decoder turns the text of a record into a message. It keeps its memory from
// record to record.
type decoder struct {
	thinking bool         // whether thinking parts are wanted
	unsent   bool         // whether output is wanted that the model was not sent
	details  bool         // whether what stands beside a tool's output is wanted
	cursor   jsonl.Cursor // of the record
	queue    jsonl.Cursor // of a prompt, which is read after its type is known
	printed  jsonl.Cursor // of what a tool printed, which is compared with what was sent
	record   record
	message  session.Message
	block    block
	inner    block  // inside of a tool's result
	scratch  []byte // texts that are put together
}

// records is what is read of a record (docs/dev/formats.md, "claude").
var records = fields.New(func(d *decoder) []fields.Field {
	r, m := &d.record, &d.message
	return []fields.Field{
		fields.Text("type", &r.name),
		fields.Text("uuid", &r.id),
		fields.Text("parentUuid", &r.parent),
		fields.Null("parentUuid", &r.root),
		fields.Text("logicalParentUuid", &r.logical),
		fields.Text("leafUuid", &r.leaf),
		fields.Text("sessionId", &r.session),
		fields.Raw("timestamp", &r.time),
		fields.Text("cwd", &r.cwd),
		fields.Text("project", &r.project),
		fields.Raw("display", &r.display),
		fields.Raw("pastedContents", &r.pasted),
		fields.Raw("content", &r.content),
		fields.Flag("isSidechain", &r.sidechain),
		fields.Flag("isMeta", &r.meta),
		fields.Flag("isCompactSummary", &r.summary),
		fields.Flag("isApiErrorMessage", &r.failed),
		fields.Text("subtype", &r.subtype),
		fields.Text("origin.kind", &r.origin),
		fields.Text("compactMetadata.trigger", &r.trigger),
		fields.Text("compactMetadata.preservedSegment.headUuid", &r.head),
		fields.Text("compactMetadata.preservedSegment.tailUuid", &r.tail),
		fields.Text("attachment.type", &r.attachment),
		fields.Begin("attachment.content", func(d *decoder, _ bool) { d.record.file, d.record.picture = nil, nil }),
		fields.Text("attachment.content", &r.file),
		fields.Text("attachment.content.file.content", &r.file),
		fields.Text("attachment.content.file.base64", &r.picture),
		fields.Raw("rendered", &r.rendered),
		fields.Text("attachment.commandMode", &r.mode),
		fields.Raw("attachment.prompt", &r.prompt),
		fields.Text("attachment.origin.kind", &r.sender),
		fields.Raw("toolUseResult", &r.printed),

		fields.Begin("message", (*decoder).begin),
		fields.Text("message.id", &r.reply),
		fields.Text("message.model", &m.Model),
		fields.Text("message.stop_reason", &m.StopReason),
		fields.Begin("message.usage", func(d *decoder, _ bool) { d.message.Usage = session.Usage{} }),
		fields.Count("message.usage.input_tokens", &m.Usage.Input),
		fields.Count("message.usage.output_tokens", &m.Usage.Output),
		fields.Count("message.usage.cache_read_input_tokens", &m.Usage.CacheRead),
		fields.Count("message.usage.cache_creation_input_tokens", &m.Usage.CacheWrite),
		fields.Func("message.content", (*decoder).content),
	}
})

// blocks is what is read of a block of content, into block.
var blocks = fields.New(func(d *decoder) []fields.Field {
	return append(d.block.fields(),
		fields.Text("thinking", &d.block.thinking).When(&d.thinking),
		fields.Begin("source", func(d *decoder, _ bool) { d.block.source = source{} }),
		fields.Func("content", (*decoder).replaceInside),
	)
})

// inners is what is read of a block inside of a tool's result, into inner.
var inners = fields.New(func(d *decoder) []fields.Field {
	return append(d.inner.fields(),
		fields.Begin("source", func(d *decoder, _ bool) { d.inner.source = source{} }),
	)
})

func (b *block) fields() []fields.Field {
	return []fields.Field{
		fields.Text("type", &b.kind),
		fields.Text("text", &b.text),
		fields.Text("name", &b.name),
		fields.Text("id", &b.id),
		fields.Value("input", &b.input),
		fields.Text("tool_use_id", &b.call),
		fields.Flag("is_error", &b.failed),
		fields.Text("source.type", &b.source.kind),
		fields.Raw("source.data", &b.source.data),
	}
}

// decode reads one record. It returns an error that wraps [jsonl.ErrSyntax]
// if raw is not one JSON object.
func (d *decoder) decode(raw []byte) error {
	d.record = record{}
	d.scratch = d.scratch[:0]
	d.message = session.Message{Parts: d.message.Parts[:0]}
	if err := records.Read(d, &d.cursor, raw); err != nil {
		return err
	}
	d.classify()
	return nil
}

// begin begins the value of "message". A second one in the same record replaces the
// first, as in JavaScript.
func (d *decoder) begin(object bool) {
	d.message = session.Message{Parts: d.message.Parts[:0]}
	d.record.reply, d.record.hasMessage = nil, object
}

// class is what the text of a user record turns out to be.
type class uint8

const (
	typed       class = iota // by a person
	command                  // the echo of a command that a person typed (/compact)
	output                   // what such a command printed
	interrupted              // the person stopped the turn
	injected                 // put in by the runtime
)

// The runtime's own marks, as CustomType of messages. What begins with
// "claude." is not embedded.
var (
	customMeta        = []byte("claude.meta")
	customOutput      = []byte("claude.command-output")
	customInterrupted = []byte("claude.interrupted")
	customSynthetic   = []byte("claude.synthetic")
	customTask        = []byte("task-notification")
	customFile        = []byte("attachment") // not the runtime's own: a person has attached it
)

// classify settles what the record is, now that all of it was read.
func (d *decoder) classify() {
	r := &d.record
	r.kind = kindOf(r.name)
	if len(r.cwd) == 0 {
		r.cwd = r.project
	}
	d.message.HasUsage = d.message.Usage.Context() > 0 // what the runtime says itself counts nothing
	switch {
	case r.isPrompt():
		r.kind = prompt
		d.fromHistory()
	case (r.kind == user || r.kind == assistant) && !r.hasMessage, r.kind == pastedText && !r.isPaste():
		r.kind = unknown
	case r.kind == pastedText:
		d.fromPaste()
	case r.kind == user:
		d.fromUser()
	case r.kind == assistant:
		d.fromAssistant()
	case string(r.name) == "system" && string(r.subtype) == "compact_boundary":
		r.kind = boundary
	case string(r.name) == "attachment" && string(r.attachment) == "queued_command":
		d.fromQueue()
	case string(r.name) == "attachment" && isFile(r.attachment):
		d.fromFile()
	}
	d.message.ID, d.message.Directory = r.id, r.cwd
	if d.details && d.message.Role == session.RoleToolResult {
		d.message.Details = r.printed
	}
}

// ours reports whether the record tells that the file is of this format.
func (r *record) ours() bool {
	switch {
	case r.kind == prompt, r.kind == pastedText:
		return true
	case r.kind.says(), r.kind == boundary, r.kind == link:
		return len(r.id) > 0 || len(r.session) > 0
	case r.kind == unknown:
		return len(r.id) > 0 && len(r.session) > 0 && len(r.name) > 0
	}
	return len(r.session) > 0 || r.leaf != nil
}

// counts reports whether the record is of the runtime's message types.
func (r *record) counts() bool {
	return r.kind == user || r.kind == assistant || r.kind == prompt || r.kind == pastedText
}

func (d *decoder) fromAssistant() {
	r, m := &d.record, &d.message
	m.Role = session.RoleAssistant
	switch {
	case r.failed:
		m.IsError = true
		m.ErrorText = d.joined()
		m.Parts = m.Parts[:0]
	case string(m.Model) == "<synthetic>":
		m.Role, m.CustomType, m.SentAs = session.RoleInjected, customSynthetic, session.RoleAssistant
	}
}

// joined returns the texts of the message as one.
func (d *decoder) joined() []byte {
	parts := d.message.Parts
	if len(parts) == 1 && parts[0].Kind == session.PartText {
		return parts[0].Text
	}
	start := len(d.scratch)
	d.scratch = d.message.AppendText(d.scratch)
	return d.scratch[start:]
}

func (d *decoder) fromQueue() {
	r := &d.record
	r.kind = queued
	d.queue.Reset(r.prompt)
	d.content(&d.queue)
	d.message.Role = session.RoleUser
	if isTask(r.mode) || isTask(r.origin) || isTask(r.sender) {
		d.inject(customTask)
		return
	}
	d.typedText()
}

// isFile reports whether an attachment of a type is what a person attached. All others
// are the runtime's notes.
func isFile(name []byte) bool {
	switch string(name) {
	case "file", "directory", "mcp_resource", "selected_lines_in_ide":
		return true
	}
	return false
}

// fromFile makes a message of what was sent of an attached file, or of the file itself
// if the record does not say what was sent. A record without either stays a link.
func (d *decoder) fromFile() {
	r, m := &d.record, &d.message
	d.queue.Reset(r.rendered)
	for ok := d.queue.EnterArray(); ok && d.queue.NextElement(); {
		d.rendered(&d.queue)
	}
	switch {
	case len(m.Parts) > 0:
	case len(r.picture) > 0:
		m.Parts = append(m.Parts, session.Part{Kind: session.PartImage, Size: int64(len(r.picture)), Image: r.picture})
	default:
		m.AddText(r.file)
	}
	if len(m.Parts) > 0 {
		r.kind = attached
		d.inject(customFile)
	}
}

// rendered adds the texts of one message that was sent.
func (d *decoder) rendered(c *jsonl.Cursor) {
	before := len(d.message.Parts)
	for ok := c.EnterObject(); ok && c.NextKey(); {
		if string(c.Key()) == "content" {
			d.message.Parts = d.message.Parts[:before] // the last one counts
			fields.Content(c, d.message.AddText, d.oneBlock)
		}
	}
}

func isTask(name []byte) bool { return string(name) == "task-notification" }

func (d *decoder) fromUser() {
	r, m := &d.record, &d.message
	if m.Role == session.RoleToolResult {
		d.stripReminders()
		if d.unsent && len(r.printed) > 0 {
			d.outputs()
		}
		return
	}
	m.Role = session.RoleUser
	switch {
	case r.summary:
		m.Role, m.Compaction, m.Sent = session.RoleSummary, true, d.joined()
	case r.meta:
		d.inject(customMeta)
	case isTask(r.origin):
		d.inject(customTask)
	case r.sidechain:
		m.Role = session.RoleInjected // the agent gives a sub-agent its task
	default:
		d.typedText()
	}
}

func (d *decoder) inject(customType []byte) {
	d.message.Role, d.message.CustomType = session.RoleInjected, customType
	d.record.text = injected
}

// typedText tells what a person typed from what the runtime writes in a
// person's name.
func (d *decoder) typedText() {
	m := &d.message
	first := slices.IndexFunc(m.Parts, func(p session.Part) bool { return p.Kind == session.PartText })
	if first < 0 {
		return
	}
	text := bytes.TrimSpace(m.Parts[first].Text)
	by := speaker.Of("claude", text)
	if by == nil {
		d.stripReminders()
		return
	}
	switch by.Name {
	case "command":
		if len(m.Parts) == 1 {
			m.Sent = text
		}
		d.echo(first, text)
	case "output":
		d.inject(customOutput)
		d.record.text = output
	case "caveat":
		d.inject(customMeta)
	case "interrupted":
		d.inject(customInterrupted)
		d.record.text = interrupted
	case "task":
		d.inject(customTask)
	case "shell":
		m.Role, d.record.text = session.RoleShell, command
		m.Parts[first] = session.Part{Kind: session.PartCommand, Text: between(text, "bash-input")}
	case "shell output":
		m.Role, d.record.text = session.RoleShell, output
		d.shellOutput(text)
	default:
		d.stripReminders()
	}
}

// echo makes what a person typed of the record that a command leaves:
// "/compact keep the order list".
func (d *decoder) echo(part int, text []byte) {
	name, args := between(text, "command-name"), between(text, "command-args")
	if len(name) == 0 {
		return
	}
	start := len(d.scratch)
	if name[0] != '/' {
		d.scratch = append(d.scratch, '/')
	}
	d.scratch = append(d.scratch, name...)
	if len(args) > 0 {
		d.scratch = append(append(d.scratch, ' '), args...)
	}
	d.message.Parts[part].Text = d.scratch[start:]
	d.record.text = command
}

func (d *decoder) shellOutput(text []byte) {
	d.message.Parts = d.message.Parts[:0]
	d.message.AddText(between(text, "bash-stdout"))
	d.message.AddText(between(text, "bash-stderr"))
}

// between returns what stands between <tag> and </tag>, without white space at
// its ends; to the end of the text if the tag is not closed.
func between(text []byte, tag string) []byte {
	_, rest, ok := bytes.Cut(text, []byte("<"+tag+">"))
	if !ok {
		return nil
	}
	inside, _, _ := bytes.Cut(rest, []byte("</"+tag+">"))
	return bytes.TrimSpace(inside)
}

// block is one element of a message's content while it is read.
type block struct {
	kind, text, thinking []byte
	name, id, input      []byte // of a tool's call; input is raw JSON
	call                 []byte // of a tool's result: the call's id
	inside               int    // the same: parts that its content made
	failed               bool
	source               source
}

// source is where the data of an image or a document is.
type source struct {
	kind []byte
	data []byte // raw JSON
}

// content reads content in all its shapes: a string, an array of blocks and
// strings, or one block.
func (d *decoder) content(c *jsonl.Cursor) {
	m := &d.message
	m.Parts, m.Role, m.CallID, m.IsError, m.HasExit = m.Parts[:0], 0, nil, false, false
	fields.Content(c, d.message.AddText, d.oneBlock)
}

func (d *decoder) oneBlock(c *jsonl.Cursor) {
	d.block = block{}
	blocks.Take(d, c)
	d.addBlock(&d.block)
}

// replaceInside reads the content of a block. What one before it made goes.
func (d *decoder) replaceInside(c *jsonl.Cursor) {
	parts := &d.message.Parts
	*parts = (*parts)[:len(*parts)-d.block.inside]
	before := len(*parts)
	d.inside(c)
	d.block.inside = len(*parts) - before
}

// inside reads what is in a tool's result, a string or blocks. What a block is may
// stand behind its content.
func (d *decoder) inside(c *jsonl.Cursor) {
	if c.Kind() != jsonl.Object {
		fields.Content(c, d.message.AddText, d.insideBlock)
	}
}

func (d *decoder) insideBlock(c *jsonl.Cursor) {
	b := &d.inner
	*b = block{}
	inners.Take(d, c)
	switch string(b.kind) {
	case "image", "document":
		d.data(b.source)
	case "text":
		d.message.AddText(b.text)
	}
}

// addBlock adds the part that the block is. A block of an unknown type that
// has text is text.
func (d *decoder) addBlock(b *block) {
	m := &d.message
	switch kind := string(b.kind); {
	case kind == "tool_result":
		d.toolResult(b)
		return
	case strings.HasSuffix(kind, "_tool_result"):
		return
	}
	m.Parts = m.Parts[:len(m.Parts)-b.inside]
	switch string(b.kind) {
	case "tool_use", "server_tool_use", "mcp_tool_use":
		m.Parts = append(m.Parts, session.Part{Kind: session.PartToolCall, Name: b.name, CallID: b.id, Text: b.input})
	case "image", "document":
		d.data(b.source)
	case "thinking":
		if len(b.thinking) > 0 {
			m.Parts = append(m.Parts, session.Part{Kind: session.PartThinking, Text: b.thinking})
		}
	case "redacted_thinking", "fallback", "tool_reference":
	case "text", "":
		d.message.AddText(b.text)
	default:
		d.record.oddBlock = b.kind
		d.message.AddText(b.text)
	}
}

// toolResult makes the message one of a tool. A record holds one result; of
// several ones the first gives its call's id.
func (d *decoder) toolResult(b *block) {
	m := &d.message
	if m.Role != session.RoleToolResult {
		m.Role, m.CallID = session.RoleToolResult, b.call
	}
	m.IsError = m.IsError || b.failed
	if b.failed && b.inside > 0 {
		d.exitCode(m.Parts[len(m.Parts)-b.inside].Text)
	}
}

// data adds an image or a document. Only a document of plain text is read.
func (d *decoder) data(s source) {
	if string(s.kind) == "text" {
		var c jsonl.Cursor
		c.Reset(s.data)
		text, _ := c.Bytes()
		d.message.AddText(bytes.Clone(text))
		return
	}
	d.message.Parts = append(d.message.Parts, session.Part{Kind: session.PartImage, Size: int64(max(len(s.data)-2, 0)), Image: s.data})
}

// exitCode reads "Exit code 1", with which a shell's output begins that failed.
func (d *decoder) exitCode(text []byte) {
	rest, ok := bytes.CutPrefix(text, []byte("Exit code "))
	if !ok {
		return
	}
	code, digits := 0, 0
	for digits < len(rest) && digits < 4 && rest[digits]-'0' <= 9 {
		code = 10*code + int(rest[digits]-'0')
		digits++
	}
	if digits > 0 {
		d.message.ExitCode, d.message.HasExit = code, true
	}
}

// stripReminders leaves out the runtime's reminders. A reminder begins and
// ends on lines of its own; the same words within a line are somebody's text.
func (d *decoder) stripReminders() {
	m := &d.message
	for i := 0; i < len(m.Parts); i++ {
		p := &m.Parts[i]
		if p.Kind != session.PartText {
			continue
		}
		from, to := reminder(p.Text)
		if from == to {
			continue
		}
		m.Reminders += to - from
		before, after := bytes.TrimRight(p.Text[:from], "\n"), p.Text[to:]
		p.Text = before
		if len(after) > 0 {
			m.Parts = slices.Insert(m.Parts, i+1, session.Part{Kind: session.PartText, Text: after})
		}
	}
	m.Parts = slices.DeleteFunc(m.Parts, func(p session.Part) bool { return p.Kind == session.PartText && len(p.Text) == 0 })
}

// reminder returns where the first reminder of a text stands; from == to if
// there is none.
func reminder(text []byte) (from, to int) {
	tag := speaker.Named("claude", "reminder")
	for at := 0; ; at = from + len(tag.Begins) {
		before, inside, _, whole := tag.Cut(text[at:])
		if !whole {
			return 0, 0
		}
		from = at + len(before)
		to = from + len(tag.Begins) + len(inside) + len(tag.Ends)
		if (from == 0 || text[from-1] == '\n') && (to == len(text) || text[to] == '\n') {
			return from, to
		}
	}
}
