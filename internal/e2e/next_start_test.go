package e2e_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// start is what a runtime's own next start does: it looks for a session and returns the
// path of its log, or of the index that names it; "" if it finds none. id is that of
// the session that was compacted.
type start func(home, id string) (found string)

// switched is a session that is compacted by a strategy, and how its runtime looks for
// one then.
type switched struct {
	runtime, strategy, what string
	plant                   func(t *testing.T, home string) (log string)
	start                   start
}

// switches are all runtimes whose sessions sessctl changes, by each strategy that they
// have. A new strategy needs a row here.
var switches = []switched{
	{"openclaw", "rotate", "", sessionsOf("openclaw", 1, 2*time.Hour), startOpenClaw},
	{"openclaw", "overlay", "", sessionsOf("openclaw", 1, 2*time.Hour), startOpenClaw},
	{"pi", "overlay", "", sessionsOf("pi", 2, 2*time.Hour), continuePi},
	{"pi", "rotate", "the newest", sessionsOf("pi", 2, 2*time.Hour), continuePi},
	{"pi", "rotate", "an older one", sessionsOf("pi", 2, -2*time.Hour), openByID(".pi/agent/sessions/*/*.jsonl")},
	{"omp", "overlay", "", sessionsOf("omp", 2, 2*time.Hour), continueOMP},
	{"omp", "rotate", "the newest", sessionsOf("omp", 2, 2*time.Hour), continueOMP},
	{"omp", "rotate", "an older one", sessionsOf("omp", 2, -2*time.Hour), openByID(".omp/agent/sessions/*/*.jsonl")},
	{"omp", "trim", "", copied("omp", ".omp/agent/sessions/-garden/*.jsonl"), continueOMP},
	{"agent", "overlay", "", sessionsOf("agent", 1, 2*time.Hour), openByID(".agent/sessions/*/session.jsonl")},
	{"agent", "rotate", "", sessionsOf("agent", 1, 2*time.Hour), openByID(".agent/sessions/*/session.jsonl")},
	{"annabelle", "rewrite", "", sessionsOf("annabelle", 1, 2*time.Hour), openByID(".annabelle/sessions/*/*.jsonl")},
	{"annabelle", "rotate", "", sessionsOf("annabelle", 1, 2*time.Hour), openByID(".annabelle/sessions/*/*.jsonl")},
	{"macstats", "rewrite", "a used one", sessionsOf("macstats", 1, 10*time.Minute), resumeMacStats},
	{"macstats", "rewrite", "one that nobody uses", sessionsOf("macstats", 1, 2*time.Hour), resumeMacStats},
	{"macstats", "rotate", "", sessionsOf("macstats", 1, 2*time.Hour), resumeMacStats},
	{"macstats", "rotate", "with an older file", sessionsOf("macstats", 2, 2*time.Hour), resumeMacStats},
	{"qwen", "trim", "", copied("qwen", ".qwen/projects/*/chats/*.jsonl"), openByID(".qwen/projects/*/chats/*.jsonl")},
	{"copilot", "trim", "", plantCopilot, openByID(".copilot/session-state/*/events.jsonl")},
	{"yarnnn", "annotate", "", nil, nil}, // a column of a table: the session stays where it is
}

// startOpenClaw is OpenClaw of the file era: the entry of a session's key names its id,
// and the first turn makes its transcript (docs/dev/formats.md, "openclaw").
func startOpenClaw(home, _ string) string {
	index := filepath.Join(home, ".openclaw/agents/a0/sessions/sessions.json")
	var entries map[string]struct{ SessionID string }
	text, err := os.ReadFile(index)
	if err != nil || json.Unmarshal(text, &entries) != nil || entries["agent:a0:main"].SessionID == "" {
		return ""
	}
	return index
}

// continuePi is `pi -c`: of the logs of the directory that begin with a header within
// 512 bytes, the one that was written last (findMostRecentSession in pi's
// session-manager).
func continuePi(home, _ string) string {
	return newestOf(filepath.Join(home, ".pi/agent/sessions/*/*.jsonl"), func(head []byte) bool {
		first, _, _ := bytes.Cut(head[:min(len(head), 512)], []byte("\n"))
		return isHeader(first)
	})
}

// continueOMP is `omp -c`: as pi, with a slot for the title before the header.
func continueOMP(home, _ string) string {
	return newestOf(filepath.Join(home, ".omp/agent/sessions/*/*.jsonl"), func(head []byte) bool {
		lines := bytes.SplitN(head, []byte("\n"), 3)
		return len(lines) > 1 && isHeader(lines[1])
	})
}

func isHeader(line []byte) bool {
	var h struct{ Type, ID string }
	return json.Unmarshal(line, &h) == nil && h.Type == "session" && h.ID != ""
}

// openByID is a start that names a session: its log is the one of that name, of the
// directory of that name, or with that id in its header (`pi --session ID`, which else
// says "No session found matching", `omp -r ID`).
func openByID(pattern string) start {
	return func(home, id string) string {
		logs, _ := filepath.Glob(filepath.Join(home, pattern))
		for _, log := range logs {
			text, err := os.ReadFile(log)
			if strings.Contains(log, id) || err == nil && bytes.Contains(text[:min(len(text), 4096)], []byte(`"id":"`+id+`"`)) {
				return log
			}
		}
		return ""
	}
}

// resumeMacStats is mac-stats: the newest file of a conversation, also one without
// messages.
func resumeMacStats(home, _ string) string {
	return newestOf(filepath.Join(home, ".mac-stats/session/session-memory-77-*.md"), func([]byte) bool { return true })
}

func newestOf(pattern string, takes func(text []byte) bool) (found string) {
	logs, _ := filepath.Glob(pattern)
	var newest time.Time
	for _, log := range logs {
		text, err := os.ReadFile(log)
		info, statErr := os.Stat(log)
		if err == nil && statErr == nil && takes(text) && !info.ModTime().Before(newest) {
			found, newest = log, info.ModTime()
		}
	}
	return found
}

// sessionsOf makes so many sessions of a runtime beside each other. The log to be compacted
// was used so long ago; the others before it, or after it if the time is negative.
func sessionsOf(runtime string, logs int, ago time.Duration) func(t *testing.T, home string) string {
	return func(t *testing.T, home string) (log string) {
		var own stranger
		for _, s := range strangers() {
			if s.name == runtime || s.name == "pi" && runtime == "openclaw" {
				own = s
			}
		}
		for i := range logs {
			path := filepath.Join(home, defaults[runtime](0, i))
			if runtime == "macstats" {
				path = filepath.Join(home, fmt.Sprintf(".mac-stats/session/session-memory-77-2026021%d-093015-x.md", 5-i))
			}
			plant(t, path, bytes.ReplaceAll(own.text, []byte(`"id":"`+own.name+`-1"`), []byte(`"id":"`+uuid(i)+`"`)))
			at := time.Now().Add(-ago.Abs() - time.Duration(i)*ago/4)
			if err := os.Chtimes(path, at, at); err != nil {
				t.Fatal(err)
			}
			if i == 0 {
				log = path
			}
		}
		switch runtime {
		case "openclaw":
			plant(t, filepath.Join(filepath.Dir(log), "sessions.json"), fmt.Appendf(nil, `{"agent:a0:main":{"sessionId":%q,"updatedAt":1}}`, uuid(0)))
		case "agent":
			plant(t, filepath.Join(filepath.Dir(log), "metadata.json"), []byte(`{"messageCount":40}`))
		}
		return log
	}
}

// copied is a home of the directory testdata.
func copied(name, pattern string) func(t *testing.T, home string) string {
	return func(t *testing.T, home string) string {
		t.Helper()
		if err := os.CopyFS(home, os.DirFS(filepath.Join(module, "testdata", name))); err != nil {
			t.Fatal(err)
		}
		logs, err := filepath.Glob(filepath.Join(home, pattern))
		if err != nil || len(logs) != 1 {
			t.Fatal(logs, err)
		}
		old := time.Now().Add(-2 * time.Hour)
		if err := os.Chtimes(logs[0], old, old); err != nil {
			t.Fatal(err)
		}
		return logs[0]
	}
}

func plantCopilot(t *testing.T, home string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(module, "testdata/copilot/pottery.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(home, ".copilot/session-state/5e55c0de-0000-4000-8000-00000000cafe/events.jsonl")
	plant(t, log, text)
	return log
}

// After every switch the runtime's own next start finds a session, or the plan and the
// run have said that it will not.
func TestNextStart(t *testing.T) {
	program := buildProgram(t)
	for _, s := range switches {
		if s.plant == nil {
			continue
		}
		t.Run(strings.TrimSpace(s.runtime+" "+s.strategy+" "+s.what), func(t *testing.T) {
			t.Parallel()
			home := t.TempDir()
			log := s.plant(t, home)
			id := sessionsAt(t, program, home)[log]
			if s.start(home, id) == "" {
				t.Fatalf("session %q is not found before", id)
			}
			args := append([]string{"compact", "--session", id, "--force", "--json"}, by(s.strategy)...)
			plan, _ := switchIn(t, program, home, append(args, "--dry-run")...)
			done, said := switchIn(t, program, home, args...)
			found := s.start(home, id)
			switch {
			case plan.Outcome != "planned" || done.Outcome != "compacted" || done.Strategy != s.strategy:
				t.Fatalf("planned %+v, done %+v: %s", plan, done, said)
			case plan.NextStart != done.NextStart:
				t.Errorf("the plan says %q, the run %q", plan.NextStart, done.NextStart)
			case found == "" && plan.NextStart == "":
				t.Error("the next start finds no session, and nobody said so")
			case found != "" && plan.NextStart != "":
				t.Errorf("the next start finds %s, and the plan says %q", found, plan.NextStart)
			case found == "" && !strings.Contains(said, plan.NextStart):
				t.Errorf("the run does not say %q: %s", plan.NextStart, said)
			}
		})
	}
}

// switchIn compacts the one session of a home, and returns what the document and the
// notes say of it.
func switchIn(t *testing.T, program, home string, args ...string) (s struct {
	Outcome, Strategy string
	NextStart         string `json:"next_start"`
}, notes string,
) {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	var doc struct {
		Sessions []json.RawMessage
		Notes    []struct{ Message string }
	}
	if jsonErr := json.Unmarshal(out, &doc); jsonErr != nil || len(doc.Sessions) != 1 {
		t.Fatalf("%v: %v %v: %s%s", args, err, jsonErr, out, stderr.String())
	}
	if err := json.Unmarshal(doc.Sessions[0], &s); err != nil {
		t.Fatal(err)
	}
	for _, n := range doc.Notes {
		notes += n.Message + "\n"
	}
	return s, notes
}

// Every strategy that a runtime declares has a row.
func TestEverySwitchHasARow(t *testing.T) {
	table, err := os.ReadFile(filepath.Join(module, "cmd/testdata/capabilities.txt"))
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]bool{}
	for _, s := range switches {
		rows[s.runtime+" "+s.strategy] = true
	}
	declared := 0
	for _, line := range regexp.MustCompile(`(?m)^(\w+): \[([a-z ]+)\]`).FindAllStringSubmatch(string(table), -1) {
		for _, strategy := range strings.Fields(line[2]) {
			if strategy == "none" {
				continue
			}
			if declared++; !rows[line[1]+" "+strategy] {
				t.Errorf("%s by %s has no row: what does its next start find?", line[1], strategy)
			}
		}
	}
	if declared < len(rows) {
		t.Errorf("%d strategies are declared, and there are rows for %d", declared, len(rows))
	}
}
