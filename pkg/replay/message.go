package replay

import (
	"context"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sessctl/sessctl/pkg/session"
)

// Role says who speaks in a context.
type Role string

// The roles. A summary replaces everything before it.
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
	Injected  string     `json:"injected,omitempty"`     // what the runtime or an extension put there in the user's name: codex.environment_context
	Reason    string     `json:"reason"`                 // why it is there: summary, kept, recent, relevant 0.62
	Line      int        `json:"line"`                   // of the log, 1-based; 0 for what was put in
	// core is the message as the runtime sends it, or "": see session.Message.
	// Whoever changes the message empties it.
	core     string
	time     int64
	images   int
	pictures []session.Picture
	sent     string // the text as the runtime sends it, "" if it is Text
	within   bool   // another message's sent has it
	first    bool   // a summary sends it before itself
	whole    bool   // Text is what was sent: nothing is put around a summary
	// failed says that the model call behind an assistant's message did not end
	// by itself.
	failed bool
}

// Time is when the message was said, in epoch milliseconds; 0 if the log does not tell.
func (m Message) Time() int64 { return m.time }

// Images is how many images were left out.
func (m Message) Images() int { return m.images }

// Pictures are the images that [ReadSeen] has kept. The text does not name them.
func (m Message) Pictures() []session.Picture { return m.pictures }

// WithoutPictures is the message with its oldest images left out, so many of them.
func (m Message) WithoutPictures(n int) Message {
	m.images, m.pictures = m.images+n, m.pictures[n:]
	m.Text = strings.TrimPrefix(m.Text+strings.Repeat("\n"+leftOut, n), "\n")
	return m
}

// leftOut stands in the place of an image.
const leftOut = "[image left out]"

// Failed reports whether the call of the model that an answer is of did not end by itself.
func (m Message) Failed() bool { return m.failed }

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

// newMessage copies what a message says; seen keeps its images too.
func newMessage(m *session.Message, seen bool) Message {
	x := Message{Role: roleOf(m), Reason: ReasonKept, Line: m.Line, IsError: m.IsError && m.Role == session.RoleToolResult, core: string(m.Core)}
	x.time, x.sent, x.within = m.Time, string(m.Sent), m.Within
	x.failed = m.Role == session.RoleAssistant && (m.IsError || string(m.StopReason) == "aborted" || string(m.StopReason) == "error")
	if m.Role == session.RoleInjected && x.Role != Assistant {
		x.Injected = orElse(string(m.CustomType), "unknown")
	}
	if program := m.Program(); program != "" {
		x.Injected = program
	}
	if m.Role == session.RoleToolResult {
		x.CallID, x.ToolName = string(m.CallID), string(m.ToolName)
	}
	said := *m
	said.Parts, said.ErrorText = nil, nil
	for _, p := range m.Parts {
		switch p.Kind {
		case session.PartToolCall:
			x.ToolCalls = append(x.ToolCalls, ToolCall{ID: string(p.CallID), Name: string(p.Name), Arguments: arguments(p.Text)})
		case session.PartText, session.PartCommand:
			said.Parts = append(said.Parts, p)
		case session.PartImage:
			if picture, ok := session.PictureOf(&p); ok && seen && (x.Role == User || x.Role == Tool) {
				x.pictures = append(x.pictures, picture)
				continue
			}
			x.images++
			said.Parts = append(said.Parts, session.Part{Kind: session.PartText, Text: []byte(leftOut)})
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

// roleOf is the role as which the runtimes send a message. What they or
// extensions have put in (save in the agent's name), and a command that a
// person ran, goes to the model as the user's.
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
		switch m.SentAs {
		case session.RoleAssistant:
			return Assistant
		case session.RoleSystem:
			return System
		}
	}
	return User
}

// empty reports whether a message says nothing at all.
func (m Message) empty() bool {
	return m.Text == "" && len(m.ToolCalls) == 0 && len(m.pictures) == 0 && m.Role != Tool
}

// Read rebuilds the context of a log as its runtime does: the active branch; if
// it was compacted, the last summary first, then from the first message that it
// kept, each message once; after a reset, only what followed. It also returns
// what reading the log has shown, as [session.ScanActive] does.
func Read(ctx context.Context, scanner session.Scanner, open func() (io.ReadCloser, error)) ([]Message, session.Scan, error) {
	return read(ctx, scanner, open, false)
}

// ReadSeen is [Read] with the images that people and tools showed (see
// [Message.Pictures]).
func ReadSeen(ctx context.Context, scanner session.Scanner, open func() (io.ReadCloser, error)) ([]Message, session.Scan, error) {
	return read(ctx, scanner, open, true)
}

func read(ctx context.Context, scanner session.Scanner, open func() (io.ReadCloser, error), seen bool) ([]Message, session.Scan, error) {
	var c reading
	scan, err := session.ScanActive(ctx, scanner, open, func() func(*session.Message) error {
		c = reading{seen: seen}
		return c.add
	})
	if err != nil {
		return nil, scan, err
	}
	return c.since(scan.ResetLine), scan, nil
}

// reading is a context while its log is read.
type reading struct {
	seen    bool     // images are kept
	summary *Message // of the last compaction
	kept    session.Context[Message]
}

func (c *reading) add(m *session.Message) error {
	if m.Branch != session.Active {
		return nil
	}
	if m.OutOfContext {
		c.kept.Pass(m)
		return nil
	}
	x := newMessage(m, c.seen)
	switch {
	case x.Role == Summary:
		c.compacted(m, x)
	case x.empty() && !x.failed: // Repair leaves out turns that failed
		c.kept.Pass(m)
	default:
		c.kept.Add(m, x)
	}
	return nil
}

// compacted replaces everything before the first message that was kept by a
// summary; everything, if that message is not there.
func (c *reading) compacted(m *session.Message, summary Message) {
	c.kept.Pass(m)
	first, _ := c.kept.Kept(m)
	c.kept.Drop(first)
	var again []Message
	for i := range m.Kept {
		if x := newMessage(&m.Kept[i], c.seen); !x.empty() {
			x.first = m.KeptFirst
			again = append(again, x)
		}
	}
	c.kept.Before(again...)
	summary.Reason = ReasonSummary
	if c.summary = &summary; summary.Text == "" {
		c.summary = nil // only the runtime's model can read it, or it says what stays of one before
	}
}

// since returns the context, of which nothing before a line of the log counts.
func (c *reading) since(line int) (messages []Message) {
	if c.summary != nil {
		messages = append(messages, *c.summary)
	}
	messages = append(messages, c.kept.Entries...)
	return slices.DeleteFunc(messages, func(m Message) bool { return m.Line < line })
}

// ordered puts a summary where it is sent.
func ordered(messages []Message) []Message {
	out := slices.Clone(messages)
	for i := 1; i < len(out) && out[i-1].Role == Summary && out[i].first; i++ {
		out[i-1], out[i] = out[i], out[i-1]
	}
	return out
}

// asSent is a context with the texts of the request, without messages that they have in
// them.
func asSent(messages []Message) []Message {
	var out []Message
	for _, m := range messages {
		if m.within {
			continue
		}
		if m.sent != "" {
			m.Text, m.whole, m.core = m.sent, true, ""
		}
		out = append(out, m)
	}
	return out
}

// turns splits a context after its summary into turns: each begins with what
// the user said, the first perhaps not. It returns the start of each turn.
func turns(messages []Message) (starts []int) {
	for i, m := range messages {
		if m.Role == Summary {
			continue
		}
		before := Summary
		if i > 0 {
			before = messages[i-1].Role
		}
		if m.Role == User && before != User || before == Summary {
			starts = append(starts, i)
		}
	}
	return starts
}

// unchanged returns the core message of the log that the first n messages are,
// if they are all of it and nobody has changed them; 0 if not. A runtime's own
// message has more than a rebuilt one (ids, the order of its parts).
func unchanged(messages []Message) (raw json.RawMessage, n int) {
	first := messages[0]
	if first.core == "" || !utf8.ValidString(first.core) {
		return nil, 0
	}
	n = 1
	for first.Role == Tool && n < len(messages) && messages[n].Role == Tool {
		if messages[n].core != first.core {
			return nil, 0 // results of one call in several messages
		}
		n++
	}
	if parts, ok := coreParts(first.core, first.Role); !ok || first.Role == Tool && parts != n {
		return nil, 0
	}
	return json.RawMessage(first.core), n
}

// coreParts counts the parts of a core message; false if it is none that the
// SDK takes.
func coreParts(raw string, role Role) (n int, ok bool) {
	var m struct {
		Role    Role            `json:"role"`
		Content json.RawMessage `json:"content"`
	}
	if json.Unmarshal([]byte(raw), &m) != nil || m.Role != role {
		return 0, false
	}
	var said string
	if json.Unmarshal(m.Content, &said) == nil {
		return 1, strings.TrimSpace(said) != "" && role != Tool
	}
	var parts []corePart
	if json.Unmarshal(m.Content, &parts) != nil {
		return 0, false
	}
	for _, p := range parts {
		if !p.fits(role) {
			return 0, false
		}
	}
	return len(parts), len(parts) > 0
}

// corePart is what the SDK insists on of a part.
type corePart struct {
	Type   string                     `json:"type"`
	Text   string                     `json:"text"`
	ID     string                     `json:"toolCallId"`
	Name   string                     `json:"toolName"`
	Args   map[string]json.RawMessage `json:"args"`
	Result json.RawMessage            `json:"result"`
}

func (p corePart) fits(role Role) bool {
	switch p.Type {
	case "text":
		return role != Tool && strings.TrimSpace(p.Text) != ""
	case "image", "file":
		return role == User
	case "tool-call":
		return role == Assistant && p.ID != "" && p.Name != "" && p.Args != nil
	case "tool-result":
		return role == Tool && p.ID != "" && p.Name != "" && p.Result != nil
	}
	return false
}
