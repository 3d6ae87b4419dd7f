package openclaw_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/openclaw"
)

const (
	agent   = "coordinator"
	mainID  = "5f0c1c2e-6d0a-4f57-9d2b-0c8e1f1a2b3c"
	mainKey = "agent:coordinator:main"
	quiet   = time.Minute
)

// state is a state directory of a test.
type state struct {
	t    *testing.T
	root string
	*openclaw.Store
}

func newState(t *testing.T) *state {
	t.Helper()
	root := t.TempDir()
	s := &state{t: t, root: root, Store: openclaw.Open(root, openclaw.Options{})}
	s.SetPause(func() {})
	return s
}

// newMain is a state with one main session, quiet and answered.
func newMain(t *testing.T) *state {
	t.Helper()
	s := newState(t)
	s.log(mainID+".jsonl", transcript(mainID))
	s.index(fmt.Sprintf(`{%q: {"sessionId": %q, "updatedAt": 1772359300000, "label": "desk"}, "agent:coordinator:cron:daily": { "sessionId":"other" }}`, mainKey, mainID))
	return s
}

// transcript is a small answered session.
func transcript(id string) string { return version(id, 3) }

func version(id string, version int) string {
	return fmt.Sprintf(`{"type":"session","version":%d,"id":%q,"timestamp":"2026-03-01T10:00:00.000Z","cwd":"/repo/a"}
{"type":"message","id":"a0000001","parentId":null,"timestamp":"2026-03-01T10:00:01.000Z","message":{"role":"user","content":[{"type":"text","text":"which port?"}]}}
{"type":"message","id":"a0000002","parentId":"a0000001","timestamp":"2026-03-01T10:00:02.000Z","message":{"role":"assistant","content":[{"type":"text","text":"7001"}],"usage":{"input":1,"output":2,"cacheRead":3,"cacheWrite":4,"totalTokens":10},"stopReason":"stop"}}
`, version, id)
}

const (
	question = `{"type":"message","id":"a0000003","parentId":"a0000002","timestamp":"2026-03-01T10:00:03.000Z","message":{"role":"user","content":[{"type":"text","text":"and tomorrow?"}]}}` + "\n"
	toolCall = `{"type":"message","id":"a0000003","parentId":"a0000002","timestamp":"2026-03-01T10:00:03.000Z","message":{"role":"assistant","content":[{"type":"toolCall","id":"c1","name":"read","arguments":{"path":"a"}}],"stopReason":"toolUse"}}` + "\n"
)

// path is the path of a name in the sessions directory of the agent.
func (s *state) path(name string) string {
	return filepath.Join(s.root, "agents", agent, "sessions", name)
}

func (s *state) log(name, text string) { s.write(s.path(name), text) }
func (s *state) index(text string)     { s.write(s.path("sessions.json"), text) }
func (s *state) write(path, text string) {
	s.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
	s.age(path, 2*time.Hour)
}

// age sets when a file was last changed.
func (s *state) age(path string, age time.Duration) {
	s.t.Helper()
	when := time.Now().Add(-age)
	if err := os.Chtimes(path, when, when); err != nil {
		s.t.Fatal(err)
	}
}

func (s *state) read(name string) string {
	s.t.Helper()
	text, err := os.ReadFile(s.path(name))
	if err != nil {
		s.t.Fatal(err)
	}
	return string(text)
}

func (s *state) list() session.Listing {
	s.t.Helper()
	listing, err := s.List(context.Background())
	if err != nil {
		s.t.Fatal(err)
	}
	return listing
}

// ref is the listed session of a file name.
func (s *state) ref(name string) session.Ref {
	s.t.Helper()
	for _, ref := range s.list().Refs {
		if filepath.Base(ref.Path) == name {
			return ref
		}
	}
	s.t.Fatalf("%s is not listed", name)
	return session.Ref{}
}

// noticed checks that a notice about a file says something.
func (s *state) noticed(name, part string) {
	s.t.Helper()
	notices := s.list().Notices
	for _, n := range notices {
		if filepath.Base(n.Path) == name && strings.Contains(n.Message, part) {
			return
		}
	}
	s.t.Errorf("no notice about %s with %q: %+v", name, part, notices)
}

// plan makes the plan of a rotation.
func (s *state) plan(ref session.Ref) session.Rotation {
	s.t.Helper()
	r, err := s.PlanRotation(context.Background(), ref, s.snapshot(ref), time.Now())
	if err != nil {
		s.t.Fatal(err)
	}
	return r
}

func (s *state) snapshot(ref session.Ref) session.Snapshot {
	s.t.Helper()
	f, err := os.Open(ref.Path)
	if err != nil {
		s.t.Fatal(err)
	}
	defer f.Close()
	snap, err := session.TakeSnapshot(context.Background(), f, ref.Path)
	if err != nil {
		s.t.Fatal(err)
	}
	return snap
}

func (s *state) rotate(r session.Rotation) error { return s.Rotate(context.Background(), r) }

func (s *state) mustRotate(r session.Rotation) {
	s.t.Helper()
	if err := s.rotate(r); err != nil {
		s.t.Fatal(err)
	}
}

// tree is everything below the state directory: names, modes, contents.
func (s *state) tree() map[string]string {
	s.t.Helper()
	tree := map[string]string{}
	err := filepath.WalkDir(s.root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		name, text := strings.TrimPrefix(path, s.root), info.Mode().String()
		if info.Mode().IsRegular() {
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			text += " " + string(content)
		}
		tree[filepath.ToSlash(name)] = text
		return nil
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return tree
}

func wantBusy(t *testing.T, err error, part string) {
	t.Helper()
	var busy *session.BusyError
	if !errors.As(err, &busy) || !errors.Is(err, session.ErrBusy) || !strings.Contains(busy.Reason, part) {
		t.Errorf("%v, want a BusyError with %q", err, part)
	}
}

// copied copies a directory into a new one, every file two hours old.
func copied(t *testing.T, from, to string) {
	t.Helper()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	when := time.Now().Add(-2 * time.Hour)
	err := filepath.WalkDir(to, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if err := os.Chmod(path, map[bool]os.FileMode{true: 0o700, false: 0o600}[d.IsDir()]); err != nil {
			return err
		}
		return os.Chtimes(path, when, when)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// lockAge is the age from which a lock is forgotten.
const lockAge = 30 * time.Minute

// reopened is the same state by another path.
func reopened(s *state, root string) *state {
	return &state{t: s.t, root: root, Store: openclaw.Open(root, openclaw.Options{})}
}
