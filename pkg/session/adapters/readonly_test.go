package adapters_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/antigravity"
	"github.com/sessctl/sessctl/pkg/session/droid"
	"github.com/sessctl/sessctl/pkg/session/grok"
	"github.com/sessctl/sessctl/pkg/session/kimi"
)

// readOnly is a runtime whose logs are only read (package readonly): its fixture, the
// samples beside the repository, and a reader of its logs that shares no code with it.
type readOnly struct {
	open   func(root string) session.Store
	format session.Format
	root   string // of the store in the fixture and in the samples
	sample string // where the samples are, below samples-unread
	listed []string
	said   func(t *testing.T, line map[string]any) []string
}

func readOnlys() map[string]readOnly {
	return map[string]readOnly{
		"droid": {
			open: func(root string) session.Store { return droid.Open(root) }, format: session.FormatDroid,
			root: ".factory", sample: "droid", said: droidSaid,
			listed: []string{
				"home-lea-smithy 7d1c0a52-6b0e-4c55-9a3e-2f4b8d6e1a01 live true",
				"home-lea-smithy 7d1c0a52-6b0e-4c55-9a3e-2f4b8d6e1a02 subagent false 7d1c0a52-6b0e-4c55-9a3e-2f4b8d6e1a01",
			},
		},
		"kimi": {
			open: func(root string) session.Store { return kimi.Open(root) }, format: session.FormatKimi,
			root: ".kimi-code", sample: "kimi", said: kimiSaid,
			listed: []string{
				"home-lea-smithy session_7d1c0a52-6b0e-4c55-9a3e-2f4b8d6e1b01.agent-0 subagent false session_7d1c0a52-6b0e-4c55-9a3e-2f4b8d6e1b01",
				"home-lea-smithy session_7d1c0a52-6b0e-4c55-9a3e-2f4b8d6e1b01 live true",
			},
		},
		"kimi of before": {
			open: func(root string) session.Store { return kimi.Open(root) }, format: session.FormatKimi,
			root: ".kimi", sample: "kimi-old", said: kimiSaid,
			listed: []string{
				"a1a6b457acfd3000ab99272f70850cb3 9b1d2f60-0001-4c7e-8a11-000000000001 live true",
				"a1a6b457acfd3000ab99272f70850cb3 9b1d2f60-0001-4c7e-8a11-000000000001.1 checkpoint false 9b1d2f60-0001-4c7e-8a11-000000000001",
			},
		},
		"grok": {
			open: func(root string) session.Store { return grok.Open(root) }, format: session.FormatGrok,
			root: ".grok", sample: "grok", said: grokSaid,
			listed: []string{
				"home-lea-smithy 01a2247f-49cd-7ea3-9883-2bb6b8394801 live true",
				"home-lea-smithy 01a22480-6ba4-7a00-ab5f-589beeae1e02 subagent false 01a2247f-49cd-7ea3-9883-2bb6b8394801",
			},
		},
		"antigravity": {
			open: func(root string) session.Store { return antigravity.Open(root) }, format: session.FormatAntigravity,
			root: ".gemini/antigravity-cli", sample: "antigravity", said: antigravitySaid,
			listed: []string{"home-lea-smithy 7d1c0a52-6b0e-4c55-9a3e-2f4b8d6e1c01 live true"},
		},
	}
}

// readOnlyScanned is what is said in a log, a line for each message.
func readOnlyScanned(t *testing.T, store session.Store, log []byte) (all []string, scan session.Scan, err error) {
	scan, err = store.Scan(t.Context(), bytes.NewReader(log), session.ScanOptions{Thinking: true}, func(m *session.Message) error {
		line := fmt.Sprint(m.Role, " ", string(m.CallID), " ", m.IsError, " ", m.Compaction, " ")
		for _, p := range m.Parts {
			switch p.Kind {
			case session.PartToolCall:
				line += "[" + string(p.Name) + " " + string(p.CallID) + " " + compact(p.Text) + "]"
			case session.PartThinking:
				line += "(" + string(p.Text) + ")"
			default:
				line += string(p.Text)
			}
		}
		all = append(all, strings.TrimSpace(line))
		return nil
	})
	return all, scan, err
}

func compact(raw []byte) string {
	var value any
	if json.Unmarshal(raw, &value) != nil {
		return string(raw)
	}
	again, _ := json.Marshal(value)
	return string(again)
}

// heard is a line as readOnlyScanned makes it.
func heard(role, call string, failed, compaction bool, text string) string {
	return strings.TrimSpace(fmt.Sprint(role, " ", call, " ", failed, " ", compaction, " ", text))
}

// at is the value at a path of a document, "" if it is no string.
func at(x any, path ...string) string {
	for _, name := range path {
		x = x.(map[string]any)[name]
		if x == nil {
			return ""
		}
	}
	text, _ := x.(string)
	return text
}

// TestReadOnlyLikeAnIndependentReader: encoding/json says the same of the fixtures, and
// of the samples that real programs wrote.
func TestReadOnlyLikeAnIndependentReader(t *testing.T) {
	for name, r := range readOnlys() {
		compared := 0
		fixture := filepath.Join("..", "..", "..", "testdata", r.sample)
		for _, home := range []string{fixture, filepath.Join("..", "..", "..", "..", "shared", "samples-unread", r.sample, "home")} {
			root := filepath.Join(home, filepath.FromSlash(r.root))
			if _, err := os.Stat(root); err != nil {
				continue
			}
			listing, err := r.open(root).List(t.Context())
			cursorMust(t, err)
			var listed []string
			for _, ref := range listing.Refs {
				listed = append(listed, strings.TrimSpace(fmt.Sprint(ref.Agent, " ", ref.ID, " ", ref.Kind, " ", ref.Primary, " ", ref.Parent)))
				r.compare(t, ref)
				compared++
			}
			if diff := cmp.Diff(r.listed, listed); diff != "" && home == fixture {
				t.Errorf("%s (-want +listed):\n%s", name, diff)
			}
		}
		if compared == 0 {
			t.Errorf("%s: no log was compared", name)
		}
	}
}

func (r *readOnly) compare(t *testing.T, ref session.Ref) {
	log, err := os.ReadFile(ref.Path)
	cursorMust(t, err)
	var want []string
	var lines []map[string]any
	for line := range bytes.Lines(log) {
		var x map[string]any
		cursorMust(t, json.Unmarshal(line, &x))
		lines = append(lines, x)
	}
	step := func(x map[string]any) float64 { n, _ := x["step_index"].(float64); return n }
	slices.SortStableFunc(lines, func(a, b map[string]any) int { return int(step(a) - step(b)) })
	for _, x := range lines {
		want = append(want, r.said(t, x)...)
	}
	got, scan, err := readOnlyScanned(t, r.open(""), log)
	for i := range want {
		if want[i] == "*" && i < len(got) {
			want[i] = got[i] // what is said in its place is not the log's
		}
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil || len(scan.Unknown) > 0 || scan.Counts.Bad > 0 {
		t.Errorf("%s: %v, unknown %v (-encoding/json +scan):\n%s", ref.Path, err, scan.Unknown, diff)
	}
	if f := session.Detect(ref.Path, log); f != r.format {
		t.Errorf("%s is taken for %s", ref.Path, f)
	}
}

// blocksSaid is what the content of a message says, and the results in it.
func blocksSaid(content any) (text string, results []string) {
	if plain, ok := content.(string); ok {
		return plain, nil
	}
	for _, b := range content.([]any) {
		switch at(b, "type") {
		case "text":
			text += at(b, "text")
		case "thinking", "think":
			text += "(" + at(b, "thinking") + at(b, "think") + ")"
		case "tool_use":
			input, _ := json.Marshal(b.(map[string]any)["input"])
			text += "[" + at(b, "name") + " " + at(b, "id") + " " + string(input) + "]"
		case "tool_result":
			said, _ := blocksSaid(b.(map[string]any)["content"])
			failed, _ := b.(map[string]any)["is_error"].(bool)
			results = append(results, heard("tool_result", at(b, "tool_use_id"), failed, false, said))
		}
	}
	return text, results
}

func droidSaid(_ *testing.T, x map[string]any) []string {
	switch at(x, "type") {
	case "compaction_state":
		return []string{heard("summary", "", false, true, at(x, "summaryText"))}
	case "message":
		role := at(x, "message", "role")
		if at(x, "message", "visibility") == "llm_only" {
			role = "injected"
		}
		text, results := blocksSaid(x["message"].(map[string]any)["content"])
		if text != "" || len(results) == 0 {
			results = append(results, heard(role, "", false, false, text))
		}
		return results
	}
	return nil
}

// callSaid is a call.
func callSaid(name, id string, input any) string {
	if text, ok := input.(string); ok {
		return "[" + name + " " + id + " " + compact([]byte(text)) + "]"
	}
	args, _ := json.Marshal(input)
	return "[" + name + " " + id + " " + string(args) + "]"
}

func kimiSaid(_ *testing.T, x map[string]any) []string {
	event, _ := x["event"].(map[string]any)
	message, _ := x["message"].(map[string]any)
	switch at(x, "type") + at(event, "type") {
	case "context.append_message":
		role, origin := at(message, "role"), at(message, "origin", "kind")
		if role == "user" && origin != "user" {
			role = "injected"
		}
		text, _ := blocksSaid(message["content"])
		return []string{heard(role, "", false, false, text)}
	case "context.apply_compaction":
		return []string{heard("summary", "", false, true, at(x, "summary"))}
	case "context.append_loop_eventcontent.part":
		text, _ := blocksSaid([]any{event["part"]})
		return []string{heard("assistant", "", false, false, text)}
	case "context.append_loop_eventtool.call":
		return []string{heard("assistant", "", false, false, callSaid(at(event, "name"), at(event, "toolCallId"), event["args"]))}
	case "context.append_loop_eventtool.result":
		result := event["result"].(map[string]any)
		text, _ := blocksSaid(result["output"])
		failed, _ := result["isError"].(bool)
		return []string{heard("tool_result", at(event, "toolCallId"), failed, false, text)}
	case "":
		return kimiBefore(x)
	}
	return nil
}

// kimiBefore is a line of kimi-cli.
func kimiBefore(x map[string]any) []string {
	if role := at(x, "role"); strings.HasPrefix(role, "_") {
		return nil
	} else if role == "tool" {
		text, _ := blocksSaid(x["content"])
		return []string{heard("tool_result", at(x, "tool_call_id"), false, false, text)}
	}
	said := ""
	made, _ := x["tool_calls"].([]any)
	for _, c := range made {
		said += callSaid(at(c, "function", "name"), at(c, "id"), c.(map[string]any)["function"].(map[string]any)["arguments"])
	}
	text, _ := blocksSaid(x["content"])
	return []string{heard(at(x, "role"), "", false, false, said+text)}
}

func grokSaid(_ *testing.T, x map[string]any) []string {
	u := x["params"].(map[string]any)["update"].(map[string]any)
	meta, _ := u["_meta"].(map[string]any)
	said := func(role string) []string { return []string{heard(role, "", false, false, at(u, "content", "text"))} }
	switch at(u, "sessionUpdate") {
	case "user_message_chunk":
		if meta["hideFromScrollback"] == true || meta["hostTurn"] == true {
			return said("injected")
		}
		return said("user")
	case "agent_message_chunk":
		return said("assistant")
	case "agent_thought_chunk":
		return []string{heard("assistant", "", false, false, "("+at(u, "content", "text")+")")}
	case "tool_call":
		return []string{heard("assistant", "", false, false, callSaid(at(u, "title"), at(u, "toolCallId"), u["rawInput"]))}
	case "tool_call_update":
		status := at(u, "status")
		if status == "" {
			return nil
		}
		text := ""
		if raw, ok := u["rawOutput"].(map[string]any); ok {
			text = at(raw, "output_for_prompt") + at(raw, "text")
		} else {
			for _, c := range u["content"].([]any) {
				text += at(c, "content", "text")
			}
		}
		return []string{heard("tool_result", at(u, "toolCallId"), status == "failed", false, text)}
	case "auto_compact_completed":
		return []string{"*"}
	case "turn_completed":
		if at(u, "stop_reason") == "error" {
			return []string{heard("assistant", "", true, false, "")}
		}
	}
	return nil
}

func antigravitySaid(_ *testing.T, x map[string]any) (all []string) {
	content, source, kind := at(x, "content"), at(x, "source"), at(x, "type")
	index := int(x["step_index"].(float64))
	switch {
	case source == "USER_EXPLICIT":
		if _, rest, ok := strings.Cut(content, "<USER_REQUEST>"); ok {
			request, around, _ := strings.Cut(rest, "</USER_REQUEST>")
			all, content = []string{heard("injected", "", false, false, strings.TrimSpace(around))}, strings.TrimSpace(request)
		}
		return append(all, heard("user", "", false, false, content))
	case kind == "CHECKPOINT":
		return []string{heard("summary", "", false, true, content)}
	case source == "SYSTEM":
		return []string{heard("injected", "", kind == "ERROR_MESSAGE", false, content)}
	case kind != "PLANNER_RESPONSE":
		return []string{heard("tool_result", strconv.Itoa(index), at(x, "status") == "ERROR", false, content)}
	}
	text := content
	if thought := at(x, "thinking"); thought != "" {
		text = "(" + thought + ")" + text
	}
	made, _ := x["tool_calls"].([]any)
	for i, c := range made {
		args := map[string]any{}
		for name, value := range c.(map[string]any)["args"].(map[string]any) {
			args[name] = value
			if inner, ok := value.(string); ok && json.Valid([]byte(inner)) {
				args[name] = json.RawMessage(inner)
			}
		}
		text += callSaid(at(c, "name"), strconv.Itoa(index+1+i), args)
	}
	return []string{heard("assistant", "", false, false, text)}
}

// TestReadOnlyMalformed: lines of any shape cost themselves, and what is not known is
// counted.
func TestReadOnlyMalformed(t *testing.T) {
	type c struct {
		line         string
		bad, unknown int
		want         []string
	}
	for name, x := range map[string]struct {
		first string
		lines map[string]c
	}{
		"droid": {`{"type":"message","message":{"role":"user","content":"here"}}`, map[string]c{
			"no object":        {`"text"`, 1, 0, nil},
			"broken":           {`{"type":"message" "message":{}}`, 1, 0, nil},
			"cut off":          {`{"type":"message","message":{"content":[{"ty`, 1, 0, nil},
			"an unknown type":  {`{"type":"weather"}`, 0, 1, nil},
			"content is odd":   {`{"type":"message","message":{"role":"assistant","content":[7,null,{"type":7}]}}`, 0, 0, nil},
			"a message is odd": {`{"type":"message","message":[]}`, 0, 1, nil},
			"no content":       {`{"type":"message","message":{"role":"assistant"}}`, 0, 0, nil},
			"an unknown role":  {`{"type":"message","message":{"role":"smith","content":"x"}}`, 0, 1, []string{"injected  false false x"}},
			"an unknown block": {`{"type":"message","message":{"role":"assistant","content":[{"type":"hologram","text":"x"}]}}`, 0, 1, []string{"assistant  false false x"}},
			"an odd result":    {`{"type":"message","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":{"n":1}}]}}`, 0, 0, []string{`tool_result c false false {"n":1}`}},
			"no result":        {`{"type":"message","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"c"}]}}`, 0, 0, []string{`tool_result c false false`}},
			"an odd summary":   {`{"type":"compaction_state","summaryText":[1]}`, 0, 0, []string{"summary  false true"}},
		}},
		"kimi": {`{"type":"context.append_message","message":{"role":"user","content":"here","origin":{"kind":"user"}}}`, map[string]c{
			"no object":           {`7`, 1, 0, nil},
			"cut off":             {`{"type":"context.append_message","mess`, 1, 0, nil},
			"an unknown type":     {`{"type":"weather"}`, 0, 1, nil},
			"an unknown event":    {`{"type":"context.append_loop_event","event":{"type":"weather"}}`, 0, 1, nil},
			"an odd event":        {`{"type":"context.append_loop_event","event":[]}`, 0, 1, nil},
			"an odd part":         {`{"type":"context.append_loop_event","event":{"type":"content.part","part":7}}`, 0, 0, nil},
			"a call without args": {`{"type":"context.append_loop_event","event":{"type":"tool.call","toolCallId":7,"name":"X"}}`, 0, 0, []string{"assistant  false false [X 7 ]"}},
			"an odd result":       {`{"type":"context.append_loop_event","event":{"type":"tool.result","toolCallId":"c","result":{"output":{"n":1}}}}`, 0, 0, []string{`tool_result c false false {"n":1}`}},
			"an unknown role":     {`{"type":"context.append_message","message":{"role":"smith","content":"x"}}`, 0, 1, []string{"injected  false false x"}},
			"too many are kept":   {`{"type":"context.apply_compaction","summary":"s","keptUserMessageCount":99}`, 0, 0, []string{"summary  false true s"}},
			"a hook speaks":       {`{"type":"context.append_message","message":{"role":"user","content":"x","origin":{"kind":"hook_result"}}}`, 0, 0, []string{"injected  false false x"}},
		}},
		"grok": {`{"method":"session/update","params":{"update":{"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"here"}}}}`, map[string]c{
			"no object":         {`[]`, 1, 0, nil},
			"cut off":           {`{"method":"session/update","params":{"upd`, 1, 0, nil},
			"an unknown method": {`{"method":"weather"}`, 0, 1, nil},
			"an unknown update": {`{"method":"session/update","params":{"update":{"sessionUpdate":"weather"}}}`, 0, 1, nil},
			"odd parameters":    {`{"method":"session/update","params":[]}`, 0, 1, nil},
			"odd content":       {`{"method":"session/update","params":{"update":{"sessionUpdate":"agent_message_chunk","content":7}}}`, 0, 0, nil},
			"a call that runs":  {`{"method":"session/update","params":{"update":{"sessionUpdate":"tool_call_update","toolCallId":"c","status":"in_progress"}}}`, 0, 0, nil},
			"an empty result":   {`{"method":"session/update","params":{"update":{"sessionUpdate":"tool_call_update","toolCallId":"c","status":"failed"}}}`, 0, 0, []string{"tool_result c true false"}},
		}},
		"antigravity": {`{"step_index":0,"source":"USER_EXPLICIT","type":"USER_INPUT","content":"here"}`, map[string]c{
			"no object":         {`"x"`, 1, 0, nil},
			"cut off":           {`{"step_index":1,"sour`, 1, 0, nil},
			"an unknown source": {`{"step_index":1,"source":"WEATHER","type":"X","content":"x"}`, 0, 1, nil},
			"no step":           {`{"type":"X"}`, 0, 1, nil},
			"an odd step":       {`{"step_index":"x","source":"MODEL","type":"GENERIC","content":"x"}`, 0, 0, []string{`tool_result "x" false false x`}},
			"a gap":             {`{"step_index":9,"source":"MODEL","type":"GENERIC","content":"x"}`, 0, 0, []string{"tool_result 9 false false x"}},
			"twice":             {`{"step_index":0,"source":"MODEL","type":"PLANNER_RESPONSE","content":"x","tool_calls":[7,{"name":"n","args":"y"}]}`, 0, 0, []string{"assistant  false false x[n 2 \"y\"]"}},
			"half a request":    {`{"step_index":1,"source":"USER_EXPLICIT","type":"USER_INPUT","content":"<USER_REQUEST>x"}`, 0, 0, []string{"user  false false <USER_REQUEST>x"}},
			"nothing":           {`{"step_index":1,"source":"MODEL","type":"PLANNER_RESPONSE","content":null}`, 0, 0, nil},
		}},
	} {
		r := readOnlys()[name]
		for what, c := range x.lines {
			got, scan, err := readOnlyScanned(t, r.open(""), []byte(x.first+"\n"+c.line+"\n"))
			if diff := cmp.Diff(append([]string{"user  false false here"}, c.want...), got); diff != "" || err != nil || scan.Counts.Bad != c.bad || len(scan.Unknown) != c.unknown {
				t.Errorf("%s, %s: %v, bad %d, unknown %v (-want +got):\n%s", name, what, err, scan.Counts.Bad, scan.Unknown, diff)
			}
		}
	}
}
