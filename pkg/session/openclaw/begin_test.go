package openclaw_test

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/openclaw"
)

// carriedHere is what is carried in these tests.
func carriedHere() session.Carried {
	return session.Carried{
		Note: session.Origin{Runtime: "pi", Session: "1"}.Note(), Title: "from pi: look", Directory: "/repo", Now: time.UnixMilli(1_790_000_000_000),
		Messages: []session.CarriedMessage{{Role: session.RoleUser, Text: "look", Time: 1_780_000_000_000}},
	}
}

// withDatabases is a state directory whose agents have a database.
func withDatabases(t *testing.T, run func(context.Context, openclaw.Call) ([]byte, error), agents ...string) *state {
	s := newState(t)
	for _, agent := range agents {
		s.write(filepath.Join(s.root, "agents", agent, "agent", "openclaw-agent.sqlite"), string(database()))
	}
	s.Store = openclaw.Open(s.root, openclaw.Options{Command: os.Args[0], LockDirs: []string{t.TempDir()}, Run: run})
	return s
}

// The runtime's command finds a log and an index that names it, in a store that it is
// pointed to; what it leaves is removed, what it takes is not looked for.
func TestBegin(t *testing.T) {
	for name, takes := range map[string]bool{"taken in": true, "refused": false} {
		t.Run(name, func(t *testing.T) {
			var index map[string]struct{ SessionID, SessionFile, DisplayName string }
			var s *state
			var called openclaw.Call
			s = withDatabases(t, func(_ context.Context, c openclaw.Call) ([]byte, error) {
				called = c
				path := filepath.Join(s.root, "agents", "baker", "sessions", "sessions.json")
				text, err := os.ReadFile(path)
				if err = errors.Join(err, json.Unmarshal(text, &index)); err != nil {
					t.Error(err)
				}
				for _, entry := range index {
					log, err := os.ReadFile(entry.SessionFile)
					if err != nil || !strings.Contains(string(log), entry.SessionID) || !strings.Contains(string(log), "look") {
						t.Errorf("%q, %v", log, err)
					}
					if info, err := os.Stat(entry.SessionFile); err != nil || info.Mode().Perm() != 0o600 {
						t.Error(info, err)
					}
					if takes {
						return nil, errors.Join(os.Remove(entry.SessionFile), os.Remove(path))
					}
				}
				return []byte(`{"ok":false,"error":{"message":"the Gateway owns this state directory"}}`), errors.New("exit status 2")
			}, "baker")
			plan, err := s.PlanBegin(t.Context(), carriedHere())
			if err != nil {
				t.Fatal(err)
			}
			err = s.Begin(t.Context(), plan)
			if (err == nil) != takes || err != nil && !strings.Contains(err.Error(), "the Gateway owns this state directory") {
				t.Error(err)
			}
			entry, ok := index[plan.Command[2]]
			if !ok || entry.SessionID != plan.ID || entry.DisplayName != "from pi: look" || len(index) != 1 {
				t.Errorf("%v has no %v", index, plan.Command)
			}
			if got := strings.Join(called.Arguments, " "); got != "doctor --session-sqlite import --session-sqlite-agent baker --json" {
				t.Error(got)
			}
			if got := variable(called.Environment)("OPENCLAW_STATE_DIR"); got != s.root {
				t.Error(got)
			}
			left, _ := filepath.Glob(filepath.Join(s.root, "agents", "baker", "sessions", "*"))
			if len(left) > 0 {
				t.Error(left)
			}
		})
	}
}

// Nothing is begun where it is not known whose session it would be, or where something
// lies that the runtime would take in with it. Nothing there is touched.
func TestBeginRefused(t *testing.T) {
	never := func(context.Context, openclaw.Call) ([]byte, error) { panic("it is asked") }
	for name, test := range map[string]struct {
		agents []string
		beside string
		part   string
	}{
		"no database":    {nil, "", "in a database"},
		"which agent":    {[]string{"baker", "miller"}, "", "2 agents, and none is main"},
		"an index waits": {[]string{"baker"}, "sessions.json", "openclaw doctor --fix"},
		"a log waits":    {[]string{"baker"}, "0d0f4c5e-1a2b-4c3d-8e9f-001122334455.jsonl", "openclaw doctor --fix"},
		"main of two":    {[]string{"baker", "main"}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := withDatabases(t, never, test.agents...)
			plan, err := s.PlanBegin(t.Context(), carriedHere())
			if test.beside != "" {
				if err != nil {
					t.Fatal(err)
				}
				path := filepath.Join(s.root, "agents", "baker", "sessions", test.beside)
				s.write(path, "{}")
				_, err = s.PlanBegin(t.Context(), carriedHere())
				late := s.Begin(t.Context(), plan)
				if !errors.Is(late, fs.ErrExist) || !errors.Is(err, fs.ErrExist) {
					t.Error(err, late)
				}
				if text, _ := os.ReadFile(path); string(text) != "{}" {
					t.Errorf("it is %q", text)
				}
			}
			switch {
			case test.part == "":
				if err != nil || !strings.Contains(plan.Path, "agents/main/") {
					t.Error(plan.Path, err)
				}
			case err == nil || !strings.Contains(err.Error(), test.part):
				t.Error(err)
			}
		})
	}
}

// The version is that of the program.
func TestProgramVersion(t *testing.T) {
	for said, want := range map[string]string{"OpenClaw 2026.9.6 (eb377ac)\n": "2026.9.6", "2026.10.1": "2026.10.1", "hello": ""} {
		s := withDatabases(t, func(context.Context, openclaw.Call) ([]byte, error) { return []byte(said), nil })
		if got, err := s.Version(t.Context()); got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v", said, got, err)
		}
	}
}
