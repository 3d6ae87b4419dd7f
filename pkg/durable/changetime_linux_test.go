package durable_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/sessctl/sessctl/pkg/durable"
)

// TestChangeTimeTells: where it is said that the time of change tells of every
// write, it does, whatever else is set back. Where it is not said, nothing
// follows.
func TestChangeTimeTells(t *testing.T) {
	t.Run("the usual place", func(t *testing.T) { changeTimeTells(t, t.TempDir()) })
	t.Run("tmpfs", func(t *testing.T) { changeTimeTells(t, mountTmpfs(t, "size=1m")) })
	for _, path := range []string{"/proc/self/status", filepath.Join(t.TempDir(), "none")} {
		if durable.ChangeTimeTells(path) {
			t.Errorf("said of %s", path)
		}
	}
}

// changeTimeTells writes a file again, and sets its time back, until its time
// of change is another.
func changeTimeTells(t *testing.T, dir string) {
	path := filepath.Join(dir, "log")
	put(t, path, "one")
	if !durable.ChangeTimeTells(path) {
		t.Skipf("not said of %s", dir)
	}
	before := look(t, path)
	for deadline := time.Now().Add(10 * time.Second); ; {
		put(t, path, "two")
		if err := os.Chtimes(path, before.ModTime(), before.ModTime()); err != nil {
			t.Fatal(err)
		}
		if after := look(t, path); !durable.Identify(after).Changed.Equal(durable.Identify(before).Changed) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the time of change stands still on %s", dir)
		}
	}
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func look(t *testing.T, path string) os.FileInfo {
	t.Helper()
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info
}
