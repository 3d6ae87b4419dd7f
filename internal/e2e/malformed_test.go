package e2e_test

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/sessctl/sessctl/internal/tier"
)

// Every malformed log that is known, as the main session of each runtime:
// nothing panics, hangs or is deleted, and what is rotated is in the archive
// byte for byte. Without SESSCTL_FAULTS=1 (make test-faults) it is every 23rd
// pair of a log and a runtime; the packages read every log in every way.
func TestMalformedSessions(t *testing.T) {
	dir := filepath.Join(shared, "samples", "_malformed")
	files, err := filepath.Glob(filepath.Join(dir, "*.*"))
	if err != nil || len(files) == 0 {
		t.Skip("the malformed samples are not here")
	}
	program := buildProgram(t)
	for i, file := range files {
		for j, runtime := range []string{"openclaw", "pi", "codex", "gemini", "claude", "agent", "annabelle", "macstats"} {
			if tier.Smoke() && (i*8+j)%23 != 0 {
				continue // each runtime with some of the logs
			}
			t.Run(filepath.Base(file)+" "+runtime, func(t *testing.T) {
				t.Parallel() // it waits for the disk most of the time
				malformed(t, program, runtime, file)
			})
		}
	}
}

const malformedID = "33333333-3333-4333-8333-333333333333"

func malformed(t *testing.T, program, runtime, file string) {
	home := t.TempDir()
	log := filepath.Join(home, map[string]string{
		"openclaw":  ".openclaw/agents/a/sessions/" + malformedID + ".jsonl",
		"pi":        ".pi/agent/sessions/--w--/" + malformedID + ".jsonl",
		"gemini":    ".gemini/tmp/w/chats/session-2026-03-01T10-00-33333333.jsonl",
		"codex":     ".codex/sessions/2026/03/01/rollout-2026-03-01T10-00-00-" + malformedID + ".jsonl",
		"claude":    ".claude/projects/-w/" + malformedID + ".jsonl",
		"agent":     ".agent/sessions/01JKTS6Q2N8R3Z5V7W9XYB4CDE/session.jsonl",
		"annabelle": ".annabelle/sessions/a/1.jsonl",
		"macstats":  ".mac-stats/session/session-memory-1-20260214-093015-x.md",
	}[runtime])
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	plant(t, log, want)
	if runtime == "openclaw" {
		plant(t, filepath.Join(filepath.Dir(log), "sessions.json"), []byte(`{"agent:a:main":{"sessionId":"`+malformedID+`","updatedAt":1}}`))
	}
	runOn(t, program, home, []int{0, 3}, "sizes", "--json") // 3: the log cannot be read
	runOn(t, program, home, []int{0, 1, 75}, "compact", "--all", "--force", "--json", "--dry-run")
	runOn(t, program, home, []int{0, 1, 75}, "compact", "--all", "--force", "--json")
	runOn(t, program, home, []int{0}, "archives", "verify")
	if live, err := os.ReadFile(log); err == nil && bytes.Equal(live, want) {
		return
	}
	if !slices.ContainsFunc(filesBelow(t, home), func(data []byte) bool { return bytes.Equal(data, want) }) {
		t.Fatal("the log is neither where it was nor in an archive")
	}
}

func plant(t *testing.T, path string, data []byte) {
	t.Helper()
	old := time.Now().Add(-2 * time.Hour)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, old, old); err != nil {
		t.Fatal(err)
	}
}

// runOn runs the program and checks its exit code and that stdout is JSON
// where that was asked for.
func runOn(t *testing.T, program, home string, codes []int, args ...string) {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	cmd.WaitDelay = time.Minute
	out, err := cmd.Output()
	if _, ok := err.(*exec.ExitError); err != nil && !ok {
		t.Fatal(err)
	}
	if code := cmd.ProcessState.ExitCode(); !slices.Contains(codes, code) || strings.Contains(stderr.String(), "panic") {
		t.Fatalf("%v: exit %d\n%s\n%s", args, code, out, stderr.String())
	}
	if slices.Contains(args, "--json") && !json.Valid(out) {
		t.Fatalf("%v: not JSON:\n%s", args, out)
	}
}

func filesBelow(t *testing.T, dir string) (all [][]byte) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.Contains(path, "archive") {
			return err
		}
		data, err := os.ReadFile(path)
		if err == nil && strings.HasSuffix(path, ".zst") {
			data, err = decompressed(data)
		}
		all = append(all, data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func decompressed(data []byte) ([]byte, error) {
	d, err := zstd.NewReader(nil)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return d.DecodeAll(data, nil)
}
