package memory_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sessctl/sessctl/pkg/memory"
)

// contents are the files below dir with times and hashes.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil || d.IsDir() {
			files[path] = info.ModTime().String()
			return err
		}
		data, err := os.ReadFile(path)
		files[path] = fmt.Sprint(info.ModTime(), sha256.Sum256(data))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// killedWithLog is a memory that a killed process left with its log. One that
// dies right after it has forgotten something has just emptied it.
func killedWithLog(t *testing.T) string {
	t.Helper()
	for range 20 {
		dir := filepath.Join(t.TempDir(), "memory")
		runAndKill(t, dir, 50*time.Millisecond)
		if info, err := os.Stat(filepath.Join(dir, "memory.db-wal")); err == nil && info.Size() > 0 {
			return dir
		}
	}
	t.Fatal("no killed process left a log")
	return ""
}

// Looking at a memory without a trace leaves none. One that a killed process
// left with its log is not looked at.
func TestNoTrace(t *testing.T) {
	ctx := context.Background()
	look := func(dir string) (int, error) {
		s, err := memory.Open(ctx, dir, memory.Options{NoTrace: true})
		if err != nil {
			return 0, err
		}
		defer s.Close()
		verify(t, s)
		n, err := s.CountRecords(ctx, "a")
		return n, err
	}
	killed := killedWithLog(t)
	closed := filepath.Join(t.TempDir(), "memory")
	s := open(t, closed)
	if _, err := s.Put(ctx, memory.Source{}, all(sessionOf(0)...)); err != nil {
		t.Fatal(err)
	}
	s.Close()
	before := contents(t, closed)
	if n, err := look(closed); n != sessionRecords || err != nil {
		t.Fatalf("%d records, %v", n, err)
	}
	if d := cmp.Diff(before, contents(t, closed)); d != "" {
		t.Fatal(d)
	}
	before = contents(t, killed)
	if _, err := look(killed); !errors.Is(err, memory.ErrInUse) {
		t.Fatal(err)
	}
	if d := cmp.Diff(before, contents(t, killed)); d != "" {
		t.Fatal(d)
	}
}
