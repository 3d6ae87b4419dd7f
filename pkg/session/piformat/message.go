package piformat

import (
	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
)

// clearMessage empties the message and keeps its memory.
func (d *decoder) clearMessage() {
	d.message = session.Message{Parts: d.message.Parts[:0]}
	d.messageTime, d.role = nil, nil
}

// decodeMessage reads the value of "message". A second one in the same record
// replaces the first, as in JavaScript.
func (d *decoder) decodeMessage(c *jsonl.Cursor) {
	customType := d.message.CustomType
	d.clearMessage()
	d.message.CustomType = customType
	d.entry.hasMessage = c.Kind() == jsonl.Object
	if !c.EnterObject() {
		return
	}
	shell := shellFields{}
	for c.NextKey() {
		d.messageMember(c, &shell)
	}
	d.settleRole(shell)
}

// shellFields are the fields of a command that the user ran by hand, and the
// text of a summary that was written as a message.
type shellFields struct{ command, output, summary []byte }

func (d *decoder) messageMember(c *jsonl.Cursor, shell *shellFields) {
	m := &d.message
	switch string(c.Key()) {
	case "role":
		d.role, _ = c.Bytes()
	case "content":
		m.Parts = m.Parts[:0]
		d.decodeContent(c)
	case "timestamp":
		d.messageTime = c.Raw()
	case "toolCallId":
		m.CallID = name(c)
	case "toolName":
		m.ToolName, _ = c.Bytes()
	case "isError":
		m.IsError, _ = c.Bool()
	case "details":
		d.decodeDetails(c)
	case "usage":
		d.decodeUsage(c)
	case "stopReason":
		m.StopReason, _ = c.Bytes()
	case "errorMessage":
		m.ErrorText, _ = c.Bytes()
	case "provider":
		m.Provider, _ = c.Bytes()
	case "model":
		m.Model, _ = c.Bytes()
	case "customType":
		m.CustomType, _ = c.Bytes()
	case "command":
		shell.command, _ = c.Bytes()
	case "output":
		shell.output, _ = c.Bytes()
	case "summary":
		shell.summary, _ = c.Bytes()
	case "exitCode":
		d.setExit(c)
	case "excludeFromContext":
		m.OutOfContext, _ = c.Bool()
	}
}

// settleRole gives the message its role and what only that role has.
func (d *decoder) settleRole(shell shellFields) {
	m := &d.message
	switch string(d.role) {
	case "user":
		m.Role = session.RoleUser
	case "assistant":
		m.Role = session.RoleAssistant
		m.IsError = string(m.StopReason) == "error"
		if mirrored(m) {
			m.Role = session.RoleInjected
		}
	case "toolResult":
		m.Role = session.RoleToolResult
	case "bashExecution":
		m.Role = session.RoleShell
		m.Parts = append(m.Parts, session.Part{Kind: session.PartCommand, Text: shell.command})
		d.addText(shell.output)
	case "system":
		m.Role = session.RoleSystem
	case "branchSummary", "compactionSummary":
		m.Role = session.RoleSummary
		d.addText(shell.summary)
	case "custom", "hookMessage":
		m.Role = session.RoleInjected
	default:
		d.unknownRole()
	}
}

// unknownRole keeps what is said under a role that is not known.
func (d *decoder) unknownRole() {
	d.message.Role = session.RoleInjected
	if len(d.message.CustomType) == 0 {
		d.message.CustomType = append([]byte("role "), d.role...)
	}
	d.entry.oddRole = true
}

// mirrored reports whether OpenClaw's gateway put the message there, not the
// model (research/formats.md section 4.3).
func mirrored(m *session.Message) bool {
	return string(m.Provider) == "openclaw" &&
		(string(m.Model) == "delivery-mirror" || string(m.Model) == "gateway-injected")
}

func (d *decoder) setExit(c *jsonl.Cursor) {
	if code, ok := c.Int64(); ok {
		d.message.ExitCode, d.message.HasExit = int(code), true
	}
}

// decodeDetails takes the exit code out of a tool's details, which hold the
// output a second time.
func (d *decoder) decodeDetails(c *jsonl.Cursor) {
	if !c.EnterObject() {
		return
	}
	for c.NextKey() {
		if string(c.Key()) == "exitCode" {
			d.setExit(c)
		}
	}
}

func (d *decoder) decodeUsage(c *jsonl.Cursor) {
	d.message.Usage = session.Usage{}
	if d.message.HasUsage = c.EnterObject(); !d.message.HasUsage {
		return
	}
	u := &d.message.Usage
	for c.NextKey() {
		switch string(c.Key()) {
		case "input":
			u.Input = count(c)
		case "output":
			u.Output = count(c)
		case "cacheRead":
			u.CacheRead = count(c)
		case "cacheWrite":
			u.CacheWrite = count(c)
		case "totalTokens":
			u.Total = count(c)
		}
	}
}

// count reads a number of tokens; what is none, or below zero, is 0.
func count(c *jsonl.Cursor) int64 {
	n, _ := c.Int64()
	return max(n, 0)
}
