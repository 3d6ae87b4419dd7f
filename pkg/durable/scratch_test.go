package durable_test

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/sessctl/sessctl/pkg/durable"
)

func TestScratch(t *testing.T) {
	base := t.TempDir()
	t.Setenv("TMPDIR", base)
	t.Setenv("TMP", base)
	s, err := durable.MakeScratch(10)
	if err != nil {
		t.Fatal(err)
	}
	path := s.Path("copy")
	if n, err := s.Fill("copy", strings.NewReader("content")); n != 7 || err != nil {
		t.Error(n, err)
	}
	if _, err := s.Fill("copy", strings.NewReader("again")); err == nil {
		t.Error("a file was filled twice")
	}
	for path, mode := range map[string]os.FileMode{filepath.Dir(path): 0o700, path: 0o600} {
		info, err := os.Stat(path)
		if err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
	for range 2 {
		if err := s.Remove(); err != nil {
			t.Error(err)
		}
	}
	if left, err := os.ReadDir(base); len(left) > 0 || err != nil {
		t.Error(left, err)
	}
	var full *durable.SpaceError
	if _, err := durable.MakeScratch(math.MaxInt64); !errors.As(err, &full) || full.Dir != base {
		t.Error(err)
	}
}

// What killed runs left is removed: by its name and age, and nothing else.
func TestScratchSweeps(t *testing.T) {
	base := t.TempDir()
	t.Setenv("TMPDIR", base)
	t.Setenv("TMP", base)
	old := time.Now().Add(-2 * durable.SweepAge)
	for name, age := range map[string]time.Time{
		"sessctl-scratch-123": old, "sessctl-scratch-4": time.Now(), "sessctl-scratch-x1": old, "sessctl-scratch-": old, "other": old,
	} {
		dir := filepath.Join(base, name)
		if err := errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(filepath.Join(dir, "f"), nil, 0o600), os.Chtimes(dir, age, age)); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(base, "sessctl-scratch-9")
	if err := errors.Join(os.WriteFile(file, nil, 0o600), os.Chtimes(file, old, old)); err != nil {
		t.Fatal(err)
	}
	s, err := durable.MakeScratch(0)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Remove()
	for name, stays := range map[string]bool{
		"sessctl-scratch-123": false, "sessctl-scratch-4": true, "sessctl-scratch-x1": true, "sessctl-scratch-": true, "other": true, "sessctl-scratch-9": true,
	} {
		if _, err := os.Lstat(filepath.Join(base, name)); (err == nil) != stays {
			t.Errorf("%s: %v", name, err)
		}
	}
}
