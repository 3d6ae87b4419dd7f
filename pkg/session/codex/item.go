package codex

import (
	"bytes"

	"github.com/sessctl/sessctl/pkg/session"
)

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
		m.Role, m.CustomType = session.RoleInjected, append([]byte(ownPrefix), i.role...)
	default:
		m.Role, m.CustomType = session.RoleInjected, append([]byte("role "), i.role...)
		d.record.unknown, d.record.unknownName = "role ", i.role
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
		part.Name = d.functionName(i.function)
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

// functionName reads the name of the oldest form of calls, {"function":{"name"}}.
func (d *decoder) functionName(raw []byte) (name []byte) {
	d.inner.Reset(raw)
	if !d.inner.EnterObject() {
		return nil
	}
	for d.inner.NextKey() {
		if string(d.inner.Key()) == "name" {
			name, _ = d.inner.Bytes()
		}
	}
	return bytes.Clone(name) // the cursor is used again for the arguments
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
	m.Role, m.Compaction = session.RoleSummary, true
	d.content(d.record.item.message)
	for i := range m.Parts {
		m.Parts[i].Text = withoutPreamble(m.Parts[i].Text)
	}
	return compaction
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
