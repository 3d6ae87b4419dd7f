package pi_test

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

	"github.com/google/go-cmp/cmp"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/pi"
)

const (
	directory = "--repo-orders-api--"
	id        = "0b6f2a54-7f61-4d3e-9a53-0c1c2d3e4f50"
	name      = "2026-03-01T10-00-00-000Z_" + id + ".jsonl"
	quiet     = time.Minute
)

// state is a sessions directory of a test.
type state struct {
	t    *testing.T
	root string
	*pi.Store
}

func newState(t *testing.T) *state {
	t.Helper()
	root := t.TempDir()
	return &state{t: t, root: root, Store: pi.Open(root)}
}

// newOne is a store with one quiet, answered session.
func newOne(t *testing.T) *state {
	t.Helper()
	s := newState(t)
	s.log(name, transcript(id, 3))
	return s
}

func transcript(id string, version int) string {
	return fmt.Sprintf(`{"type":"session","version":%d,"id":%q,"timestamp":"2026-03-01T10:00:00.000Z","cwd":"/repo/orders/api"}
`, version, id) + turns
}

const (
	turns = `{"type":"message","id":"a0000001","parentId":null,"timestamp":"2026-03-01T10:00:01.000Z","message":{"role":"user","content":"which port?"}}
{"type":"message","id":"a0000002","parentId":"a0000001","timestamp":"2026-03-01T10:00:02.000Z","message":{"role":"assistant","content":[{"type":"text","text":"7001"}],"usage":{"input":1,"output":2,"cacheRead":3,"cacheWrite":4,"totalTokens":10},"stopReason":"stop"}}
`
	question = `{"type":"message","id":"a0000003","parentId":"a0000002","timestamp":"2026-03-01T10:00:03.000Z","message":{"role":"user","content":"and tomorrow?"}}` + "\n"
)

func (s *state) path(name string) string { return filepath.Join(s.root, directory, name) }

func (s *state) log(name, text string) { s.write(s.path(name), text) }

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

func (s *state) plan(ref session.Ref) session.Rotation {
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
	r, err := s.PlanRotation(context.Background(), ref, snap, time.Now())
	if err != nil {
		s.t.Fatal(err)
	}
	return r
}

func (s *state) rotate(r session.Rotation) error { return s.Rotate(context.Background(), r) }

func (s *state) mustRotate(r session.Rotation) {
	s.t.Helper()
	if err := s.rotate(r); err != nil {
		s.t.Fatal(err)
	}
}

// tree is everything below the root: names and contents.
func (s *state) tree() map[string]string {
	s.t.Helper()
	tree := map[string]string{}
	err := filepath.WalkDir(s.root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		rel, _ := filepath.Rel(s.root, path)
		tree[filepath.ToSlash(rel)] = string(content)
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return tree
}

func wantTree(t *testing.T, want, got map[string]string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("something changed (-want +got):\n%s", diff)
	}
}

func wantBusy(t *testing.T, err error, part string) {
	t.Helper()
	var busy *session.BusyError
	if !errors.As(err, &busy) || !strings.Contains(busy.Reason, part) {
		t.Errorf("%v, want a BusyError with %q", err, part)
	}
}
