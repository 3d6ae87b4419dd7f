package memory_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/memory"
)

// TestLinkInThePlaceOfTheMemory: a link that takes the place of the directory
// while the memory is open leads nowhere, also for connections that are made
// later, the log that is removed in the end, vectors and kept summaries.
func TestLinkInThePlaceOfTheMemory(t *testing.T) {
	base := t.TempDir()
	dir, elsewhere := filepath.Join(base, "memory"), filepath.Join(base, "elsewhere")
	s, err := memory.Open(t.Context(), dir, memory.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Put(t.Context(), memory.Source{}, all(sessionOf(0)...)); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(elsewhere, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	before := contents(t, elsewhere)
	if err := os.Rename(dir, dir+".real"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(elsewhere, dir); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Put(t.Context(), memory.Source{}, all(sessionOf(1)...)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Forget(t.Context(), memory.Selection{Agent: "a"}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(before, contents(t, elsewhere)); d != "" {
		t.Error(d)
	}
	if _, err := os.Lstat(filepath.Join(dir+".real", "memory.db-wal")); !os.IsNotExist(err) {
		t.Errorf("the log of the memory is left: %v", err)
	}
}

// TestLinkInThePlaceOfTheDatabase: it is refused, and so is one beside it.
func TestLinkInThePlaceOfTheDatabase(t *testing.T) {
	for _, name := range []string{"memory.db", "memory.db-wal"} {
		dir := filepath.Join(t.TempDir(), "memory")
		s := open(t, dir)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		path, elsewhere := filepath.Join(dir, name), filepath.Join(t.TempDir(), "x")
		if err := os.WriteFile(elsewhere, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		_ = os.Remove(path) // the log is not there
		if err := os.Symlink(elsewhere, path); err != nil {
			t.Fatal(err)
		}
		if _, err := memory.Open(t.Context(), dir, memory.Options{}); !errors.Is(err, durable.ErrNotRegular) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
