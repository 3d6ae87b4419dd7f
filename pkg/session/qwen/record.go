package qwen

import (
	"bytes"

	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
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

	time, parts, usage, result, payload []byte // raw JSON
}

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

// decode reads one record and makes its messages. It returns an error that wraps
// [jsonl.ErrSyntax] if raw is not one JSON object.
func (d *decoder) decode(raw []byte) error {
	d.record, d.messages, d.model = record{}, d.messages[:0], nil
	if err := d.cursor.Object(raw, d.member); err != nil {
		return err
	}
	d.classify()
	return nil
}

func (d *decoder) member(c *jsonl.Cursor) {
	r := &d.record
	switch string(c.Key()) {
	case "type":
		r.name, _ = c.Bytes()
	case "subtype":
		r.subtype, _ = c.Bytes()
	case "uuid":
		r.id, _ = c.Bytes()
	case "parentUuid":
		r.root = c.IsNull()
		r.parent, _ = c.Bytes()
	case "sessionId":
		r.session, _ = c.Bytes()
	case "cwd":
		r.cwd, _ = c.Bytes()
	case "provenance":
		r.provenance, _ = c.Bytes()
	case "model":
		d.model, _ = c.Bytes()
	case "timestamp":
		r.time = c.Raw()
	case "message":
		for ok := c.EnterObject(); ok && c.NextKey(); {
			if string(c.Key()) == "parts" {
				r.parts = c.Raw()
			}
		}
	case "usageMetadata":
		r.usage = c.Raw()
	case "toolCallResult":
		r.result = c.Raw()
	case "systemPayload":
		r.payload = c.Raw()
	}
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
		d.usage(&m)
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

// usage reads what the model call behind an answer counted. Cached tokens are
// part of Qwen's input.
func (d *decoder) usage(m *session.Message) {
	c := &d.inner
	c.Reset(d.record.usage)
	if m.HasUsage = c.EnterObject(); !m.HasUsage {
		return
	}
	u := &m.Usage
	for c.NextKey() {
		key := string(c.Key())
		n, _ := c.Int64()
		n = max(n, 0)
		switch key {
		case "promptTokenCount":
			u.Input += n
		case "candidatesTokenCount", "thoughtsTokenCount":
			u.Output += n
		case "cachedContentTokenCount":
			u.CacheRead = n
			u.Input -= n
		case "totalTokenCount":
			u.Total = n
		}
	}
	u.Input = max(u.Input, 0)
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
