package cmd

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/session"
)

// flatLogs are a log of each runtime whose sessions are files, and the name that it has in
// a directory without the layout of its runtime. Those with a script
// lie in that.
var flatLogs = map[string]struct{ script, from, name string }{
	session.RuntimeOpenClaw:   {"", "sample/.openclaw/agents/librarian/sessions/33774103-7edb-4696-ba71-100ef2c253bc.jsonl", "33774103-7edb-4696-ba71-100ef2c253bc.jsonl"},
	session.RuntimePi:         {"", "sessions/pi-v3-tree.jsonl", "2026-05-04T06-12-31-114Z_0464eea1-fd05-4c0e-8971-96f56f28697f.jsonl"},
	session.RuntimeOMP:        {"", "omp/.omp/agent/sessions/-garden/2026-05-04T08-00-00-000Z_01a2f000-1111-7222-8333-444455556666.jsonl", "2026-05-04T08-00-00-000Z_01a2f000-1111-7222-8333-444455556666.jsonl"},
	session.RuntimeAgent:      {"agent", "home/.agent/sessions/01JKTS6Q2N8R3Z5V7W9XYB4CDE/session.jsonl", "session.jsonl"},
	session.RuntimeAnnabelle:  {"annabelle", "home/.annabelle/sessions/annabelle/8304042211.jsonl", "8304042211.jsonl"},
	session.RuntimeMacStats:   {"macstats", "home/.mac-stats/session/session-memory-77-20260214-093015-disks.md", "session-memory-77-20260214-093015-disks.md"},
	session.RuntimeCodex:      {"", "sessions/codex/sessions/2026/05/12/rollout-2026-05-12T08-00-00-019e1a2b-3c4d-7e5f-8a6b-0c1d2e3f4a5b.jsonl", "rollout-2026-05-12T08-00-00-019e1a2b-3c4d-7e5f-8a6b-0c1d2e3f4a5b.jsonl"},
	session.RuntimeClaude:     {"", "claude/.claude/projects/-work-bakery/45b855fd-82b2-4a6a-a585-f64ebc0e1d34.jsonl", "45b855fd-82b2-4a6a-a585-f64ebc0e1d34.jsonl"},
	session.RuntimeGemini:     {"", "sessions/gemini/tmp/garden/chats/session-2026-06-02T08-00-4e5f6a7b.jsonl", "session-2026-06-02T08-00-4e5f6a7b.jsonl"},
	session.RuntimeQwen:       {"", "qwen/.qwen/projects/-home-lea-bakery/chats/5b0c1d2e-3f40-4a51-8b62-7c83d94ea5f6.jsonl", "5b0c1d2e-3f40-4a51-8b62-7c83d94ea5f6.jsonl"},
	session.RuntimeCline:      {"", "cline/.cline/data/sessions/1772359200000_k3ln0/1772359200000_k3ln0.messages.json", "1772359200000_k3ln0.messages.json"},
	session.RuntimeClineTasks: {"", "cline-tasks/.config/Code/User/globalStorage/saoudrizwan.claude-dev/tasks/1772100000000/api_conversation_history.json", "api_conversation_history.json"},
	session.RuntimeCopilot:    {"", "copilot/pottery.jsonl", "pottery.jsonl"},
	session.RuntimeExchange:   {"exchange", "mill.json", "mill-0001.json"},
	session.RuntimeCursor:     {"", "cursor/.cursor/projects/home-lea-smithy/agent-transcripts/4b1f6f0a-93c7-4f0e-8f55-0c7a4d1e2b33/4b1f6f0a-93c7-4f0e-8f55-0c7a4d1e2b33.jsonl", "4b1f6f0a-93c7-4f0e-8f55-0c7a4d1e2b33.jsonl"},
	session.RuntimeKimi:       {"", "kimi/.kimi-code/sessions/wd_smithy_4557ee6a6090/session_7d1c0a52-6b0e-4c55-9a3e-2f4b8d6e1b01/agents/main/wire.jsonl", "wire.jsonl"},
	session.RuntimeGrok:       {"", "grok/.grok/sessions/%2Fhome%2Flea%2Fsmithy/01a2247f-49cd-7ea3-9883-2bb6b8394801/updates.jsonl", "updates.jsonl"},

	session.RuntimeAntigravity: {"", "antigravity/.gemini/antigravity-cli/brain/7d1c0a52-6b0e-4c55-9a3e-2f4b8d6e1c01/.system_generated/logs/transcript_full.jsonl", "transcript_full.jsonl"},

	session.RuntimeDroid: {"", "droid/.factory/sessions/-home-lea-smithy/7d1c0a52-6b0e-4c55-9a3e-2f4b8d6e1a01.jsonl", "7d1c0a52-6b0e-4c55-9a3e-2f4b8d6e1a01.jsonl"},
}

// A directory of logs without the layout of their runtime can be named as a store of
// each runtime whose sessions are files.
func TestFlatDirectories(t *testing.T) {
	databases := " opencode kilo hermes goose yarnnn "
	for _, kind := range workspace.Runtimes() {
		if strings.Contains(databases, " "+kind.Name+" ") {
			continue
		}
		for _, name := range []string{"kept-logs", "sessions"} { // the second is a directory of some runtimes
			t.Run(kind.Name+"/"+name, func(t *testing.T) {
				log, ok := flatLogs[kind.Name]
				if !ok {
					t.Fatal("no sample")
				}
				dir := filepath.Join(t.TempDir(), name)
				text := flatText(t, log.script, log.from)
				if err := errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(filepath.Join(dir, log.name), text, 0o600)); err != nil {
					t.Fatal(err)
				}
				flatStore(t, kind.Name, dir, text)
			})
		}
	}
}

// flatStore asks the commands about a store of one session.
func flatStore(t *testing.T, runtime, dir string, text []byte) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	for _, variable := range []string{"XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"} {
		t.Setenv(variable, "")
	}
	run := func(document any, args ...string) {
		t.Helper()
		var out, errOut bytes.Buffer
		exit := Main(append(args, "--json", "--store", runtime+"="+dir), strings.NewReader(""), &out, &errOut)
		if exit != 0 {
			t.Fatalf("%v ends with %d: %s%s", args, exit, out.String(), errOut.String())
		}
		if err := json.Unmarshal(out.Bytes(), document); err != nil {
			t.Fatal(err)
		}
	}
	var sizes, planned struct {
		Sessions []struct {
			Runtime, Session, Outcome, Reason string
			Messages                          int
		}
	}
	if run(&sizes, "sizes"); len(sizes.Sessions) != 1 || sizes.Sessions[0].Runtime != runtime || sizes.Sessions[0].Messages == 0 {
		t.Fatalf("sizes shows %+v", sizes.Sessions)
	}
	if run(&planned, "compact", "--all", "--force", "--dry-run", "--quiet-period", "0s"); len(planned.Sessions) != 1 || planned.Sessions[0].Outcome != "planned" && planned.Sessions[0].Outcome != "nothing-to-do" {
		t.Errorf("compact plans %+v", planned.Sessions)
	}
	var archived struct{ Archived []struct{ ID string } }
	run(&archived, "archive", "--all", "--remember")
	var memory struct{ Records int }
	if run(&memory, "memory", "verify"); memory.Records == 0 {
		t.Error("nothing is remembered")
	}
	var shown struct{ Archives []struct{ Bytes int64 } }
	if run(&shown, "archives", "list"); len(shown.Archives) != 1 || shown.Archives[0].Bytes != int64(len(text)) {
		t.Errorf("archived are %+v, and the log has %d bytes", shown.Archives, len(text))
	}
}

// flatText is a log of the test data, or of a script.
func flatText(t *testing.T, script, from string) []byte {
	t.Helper()
	if script == "" {
		text, err := os.ReadFile(filepath.Join("..", "testdata", filepath.FromSlash(from)))
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	text, err := os.ReadFile(filepath.Join("..", "testdata", "script", script+".txtar"))
	if err != nil {
		t.Fatal(err)
	}
	_, text, ok := bytes.Cut(text, []byte("\n-- "+from+" --\n"))
	if !ok {
		t.Fatal("no such file in the script")
	}
	if end := bytes.Index(text, []byte("\n-- ")); end >= 0 {
		text = text[:end+1]
	}
	return text
}
