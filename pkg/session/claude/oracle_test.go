package claude

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// The oracle reads a log with encoding/json, maps and copies, and none of the
// package's code. It knows nothing of branches, and of broken lines only that
// they are no records.

// said is a message as plain values. Texts are compared by their words.
type said struct {
	Line   int
	ID     string
	Role   string
	Custom string
	Words  string
	Call   string
	Failed bool
	Usage  [4]int64 // zero where it repeats
	Images int
}

type object map[string]json.RawMessage

func objectOf(raw []byte) object {
	var o object
	if json.Unmarshal(raw, &o) != nil {
		return nil
	}
	return o
}

func (o object) text(key string) string {
	var s *string
	if json.Unmarshal(o[key], &s) != nil || s == nil {
		return ""
	}
	return *s
}

func (o object) flag(key string) bool { return string(o[key]) == "true" }

func (o object) tokens(key string) int64 {
	var n int64
	if json.Unmarshal(o[key], &n) != nil {
		return 0
	}
	return max(n, 0)
}

// oracle is what one pass of encoding/json finds.
type oracle struct {
	said    []said
	records int // of type user and assistant
	costs   map[string][4]int64
	calls   int // replies without an id
	extra   [4]int64
	lines   int // that are one object
}

func newOracle(log []byte) *oracle {
	o := &oracle{costs: map[string][4]int64{}}
	for i, line := range bytes.Split(bytes.TrimPrefix(log, []byte("\xEF\xBB\xBF")), []byte("\n")) {
		if r := objectOf(line); r != nil {
			o.lines++
			o.record(i+1, r)
		}
	}
	return o
}

func (o *oracle) record(line int, r object) {
	kind, message := r.text("type"), objectOf(r["message"])
	s := said{Line: line, ID: r.text("uuid")}
	switch attachment := objectOf(r["attachment"]); {
	case kind == "user" && message != nil:
		o.records++
		s.ofUser(r, blocksOf(message["content"]))
	case kind == "assistant" && message != nil:
		o.records++
		o.ofAssistant(&s, r, message)
	case kind == "attachment" && attachment.text("type") == "queued_command":
		s.Role = "user"
		blocks := blocksOf(attachment["prompt"])
		s.take(blocks)
		task := objectOf(r["origin"]).text("kind") == "task-notification" && attachment["origin"] == nil
		if attachment.text("commandMode") == "task-notification" || task || objectOf(attachment["origin"]).text("kind") == "task-notification" {
			s.inject("task-notification")
		} else {
			s.typed(blocks)
		}
	case kind == "attachment" && slices.Contains([]string{"file", "directory", "mcp_resource", "selected_lines_in_ide"}, attachment.text("type")):
		if s.ofFile(r["rendered"], attachment["content"]); s.Words == "" && s.Images == 0 {
			return
		}
	default:
		return
	}
	o.said = append(o.said, s)
}

// blocksOf brings content of all shapes into one.
func blocksOf(raw json.RawMessage) []object {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil || list == nil {
		list = []json.RawMessage{raw}
	}
	var blocks []object
	for _, x := range list {
		var text *string
		if json.Unmarshal(x, &text) == nil && text != nil {
			blocks = append(blocks, object{"type": json.RawMessage(`"text"`), "text": x})
		} else if b := objectOf(x); b != nil {
			blocks = append(blocks, b)
		}
	}
	return blocks
}

func words(text string) string { return strings.Join(strings.Fields(text), " ") }

func (s *said) inject(custom string) { s.Role, s.Custom = "injected", custom }

// take reads the parts of a message.
func (s *said) take(blocks []object) {
	for _, b := range blocks {
		switch kind := b.text("type"); {
		case strings.HasSuffix(kind, "tool_result"):
			s.takeResult(kind, b)
		case kind == "image", kind == "document":
			s.takeData(b)
		case kind == "tool_use", kind == "server_tool_use", kind == "mcp_tool_use":
			s.call(b)
		case slices.Contains([]string{"thinking", "redacted_thinking", "fallback", "tool_reference"}, kind):
		default:
			s.say(b.text("text"))
		}
	}
}

func (s *said) say(text string) { s.Words = words(s.Words + " " + text) }

func (s *said) call(b object) {
	input := string(b["input"])
	if input == "null" {
		input = ""
	}
	if b.text("name")+input != "" {
		s.say("[tool call] " + b.text("name") + " " + input)
	}
}

func (s *said) takeResult(kind string, b object) {
	if kind != "tool_result" && !strings.HasSuffix(kind, "_tool_result") {
		s.say(b.text("text"))
		return
	}
	if kind == "tool_result" {
		if s.Role != "tool_result" {
			s.Role, s.Call = "tool_result", b.text("tool_use_id")
		}
		s.Failed = s.Failed || b.flag("is_error")
	}
	var list []json.RawMessage
	if objectOf(b["content"]) != nil {
		return
	}
	if json.Unmarshal(b["content"], &list) != nil {
		list = []json.RawMessage{b["content"]}
	}
	for _, x := range blocksOf(mustJSON(list)) {
		switch x.text("type") {
		case "text":
			s.say(x.text("text"))
		case "image", "document":
			s.takeData(x)
		}
	}
}

func mustJSON(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	return raw
}

func (s *said) takeData(b object) {
	if source := objectOf(b["source"]); source.text("type") == "text" {
		s.say(source.text("data"))
		return
	}
	s.Images++
}

func (s *said) ofUser(r object, blocks []object) {
	s.take(blocks)
	switch {
	case s.Role == "tool_result":
		s.Words = withoutReminders(blocks, s)
	case r.flag("isCompactSummary"):
		s.Role = "summary"
	case r.flag("isMeta"):
		s.inject("claude.meta")
	case objectOf(r["origin"]).text("kind") == "task-notification":
		s.inject("task-notification")
	case r.flag("isSidechain"):
		s.inject("")
	default:
		s.Role = "user"
		s.typed(blocks)
	}
}

var reminderLines = regexp.MustCompile(`(?s)<system-reminder>.*?</system-reminder>`)

// cutReminders cuts reminders that fill whole lines.
func cutReminders(text string) string {
	for _, at := range reminderLines.FindAllStringIndex(text, -1) {
		alone := (at[0] == 0 || text[at[0]-1] == '\n') && (at[1] == len(text) || text[at[1]] == '\n')
		if inner := strings.LastIndex(text[at[0]:at[1]], "<system-reminder>"); alone && inner == 0 {
			return cutReminders(strings.TrimRight(text[:at[0]], "\n")) + "\x00" + cutReminders(text[at[1]:])
		}
	}
	return text
}

// withoutReminders says the message again with every text cut.
func withoutReminders(blocks []object, was *said) string {
	again := said{Role: was.Role}
	var cut []object
	for _, b := range blocks {
		cut = append(cut, cutBlock(b))
	}
	again.take(cut)
	return words(strings.ReplaceAll(again.Words, "\x00", " "))
}

func cutBlock(b object) object {
	out := object{}
	for k, v := range b {
		out[k] = v
	}
	for _, key := range []string{"text", "content"} {
		var text *string
		if json.Unmarshal(b[key], &text) == nil && text != nil {
			out[key] = mustJSON(cutReminders(*text))
		}
	}
	var list []object
	if json.Unmarshal(b["content"], &list) == nil && list != nil {
		for i := range list {
			list[i] = cutBlock(list[i])
		}
		out["content"] = mustJSON(list)
	}
	return out
}

func (s *said) typed(blocks []object) {
	first := ""
	for _, b := range blocks {
		one := said{}
		one.take([]object{b})
		if one.Words != "" && !strings.HasPrefix(one.Words, "[tool call]") {
			first = strings.TrimSpace(b.text("text"))
			break
		}
	}
	has := func(prefix string) bool { return strings.HasPrefix(first, prefix) }
	rest := words(strings.TrimPrefix(s.Words, words(first)))
	switch {
	case has("<command-name>"), has("<command-message>"):
		if name := tag(first, "command-name"); name != "" {
			s.Words = words("/" + strings.TrimPrefix(name, "/") + " " + tag(first, "command-args") + " " + rest)
		}
	case has("<local-command-stdout>"), has("<local-command-stderr>"):
		s.inject("claude.command-output")
	case has("<local-command-caveat>"):
		s.inject("claude.meta")
	case has("[Request interrupted by user"):
		s.inject("claude.interrupted")
	case has("<task-notification>"):
		s.inject("task-notification")
	case has("<bash-input>"):
		s.Role, s.Words = "shell", rest
		if line := tag(first, "bash-input"); line != "" {
			s.Words = words("$ " + line + " " + rest)
		}
	case has("<bash-stdout>"), has("<bash-stderr>"):
		s.Role, s.Words, s.Images = "shell", words(tag(first, "bash-stdout")+" "+tag(first, "bash-stderr")), 0
	default:
		s.Words = withoutReminders(blocks, s)
	}
}

func tag(text, name string) string {
	_, rest, _ := strings.Cut(text, "<"+name+">")
	inside, _, _ := strings.Cut(rest, "</"+name+">")
	return strings.TrimSpace(inside)
}

// ofFile reads what was sent of an attached file, else the file.
func (s *said) ofFile(rendered, content json.RawMessage) {
	var sent []json.RawMessage
	if json.Unmarshal(rendered, &sent) == nil {
		for _, x := range sent {
			if content, has := objectOf(x)["content"]; has {
				s.take(blocksOf(content))
			}
		}
	}
	file := objectOf(objectOf(content)["file"])
	switch {
	case s.Words != "" || s.Images > 0:
	case file.text("base64") != "":
		s.Images++
	case objectOf(content) == nil:
		s.say(object{"text": content}.text("text"))
	default:
		s.say(file.text("content"))
	}
	s.inject("attachment")
}

func (o *oracle) ofAssistant(s *said, r, message object) {
	s.take(blocksOf(message["content"]))
	s.Role, s.Failed = "assistant", s.Failed || r.flag("isApiErrorMessage")
	switch {
	case r.flag("isApiErrorMessage"):
		s.Words, s.Images = words("[error] "+s.Words), 0
	case message.text("model") == "<synthetic>":
		s.inject("claude.synthetic")
	}
	u := objectOf(message["usage"])
	cost := [4]int64{u.tokens("input_tokens"), u.tokens("output_tokens"), u.tokens("cache_read_input_tokens"), u.tokens("cache_creation_input_tokens")}
	if cost == [4]int64{} {
		return
	}
	id := message.text("id")
	if id == "" {
		o.calls++
		for i := range cost {
			o.extra[i] += cost[i]
		}
		s.Usage = cost
		return
	}
	before, known := o.costs[id]
	after := before
	for i := range cost {
		after[i] = max(after[i], cost[i])
	}
	if !known || after != before {
		s.Usage = cost
	}
	o.costs[id] = after
}

// sum is what all calls cost.
func (o *oracle) sum() (sum [4]int64) {
	sum = o.extra
	for _, cost := range o.costs {
		for i := range cost {
			sum[i] += cost[i]
		}
	}
	return sum
}
