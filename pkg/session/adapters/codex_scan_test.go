package adapters_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/sessctl/sessctl/internal/samples"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/codex"
)

// codexReporter is what tests, fuzzing and properties have in common.
type codexReporter interface {
	Helper()
	Errorf(format string, args ...any)
	Fatal(args ...any)
}

// codexScanned is what both passes over a log say; the branches are those of the
// second.
func codexScanned(t codexReporter, log []byte) (first session.Scan, lines []codexLine) {
	t.Helper()
	read := func(o session.ScanOptions) (session.Scan, map[int]codexLine) {
		byOrdinal := map[int]codexLine{}
		scan, err := new(codex.Store).Scan(context.Background(), bytes.NewReader(log), o, func(m *session.Message) error {
			if place := string(log[m.Offset : m.Offset+m.Length]); !json.Valid([]byte(place)) {
				t.Errorf("message %d: its place holds %q", m.Ordinal, place)
			}
			if m.OutOfContext {
				return nil // for memory alone: the oracle reads what was sent
			}
			byOrdinal[m.Ordinal] = codexLineOf(m)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return scan, byOrdinal
	}
	first, active := read(session.ScanOptions{})
	for n := 0; len(lines) < len(active); n++ {
		if l, ok := active[n]; ok {
			lines = append(lines, l)
		}
	}
	_, branched := read(session.ScanOptions{Tree: first.Tree})
	n := 0
	for i := range lines {
		for ; ; n++ {
			if _, ok := active[n]; ok {
				break
			}
		}
		b, ok := branched[n]
		if lines[i].Branch = b.Branch; !ok {
			lines[i].Branch = "repeated"
		}
		n++
	}
	return first, lines
}

// sameLines compares a scan with the oracle. What the second pass leaves out
// must be abandoned, and be said by an active message too.
func sameLines(t codexReporter, want, got []codexLine) {
	t.Helper()
	active := map[string]bool{}
	for _, l := range want {
		if l.Branch == "active" {
			active[l.Role+"\x00"+l.Text] = true
		}
	}
	for i := range got {
		if got[i].Branch == "repeated" && i < len(want) && want[i].Branch == "abandoned" && active[got[i].Role+"\x00"+got[i].Text] {
			got[i].Branch = "abandoned"
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("messages (-oracle +scan):\n%s", diff)
	}
}

// Every sample of Codex says what encoding/json finds in it.
func TestCodexScanSamplesLikeTheOracle(t *testing.T) {
	root, files := samples.Beside(t, "samples"), 0
	for _, dir := range []string{"codex", "real/codex", "_malformed"} {
		err := filepath.WalkDir(filepath.Join(root, filepath.FromSlash(dir)), func(name string, entry fs.DirEntry, err error) error {
			log := strings.Contains(name, ".jsonl") && (dir != "_malformed" || strings.HasPrefix(entry.Name(), "codex"))
			if err != nil || entry.IsDir() || !log || entry.Name() == "history.jsonl" || entry.Name() == "session_index.jsonl" {
				return err
			}
			files++
			t.Run(entry.Name(), func(t *testing.T) {
				text := codexReadLog(t, name)
				_, got := codexScanned(t, text)
				sameLines(t, oracle(text), got)
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if files < 24 {
		t.Errorf("only %d samples", files)
	}
}

// What a rollout consists of, in every era, mixed at will: the scan and the
// oracle agree on what is said, and the branches too.
func TestCodexScanLikeTheOracle(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		lines := rapid.SliceOfN(rapid.SampledFrom(vocabulary), 0, 30).Draw(r, "lines")
		end := rapid.SampledFrom([]string{"\n", "\r\n", "\n\n"}).Draw(r, "end")
		log := []byte(strings.Join(append([]string{vocabulary[0]}, lines...), end) + end)
		r.Logf("log:\n%s", log)
		_, got := codexScanned(r, log)
		sameLines(r, oracle(log), got)
	})
}

func FuzzCodexScan(f *testing.F) {
	f.Add(strings.Join(vocabulary, "\n"))
	for _, v := range vocabulary {
		f.Add(v)
	}
	f.Fuzz(func(t *testing.T, text string) {
		log := []byte(vocabulary[0] + "\n")
		for _, l := range strings.Split(text, "\n") {
			var o map[string]any
			if json.Unmarshal([]byte(l), &o) != nil || strings.ContainsAny(l, "\x00\uFEFF") || plainOnly(l) {
				continue // salvage is tested elsewhere, and the oracle knows no duplicate keys
			}
			clean, err := json.Marshal(o)
			if err != nil {
				t.Fatal(err)
			}
			log = append(append(log, clean...), '\n')
		}
		_, got := codexScanned(t, log)
		sameLines(t, oracle(log), got)
	})
}

// plainOnly keeps the fuzzer to the fields that the oracle reads in full.
func plainOnly(l string) bool {
	for _, odd := range []string{"tools", "refusal", "exit_code", "session_id", "created_at", "<", "# AGENTS", "reasoning", "\"content\"", "image_url", "xit", "_res", "_out"} {
		if strings.Contains(l, odd) {
			return true
		}
	}
	return false
}

func codexEntry(kind, payload string) string {
	return fmt.Sprintf(`{"timestamp":"2026-07-20T09:00:00.123Z","type":%q,"payload":%s}`, kind, payload)
}

// vocabulary is one of each kind of line.
var vocabulary = []string{
	codexEntry("session_meta", `{"id":"019f8a11","cwd":"/w"}`),
	codexEntry("turn_context", `{"model":"gpt"}`),
	codexEntry("world_state", `{"full":true}`),
	codexEntry("token_usage_record", `{"usage":{"total_tokens":10}}`),
	codexEntry("response_item", `{"type":"message","role":"user","content":[{"type":"input_text","text":"one"}]}`),
	codexEntry("response_item", `{"type":"message","role":"user","content":[{"type":"input_text","text":"two"},{"type":"input_image","image_url":"data:image/png;base64,AAAA"}]}`),
	codexEntry("response_item", `{"type":"message","role":"user","content":[{"type":"input_image","image_url":"data:image/png;base64,AAAA"}]}`),
	codexEntry("response_item", `{"type":"message","role":"user","content":[{"type":"input_text","text":"<environment_context>x</environment_context>"}]}`),
	codexEntry("response_item", `{"type":"message","role":"user","content":[{"type":"input_text","text":"x"}],"internal_chat_message_metadata_passthrough":{"content_item_kinds":["environments.environment_context"]}}`),
	codexEntry("response_item", `{"type":"message","role":"user","content":[{"type":"input_text","text":"y"}],"internal_chat_message_metadata_passthrough":{"content_item_kinds":["a","user.text"]}}`),
	codexEntry("response_item", `{"type":"message","role":"developer","content":[{"type":"input_text","text":"rules"}]}`),
	codexEntry("response_item", `{"type":"message","role":"assistant","content":[{"type":"output_text","text":"one"}]}`),
	codexEntry("response_item", `{"type":"message","role":"assistant","content":[{"type":"output_text","text":"  two \n"},{"type":"output_text","text":"three"}]}`),
	codexEntry("response_item", `{"type":"message","role":"critic","content":"odd"}`),
	codexEntry("response_item", `{"type":"reasoning","summary":[{"type":"summary_text","text":"hm"}],"content":null}`),
	codexEntry("response_item", `{"type":"function_call","name":"shell","arguments":"{\"command\":[\"ls\"]}","call_id":"c1"}`),
	codexEntry("response_item", `{"type":"function_call","name":"shell","arguments":"{\"command\":","call_id":"c2"}`),
	codexEntry("response_item", `{"type":"function_call","name":"shell","arguments":null,"call_id":"c2"}`),
	codexEntry("response_item", `{"type":"custom_tool_call","name":"apply_patch","input":"*** Begin Patch\n*** End Patch","call_id":"c3"}`),
	codexEntry("response_item", `{"type":"local_shell_call","call_id":"c4","action":{"type":"exec","command":["ls"]}}`),
	codexEntry("response_item", `{"type":"web_search_call","action":{"type":"search","query":"rye"}}`),
	codexEntry("response_item", `{"type":"function_call_output","call_id":"c1","output":"Exit code: 1\nOutput:\nno"}`),
	codexEntry("response_item", `{"type":"function_call_output","call_id":"c1","output":"{\"output\":\"no\",\"metadata\":{\"exit_code\":2}}"}`),
	codexEntry("response_item", `{"type":"function_call_output","call_id":"c1","output":{"type":"input_text","text":"a"}}`),
	codexEntry("response_item", `{"type":"custom_tool_call_output","call_id":"c3","output":[{"type":"input_text","text":"a"},{"type":"input_text","text":"b"}]}`),
	codexEntry("response_item", `{"type":"ghost_snapshot","ghost_commit":{"id":"1"}}`),
	codexEntry("event_msg", `{"type":"user_message","message":"one"}`),
	codexEntry("event_msg", `{"type":"agent_message","message":"two"}`),
	codexEntry("event_msg", `{"type":"item_completed","item":{"type":"UserMessage","id":"u","content":[{"type":"text","text":"one"}]}}`),
	codexEntry("event_msg", `{"type":"item_completed","item":{"type":"AgentMessage","id":"a","content":[{"type":"Text","text":"two"}]}}`),
	codexEntry("event_msg", `{"type":"item_completed","item":{"type":"CommandExecution","id":"e"}}`),
	codexEntry("event_msg", `{"type":"token_count","info":{"last_token_usage":{"total_tokens":5},"total_token_usage":{"total_tokens":9}}}`),
	codexEntry("event_msg", `{"type":"thread_rolled_back","num_turns":1}`),
	codexEntry("event_msg", `{"type":"thread_rolled_back","num_turns":2}`),
	codexEntry("event_msg", `{"type":"turn_aborted","reason":"interrupted"}`),
	codexEntry("compacted", `{"message":"so far","replacement_history":[{"type":"message","role":"user","content":[{"type":"input_text","text":"one"}]}]}`),
	`{"timestamp":"2026-07-20T09:00:00Z","type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"so far"}]},"metadata":{"compaction_output":true}}`,
	`{"record_type":"state"}`,
	`{"id":"a","timestamp":"2025-09-10T12:00:00Z","instructions":null,"git":{}}`,
	`{"type":"message","role":"user","content":[{"type":"input_text","text":"bare"}]}`,
	`{"type":"message","role":"assistant","content":[{"type":"output_text","text":"bare too"}]}`,
	`{"type":"function_call","name":"shell","arguments":"{}","call_id":"c9"}`,
	`{"type":"function_call_output","call_id":"c9","output":"done"}`,
	`{"timestamp":"2025-09-10T12:00:00Z","role":"user","content":"plain"}`,
	codexEntry("something_new", `{"a":1}`),
	`{"type":"message","id":"00000001","message":{"role":"user","content":"of pi"}}`,
	`42`, `not JSON`, ``,
}
