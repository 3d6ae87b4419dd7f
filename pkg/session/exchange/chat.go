package exchange

import (
	"encoding/json"
	"fmt"

	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
)

// said is a message as OpenAI's chat API has it, and as a trace of Hugging Face does.
type said struct {
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content"`
	Refusal    string          `json:"refusal"`
	Reasoning  string          `json:"reasoning_content"`
	Reasoning2 string          `json:"reasoningContent"`
	Calls      []called        `json:"tool_calls"`
	Calls2     []called        `json:"toolCalls"`
	Function   *function       `json:"function_call"` // before there were tools
	CallID     string          `json:"tool_call_id"`
	CallID2    string          `json:"toolCallId"`
	Name       string          `json:"name"`
	Model      string          `json:"model"`
	Time       json.RawMessage `json:"timestamp"`
	Injected   bool            `json:"injected"`
}

type called struct {
	ID       string   `json:"id"`
	Function function `json:"function"`
}

type function struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// raw is the arguments as JSON: they are a string of it, or the value itself.
func (f function) raw() []byte {
	var text string
	if json.Unmarshal(f.Arguments, &text) == nil {
		return []byte(text)
	}
	return f.Arguments
}

// chat takes a line that is a conversation.
func (x *scanner) chat(r *jsonl.Record) (known bool, err error) {
	var doc struct {
		Messages []said `json:"messages"`
	}
	if err := decoded(r.Raw, &doc); err != nil || doc.Messages == nil {
		return x.flat(r) // an array of messages is one too
	}
	var all []session.Message
	for _, m := range doc.Messages {
		all = append(all, x.message(m))
	}
	return true, x.hold(r, all)
}

// flat takes a line that is a message.
func (x *scanner) flat(r *jsonl.Record) (known bool, err error) {
	var m said
	if err := decoded(r.Raw, &m); err != nil || m.Role == "" {
		return false, err
	}
	return true, x.say(r, []session.Message{x.message(m)})
}

// trace takes a record of a trace: its header, or a message.
func (x *scanner) trace(r *jsonl.Record) (known bool, err error) {
	var record struct {
		Type    string `json:"type"`
		ID      string `json:"id"`
		Harness string `json:"harness"`
		Message said   `json:"message"`
	}
	switch err := decoded(r.Raw, &record); {
	case err != nil:
		return false, err
	case record.Type == "session":
		x.lines.Result.Headers++
		return true, nil
	case record.Type != "message" || record.Message.Role == "":
		x.lines.Result.CountUnknown("record ", []byte(record.Type))
		return false, nil
	}
	return true, x.say(r, []session.Message{x.message(record.Message)})
}

// roles are what the formats call those who speak.
func roles() map[string]session.Role {
	return map[string]session.Role{
		"user": session.RoleUser, "human": session.RoleUser, "assistant": session.RoleAssistant, "gpt": session.RoleAssistant, "agent": session.RoleAssistant, "model": session.RoleAssistant,
		"function_call": session.RoleAssistant, "system": session.RoleSystem, "developer": session.RoleSystem,
		"tool": session.RoleToolResult, "function": session.RoleToolResult, "observation": session.RoleToolResult,
	}
}

// spoken is a message of a role, which may be none that is known.
func spoken(role string) session.Message {
	m := session.Message{Role: roles()[role]}
	if m.Role == 0 {
		m.Role, m.CustomType, m.OddRole = session.RoleInjected, []byte("role "+role), []byte(role)
	}
	return m
}

// message makes a message of what was said.
func (x *scanner) message(s said) session.Message {
	m := spoken(s.Role)
	if s.Injected && m.Role == session.RoleUser {
		m.Role, m.CustomType = session.RoleInjected, []byte("injected")
	}
	m.Model = []byte(s.Model)
	m.Time, m.TimeInferred, _ = session.ParseTime(s.Time)
	think(&m, orElse(s.Reasoning, s.Reasoning2))
	content(&m, s.Content)
	m.AddText([]byte(s.Refusal))
	calls := append(s.Calls, s.Calls2...)
	if s.Function != nil {
		calls = append(calls, called{s.Function.Name, *s.Function})
	}
	for _, c := range calls {
		x.call(&m, c.ID, c.Function.Name, c.Function.raw())
	}
	if m.Role == session.RoleToolResult {
		m.CallID = []byte(orElse(orElse(s.CallID, s.CallID2), s.Name))
		m.ToolName = []byte(orElse(s.Name, string(x.name[string(m.CallID)])))
	}
	return m
}

// call adds a call to a message.
func (x *scanner) call(m *session.Message, id, name string, arguments []byte) {
	m.Parts = append(m.Parts, session.Part{Kind: session.PartToolCall, CallID: []byte(id), Name: []byte(name), Text: arguments})
	if x.name == nil {
		x.name = map[string][]byte{}
	}
	x.name[id] = []byte(name)
}

func think(m *session.Message, text string) {
	if text != "" {
		m.Parts = append(m.Parts, session.Part{Kind: session.PartThinking, Text: []byte(text)})
	}
}

// part is a block of content, in all the formats.
type part struct {
	Type    string          `json:"type"`
	Text    string          `json:"text"`
	Refusal string          `json:"refusal"`
	Source  json.RawMessage `json:"source"`
	Image   json.RawMessage `json:"image_url"`
}

// content adds content: a string, or blocks. What is neither stands as JSON.
func content(m *session.Message, raw json.RawMessage) {
	var text string
	var blocks []part
	switch {
	case len(raw) == 0 || string(raw) == "null":
	case json.Unmarshal(raw, &text) == nil:
		m.AddText([]byte(text))
	case decoded(raw, &blocks) == nil && blocks != nil:
		for _, b := range blocks {
			block(m, b)
		}
	default:
		m.AddText(raw)
	}
}

func block(m *session.Message, b part) {
	switch {
	case b.Text+b.Refusal != "":
		m.AddText([]byte(b.Text + b.Refusal))
	case b.Source != nil || b.Image != nil || b.Type != "text":
		m.Parts = append(m.Parts, session.Part{Kind: session.PartImage, Size: int64(len(b.Source) + len(b.Image))})
	}
}

// responses takes a line that is a conversation of OpenAI's responses API.
func (x *scanner) responses(r *jsonl.Record) (known bool, err error) {
	var doc struct {
		Instructions string `json:"instructions"`
		Input        []item `json:"input"`
		Output       []item `json:"output"`
	}
	if err := decoded(r.Raw, &doc); err != nil || doc.Input == nil {
		return false, err
	}
	var all []session.Message
	if doc.Instructions != "" {
		all = append(all, x.message(said{Role: "system", Content: quoted(doc.Instructions)}))
	}
	for _, i := range append(doc.Input, doc.Output...) {
		all = x.item(all, i)
	}
	return true, x.hold(r, all)
}

// item is one item of the responses API.
type item struct {
	said
	Type      string          `json:"type"`
	CallID    string          `json:"call_id"`
	Arguments json.RawMessage `json:"arguments"`
	Input     json.RawMessage `json:"input"` // of a custom tool
	Output    json.RawMessage `json:"output"`
	Summary   []part          `json:"summary"`
}

// item adds the message of an item. Calls belong to the answer before them.
func (x *scanner) item(all []session.Message, i item) []session.Message {
	switch i.Type {
	case "", "message":
		if i.Role != "" {
			return append(all, x.message(i.said))
		}
	case "function_call", "custom_tool_call":
		if n := len(all); n == 0 || all[n-1].Role != session.RoleAssistant {
			all = append(all, session.Message{Role: session.RoleAssistant})
		}
		arguments := function{Arguments: i.Arguments}.raw()
		if len(arguments) == 0 {
			arguments = i.Input
		}
		x.call(&all[len(all)-1], i.CallID, i.Name, arguments)
		return all
	case "function_call_output", "custom_tool_call_output":
		m := x.message(said{Role: "tool", Content: i.Output})
		m.CallID, m.ToolName = []byte(i.CallID), x.name[i.CallID]
		return append(all, m)
	case "reasoning":
		m := session.Message{Role: session.RoleAssistant}
		for _, p := range i.Summary {
			think(&m, p.Text)
		}
		return append(all, m)
	}
	x.lines.Result.CountUnknown("item ", []byte(i.Type))
	return all
}

func quoted(text string) json.RawMessage {
	raw, err := json.Marshal(text)
	if err != nil {
		return nil
	}
	return raw
}

// shareGPT takes a conversation of ShareGPT. Calls and results have no ids there: a
// result is of the first call that has none.
func (x *scanner) shareGPT(r *jsonl.Record) (known bool, err error) {
	var doc struct {
		System        string `json:"system"`
		Conversations []struct {
			From  string          `json:"from"`
			Value json.RawMessage `json:"value"`
		} `json:"conversations"`
	}
	if err := decoded(r.Raw, &doc); err != nil || doc.Conversations == nil {
		return false, err
	}
	var all []session.Message
	var open []string
	if doc.System != "" {
		all = append(all, x.message(said{Role: "system", Content: quoted(doc.System)}))
	}
	for n, turn := range doc.Conversations {
		m := spoken(turn.From)
		switch calls, ok := callsOf(turn.From, turn.Value); {
		case ok:
			if k := len(all); k > 0 && all[k-1].Role == session.RoleAssistant && doc.Conversations[n-1].From != "observation" {
				m, all = all[k-1], all[:k-1]
			}
			for i, c := range calls {
				id := fmt.Sprintf("call_%d_%d", n+1, i+1)
				open = append(open, id)
				x.call(&m, id, c.Name, c.raw())
			}
		default:
			content(&m, turn.Value)
		}
		if m.Role == session.RoleToolResult && len(open) > 0 {
			m.CallID, m.ToolName, open = []byte(open[0]), x.name[open[0]], open[1:]
		}
		all = append(all, m)
	}
	return true, x.hold(r, all)
}

// callsOf are the calls that a turn of ShareGPT makes: an object, or a list of them, as a
// string.
func callsOf(from string, value json.RawMessage) ([]function, bool) {
	var text string
	if from != "function_call" || json.Unmarshal(value, &text) != nil {
		return nil, false
	}
	var one function
	var many []function
	switch {
	case json.Unmarshal([]byte(text), &one) == nil && one.Name != "":
		return []function{one}, true
	case json.Unmarshal([]byte(text), &many) == nil && len(many) > 0:
		return many, true
	}
	return nil, false
}
