//go:build unix

package openclaw_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sessctl/sessctl/pkg/session"
)

// Nothing that is not a regular file with one name is read, followed, or
// waited for.
func TestListOddFiles(t *testing.T) {
	s := newMain(t)
	outside := filepath.Join(t.TempDir(), "secret.jsonl")
	s.write(outside, transcript("secret"))
	s.log("one.jsonl", transcript("one"))
	for _, err := range []error{
		os.Symlink(outside, s.path("out.jsonl")),
		os.Symlink(mainID+".jsonl", s.path("in.jsonl")),
		os.Symlink("nowhere", s.path("dangling.jsonl")),
		os.Link(s.path("one.jsonl"), s.path("two.jsonl")),
		syscall.Mkfifo(s.path("pipe.jsonl"), 0o600),
		syscall.Mkfifo(s.path(mainID+".jsonl.lock"), 0o600),
		os.Symlink(filepath.Dir(outside), filepath.Join(s.root, "agents", "escaped")),
		os.MkdirAll(filepath.Join(s.root, "agents", "piped"), 0o700),
		syscall.Mkfifo(filepath.Join(s.root, "agents", "piped", "sessions"), 0o600),
		os.MkdirAll(filepath.Join(s.root, "agents", "linked"), 0o700),
		os.Symlink(filepath.Dir(outside), filepath.Join(s.root, "agents", "linked", "sessions")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	s.age(s.path(mainID+".jsonl.lock"), 2*lockAge)
	want := map[string]seen{mainID + ".jsonl": {agent, mainID, mainKey, session.KindLive, session.StateIdle, true}}
	if diff := cmp.Diff(want, byName(s.list().Refs)); diff != "" {
		t.Error(diff)
	}
	for name, part := range map[string]string{
		"out.jsonl": "symbolic link", "in.jsonl": "symbolic link", "dangling.jsonl": "symbolic link",
		"one.jsonl": "hard links", "two.jsonl": "hard links", "pipe.jsonl": "a pipe",
		"escaped": "out of the store", "sessions": "skipped",
	} {
		s.noticed(name, part)
	}
}

// An index that is no file of its own is not read, so nothing is changed.
func TestListOddIndex(t *testing.T) {
	for name, place := range map[string]func(s *state) error{
		"pipe":      func(s *state) error { return syscall.Mkfifo(s.path("sessions.json"), 0o600) },
		"link":      func(s *state) error { return os.Symlink("real.json", s.path("sessions.json")) },
		"directory": func(s *state) error { return os.Mkdir(s.path("sessions.json"), 0o700) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newMain(t)
			if err := os.Rename(s.path("sessions.json"), s.path("real.json")); err != nil {
				t.Fatal(err)
			}
			if err := place(s); err != nil {
				t.Fatal(err)
			}
			if ref := s.ref(mainID + ".jsonl"); ref.State != session.StateUnsupported || ref.Kind != session.KindOrphan {
				t.Errorf("%+v", ref)
			}
			s.noticed("sessions.json", "cannot be read")
		})
	}
	s := newMain(t)
	if err := os.Link(s.path("sessions.json"), s.path("second.json")); err != nil {
		t.Skip("no hard links:", err)
	}
	if ref := s.ref(mainID + ".jsonl"); ref.State != session.StateUnsupported || ref.Key != mainKey {
		t.Errorf("%+v", ref)
	}
}

// A state directory may itself be a link: that is how dotfiles are managed.
func TestListLinkedRoot(t *testing.T) {
	s := newMain(t)
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(s.root, link); err != nil {
		t.Fatal(err)
	}
	linked := reopened(s, link)
	ref := linked.ref(mainID + ".jsonl")
	if !ref.Primary {
		t.Errorf("%+v", ref)
	}
	linked.mustRotate(linked.plan(ref))
}
