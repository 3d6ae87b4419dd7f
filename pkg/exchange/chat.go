package exchange

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/sessctl/sessctl/pkg/replay"
)

// The formats of a context: one conversation a line, without a time and an id.
const (
	FormatChat      replay.Format = "openai-chat"      // {"messages":[...]} of OpenAI's chat API
	FormatResponses replay.Format = "openai-responses" // {"input":[...]} of its responses API
	FormatShareGPT  replay.Format = "sharegpt"         // {"conversations":[{"from","value"}]}
)

// spoken is a message as package replay writes it for OpenAI.
type spoken struct {
	Role    string  `json:"role"`
	Content *string `json:"content"`
	Calls   []struct {
		ID       string `json:"id"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
	CallID string `json:"tool_call_id"`
}

// said is the text of a message, "" beside calls alone.
func (m spoken) said() string {
	if m.Content == nil {
		return ""
	}
	return *m.Content
}

// writeLine writes a context that [replay.Repair] has returned as one line.
func writeLine(w io.Writer, f replay.Format, origin replay.Origin, messages []replay.Message) error {
	var array bytes.Buffer
	if err := replay.Write(&array, replay.OpenAI, origin, messages); err != nil {
		return err
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	if f == FormatChat {
		return enc.Encode(map[string]json.RawMessage{"messages": array.Bytes()})
	}
	var all []spoken
	if err := json.Unmarshal(array.Bytes(), &all); err != nil {
		return fmt.Errorf("write %s: %w", f, err)
	}
	if f == FormatResponses {
		return enc.Encode(map[string]any{"input": items(all)})
	}
	return enc.Encode(map[string]any{"conversations": turns(all)})
}

// item is one item of the responses API.
type item struct {
	Type      string  `json:"type"`
	Role      string  `json:"role,omitempty"`
	Content   []block `json:"content,omitempty"`
	CallID    string  `json:"call_id,omitempty"`
	Name      string  `json:"name,omitempty"`
	Arguments string  `json:"arguments,omitempty"`
	Output    *string `json:"output,omitempty"`
}

type block struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

func items(all []spoken) []item {
	out := []item{}
	for _, m := range all {
		if m.Role == string(replay.Tool) {
			text := m.said()
			out = append(out, item{Type: "function_call_output", CallID: m.CallID, Output: &text})
			continue
		}
		if kind := map[bool]string{true: "output_text", false: "input_text"}[m.Role == string(replay.Assistant)]; m.Content != nil {
			out = append(out, item{Type: "message", Role: m.Role, Content: []block{{kind, m.said()}}})
		}
		for _, c := range m.Calls {
			out = append(out, item{Type: "function_call", CallID: c.ID, Name: c.Function.Name, Arguments: c.Function.Arguments})
		}
	}
	return out
}

// turn is one turn of ShareGPT.
type turn struct {
	From  string `json:"from"`
	Value string `json:"value"`
}

// turns are the turns of a context: each call one of its own, results in the order of
// their calls, because nothing else says which call they are of.
func turns(all []spoken) []turn {
	from := map[string]string{"system": "system", "user": "human", "assistant": "gpt", "tool": "observation"}
	out := []turn{}
	var open []string // the ids of the calls of the last answer
	for i := 0; i < len(all); i++ {
		m := all[i]
		if m.Content != nil && m.Role != string(replay.Tool) {
			out = append(out, turn{from[m.Role], m.said()})
		}
		if m.Role == string(replay.Assistant) {
			open = nil
		}
		for _, c := range m.Calls {
			open = append(open, c.ID)
			out = append(out, turn{"function_call", callText(c.Function.Name, c.Function.Arguments)})
		}
		if m.Role != string(replay.Tool) {
			continue
		}
		first := i
		for i+1 < len(all) && all[i+1].Role == string(replay.Tool) {
			i++
		}
		results := slices.Clone(all[first : i+1])
		slices.SortStableFunc(results, func(a, b spoken) int { return slices.Index(open, a.CallID) - slices.Index(open, b.CallID) })
		for _, r := range results {
			out = append(out, turn{from[r.Role], r.said()})
		}
	}
	return out
}

// callText is a call as ShareGPT has it: JSON in a string.
func callText(name, arguments string) string {
	raw := json.RawMessage(arguments)
	if !json.Valid(raw) {
		raw, _ = json.Marshal(arguments)
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	}{name, raw}) // both can be written
	return string(bytes.TrimSpace(b.Bytes()))
}
