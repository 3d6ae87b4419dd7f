package adapters_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/claude"
	"github.com/sessctl/sessctl/pkg/session/codex"
	"github.com/sessctl/sessctl/pkg/session/gemini"
	"github.com/sessctl/sessctl/pkg/session/hermes"
	"github.com/sessctl/sessctl/pkg/session/omp"
	"github.com/sessctl/sessctl/pkg/session/openclaw"
	"github.com/sessctl/sessctl/pkg/session/opencode"
	"github.com/sessctl/sessctl/pkg/session/pi"
	"github.com/sessctl/sessctl/pkg/session/qwen"
)

// forks are logs of one runtime in which something hangs beside something else.
type forks struct {
	store session.Store
	// Lines of a log: a talk with a call and notes of the runtime between and behind
	// the call and its result, as this runtime writes them. Nobody went back in it.
	notes []string
	// The same for a talk in which a person went back: the words "taken back" were.
	back []string
}

// branches are the runtimes that report branches, each in its own words.
func branches() []forks {
	piTalk := func(custom string) (notes, back []string) {
		entry := func(id, parent, rest string) string {
			return fmt.Sprintf(`{"id":%q,"parentId":%q,"timestamp":"2026-03-01T10:00:00.000Z",%s}`, id, parent, rest)
		}
		said := func(role, content string) string {
			return fmt.Sprintf(`"type":"message","message":{"role":%q,"content":%s}`, role, content)
		}
		head := []string{
			`{"type":"session","version":3,"id":"` + fuzzedID + `","timestamp":"2026-03-01T10:00:00.000Z","cwd":"/w"}`,
			strings.Replace(entry("u1", "", said("user", `"look"`)), `"parentId":""`, `"parentId":null`, 1),
			entry("a1", "u1", said("assistant", `[{"type":"toolCall","id":"t1","name":"bash","arguments":{}}]`)),
		}
		notes = append(head[:3:3],
			entry("n1", "a1", `"type":"custom","customType":"`+custom+`","data":{}`), // in the line
			entry("n2", "a1", `"type":"label","targetId":"a1","label":"x"`),          // and beside it
			entry("r1", "n1", said("toolResult", `[{"type":"text","text":"found"}],"toolCallId":"t1"`)),
			entry("n3", "r1", `"type":"model_change","provider":"p","modelId":"m"`),
			entry("a2", "n3", said("assistant", `[{"type":"text","text":"Done."}]`)))
		back = append(head[:2:2], entry("a3", "u1", said("assistant", `[{"type":"text","text":"taken back"}]`)), entry("u3", "u1", said("user", `"again"`)))
		return notes, back
	}
	piNotes, piBack := piTalk("extension")
	clawNotes, clawBack := piTalk("openclaw:bootstrap-context:full")

	link := func(kind, id, parent, rest string) string {
		named := fmt.Sprintf("%q", parent)
		if parent == "" {
			named = "null"
		}
		return fmt.Sprintf(`{"type":%q,"uuid":%q,"parentUuid":%s,"sessionId":"s","timestamp":"2026-03-01T10:00:00.000Z"%s}`, kind, id, named, rest)
	}
	claudeTalk := []string{
		link("user", "u1", "", `,"message":{"content":"look"}`),
		link("assistant", "a1", "u1", `,"message":{"id":"m1","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{}}]}`),
	}
	qwenTalk := []string{
		link("user", "u1", "", `,"message":{"parts":[{"text":"look"}]}`),
		link("assistant", "a1", "u1", `,"message":{"parts":[{"functionCall":{"id":"t1","name":"list","args":{}}}]}`),
	}
	item := func(payload string) string {
		return `{"timestamp":"2026-03-01T10:00:00.000Z","type":"response_item","payload":` + payload + `}`
	}
	event := func(payload string) string {
		return `{"timestamp":"2026-03-01T10:00:00.000Z","type":"event_msg","payload":` + payload + `}`
	}
	codexTalk := []string{
		`{"timestamp":"2026-03-01T10:00:00.000Z","type":"session_meta","payload":{"id":"` + fuzzedID + `","cwd":"/w"}}`,
		item(`{"type":"message","role":"user","content":[{"type":"input_text","text":"look"}]}`), event(`{"type":"user_message","message":"look"}`),
	}
	geminiTalk := []string{
		`{"sessionId":"` + fuzzedID + `","projectHash":"p","startTime":"2026-03-01T10:00:00.000Z","lastUpdated":"2026-03-01T10:00:00.000Z","kind":"main"}`,
		`{"id":"u1","timestamp":"2026-03-01T10:00:00.000Z","type":"user","content":"look"}`,
	}
	row := func(id int, active int, rest string) string {
		return fmt.Sprintf(`{"type":"message","row":{"id":%d,"session_id":"s","timestamp":1.7781e+09,"active":%d,"compacted":0,%s}}`, id, active, rest)
	}
	const hermesHead = `{"type":"hermes.session","format":1,"row":{"id":"s","source":"cli","model":"m","started_at":1.77811e+09}}`
	openCode := func(revert string) []string {
		message := func(id, role, text string) string {
			return fmt.Sprintf(`{"type":"message","row":{"id":"m%s","session_id":"s","time_created":1},"payload":{"role":%q,"time":{"created":1}}}`+"\n"+
				`{"type":"part","row":{"id":"p%s","message_id":"m%s","session_id":"s","time_created":1},"payload":{"type":"text","text":%q}}`, id, role, id, id, text)
		}
		return []string{fmt.Sprintf(`{"type":"opencode.session","format":1,"row":{"id":"s","directory":"/w","title":"t","version":"1","revert":%s,"time_created":1,"time_updated":1}}`, revert),
			message("1", "user", "look"), message("2", "assistant", "taken back")}
	}

	return []forks{
		{claude.Open(""), append(claudeTalk[:2:2],
			link("progress", "n1", "a1", ""), link("progress", "n2", "n1", ""),
			link("user", "r1", "a1", `,"message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":"found"}]}`),
			link("assistant", "a2", "r1", `,"message":{"id":"m2","content":[{"type":"text","text":"Done."}]}`),
			link("user", "u2", "n2", `,"message":{"content":"next"}`), link("system", "n3", "a1", "")),
			append(claudeTalk[:1:1], link("assistant", "a3", "u1", `,"message":{"id":"m3","content":[{"type":"text","text":"taken back"}]}`), link("user", "u3", "u1", `,"message":{"content":"again"}`))},
		{pi.Open(""), piNotes, piBack},
		{omp.Open(""), piNotes, piBack},
		{openclaw.Open("", openclaw.Options{}), clawNotes, clawBack},
		{qwen.Open(""), append(qwenTalk[:2:2],
			link("system", "n1", "a1", `,"subtype":"ui_telemetry","systemPayload":{}`),
			link("tool_result", "r1", "n1", `,"message":{"parts":[{"functionResponse":{"id":"t1","name":"list","response":{"output":"found"}}}]}`),
			link("assistant", "a2", "r1", `,"message":{"parts":[{"text":"Done."}]}`)),
			append(qwenTalk[:1:1], link("assistant", "a3", "u1", `,"message":{"parts":[{"text":"taken back"}]}`), link("user", "u3", "u1", `,"message":{"parts":[{"text":"again"}]}`))},
		{codex.Open(""), append(codexTalk[:3:3],
			item(`{"type":"function_call","name":"shell","arguments":"{}","call_id":"t1"}`), event(`{"type":"token_count","info":null}`), event(`{"type":"background_event","message":"x"}`),
			item(`{"type":"function_call_output","call_id":"t1","output":"found"}`)),
			append(codexTalk[:3:3], item(`{"type":"message","role":"user","content":[{"type":"input_text","text":"taken back"}]}`), event(`{"type":"user_message","message":"taken back"}`),
				event(`{"type":"thread_rolled_back","num_turns":1}`), item(`{"type":"message","role":"user","content":[{"type":"input_text","text":"again"}]}`))},
		{gemini.Open(""), append(geminiTalk[:2:2],
			`{"id":"a1","timestamp":"2026-03-01T10:00:00.000Z","type":"gemini","content":"","toolCalls":[{"id":"t1","name":"list","args":{}}]}`,
			`{"id":"n1","timestamp":"2026-03-01T10:00:00.000Z","type":"info","content":"a note"}`, `{"$set":{"lastUpdated":"2026-03-01T10:00:00.000Z"}}`,
			`{"id":"a2","timestamp":"2026-03-01T10:00:00.000Z","type":"gemini","content":"Done."}`),
			append(geminiTalk[:2:2], `{"id":"u2","timestamp":"2026-03-01T10:00:00.000Z","type":"user","content":"taken back"}`, `{"$rewindTo":"u2"}`,
				`{"id":"u3","timestamp":"2026-03-01T10:00:00.000Z","type":"user","content":"again"}`)},
		{hermes.Open(""), []string{hermesHead, row(1, 1, `"role":"user","content":"look"`), row(2, 1, `"role":"assistant","content":"","tool_calls":"[{\"id\":\"t1\",\"function\":{\"name\":\"list\",\"arguments\":\"{}\"}}]"`),
			row(3, 1, `"role":"session_meta","content":"note"`), row(4, 1, `"role":"tool","tool_call_id":"t1","content":"found"`)},
			[]string{hermesHead, row(1, 1, `"role":"user","content":"look"`), row(2, 0, `"role":"assistant","content":"taken back"`), row(3, 1, `"role":"user","content":"again"`)}},
		{opencode.Open(session.RuntimeOpenCode, ""), openCode("null"), openCode(`"{\"messageID\":\"m2\"}"`)},
	}
}

// TestNotesMakeNoBranches: a branch is where a person could have gone back to, in every
// runtime that reports branches; the runtime's own notes, wherever it hangs them, make
// none.
func TestNotesMakeNoBranches(t *testing.T) {
	reported := map[string]bool{}
	for _, f := range branches() {
		name := f.store.Runtime()
		all := branched(t, f.store, strings.Join(f.notes, "\n")+"\n")
		for _, said := range all {
			if strings.Contains(said, "abandoned") {
				t.Errorf("%s: nobody went back, and %q is abandoned", name, said)
			}
		}
		if len(all) < 2 {
			t.Errorf("%s: %d messages: this sees too little", name, len(all))
		}
		var gone []string
		for _, said := range branched(t, f.store, strings.Join(f.back, "\n")+"\n") {
			if strings.Contains(said, "abandoned") {
				_, words, _ := strings.Cut(said, "abandoned ")
				gone = append(gone, words)
			}
		}
		if diff := cmp.Diff([]string{"taken back"}, gone); diff != "" {
			t.Errorf("%s: abandoned (-want +got):\n%s", name, diff)
		}
		reported[name] = true
	}
	for _, r := range logReaders() {
		store := r.open("")
		if name := store.Runtime(); !reported[name] && !strings.HasSuffix(r.log, ".json") {
			for _, said := range branched(t, store, r.text(t)) {
				if strings.Contains(said, "abandoned") {
					t.Errorf("%s reports a branch, and no table above says when it may", name)
				}
			}
		}
	}
}
