package smallpackages_test

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// codexRecord is what a line of a rollout says. Only the items go to the model;
// rollouts without any are read by what the screen shows.
type codexRecord struct {
	heard
	by       string // item, item that says something, shown, completed
	turn     bool   // the person says it
	compacts bool
	kept     []codexRecord // of a compaction with a history
	history  bool
	back     int // turns that are rolled back
}

// codexContext takes the items one after the other, as Codex does when it resumes
// a thread: a compaction with a history is the context from then on, one without
// keeps what the person said; a rollback drops the last turns, and with them a
// compaction with a history that lies in them.
func codexContext(log []byte) []heard {
	records := codexRecords(log)
	by := "shown"
	for _, r := range records {
		if r.by == "completed" && by == "shown" || r.by == "text" {
			by = r.by
		}
	}
	records = slices.DeleteFunc(records, func(r codexRecord) bool {
		return (r.by == "shown" || r.by == "completed") && r.by != by
	})
	records = withoutLeftCompactions(records)
	var context []codexRecord
	for _, r := range records {
		switch {
		case r.back > 0:
			context = dropTurns(context, r.back)
		case r.compacts && r.history:
			context = append([]codexRecord{r}, r.kept...)
		case r.compacts:
			context = append([]codexRecord{}, slices.DeleteFunc(context, func(x codexRecord) bool { return !x.turn || x.compacts })...)
			r.turn = true
			context = append(context, r)
		case r.says():
			context = append(context, r)
		}
	}
	return codexHeard(context)
}

// codexHeard puts the summary first, where a replay has it.
func codexHeard(context []codexRecord) (all []heard) {
	for _, r := range context {
		if r.compacts && r.Text != "" {
			all = append(all, heard{Role: "summary", Text: r.Text})
		}
	}
	for _, r := range context {
		if !r.compacts {
			all = append(all, r.heard)
		}
	}
	return all
}

// withoutLeftCompactions takes out compactions with a history that were rolled
// back: turns are counted from the end.
func withoutLeftCompactions(records []codexRecord) (kept []codexRecord) {
	skip := 0
	for _, r := range slices.Backward(records) {
		left := skip > 0
		if r.back > 0 {
			skip += r.back
		}
		if r.turn && skip > 0 && r.by != "" {
			skip--
		}
		if !(left && r.compacts && r.history) {
			kept = append(kept, r)
		}
	}
	slices.Reverse(kept)
	return kept
}

func dropTurns(context []codexRecord, n int) []codexRecord {
	for i := len(context) - 1; i >= 0; i-- {
		if context[i].turn {
			if n--; n == 0 || !slices.ContainsFunc(context[:i], func(r codexRecord) bool { return r.turn }) {
				return context[:i]
			}
		}
	}
	return context
}

func codexRecords(log []byte) (all []codexRecord) {
	for _, line := range things(log) {
		payload := obj(line["payload"])
		switch {
		case payload == nil && line["record_type"] == nil:
			all = append(all, codexItem(line))
		case str(line["type"]) == "response_item" && !is(obj(line["metadata"])["compaction_output"]):
			all = append(all, codexItem(payload))
		case str(line["type"]) == "compacted":
			all = append(all, codexCompaction(payload))
		case str(line["type"]) == "event_msg":
			all = append(all, codexEvent(payload))
		}
	}
	return all
}

func codexEvent(p replayThing) (r codexRecord) {
	switch item := obj(p["item"]); {
	case str(p["type"]) == "thread_rolled_back":
		r.back = int(num(p["num_turns"]))
	case str(p["type"]) == "user_message", str(item["type"]) == "UserMessage":
		r.Role, r.turn = "user", true
	case str(p["type"]) == "agent_message", str(item["type"]) == "AgentMessage":
		r.Role = "assistant"
	}
	if r.Role != "" {
		r.by, r.Text = "shown", written(p["message"], nil)
		if item := obj(p["item"]); item != nil {
			r.by, r.Text = "completed", written(item["content"], nil)
		}
	}
	return r
}

const preamble = "Another language model started to solve this problem"

func codexCompaction(p replayThing) codexRecord {
	r := codexRecord{compacts: true, by: "item", heard: heard{Role: "summary", Text: withoutFirstLine(written(p["message"], nil))}}
	history, ok := p["replacement_history"].([]any)
	r.history = ok
	for _, x := range history {
		k := codexItem(obj(x))
		if !k.says() || withoutFirstLine(k.Text) == r.Text || slices.Contains(kinds(obj(x)), "compaction.summary") {
			continue
		}
		r.kept = append(r.kept, k)
	}
	return r
}

func withoutFirstLine(text string) string {
	if strings.HasPrefix(text, preamble) {
		_, text, _ = strings.Cut(text, "\n")
	}
	return strings.TrimSpace(text)
}

func kinds(item replayThing) (all []string) {
	for _, k := range replayList(obj(item["internal_chat_message_metadata_passthrough"])["content_item_kinds"]) {
		all = append(all, str(k))
	}
	return all
}

var (
	putIn = regexp.MustCompile(`^(<(environment_context|user_instructions|permissions instructions|collaboration_mode|apps_instructions|plugins_instructions|skills_instructions|skill|turn_aborted|subagent_notification|model_switch|personality_spec|recommended_plugins|INSTRUCTIONS)>|# AGENTS.md instructions)`)
)

func codexItem(i replayThing) (r codexRecord) {
	kind := str(i["type"])
	r.by = "item"
	switch {
	case kind == "message" || kind == "" && i["role"] != nil:
		content := i["content"]
		if content == nil {
			content = i["message"]
		}
		r.Role, r.Text = "user", written(content, nil)
		typed := str(i["role"]) == "user" && !putIn.MatchString(r.Text)
		if from := kinds(i); str(i["role"]) == "user" && slices.ContainsFunc(from, func(k string) bool { return k != "unknown" }) {
			typed = slices.ContainsFunc(from, func(k string) bool { return strings.HasPrefix(k, "user.") })
		}
		switch str(i["role"]) {
		case "assistant":
			r.Role = "assistant"
		case "developer", "system":
			r.Role = "system"
		}
		r.turn = typed && !strings.HasPrefix(r.Text, "<user_shell_command>")
		if r.Text != "" && (r.Role == "assistant" || r.turn) {
			r.by = "text"
		}
	case kind == "agent_message":
		r.Role, r.Text = "user", written(i["content"], nil)
	case strings.HasSuffix(kind, "_call"):
		r.Role = "assistant"
		called := str(i["name"])
		if called == "" {
			called = str(obj(i["function"])["name"])
		}
		if called == "" {
			called = strings.TrimSuffix(kind, "_call")
		}
		r.Calls = []string{called + "/" + name(i["call_id"])}
	case strings.HasSuffix(kind, "_output"), strings.HasSuffix(kind, "_result"):
		r.Role, r.Answers, r.Text = "tool", name(i["call_id"]), codexOutput(i)
	default:
		r.by = ""
	}
	return r
}

// codexOutput is a string, blocks, or an object of any kind.
func codexOutput(i replayThing) string {
	for _, key := range []string{"output", "result"} {
		if text := written(i[key], nil); text != "" {
			return text
		}
		if o := obj(i[key]); o != nil {
			encoded, _ := json.Marshal(o)
			return string(encoded)
		}
	}
	return ""
}
