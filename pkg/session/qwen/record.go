package qwen

import (
	"bytes"

	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/fields"
	"github.com/sessctl/sessctl/pkg/session/partsformat"
)

// kind is what a record is.
type kind uint8

const (
	foreign     kind = iota // nothing of Qwen
	user                    // a person, or the runtime in the person's name
	assistant               // the model
	toolResult              // a tool
	compression             // the whole context from here on
	failure                 // a call of the model that failed
	bookkeeping             // known, says nothing
	unknown
)

// subtypes are those of system records that say nothing to the model.
var subtypes = map[string]bool{
	"ui_telemetry": true, "attribution_snapshot": true, "at_command": true, "background_task_completed": true,
	"branch_checkpoint": true, "custom_title": true, "file_history_snapshot": true, "goal_runtime": true, "goal_state": true,
	"goal_turn_end": true, "omni_recall": true, "parent_session": true, "rewind": true, "session_artifact_event": true,
	"session_artifact_snapshot": true, "session_model": true, "session_source": true, "session_sources_snapshot": true,
	"slash_command": true, "turn_result": true, "user_text_elements": true,
}

// record is one line. Its slices are valid until the next decode.
type record struct {
	kind       kind
	name       []byte // the value of "type"
	subtype    []byte
	id, parent []byte
	root       bool // parentUuid is null
	session    []byte
	cwd        []byte
	provenance []byte

	time, parts, result, payload []byte // raw JSON

	counted bool // usage is there
	usage   counts
}

// counts are tokens of a model call. Cached tokens are part of input.
type counts struct{ input, output, thoughts, cached, total int64 }

// decoder turns the text of a record into messages. It keeps its memory from
// record to record.
type decoder struct {
	cursor  jsonl.Cursor // of the record
	content jsonl.Cursor
	inner   jsonl.Cursor
	reader  partsformat.Reader

	record   record
	messages []session.Message
	model    []byte
	thinking bool // whether thoughts are wanted
	unsent   bool // whether output is wanted that the model was not sent
	details  bool // whether what stands beside a tool's output is wanted
}

// records is what is read of a record (docs/dev/formats.md, "qwen").
var records = fields.New(func(d *decoder) []fields.Field {
	r := &d.record
	return []fields.Field{
		fields.Text("type", &r.name),
		fields.Text("subtype", &r.subtype),
		fields.Text("uuid", &r.id),
		fields.Text("parentUuid", &r.parent),
		fields.Null("parentUuid", &r.root),
		fields.Text("sessionId", &r.session),
		fields.Text("cwd", &r.cwd),
		fields.Text("provenance", &r.provenance),
		fields.Text("model", &d.model),
		fields.Raw("timestamp", &r.time),
		fields.Raw("message.parts", &r.parts),
		fields.Begin("usageMetadata", func(d *decoder, object bool) { d.record.counted = object }),
		fields.Count("usageMetadata.promptTokenCount", &r.usage.input),
		fields.Count("usageMetadata.candidatesTokenCount", &r.usage.output),
		fields.Count("usageMetadata.thoughtsTokenCount", &r.usage.thoughts),
		fields.Count("usageMetadata.cachedContentTokenCount", &r.usage.cached),
		fields.Count("usageMetadata.totalTokenCount", &r.usage.total),
		fields.Raw("toolCallResult", &r.result),
		fields.Raw("systemPayload", &r.payload),
	}
})

// decode reads one record and makes its messages. It returns an error that wraps
// [jsonl.ErrSyntax] if raw is not one JSON object.
func (d *decoder) decode(raw []byte) error {
	d.record, d.messages, d.model = record{}, d.messages[:0], nil
	if err := records.Read(d, &d.cursor, raw); err != nil {
		return err
	}
	d.classify()
	return nil
}

// classify settles what the record is, and makes its messages.
func (d *decoder) classify() {
	r := &d.record
	if len(r.id) == 0 || len(r.session) == 0 {
		return
	}
	switch string(r.name) {
	case "user":
		r.kind = user
		d.said(session.RoleUser)
	case "assistant":
		r.kind = assistant
		d.said(session.RoleAssistant)
	case "tool_result":
		r.kind = toolResult
		d.said(session.RoleToolResult)
	case "system":
		d.system()
	default:
		r.kind = unknown
	}
}

// ownPrefix begins the names of what Qwen says in a person's name.
const ownPrefix = "qwen."

// said makes the messages of a record with content.
func (d *decoder) said(role session.Role) {
	r := &d.record
	m := session.Message{ID: r.id, Role: role, Model: d.model}
	d.reader.ID = r.id
	results := d.reader.Parts(&d.content, r.parts, &m)
	if !d.thinking {
		m.Parts = withoutThoughts(m.Parts)
	}
	switch {
	case role == session.RoleAssistant:
		if u := r.usage; r.counted {
			m.HasUsage = true
			m.Usage = session.Usage{Input: max(u.input-u.cached, 0), Output: u.output + u.thoughts, CacheRead: u.cached, Total: u.total}
		}
	case role == session.RoleUser && len(r.provenance) > 0 && string(r.provenance) != "real_user":
		m.Role, m.CustomType = session.RoleInjected, append([]byte(ownPrefix), r.provenance...)
	}
	m.OutOfContext = string(r.subtype) == "realtime_message"
	if role == session.RoleToolResult && len(results) > 0 {
		results[0].Parts = append(results[0].Parts, m.Parts...)
		d.messages = append(d.messages, results...)
		d.outcome(&d.messages[len(d.messages)-len(results)])
		return
	}
	if len(m.Parts) > 0 || len(results) == 0 {
		d.messages = append(d.messages, m)
	}
	d.messages = append(d.messages, results...)
}

func withoutThoughts(parts []session.Part) []session.Part {
	kept := parts[:0]
	for _, p := range parts {
		if p.Kind != session.PartThinking {
			kept = append(kept, p)
		}
	}
	return kept
}

// outcome takes from what is there for the screen how a call ended, and what of
// its output the model was not sent.
func (d *decoder) outcome(m *session.Message) {
	c := &d.inner
	c.Reset(d.record.result)
	if d.details {
		m.Details = d.record.result
	}
	var display []byte
	for ok := c.EnterObject(); ok && c.NextKey(); {
		switch string(c.Key()) {
		case "status":
			status, _ := c.Bytes()
			m.IsError = m.IsError || string(status) == "error" || string(status) == "cancelled"
		case "resultDisplay":
			display = c.Raw()
		}
	}
	if code, ok := partsformat.ExitOf(m.FirstText()); ok {
		m.ExitCode, m.HasExit = code, true
	}
	c.Reset(display)
	whole, _ := c.Bytes()
	if c.Reset(display); c.Kind() == jsonl.Object {
		whole = d.display(m)
	}
	m.IsError = m.IsError || m.HasExit && m.ExitCode != 0
	if d.unsent && len(whole) > 0 && string(whole) != takenOut {
		m.AddUnsent(bytes.Clone(whole))
	}
}

// display reads what a tool shows on the screen: of a command, all that it
// printed. The inner cursor stands before it.
func (d *decoder) display(m *session.Message) (whole []byte) {
	c := &d.inner
	for ok := c.EnterObject(); ok && c.NextKey(); {
		switch string(c.Key()) {
		case "output":
			whole, _ = c.Bytes()
			whole = bytes.Clone(whole)
		case "exitCode":
			if code, ok := c.Int64(); ok {
				m.ExitCode, m.HasExit = int(code), true
			}
		}
	}
	return whole
}

// system reads a record of the runtime.
func (d *decoder) system() {
	r := &d.record
	r.kind = bookkeeping
	switch name := string(r.subtype); {
	case name == "chat_compression":
		d.compressed()
	case name == "ui_telemetry":
		d.failed()
	case !subtypes[name]:
		r.kind = unknown
	}
}

// compressed makes the summary of a compression, with the messages that it has
// in place of all before it. The first of them is the summary. One without a
// history changes nothing.
func (d *decoder) compressed() {
	var entries [][]byte
	c := &d.content
	c.Reset(d.record.payload)
	for ok := c.EnterObject(); ok && c.NextKey(); {
		if string(c.Key()) != "compressedHistory" {
			continue
		}
		for ok := c.EnterArray(); ok && c.NextElement(); {
			entries = append(entries, c.Raw())
		}
	}
	if len(entries) == 0 {
		return
	}
	d.record.kind = compression
	var all []session.Message
	for _, raw := range entries {
		all = append(all, d.entry(raw)...)
	}
	summary := session.Message{ID: d.record.id, Role: session.RoleSummary, Compaction: true}
	if len(all) > 0 && all[0].Role == session.RoleUser {
		summary.Parts, all = all[0].Parts, all[1:]
	}
	summary.Kept = all
	d.messages = append(d.messages, summary)
}

// entry makes the messages of one entry of a history.
func (d *decoder) entry(raw []byte) []session.Message {
	var c, content jsonl.Cursor // all entries must stay
	c.Reset(raw)
	m := session.Message{ID: d.record.id, Role: session.RoleUser}
	var parts []byte
	for ok := c.EnterObject(); ok && c.NextKey(); {
		switch string(c.Key()) {
		case "role":
			if role, _ := c.Bytes(); string(role) == "model" {
				m.Role = session.RoleAssistant
			}
		case "parts":
			parts = c.Raw()
		}
	}
	results := d.reader.Parts(&content, parts, &m)
	m.Parts = withoutThoughts(m.Parts)
	if len(m.Parts) == 0 {
		return results
	}
	return append([]session.Message{m}, results...)
}

// failed makes a message of telemetry that tells of a call of the model that
// failed: nothing else of the log does.
func (d *decoder) failed() {
	c := &d.inner
	c.Reset(d.record.payload)
	var name, text []byte
	for ok := c.EnterObject(); ok && c.NextKey(); {
		if string(c.Key()) != "uiEvent" {
			continue
		}
		for ok := c.EnterObject(); ok && c.NextKey(); {
			switch string(c.Key()) {
			case "event.name":
				name, _ = c.Bytes()
			case "error", "error_message":
				text, _ = c.Bytes()
			}
		}
	}
	if string(name) != "qwen-code.api_error" {
		return
	}
	d.record.kind = failure
	d.messages = append(d.messages, session.Message{
		ID: d.record.id, Role: session.RoleAssistant, IsError: true, StopReason: []byte("error"), ErrorText: bytes.Clone(text),
	})
}
