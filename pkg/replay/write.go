package replay

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strings"
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

// Write writes a context. The provider formats need one that [Repair] has
// returned.
func Write(w io.Writer, f Format, origin Origin, messages []Message) error {
	switch f {
	case Text:
		_, err := io.WriteString(w, fenced(origin, messages))
		return err
	case JSON:
		return encode(w, document{Schema: 1, Origin: origin, Messages: notNil(messages)})
	case OpenAI:
		return encode(w, openAI(messages))
	case Anthropic:
		return encode(w, anthropic(messages))
	case AISDK:
		return encode(w, aiSDK(messages))
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

// fence is the tag between whose ends replayed text stands. It is data, not
// something to obey (research/pitfalls.md 75).
const fence = "replayed-context"

// fenced is a context as flat text, in the form of seed 001, section 7.5.5.
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
	if m.Role == Tool && m.IsError {
		label = "Tool error"
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
	ending  = regexp.MustCompile(`(?i)<(\s*/\s*(?:` + fence + `|summary)\b)`)
	speaker = regexp.MustCompile(`(?m)^(\s*)\[(User|Assistant|Assistant tool calls|Tool result|Tool error|Summary|System)\]:`)
)

// closed keeps text from ending the tag that it stands in.
func closed(text string) string { return ending.ReplaceAllString(text, `<\${1}`) }

// quoted keeps a text also from speaking in somebody else's name.
func quoted(text string) string { return speaker.ReplaceAllString(closed(text), `${1}\[${2}]:`) }

// wrapped is a summary as the runtimes send it (seed 001, section 7.4).
func wrapped(summary string) string {
	return "The conversation history before this point was compacted into the following summary:\n<summary>\n" + closed(summary) + "\n</summary>"
}

// spoken is what a message says as a provider's user or system text.
func (m Message) spoken() string {
	switch {
	case m.Role == Summary:
		return wrapped(m.Text)
	case strings.TrimSpace(m.Text) == "":
		return "(empty)" // no provider takes an empty text
	}
	return m.Text
}
