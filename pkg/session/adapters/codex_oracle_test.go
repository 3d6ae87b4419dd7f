package adapters_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/sessctl/sessctl/pkg/session"
)

// The oracle reads a rollout with encoding/json, maps and copies, and none of
// the package's code. It takes whole lines only and salvages nothing.

// codexLine is a message as plain values.
type codexLine struct {
	Line   int
	Role   string
	Custom string
	Text   string
	Exit   string
	CallID string
	Branch string
}

// codexLineOf copies a message as it was sent: the oracle reads nothing else.
func codexLineOf(x *session.Message) codexLine {
	m := new(session.Message)
	*m = *x
	m.Parts = slices.DeleteFunc(slices.Clone(m.Parts), func(p session.Part) bool { return p.Kind == session.PartUnsent })
	l := codexLine{
		Line: m.Line, Role: m.Role.String(), Custom: string(m.CustomType), Text: string(m.AppendText(nil)),
		CallID: string(m.CallID), Branch: m.Branch.String(),
	}
	if m.HasExit {
		l.Exit = strconv.Itoa(m.ExitCode)
	}
	return l
}

type codexObject map[string]json.RawMessage

func codexObjectOf(raw []byte) codexObject {
	var o codexObject
	if json.Unmarshal(raw, &o) != nil {
		return nil
	}
	return o
}

func textOf(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

func (o codexObject) text(key string) string { return textOf(o[key]) }

// contentOf is the text of content in all its shapes.
func contentOf(raw json.RawMessage) []string {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil || len(raw) > 0 && raw[0] == 'n' {
		list = []json.RawMessage{raw}
	}
	var texts []string
	for _, block := range list {
		text := textOf(block)
		if o := codexObjectOf(block); o != nil && o.text("type") != "input_image" {
			text = o.text("text")
		}
		if text != "" {
			texts = append(texts, text)
		}
	}
	return texts
}

// candidate is what one line says and by which of the three texts.
type candidate struct {
	codexLine
	source string // item, text (an item that an event repeats), shown, completed
}

// oracle returns the messages of a rollout that consists of whole lines.
func oracle(log []byte) []codexLine {
	var all []candidate
	rollbacks := map[int]int{} // index in all: turns
	sources := map[string]bool{}
	for n, raw := range bytes.Split(log, []byte("\n")) {
		o := codexObjectOf(bytes.Trim(raw, " \t\r\x00"))
		if o == nil {
			continue
		}
		c, turns := oracleLine(o)
		if turns > 0 {
			rollbacks[len(all)] += turns
			all = append(all, candidate{source: "rollback", codexLine: codexLine{Line: turns}})
		}
		if c.source != "" {
			c.Line = n + 1
			sources[c.source] = true
			all = append(all, c)
		}
	}
	source := "shown"
	if sources["completed"] {
		source = "completed"
	}
	if sources["text"] {
		source = "text"
	}
	return oracleBranches(all, source)
}

func oracleBranches(all []candidate, source string) []codexLine {
	var kept []codexLine
	var turns [][]int // of each active turn, the messages since it began
	for _, c := range all {
		switch {
		case c.source == "rollback":
			for range min(c.Line, len(turns)) {
				for _, i := range turns[len(turns)-1] {
					kept[i].Branch = "abandoned"
				}
				turns = turns[:len(turns)-1]
			}
			continue
		case c.source != "item" && c.source != source:
			continue
		}
		c.Branch = "active"
		if c.Role == "user" {
			turns = append(turns, nil)
		}
		kept = append(kept, c.codexLine)
		if len(turns) > 0 {
			turns[len(turns)-1] = append(turns[len(turns)-1], len(kept)-1)
		}
	}
	return kept
}

func oracleLine(o codexObject) (c candidate, turns int) {
	payload := codexObjectOf(o["payload"])
	kind := o.text("type")
	switch {
	case payload == nil:
		if o["record_type"] != nil || kind == "" && o.text("role") == "" || kind == "message" && (o.text("role") == "" || o["content"] == nil) {
			return c, 0
		}
		return oracleItem(o, false), 0
	case kind == "response_item":
		return oracleItem(payload, string(codexObjectOf(o["metadata"])["compaction_output"]) == "true"), 0
	case kind == "compacted":
		c.source, c.Role = "item", "summary"
		c.Text = strings.TrimSpace(strings.Join(contentOf(payload["message"]), "\n"))
		if rest, ok := strings.CutPrefix(c.Text, "Another language model started to solve this problem and produced"); ok {
			_, c.Text, _ = strings.Cut(rest, "\n")
		}
		return c, 0
	case kind != "event_msg":
		return c, 0
	}
	switch payload.text("type") {
	case "user_message":
		c.source, c.Role, c.Text = "shown", "user", strings.Join(contentOf(payload["message"]), "\n")
	case "agent_message":
		c.source, c.Role, c.Text = "shown", "assistant", strings.Join(contentOf(payload["message"]), "\n")
	case "thread_rolled_back":
		_ = json.Unmarshal(payload["num_turns"], &turns)
		return c, turns
	case "item_completed":
		item := codexObjectOf(payload["item"])
		switch item.text("type") {
		case "UserMessage":
			c.Role = "user"
		case "AgentMessage":
			c.Role = "assistant"
		default:
			return c, 0
		}
		c.source, c.Text = "completed", strings.Join(contentOf(item["content"]), "\n")
	}
	c.Text = strings.TrimSpace(c.Text)
	return c, 0
}

func oracleItem(o codexObject, summed bool) (c candidate) {
	kind := o.text("type")
	c.source = "item"
	switch {
	case kind == "message" || kind == "" && o.text("role") != "":
		content := o["content"]
		if content == nil {
			content = o["message"]
		}
		texts := contentOf(content)
		c.Text = strings.TrimSpace(strings.Join(texts, "\n"))
		c.Role = o.text("role")
		switch {
		case c.Role == "assistant" && summed:
			return candidate{}
		case c.Role == "developer" || c.Role == "system":
			c.Custom, c.Role = "codex."+c.Role, "injected"
		case c.Role == "user" && oracleContext(o, texts) != "":
			c.Custom, c.Role = "codex."+oracleContext(o, texts), "injected"
		case c.Role != "user" && c.Role != "assistant":
			c.Custom, c.Role = "role "+c.Role, "injected"
		case len(texts) > 0:
			c.source = "text"
		}
	case kind == "agent_message":
		c.Role, c.Custom, c.Text = "injected", kind, strings.TrimSpace(strings.Join(contentOf(o["content"]), "\n"))
	case strings.HasSuffix(kind, "_call"):
		c.Role = "assistant"
		c.Text = oracleCall(o, kind)
	case strings.HasSuffix(kind, "_output"), strings.HasSuffix(kind, "_result"):
		c.Role, c.CallID = "tool_result", o.text("call_id")
		c.Text, c.Exit = oracleOutput(o)
	default:
		return candidate{}
	}
	return c
}

func oracleContext(o codexObject, texts []string) string {
	var kinds struct {
		Kinds []string `json:"content_item_kinds"`
	}
	_ = json.Unmarshal(o["internal_chat_message_metadata_passthrough"], &kinds)
	origin := ""
	for _, k := range kinds.Kinds {
		if strings.HasPrefix(k, "user.") {
			return ""
		}
		if origin == "" && k != "unknown" {
			origin = k
		}
	}
	if origin == "" && len(texts) > 0 && strings.HasPrefix(texts[0], "<environment_context>") {
		return "environment_context"
	}
	return origin
}

func oracleCall(o codexObject, kind string) string {
	name := o.text("name")
	if name == "" {
		name = codexObjectOf(o["function"]).text("name")
	}
	if name == "" {
		name = strings.TrimSuffix(kind, "_call")
	}
	args := o["arguments"]
	if args == nil {
		args = o["input"]
	}
	if args == nil {
		args = o["action"]
	} else if text := textOf(args); len(args) > 0 && args[0] == '"' {
		if codexObjectOf([]byte(text)) != nil {
			args = json.RawMessage(strings.TrimSpace(text))
		} else {
			args = json.RawMessage(`{"input":` + string(args) + `}`)
		}
	}
	if string(args) == "null" {
		args = nil
	}
	if name+string(args) == "" {
		return ""
	}
	escape := strings.NewReplacer("\n", `\n`, "\r", `\r`)
	return strings.TrimSpace("[tool call] " + escape.Replace(name) + " " + escape.Replace(string(args)))
}

func oracleOutput(o codexObject) (text, exit string) {
	raw := o["output"]
	if raw == nil {
		raw = o["result"]
	}
	if s := textOf(raw); len(raw) > 0 && raw[0] == '"' {
		inner := codexObjectOf([]byte(s))
		if inner != nil && len(inner["output"]) > 0 && inner["output"][0] == '"' {
			code := codexObjectOf(inner["metadata"])["exit_code"]
			return strings.TrimSpace(inner.text("output")), string(code)
		}
		for _, l := range strings.SplitN(s, "\n", 7) {
			for _, label := range []string{"Exit code: ", "Process exited with code "} {
				if rest, ok := strings.CutPrefix(l, label); ok {
					exit = strings.TrimSpace(rest)
				}
			}
		}
		return strings.TrimSpace(s), exit
	}
	if inner := codexObjectOf(raw); inner != nil {
		switch {
		case inner["text"] != nil:
			return strings.TrimSpace(inner.text("text")), ""
		case inner["exitCode"] != nil:
			exit = string(inner["exitCode"])
		}
		return string(raw), exit
	}
	return strings.TrimSpace(strings.Join(contentOf(raw), "\n")), ""
}
