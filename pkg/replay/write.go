package replay

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync"
)

// Format is how a context is written.
type Format string

// The formats. The last three are the bare array that the provider's SDK
// takes.
const (
	Text      Format = "text"
	JSON      Format = "json"
	OpenAI    Format = "openai"
	Anthropic Format = "anthropic"
	AISDK     Format = "aisdk" // CoreMessage of Vercel's AI SDK
)

// Formats returns all formats.
func Formats() []Format { return []Format{Text, JSON, OpenAI, Anthropic, AISDK} }

// Origin says whose context it is.
type Origin struct {
	Runtime string `json:"runtime"`
	Agent   string `json:"agent"`
	Session string `json:"session"`
}

// document is a context as JSON.
type document struct {
	Schema int `json:"schema"`
	Origin
	Messages []Message `json:"messages"`
}

// Write writes a context in the order in which it is sent. The provider formats need one
// that [Repair] has returned, and have its texts as they are sent.
func Write(w io.Writer, f Format, origin Origin, messages []Message) error {
	messages = ordered(messages)
	switch f {
	case Text:
		_, err := io.WriteString(w, fenced(origin, messages))
		return err
	case JSON:
		return encode(w, document{Schema: 1, Origin: origin, Messages: notNil(messages)})
	case OpenAI:
		return encode(w, openAI(asSent(messages)))
	case Anthropic:
		return encode(w, anthropic(asSent(messages)))
	case AISDK:
		return encode(w, aiSDK(asSent(messages)))
	}
	return fmt.Errorf("unknown format %q", f)
}

func notNil(messages []Message) []Message { return append([]Message{}, messages...) }

func encode(w io.Writer, value any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(value)
}

// fence is the tag around replayed text, which is data and nothing to obey.
const fence = "replayed-context"

// fenced is a context as flat text: lines that begin "[User]:" and the like,
// "[Context]:" what nobody has said.
func fenced(origin Origin, messages []Message) string {
	var b strings.Builder
	fmt.Fprintf(&b, "<%s runtime=%q agent=%q session=%q>\n", fence, origin.Runtime, origin.Agent, origin.Session)
	for _, m := range messages {
		writeFlat(&b, m)
	}
	b.WriteString("</" + fence + ">\n")
	return b.String()
}

func writeFlat(b *strings.Builder, m Message) {
	label := map[Role]string{Summary: "Summary", System: "System", User: "User", Assistant: "Assistant", Tool: "Tool result"}[m.Role]
	switch {
	case m.Role == Tool && m.IsError:
		label = "Tool error"
	case m.Injected != "":
		label = "Context"
	}
	if m.Text != "" || m.Role == Tool {
		fmt.Fprintf(b, "[%s]: %s\n", label, quoted(m.Text))
	}
	if len(m.ToolCalls) == 0 {
		return
	}
	calls := make([]string, 0, len(m.ToolCalls))
	for _, c := range m.ToolCalls {
		calls = append(calls, c.Name+"("+flatArguments(c.Arguments)+")")
	}
	fmt.Fprintf(b, "[Assistant tool calls]: %s\n", quoted(strings.Join(calls, "; ")))
}

// flatArguments is an object as key=value, in its order.
func flatArguments(raw string) string {
	dec := json.NewDecoder(strings.NewReader(raw))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return raw
	}
	var parts []string
	for dec.More() {
		key, err := dec.Token()
		var value json.RawMessage
		if err != nil || dec.Decode(&value) != nil {
			return raw
		}
		var flat bytes.Buffer
		if json.Compact(&flat, value) != nil {
			return raw
		}
		parts = append(parts, fmt.Sprintf("%v=%s", key, flat.String()))
	}
	return strings.Join(parts, ", ")
}

// ending matches what would end one of the tags that text stands in, speaker a
// line that looks like the next message.
var (
	ending  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)<(\s*/\s*(?:` + fence + `|summary)\b)`) })
	speaker = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?m)^(\s*)\[(User|Assistant|Assistant tool calls|Tool result|Tool error|Summary|System|Context)\]:`)
	})
)

// closed keeps text from ending the tag that it stands in.
func closed(text string) string { return ending().ReplaceAllString(text, `<\${1}`) }

// quoted keeps a text also from speaking in somebody else's name.
func quoted(text string) string { return speaker().ReplaceAllString(closed(text), `${1}\[${2}]:`) }

// wrapped is a summary as the runtimes send it (docs/dev/formats.md, "agent").
func wrapped(summary string) string {
	return "The conversation history before this point was compacted into the following summary:\n<summary>\n" + closed(summary) + "\n</summary>"
}

// spoken is what a message says as a provider's user or system text.
func (m Message) spoken() string {
	switch {
	case m.Role == Summary && !m.whole:
		return wrapped(m.Text)
	case strings.TrimSpace(m.Text) == "":
		return "(empty)" // no provider takes an empty text
	}
	return m.Text
}

type openAIMessage struct {
	Role      string       `json:"role"`
	Content   *string      `json:"content"` // null beside tool calls
	ToolCalls []openAICall `json:"tool_calls,omitempty"`
	CallID    string       `json:"tool_call_id,omitempty"`
}

type openAICall struct {
	ID       string         `json:"id"`
	Type     string         `json:"type"`
	Function openAIFunction `json:"function"`
}

type openAIFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

func openAI(messages []Message) []openAIMessage {
	out := []openAIMessage{}
	for _, m := range messages {
		text := m.spoken()
		x := openAIMessage{Role: string(m.Role), Content: &text}
		switch m.Role {
		case Summary:
			x.Role = string(User)
		case Tool:
			x.Content, x.CallID = &m.Text, m.CallID
		}
		for _, c := range m.ToolCalls {
			x.ToolCalls = append(x.ToolCalls, openAICall{ID: c.ID, Type: "function", Function: openAIFunction{Name: toolName(c.Name), Arguments: c.Arguments}})
		}
		if len(x.ToolCalls) > 0 && strings.TrimSpace(m.Text) == "" {
			x.Content = nil
		}
		out = append(out, x)
	}
	return out
}

// toolName is a name that providers take: letters, digits, "_" and "-", at
// most 64.
func toolName(name string) string {
	const most = 64
	clean := identifier(name)
	if clean == "" {
		return "tool"
	}
	return clean[:min(len(clean), most)]
}

// identifier puts "_" in the place of what providers do not take.
func identifier(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}, s)
}

type anthropicMessage struct {
	Role    string `json:"role"`
	Content []any  `json:"content"`
}

type anthropicText struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

type anthropicUse struct {
	Type  string          `json:"type"`
	ID    string          `json:"id"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`
}

type anthropicResult struct {
	Type    string `json:"type"`
	UseID   string `json:"tool_use_id"`
	Content string `json:"content"`
	IsError bool   `json:"is_error,omitempty"`
}

// anthropic follows the rules of that API: only user and assistant, the user
// first, no two of the same role in a row, and all results of an assistant's
// calls at the beginning of the one message after it.
func anthropic(messages []Message) []anthropicMessage {
	out := []anthropicMessage{}
	ids := newIdentifiers()
	add := func(role string, blocks ...any) {
		if n := len(out); n > 0 && out[n-1].Role == role {
			out[n-1].Content = append(out[n-1].Content, blocks...)
			return
		}
		if len(out) == 0 && role != string(User) {
			out = append(out, anthropicMessage{Role: string(User), Content: []any{anthropicText{"text", "(The conversation before this is left out.)"}}})
		}
		out = append(out, anthropicMessage{Role: role, Content: blocks})
	}
	for _, m := range messages {
		switch m.Role {
		case Tool:
			add(string(User), anthropicResult{Type: "tool_result", UseID: ids.of(m.CallID), Content: m.Text, IsError: m.IsError})
		case Assistant:
			add(string(Assistant), assistantBlocks(m, ids)...)
		case System:
			add(string(User), anthropicText{"text", "[System]: " + m.spoken()})
		default:
			add(string(User), anthropicText{"text", m.spoken()})
		}
	}
	return out
}

func assistantBlocks(m Message, ids *identifiers) (blocks []any) {
	if strings.TrimSpace(m.Text) != "" || len(m.ToolCalls) == 0 {
		blocks = append(blocks, anthropicText{"text", m.spoken()})
	}
	for _, c := range m.ToolCalls {
		blocks = append(blocks, anthropicUse{Type: "tool_use", ID: ids.of(c.ID), Name: toolName(c.Name), Input: object(c.Arguments)})
	}
	return blocks
}

// object is arguments as a JSON object, whatever they are.
func object(raw string) json.RawMessage {
	var o map[string]json.RawMessage
	if json.Unmarshal([]byte(raw), &o) == nil && o != nil {
		return json.RawMessage(raw)
	}
	wrapped, err := json.Marshal(map[string]string{"arguments": raw})
	if err != nil {
		return json.RawMessage("{}")
	}
	return wrapped
}

// identifiers gives call ids a form that providers take, different ones for
// different ids.
type identifiers struct {
	given map[string]string
	taken map[string]bool
}

func newIdentifiers() *identifiers {
	return &identifiers{given: map[string]string{}, taken: map[string]bool{}}
}

func (x *identifiers) of(id string) string {
	if clean, ok := x.given[id]; ok {
		return clean
	}
	clean := identifier(id)
	for n := 2; x.taken[clean] || clean == ""; n++ {
		clean = fmt.Sprintf("%s_%d", identifier(id), n)
	}
	x.given[id], x.taken[clean] = clean, true
	return clean
}

type coreMessage struct {
	Role    string `json:"role"`
	Content any    `json:"content"`
}

type coreText struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

type coreCall struct {
	Type string          `json:"type"`
	ID   string          `json:"toolCallId"`
	Name string          `json:"toolName"`
	Args json.RawMessage `json:"args"`
}

type coreResult struct {
	Type    string          `json:"type"`
	ID      string          `json:"toolCallId"`
	Name    string          `json:"toolName"`
	Result  json.RawMessage `json:"result"`
	IsError bool            `json:"isError,omitempty"`
}

// aiSDK writes core messages: the results of one assistant's message are one
// tool message. What the log has as a core message is written as it stands.
func aiSDK(messages []Message) []any {
	var out []any
	for len(messages) > 0 {
		if raw, n := unchanged(messages); n > 0 {
			out, messages = append(out, raw), messages[n:]
			continue
		}
		n := 1
		for messages[0].Role == Tool && n < len(messages) && messages[n].Role == Tool {
			n++
		}
		for _, m := range rebuilt(messages[:n]) {
			out = append(out, m)
		}
		messages = messages[n:]
	}
	if out == nil {
		out = []any{}
	}
	return out
}

// rebuilt makes core messages of messages.
func rebuilt(messages []Message) []coreMessage {
	out := []coreMessage{}
	for _, m := range messages {
		switch m.Role {
		case Tool:
			result := coreResult{Type: "tool-result", ID: m.CallID, Name: orElse(m.ToolName, "tool"), Result: value(m.Text), IsError: m.IsError && m.Reason != ReasonAdded}
			if n := len(out); n > 0 && out[n-1].Role == string(Tool) {
				out[n-1].Content = append(out[n-1].Content.([]coreResult), result)
				continue
			}
			out = append(out, coreMessage{Role: string(Tool), Content: []coreResult{result}})
		case Assistant:
			out = append(out, coreMessage{Role: string(Assistant), Content: coreAssistant(m)})
		case System:
			out = append(out, coreMessage{Role: string(System), Content: m.spoken()})
		default:
			out = append(out, coreMessage{Role: string(User), Content: m.spoken()})
		}
	}
	return out
}

func coreAssistant(m Message) any {
	if len(m.ToolCalls) == 0 {
		return m.spoken()
	}
	var parts []any
	if strings.TrimSpace(m.Text) != "" {
		parts = append(parts, coreText{"text", m.Text})
	}
	for _, c := range m.ToolCalls {
		parts = append(parts, coreCall{Type: "tool-call", ID: c.ID, Name: c.Name, Args: object(c.Arguments)})
	}
	return parts
}

// value is a result as JSON: what it is if it is JSON, else a string.
func value(text string) json.RawMessage {
	trimmed := strings.TrimSpace(text)
	if len(trimmed) > 0 && strings.ContainsRune("{[", rune(trimmed[0])) && json.Valid([]byte(trimmed)) {
		return json.RawMessage(trimmed)
	}
	var quoted bytes.Buffer
	enc := json.NewEncoder(&quoted)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(text); err != nil {
		return json.RawMessage(`""`)
	}
	return bytes.TrimSpace(quoted.Bytes())
}
