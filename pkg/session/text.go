package session

import (
	"bytes"
	"strconv"
)

// AppendText appends what the message says, as it goes to memory: the texts
// of its parts, one below the other (seed 002), without white space at its
// ends. A tool call is a line of its own, the name and the arguments as they
// stand in the log:
//
//	[tool call] read {"path":"import.go"}
//
// A shell message is the command after "$ ", its output, and "[exit code 1]".
// Thinking and images are left out. The text is not cleaned (see
// [AppendClean]).
func (m *Message) AppendText(dst []byte) []byte {
	start := len(dst)
	for i := range m.Parts {
		p := &m.Parts[i]
		if !p.said() {
			continue
		}
		if len(dst) > start {
			dst = append(dst, '\n')
		}
		dst = p.appendText(dst)
	}
	if m.Role == RoleShell && m.HasExit {
		dst = append(dst, "\n[exit code "...)
		dst = strconv.AppendInt(dst, int64(m.ExitCode), 10)
		dst = append(dst, ']')
	}
	return trimFrom(dst, start)
}

// said reports whether a part belongs to the message's text.
func (p *Part) said() bool {
	switch p.Kind {
	case PartText, PartCommand:
		return len(p.Text) > 0
	case PartToolCall:
		return len(p.Name)+len(p.Text) > 0
	}
	return false
}

func (p *Part) appendText(dst []byte) []byte {
	switch p.Kind {
	case PartCommand:
		dst = append(dst, "$ "...)
		return append(dst, p.Text...)
	case PartToolCall:
		dst = append(dst, "[tool call] "...)
		dst = appendOneLine(dst, p.Name)
		dst = append(dst, ' ')
		return appendOneLine(dst, p.Text)
	}
	return append(dst, p.Text...)
}

// appendOneLine appends text with its line ends escaped as in JSON.
func appendOneLine(dst, text []byte) []byte {
	if bytes.IndexByte(text, '\n') < 0 && bytes.IndexByte(text, '\r') < 0 {
		return append(dst, text...)
	}
	for _, c := range text {
		switch c {
		case '\n':
			dst = append(dst, `\n`...)
		case '\r':
			dst = append(dst, `\r`...)
		default:
			dst = append(dst, c)
		}
	}
	return dst
}

// trimFrom removes the white space at both ends of dst[start:].
func trimFrom(dst []byte, start int) []byte {
	text := bytes.TrimSpace(dst[start:])
	return append(dst[:start], text...)
}

// Label returns who speaks, as chunks are marked (seed 002: [Human], [Agent],
// [Tool], and others by their role).
func (m *Message) Label() string {
	switch m.Role {
	case RoleUser:
		return "[Human]"
	case RoleAssistant:
		return "[Agent]"
	case RoleToolResult:
		return "[Tool]"
	case RoleSummary:
		return "[Summary]"
	case RoleShell:
		return "[Shell]"
	case RoleSystem:
		return "[System]"
	}
	return m.injectedLabel()
}

// injectedLabel tells what the gateway said in the agent's name, which a
// person has read as the agent's, from what an extension put in.
func (m *Message) injectedLabel() string {
	if len(m.CustomType) == 0 {
		return "[Agent]"
	}
	return "[Custom]"
}

// Embeddable reports whether the message says something worth finding again.
// It is false for a message without text and for the runtime's own
// bookkeeping: OpenClaw's per-turn context blocks, Codex' instructions, what
// Claude Code and Gemini say in a person's name, and answers that are only
// marks for silence (research/formats.md sections 4.3 and 13). What a person, a
// model, a tool, a summary or an extension said is true.
func (m *Message) Embeddable() bool {
	if !m.hasText() || m.bookkeeping() {
		return false
	}
	if m.Role != RoleAssistant && m.Role != RoleInjected {
		return true
	}
	return !m.silent()
}

func (m *Message) hasText() bool {
	for i := range m.Parts {
		p := &m.Parts[i]
		if p.said() && (p.Kind == PartToolCall || len(bytes.TrimSpace(p.Text)) > 0) {
			return true
		}
	}
	return false
}

func (m *Message) bookkeeping() bool {
	if m.Role != RoleInjected {
		return false
	}
	return hasAnyPrefix(m.CustomType, "openclaw.", "openclaw:", "clawdbot.", "clawdbot:", "codex.", "claude.", "gemini.")
}

// silent reports whether the message is one of OpenClaw's marks for "nothing
// to say" and nothing else.
func (m *Message) silent() bool {
	silent := false
	for i := range m.Parts {
		p := &m.Parts[i]
		if !p.said() {
			continue
		}
		if p.Kind != PartText || !silentText(bytes.TrimSpace(p.Text)) {
			return false
		}
		silent = true
	}
	return silent
}

func silentText(text []byte) bool {
	switch string(text) {
	case "NO_REPLY", "HEARTBEAT_OK", "":
		return true
	}
	return false
}
