package claude

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/sessctl/sessctl/pkg/session"
)

// home is a configuration directory that a test fills.
type home struct {
	testing.TB
	dir string
}

func newHome(t testing.TB) home { return home{t, t.TempDir()} }

func (h home) path(name string) string { return filepath.Join(h.dir, filepath.FromSlash(name)) }

// write writes a file that nobody has touched for an hour.
func (h home) write(name string, text []byte) string {
	h.Helper()
	path := h.path(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		h.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		h.Fatal(err)
	}
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(path, old, old); err != nil {
		h.Fatal(err)
	}
	return path
}

// store opens the directory; the processes with these numbers run.
func (h home) store(running ...int) *Store {
	s := Open(h.dir)
	s.runs = func(pid int, _ time.Time) bool {
		for _, p := range running {
			if p == pid {
				return true
			}
		}
		return false
	}
	return s
}

func (h home) list(s *Store) session.Listing {
	h.Helper()
	listing, err := s.List(context.Background())
	if err != nil {
		h.Fatal(err)
	}
	return listing
}

// ref returns the only ref with an id.
func (h home) ref(s *Store, id string) session.Ref {
	h.Helper()
	for _, ref := range h.list(s).Refs {
		if ref.ID == id {
			return ref
		}
	}
	h.Fatalf("no session %s", id)
	return session.Ref{}
}

func (h home) tail(text []byte) session.Tail {
	h.Helper()
	h.write("projects/-w/s.jsonl", text)
	s := h.store()
	tail, err := s.Tail(context.Background(), h.ref(s, "s"))
	if err != nil {
		h.Fatal(err)
	}
	return tail
}

func TestOpenTakesTheProjectsToo(t *testing.T) {
	h := newHome(t)
	h.write("projects/-w/s.jsonl", logOf(rec("user", "u1", "", text("", "one"))))
	for _, root := range []string{h.dir, h.path("projects")} {
		s := Open(root)
		if got := h.list(s); len(got.Refs) != 1 || s.Root() != root || s.config != h.dir {
			t.Errorf("%s: %+v, configuration %s", root, got, s.config)
		}
	}
}

func TestRoots(t *testing.T) {
	h := newHome(t)
	h.write(".claude/projects/-w/s.jsonl", nil)
	h.write("elsewhere/projects/-w/s.jsonl", nil)
	for variable, want := range map[string]string{
		"":                  h.path(".claude"),
		h.path("elsewhere"): h.path("elsewhere"),
		"~/elsewhere":       h.path("elsewhere"),
		h.path("nowhere"):   "",
	} {
		got := Roots(h.dir, func(name string) string {
			if name == "CLAUDE_CONFIG_DIR" {
				return variable
			}
			return ""
		})
		if fmt.Sprint(got) != fmt.Sprint(oneOf(want)) {
			t.Errorf("CLAUDE_CONFIG_DIR=%q: %v, want %q", variable, got, want)
		}
	}
}

func oneOf(path string) []string {
	if path == "" {
		return nil
	}
	return []string{path}
}

func TestPeriod(t *testing.T) {
	const day = 24 * time.Hour
	for settings, want := range map[string]time.Duration{
		`{}`: 30 * day, `{"cleanupPeriodDays":7}`: 7 * day, `{"cleanupPeriodDays":0.5}`: day / 2,
		`{"cleanupPeriodDays":-1}`: 30 * day, `{"cleanupPeriodDays":1e300}`: maxPeriod * day,
	} {
		h := newHome(t)
		h.write("settings.json", []byte(settings))
		log := h.write("projects/-w/s.jsonl", logOf(rec("user", "u1", "", text("", "one"))))
		info, err := os.Stat(log)
		if err != nil {
			t.Fatal(err)
		}
		if got := h.ref(h.store(), "s").Expires; !got.Equal(info.ModTime().Add(want)) {
			t.Errorf("%s: expires %v, want %v later than %v", settings, got, want, info.ModTime())
		}
	}
	h := newHome(t)
	h.write("projects/-w/s.jsonl", nil)
	if got := h.ref(h.store(), "s").Expires.Sub(h.ref(h.store(), "s").ModTime); got != 30*day {
		t.Errorf("without settings: %v", got)
	}
	h.write("settings.json", []byte(`{"cleanupPeriodDays":`))
	if listing := h.list(h.store()); !listing.Refs[0].Expires.IsZero() || len(listing.Notices) != 1 {
		t.Errorf("settings that cannot be read: %+v", listing)
	}
}
