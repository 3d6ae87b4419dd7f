package e2e_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sessctl/sessctl/internal/crashloop"
	"github.com/sessctl/sessctl/internal/tier"
)

// A home for fault tests of what needs more than a home: a gateway, or doctor's
// view of what a killed run left. All commands and all faults are in
// internal/faults. A short deterministic share runs always; all of it with
// SESSCTL_LONG=1 (make test-long).

const crashSession = "5f0c1c2e-6d0a-4f57-9d2b-0c8e1f1a2b3c"

// scenario is one prepared home with one session to compact.
type scenario struct {
	t       *testing.T
	program string
	runtime string
	dir     string
	log     string
	lines   []string
	// temporary is the temporary directory, if not the test's.
	temporary string
	extra     []string // arguments
}

func newScenario(t *testing.T, program, runtime string) *scenario {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := &scenario{t: t, program: program, runtime: runtime, dir: dir, lines: crashLines(runtime)}
	s.log = filepath.Join(dir, "home/.openclaw/agents/a/sessions", crashSession+".jsonl")
	if runtime == "pi" {
		s.log = filepath.Join(dir, "home/.pi/agent/sessions/--work-a--", "2026-03-01T10-00-00-000Z_"+crashSession+".jsonl")
	} else {
		s.write(filepath.Join(filepath.Dir(s.log), "sessions.json"), crashIndex)
	}
	s.write(s.log, strings.Join(s.lines, "\n")+"\n")
	return s
}

const crashIndex = `{
  "agent:a:main": {
    "sessionId": "` + crashSession + `",
    "updatedAt": 1772359300000,
    "label": "desk",
    "contextTokens": 200000,
    "totalTokens": 160000,
    "totalTokensFresh": true
  },
  "agent:a:cron:daily": { "sessionId": "00000000-0000-4000-8000-000000000001", "updatedAt": 1 }
}
`

func (s *scenario) write(path, text string) {
	s.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
	old := time.Now().Add(-2 * time.Hour)
	if err := os.Chtimes(path, old, old); err != nil {
		s.t.Fatal(err)
	}
}

// crashLines is a small session in which every line is different.
func crashLines(runtime string) []string {
	lines := []string{fmt.Sprintf(`{"type":"session","version":3,"id":"%s","timestamp":"2026-03-01T10:00:00.000Z","cwd":"/repo/a"}`, crashSession)}
	parent := "null"
	for i := range 24 {
		id := fmt.Sprintf("%08x", 0xa0000000+i)
		at := fmt.Sprintf("2026-03-01T10:%02d:00.000Z", i)
		body := fmt.Sprintf(`"role":"user","content":[{"type":"text","text":"question %d about the %s importer"}]`, i, runtime)
		if i%2 == 1 {
			body = fmt.Sprintf(`"role":"assistant","content":[{"type":"text","text":"answer %d: port %d"}],"usage":{"input":1,"output":2,"cacheRead":3,"cacheWrite":4,"totalTokens":%d},"stopReason":"stop"`, i, 7000+i, 100+i)
		}
		lines = append(lines, fmt.Sprintf(`{"type":"message","id":"%s","parentId":%s,"timestamp":"%s","message":{%s}}`, id, parent, at, body))
		parent = `"` + id + `"`
	}
	return lines
}

func (s *scenario) env() []string {
	temporary := os.Getenv("TMPDIR")
	if s.temporary != "" {
		temporary = s.temporary
	}
	return []string{"HOME=" + filepath.Join(s.dir, "home"), "XDG_DATA_HOME=" + filepath.Join(s.dir, "data"), "PATH=" + os.Getenv("PATH"), "TMPDIR=" + temporary}
}

func (s *scenario) args() []string {
	return append([]string{"compact", "--runtime", s.runtime, "--agent", s.agent(), "--force", "--strategy", "rotate"}, s.extra...)
}

func (s *scenario) agent() string {
	if s.runtime == "pi" {
		return "work-a"
	}
	return "a"
}

func (s *scenario) run(args ...string) (int, string) {
	s.t.Helper()
	cmd := exec.Command(s.program, args...)
	cmd.Env = s.env()
	out, err := cmd.CombinedOutput()
	if err == nil {
		return 0, string(out)
	}
	if exit, ok := err.(*exec.ExitError); ok {
		return exit.ExitCode(), string(out)
	}
	s.t.Fatal(err)
	return -1, ""
}

// trace runs the compaction under the harness.
func (s *scenario) trace(reads bool, decide func(crashloop.Call) crashloop.Fault) crashloop.Outcome {
	s.t.Helper()
	got, err := crashloop.Run(crashloop.Options{
		Args: append([]string{s.program}, s.args()...), Env: s.env(), Dir: s.dir, Under: s.dir, Reads: reads, Decide: decide,
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return got
}

// everyLineIsSomewhere is promise 1: each line of the source stands in the
// live log, in a log that was moved aside, or in an archive.
func (s *scenario) everyLineIsSomewhere(extra ...string) {
	s.t.Helper()
	have := map[string]int{}
	err := filepath.WalkDir(s.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.Contains(d.Name(), ".jsonl") || strings.HasPrefix(d.Name(), ".") {
			return err
		}
		data, err := os.ReadFile(path)
		for _, line := range bytes.Split(data, []byte("\n")) {
			have[string(line)]++
		}
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
	for _, line := range append(s.lines, extra...) {
		if have[line] == 0 {
			s.t.Fatalf("lost: %s", line)
		}
	}
}

// indexIsWhole checks that the runtime's index can be read and that the entry
// of another session is what it was.
func (s *scenario) indexIsWhole() {
	s.t.Helper()
	if s.runtime != "openclaw" {
		return
	}
	data, err := os.ReadFile(filepath.Join(filepath.Dir(s.log), "sessions.json"))
	if err != nil {
		s.t.Fatal(err)
	}
	var index map[string]map[string]any
	if err := json.Unmarshal(data, &index); err != nil {
		s.t.Fatalf("sessions.json: %v", err)
	}
	served := s.temporary != "" // the gateway writes the index as it likes
	if !served && !bytes.Contains(data, []byte(`"agent:a:cron:daily": { "sessionId": "00000000-0000-4000-8000-000000000001", "updatedAt": 1 }`)) {
		s.t.Fatalf("another entry was changed: %s", data)
	}
	if index["agent:a:main"]["label"] != "desk" {
		s.t.Fatalf("the session's label is gone: %s", data)
	}
}

// settles runs the command again, twice, and checks the end state: rotated,
// verified, remembered exactly once, nothing temporary left.
func (s *scenario) settles(chunks int) {
	s.t.Helper()
	if code, out := s.run(s.args()...); code != 0 {
		s.t.Fatalf("the next run: exit %d: %s", code, out)
	}
	if code, out := s.run(s.args()...); code != 0 {
		s.t.Fatalf("the run after it: exit %d: %s", code, out)
	}
	s.everyLineIsSomewhere()
	s.indexIsWhole()
	if _, err := os.Stat(s.log); !os.IsNotExist(err) {
		s.t.Fatalf("the log was not rotated: %v", err)
	}
	if code, out := s.run("archives", "verify"); code != 0 {
		s.t.Fatalf("archives verify: exit %d: %s", code, out)
	}
	s.remembered(chunks)
	s.nothingTemporary()
}

func (s *scenario) remembered(chunks int) {
	s.t.Helper()
	cmd := exec.Command(s.program, "recall", "--json", "--rank", "text", "--limit", "100", "importer port")
	cmd.Env = s.env()
	out, err := cmd.Output()
	if err != nil {
		s.t.Fatalf("recall: %v", err)
	}
	var doc struct {
		Hits []struct{ Category, ID string }
	}
	if err := json.Unmarshal(out, &doc); err != nil {
		s.t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, h := range doc.Hits {
		if h.Category == "session_history" {
			seen[h.ID] = true
		}
	}
	if len(seen) != chunks {
		s.t.Fatalf("memory has %d chunks, want %d", len(seen), chunks)
	}
}

// nothingTemporary checks that no temporary file is left. Several programs write
// to the outbox at a time: what is young there may be somebody's, and stays.
func (s *scenario) nothingTemporary() {
	s.t.Helper()
	err := filepath.WalkDir(s.dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !strings.Contains(path, "/sessctl/outbox/") && (strings.HasSuffix(path, ".tmp") || strings.Contains(path, "/journal/")) {
			s.t.Fatalf("left behind: %s", path)
		}
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

// crashChunks is how many chunks crashLines makes: blocks of four messages.
const crashChunks = 6

// stride says which share of all calls a run tries: every one with
// SESSCTL_LONG, a fixed few with SESSCTL_FAULTS, else half of those.
func stride(calls, share int) int {
	if tier.Long() {
		return 1
	}
	if tier.Smoke() {
		share /= 2
	}
	return max(1, calls/share)
}

func at(n int, fault crashloop.Fault) func(crashloop.Call) crashloop.Fault {
	return func(c crashloop.Call) crashloop.Fault {
		if c.N == n {
			return fault
		}
		return crashloop.Fault{}
	}
}

func last(calls []crashloop.Call) any {
	if len(calls) == 0 {
		return "none"
	}
	return calls[len(calls)-1]
}
