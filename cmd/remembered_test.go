package cmd

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sessctl/sessctl/internal/tier"
)

// Every text of every sample is in memory, or a receipt counts what is not. What
// a log says is read here with encoding/json and none of the program's code:
// what persons, models and tools said, and why turns failed.
func TestEveryTextIsRememberedOrCounted(t *testing.T) {
	logs := samplesToRemember(t)
	if len(logs) < 6 {
		t.Fatalf("only %d logs", len(logs))
	}
	for _, path := range logs {
		t.Run(filepath.ToSlash(path), func(t *testing.T) {
			log, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			runtime, place := placeOf(log)
			outputs := outputsOf(t, path)
			memory, content := rememberLog(t, runtime, place, log, outputs)
			var missing int64
			for _, text := range append(textsOf(runtime, log), slices.Collect(maps.Values(outputs))...) {
				for _, piece := range pieces(text) {
					if !holdsPiece(memory, piece) {
						missing += int64(len(piece))
						if missing < 1000 {
							t.Logf("not in memory: %q", piece)
						}
					}
				}
			}
			if counted := content.LeftOut + content.Cut + 200*int64(content.Redacted); missing > counted {
				t.Errorf("%d bytes are not in memory, %d are counted", missing, counted)
			}
		})
	}
}

// samplesToRemember lists the logs of the repository, and those beside it: of
// these every eighth, but all of them with SESSCTL_FAULTS=1 (make test-faults).
func samplesToRemember(t *testing.T) (logs []string) {
	t.Helper()
	shared := filepath.Join("..", "..", "shared")
	for _, root := range []string{
		filepath.Join("..", "testdata", "sample"), filepath.Join("..", "testdata", "claude"), filepath.Join("..", "testdata", "sessions"),
		filepath.Join(shared, "samples", "real"), filepath.Join(shared, "samples", "claude-code", "d-kimuson"), filepath.Join(shared, "samples", "pi", "derived"),
		filepath.Join(shared, "samples-newer", "claude-code-2.1.330"), filepath.Join(shared, "samples-newer", "codex-0.169.0"),
		filepath.Join(shared, "samples-newer", "gemini-cli-0.61.0"), filepath.Join(shared, "samples-newer", "pi-0.73.1"),
		filepath.Join(shared, "samples-newer", "openclaw-2026.7.1"), filepath.Join(shared, "samples-newer", "openclaw-2026.9.6"),
	} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() && strings.HasSuffix(path, ".jsonl") && !strings.Contains(path, "headerless") && !strings.Contains(path, "alive-rotate") {
				logs = append(logs, path)
			}
			if os.IsNotExist(err) {
				return nil
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if !tier.Smoke() {
		return logs
	}
	seen := 0
	return slices.DeleteFunc(logs, func(path string) bool {
		if strings.HasPrefix(path, shared) {
			seen++
		}
		return strings.HasPrefix(path, shared) && seen%8 != 0
	})
}

// outputsOf are the outputs that lie in files beside a log of Claude Code, by their
// names.
func outputsOf(t *testing.T, log string) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(strings.TrimSuffix(log, ".jsonl"), "tool-results", "*"))
	if err != nil {
		t.Fatal(err)
	}
	outputs := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		outputs[filepath.Base(file)] = string(text)
	}
	return outputs
}

// placeOf tells whose log it is by its records, and where that runtime has one.
func placeOf(log []byte) (runtime, place string) {
	const id = "0a1b2c3d-4e5f-4061-8071-2a3b4c5d6e7f"
	switch {
	case bytes.Contains(log, []byte(`"session_meta"`)) || bytes.Contains(log, []byte(`"record_type"`)) || bytes.Contains(log, []byte(`"instructions"`)):
		return "codex", ".codex/sessions/2026/05/12/rollout-2026-05-12T10-00-00-019f8a11-7b21-7c3d-9e10-aabbccddeeff.jsonl"
	case bytes.Contains(log, []byte(`"projectHash"`)):
		return "gemini", ".gemini/tmp/p/chats/session-2026-11-21T03-53-a9d56203.jsonl"
	case bytes.Contains(log, []byte(`"sessionId"`)) && bytes.Contains(log, []byte(`"uuid"`)):
		return "claude", ".claude/projects/-work-x/" + id + ".jsonl"
	}
	return "pi", ".pi/agent/sessions/--w--/2026-01-09T09-00-00-000Z_" + id + ".jsonl"
}

// counted is what a receipt counts.
type counted struct {
	LeftOut  int64 `json:"left_out_bytes"`
	Cut      int64 `json:"cut_bytes"`
	Redacted int   `json:"redacted"`
}

// rememberLog puts a log and the outputs beside it into a home and remembers them.
// It returns all texts of the memory and what the receipts count.
func rememberLog(t *testing.T, runtime, place string, log []byte, outputs map[string]string) (memory string, content counted) {
	t.Helper()
	home := t.TempDir()
	t.Setenv("HOME", home)
	for _, name := range []string{"XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "CODEX_HOME", "CLAUDE_CONFIG_DIR", "GEMINI_CLI_HOME", "PI_CODING_AGENT_DIR"} {
		t.Setenv(name, "")
	}
	path, old := filepath.Join(home, place), time.Now().Add(-2*time.Hour)
	files := map[string]string{path: string(log)}
	for name, text := range outputs {
		files[filepath.Join(strings.TrimSuffix(path, ".jsonl"), "tool-results", name)] = text
	}
	for path, text := range files {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600), os.Chtimes(path, old, old)); err != nil {
			t.Fatal(err)
		}
	}
	var out, errOut bytes.Buffer
	for _, args := range [][]string{{"archive", "--all", "--remember", "--allow-root", "--json"}, {"memory", "export"}} {
		out.Reset()
		if code := Main(append([]string{"--runtime", runtime}, args...), strings.NewReader(""), &out, &errOut); code != 0 {
			t.Fatalf("%v: exit code %d\n%s", args, code, errOut.String())
		}
	}
	var texts []string
	for line := range strings.Lines(out.String()) {
		var r struct{ Text string }
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		texts = append(texts, r.Text)
	}
	receipts, err := filepath.Glob(filepath.Join(home, ".local", "share", "sessctl", "receipts", "*.json"))
	if err != nil || len(receipts) > 1+len(outputs) {
		t.Fatalf("%d receipts, %v", len(receipts), err)
	}
	for _, r := range receipts {
		var receipt struct{ Content counted }
		data, err := os.ReadFile(r)
		if err == nil {
			err = json.Unmarshal(data, &receipt)
		}
		if err != nil {
			t.Fatal(err)
		}
		content.LeftOut += receipt.Content.LeftOut
		content.Cut += receipt.Content.Cut
		content.Redacted += receipt.Content.Redacted
	}
	return oneSpace(strings.Join(texts, "\n")), content
}

var (
	spaces    = regexp.MustCompile(`\s+`)
	sequences = regexp.MustCompile(`\x1b\[[0-9;?]*[A-Za-z]|[\x00-\x08\x0b-\x1f\x7f]`)
)

func oneSpace(text string) string {
	return strings.TrimSpace(spaces.ReplaceAllString(sequences.ReplaceAllString(text, ""), " "))
}

// pieces cuts a text into pieces that fit into what two windows share.
func pieces(text string) (all []string) {
	const size = 60
	for line := range strings.Lines(text) {
		for line = oneSpace(line); len(line) > 0; {
			n := min(size, len(line))
			all = append(all, strings.TrimSpace(strings.ToValidUTF8(line[:n], "")))
			line = line[n:]
		}
	}
	return all
}

// holdsPiece also finds a piece that a window has parted, and one that stands in
// the memory as JSON.
func holdsPiece(memory, piece string) bool {
	if strings.Contains(memory, piece) {
		return true
	}
	half := len(piece) / 2
	first, second := strings.ToValidUTF8(piece[:half], ""), strings.ToValidUTF8(piece[half:], "")
	return strings.Contains(memory, strings.TrimSpace(first)) && strings.Contains(memory, strings.TrimSpace(second))
}

// textsOf reads what a log says.
func textsOf(runtime string, log []byte) (texts []string) {
	for line := range bytes.Lines(log) {
		var r map[string]any
		if json.Unmarshal(line, &r) != nil {
			continue
		}
		switch runtime {
		case "claude":
			texts = append(texts, claudeTexts(r)...)
		case "codex":
			texts = append(texts, codexTexts(r)...)
		case "gemini":
			texts = append(texts, geminiTexts(r)...)
		default:
			texts = append(texts, piTexts(r)...)
		}
	}
	return texts
}

// at returns what is at a path in nested objects, nil if nothing.
func at(v any, path ...string) any {
	for _, key := range path {
		o, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = o[key]
	}
	return v
}

// leaves returns the strings in a value that stand under one of the keys.
func leaves(v any, keys ...string) (texts []string) {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		for _, x := range v {
			texts = append(texts, leaves(x, keys...)...)
		}
	case map[string]any:
		for _, key := range keys {
			texts = append(texts, leaves(v[key], keys...)...)
		}
	}
	return texts
}

func is(v any, text ...string) bool {
	for _, x := range text {
		if v == x {
			return true
		}
	}
	return false
}

func claudeTexts(r map[string]any) (texts []string) {
	if !is(r["type"], "user", "assistant") || r["isMeta"] == true || at(r, "origin", "kind") != nil || at(r, "message", "model") == "<synthetic>" && r["isApiErrorMessage"] != true {
		return nil
	}
	for _, text := range leaves(at(r, "message", "content"), "text", "content") {
		if !strings.HasPrefix(text, "<") && !strings.Contains(text, "<system-reminder>") && !strings.HasPrefix(text, "[Request interrupted") {
			texts = append(texts, text)
		}
	}
	if _, isText := r["toolUseResult"].(string); isText && !strings.Contains(fmt.Sprint(r["toolUseResult"]), "<system-reminder>") {
		texts = append(texts, r["toolUseResult"].(string))
	}
	return append(texts, leaves(r["toolUseResult"], "stdout", "stderr")...)
}

func codexTexts(r map[string]any) (texts []string) {
	p := r["payload"]
	kind, role := at(p, "type"), at(p, "role")
	switch {
	case is(r["type"], "event_msg") && is(kind, "item_completed"):
		return leaves(at(p, "item", "aggregated_output"))
	case is(r["type"], "event_msg") && is(kind, "exec_command_end"):
		return leaves(at(p, "aggregated_output"))
	case is(r["type"], "event_msg") && is(kind, "task_complete"):
		return leaves(at(p, "error", "message"))
	case !is(r["type"], "response_item"):
		return nil
	case is(kind, "message") && is(role, "user", "assistant"):
		for _, text := range leaves(at(p, "content"), "text") {
			instructions := strings.HasPrefix(text, "<") || strings.HasPrefix(text, "# AGENTS.md") || strings.HasPrefix(text, "[vendor text removed")
			if !instructions {
				texts = append(texts, text)
			}
		}
	case is(kind, "function_call_output", "custom_tool_call_output"):
		return leaves(at(p, "output"), "content", "text")
	}
	return texts
}

func geminiTexts(r map[string]any) (texts []string) {
	switch {
	case is(r["type"], "user", "gemini", "error"):
		if id, _ := r["id"].(string); is(r["type"], "user") && len(id) == 32 {
			return nil // the context that opens a chat
		}
		for _, text := range leaves(r["content"], "text") {
			if !strings.HasPrefix(text, "<session_context>") && !strings.HasPrefix(text, "This is the Gemini CLI") {
				texts = append(texts, text)
			}
		}
	}
	calls, _ := r["toolCalls"].([]any)
	for _, call := range calls {
		results, _ := at(call, "result").([]any)
		for _, result := range results {
			texts = append(texts, leaves(at(result, "functionResponse", "response"), "output", "error")...)
		}
	}
	return texts
}

func piTexts(r map[string]any) (texts []string) {
	m := r["message"]
	if custom, _ := r["customType"].(string); strings.HasPrefix(custom, "openclaw") {
		return nil
	}
	if is(at(m, "stopReason"), "error") {
		texts = leaves(at(m, "errorMessage"))
	}
	for _, text := range leaves(at(m, "content"), "text") {
		if !is(strings.TrimSpace(text), "NO_REPLY", "HEARTBEAT_OK") {
			texts = append(texts, text)
		}
	}
	texts = append(texts, leaves(at(m, "command"))...)
	texts = append(texts, leaves(at(m, "output"))...)
	return append(texts, leaves(at(m, "details", "aggregated"))...)
}
