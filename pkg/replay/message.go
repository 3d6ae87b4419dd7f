package replay

import "github.com/sessctl/sessctl/pkg/session"

// Role says who speaks in a context.
type Role string

// The roles. A summary stands for everything before it.
const (
	Summary   Role = "summary"
	System    Role = "system"
	User      Role = "user"
	Assistant Role = "assistant"
	Tool      Role = "tool"
)

// Message is one message of a context.
type Message struct {
	Role      Role       `json:"role"`
	Text      string     `json:"text"`
	ToolCalls []ToolCall `json:"tool_calls,omitempty"`
	CallID    string     `json:"tool_call_id,omitempty"` // of a tool's result
	ToolName  string     `json:"-"`                      // the same; the call has it
	IsError   bool       `json:"is_error,omitempty"`     // the same
	Reason    string     `json:"reason"`                 // why it is there: summary, kept, recent, relevant 0.62
	Line      int        `json:"line"`                   // of the log, 1-based; 0 for what was put in
	id        string     // of its record, to find the first one that a compaction kept
	// core is the message as the runtime sends it, or "": see session.Message.
	// Whoever changes the message empties it.
	core string
	// failed says that the model call behind an assistant's message did not end
	// by itself.
	failed bool
}

// ToolCall is a call that an assistant's message makes.
type ToolCall struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"` // JSON, as it stands in the log
}

// The reasons of messages.
const (
	ReasonSummary = "summary" // of the last compaction
	ReasonKept    = "kept"    // the context has it
	ReasonRecent  = "recent"  // selected: one of the newest
	ReasonAdded   = "added"   // put in by Repair
)

// newMessage copies what a message says.
func newMessage(m *session.Message) Message {
	x := Message{Role: roleOf(m), Reason: ReasonKept, Line: m.Line, IsError: m.IsError && m.Role == session.RoleToolResult, id: string(m.ID), core: string(m.Core)}
	x.failed = m.Role == session.RoleAssistant && (m.IsError || string(m.StopReason) == "aborted" || string(m.StopReason) == "error")
	if m.Role == session.RoleToolResult {
		x.CallID, x.ToolName = string(m.CallID), string(m.ToolName)
	}
	said := *m
	said.Parts = nil
	for _, p := range m.Parts {
		switch p.Kind {
		case session.PartToolCall:
			x.ToolCalls = append(x.ToolCalls, ToolCall{ID: string(p.CallID), Name: string(p.Name), Arguments: arguments(p.Text)})
		case session.PartText, session.PartCommand:
			said.Parts = append(said.Parts, p)
		case session.PartImage:
			said.Parts = append(said.Parts, session.Part{Kind: session.PartText, Text: []byte("[image left out]")})
		}
	}
	x.Text = string(said.AppendText(nil))
	return x
}

// arguments is never empty: providers want an object.
func arguments(raw []byte) string {
	if len(raw) == 0 {
		return "{}"
	}
	return string(raw)
}

// roleOf says as what the runtimes send a message: what they or extensions
// have put in (but in the agent's name), and a command that a person ran, goes to the model as the
// user's.
func roleOf(m *session.Message) Role {
	switch m.Role {
	case session.RoleAssistant:
		return Assistant
	case session.RoleToolResult:
		return Tool
	case session.RoleSystem:
		return System
	case session.RoleSummary:
		if m.Compaction {
			return Summary
		}
	case session.RoleInjected:
		if inAgentsName(m) {
			return Assistant
		}
	}
	return User
}

// inAgentsName reports whether a runtime said something as its agent: Claude
// Code that it needs no answer, OpenClaw what it delivered to a channel
// (research/formats.md section 4.3).
func inAgentsName(m *session.Message) bool {
	return string(m.CustomType) == "claude.synthetic" || string(m.Provider) == session.RuntimeOpenClaw
}

// empty reports whether a message says nothing at all.
func (m Message) empty() bool {
	return m.Text == "" && len(m.ToolCalls) == 0 && m.Role != Tool
}
