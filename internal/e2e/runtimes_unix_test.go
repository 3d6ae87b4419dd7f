//go:build unix

package e2e_test

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/sessctl/sessctl/internal/postgres"
	"github.com/sessctl/sessctl/internal/tier"
)

// samplesOf is where the samples are that lie under a home directory.
var samplesOf = map[string]string{
	"openclaw/derived":            ".openclaw",
	"pi/derived":                  ".pi/agent/sessions",
	"agent-ulid/derived":          ".agent/sessions",
	"annabelle/derived":           ".annabelle/sessions",
	"mac-stats/derived":           ".mac-stats",
	"claude-code/jazzyalex":       ".claude/projects/-home-me-registry",
	"gemini-cli/derived/tmp":      ".gemini/tmp",
	"codex/jazzyalex/small.jsonl": ".codex/sessions/2026/01/10/rollout-2026-01-10T09-00-00-0199aaaa-bbbb-7ccc-8ddd-eeeeffff0001.jsonl",
}

// nineRuntimes makes a home with a store of every runtime; the ninth is a
// database.
func nineRuntimes(t *testing.T) (environment []string) {
	t.Helper()
	samples := filepath.Join(shared, "samples")
	if _, err := os.Stat(samples); err != nil {
		t.Skip("the samples are not beside the project")
	}
	home := filepath.Join(t.TempDir(), "home")
	for from, to := range samplesOf {
		copyAged(t, filepath.Join(samples, from), filepath.Join(home, to))
	}
	server, err := postgres.Start(t.Context())
	if errors.Is(err, postgres.ErrUnavailable) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Stop)
	conn, err := pgx.Connect(t.Context(), server.DSN)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if _, err := conn.Exec(t.Context(), yarnnnSchema); err != nil {
		t.Fatal(err)
	}
	return []string{"HOME=" + home, "XDG_DATA_HOME=" + filepath.Join(home, "data"), "PATH=" + os.Getenv("PATH"), "SESSCTL_YARNNN_DSN=" + server.DSN}
}

const yarnnnSchema = `
CREATE TABLE chat_sessions (id uuid PRIMARY KEY, user_id uuid, session_type text DEFAULT 'thinking_partner', status text DEFAULT 'active',
  started_at timestamptz, ended_at timestamptz, context_metadata jsonb DEFAULT '{}', summary text, created_at timestamptz, updated_at timestamptz);
CREATE TABLE session_messages (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), session_id uuid, role text, content text, sequence_number int, metadata jsonb, created_at timestamptz);
INSERT INTO chat_sessions (id, started_at, created_at, updated_at) VALUES ('6f1f0c8e-2f5b-4a7d-8f10-000000000001', now() - interval '1 day', now() - interval '1 day', now());
INSERT INTO session_messages (session_id, role, content, sequence_number, created_at)
SELECT '6f1f0c8e-2f5b-4a7d-8f10-000000000001', CASE WHEN g % 2 = 1 THEN 'user' ELSE 'assistant' END,
  'Part ' || g || ' of the zeppelin regatta plan: we decided to keep it short.', g, now() - interval '20 hours' + g * interval '1 minute' FROM generate_series(1, 12) g`

func copyAged(t *testing.T, from, to string) {
	t.Helper()
	old := time.Now().Add(-2 * time.Hour)
	err := filepath.WalkDir(from, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		below, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		data, err := os.ReadFile(path)
		target := filepath.Join(to, below)
		return errors.Join(err, os.MkdirAll(filepath.Dir(target), 0o700), os.WriteFile(target, data, 0o600), os.Chtimes(target, old, old))
	})
	if err != nil {
		t.Fatal(err)
	}
}

// One home, nine runtimes, one command.
func TestNineRuntimesAtOnce(t *testing.T) {
	tier.SkipSmoke(t, "it starts dozens of programs, and each runtime has its script")
	environment := nineRuntimes(t)
	program := buildProgram(t)
	run := func(want []int, args ...string) []byte {
		t.Helper()
		cmd := exec.Command(program, args...)
		cmd.Env = environment
		var errOut strings.Builder
		cmd.Stderr = &errOut
		out, err := cmd.Output()
		code := 0
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			code = exit.ExitCode()
		}
		if !slices.Contains(want, code) {
			t.Fatalf("sessctl %v: exit %d (%v)\n%s%s", args, code, err, out, errOut.String())
		}
		return out
	}
	all := []string{"agent", "annabelle", "claude", "codex", "gemini", "macstats", "openclaw", "pi", "yarnnn"}
	var stores struct {
		Stores []struct {
			Runtime  string
			Sessions int
		}
	}
	decode(t, run([]int{0}, "stores", "--json"), &stores)
	var found []string
	for _, s := range stores.Stores {
		if s.Sessions > 0 {
			found = append(found, s.Runtime)
		}
	}
	wantRuntimes(t, "stores", all, found)

	var sizes struct {
		Sessions []struct {
			Runtime, State, Reason string
			Messages               int
		}
	}
	decode(t, run([]int{0}, "sizes", "--json"), &sizes)
	found = nil
	for _, s := range sizes.Sessions {
		if s.Messages > 0 {
			found = append(found, s.Runtime)
		}
	}
	wantRuntimes(t, "sizes", all, found)

	type outcomes struct {
		Sessions []struct{ Runtime, Outcome, Strategy, Reason string }
	}
	var plan, done outcomes
	decode(t, run([]int{0, 75}, "compact", "--all", "--force", "--dry-run", "--json"), &plan)
	found = nil
	for _, s := range plan.Sessions {
		if s.Outcome == "failed" {
			t.Errorf("the plan of a session of %s failed: %s", s.Runtime, s.Reason)
		}
		found = append(found, s.Runtime)
	}
	wantRuntimes(t, "compact --dry-run", all, found)

	decode(t, run([]int{0, 75}, "compact", "--all", "--force", "--json"), &done)
	for _, s := range done.Sessions {
		if s.Outcome == "failed" {
			t.Errorf("a session of %s failed: %s", s.Runtime, s.Reason)
		}
	}
	run([]int{0}, "archive", "--all")
	run([]int{0, 75}, "compact", "--all", "--force", "--skip-archive") // also what is too short to cut
	run([]int{0}, "archives", "verify")
	for query, runtime := range map[string]string{"zeppelin regatta": "yarnnn", "nginx replicas": "agent", "El Masnou": "macstats", "penicillin": "annabelle"} {
		var hits struct{ Hits []struct{ Runtime string } }
		decode(t, run([]int{0}, "recall", "--json", "--limit", "10", query), &hits)
		if !slices.ContainsFunc(hits.Hits, func(h struct{ Runtime string }) bool { return h.Runtime == runtime }) {
			t.Errorf("recall %q finds nothing of %s among %d hits", query, runtime, len(hits.Hits))
		}
	}
}

func decode(t *testing.T, document []byte, to any) {
	t.Helper()
	if err := json.Unmarshal(document, to); err != nil {
		t.Fatalf("%v\n%s", err, document)
	}
}

func wantRuntimes(t *testing.T, what string, want, got []string) {
	t.Helper()
	slices.Sort(got)
	if got = slices.Compact(got); !slices.Equal(got, want) {
		t.Errorf("%s shows %v, want %v", what, got, want)
	}
}
