package session_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/sessctl/sessctl/pkg/session"
)

func TestTakeSnapshot(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.SampledFrom([]int{0, 1, 255, 256<<10 - 1, 256 << 10, 256<<10 + 1, 600 << 10}).Draw(t, "size")
		text := strings.Repeat(rapid.StringN(1, 8, 32).Draw(t, "text"), size)[:size]
		path := tempLog(t, text)
		f := mustOpen(t, path)
		defer f.Close()
		snap, err := session.TakeSnapshot(context.Background(), f, path)
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256([]byte(text))
		if snap.Size != int64(size) || snap.SHA256 != hex.EncodeToString(sum[:]) || snap.Path != path {
			t.Fatalf("snapshot of %d bytes: %+v", size, snap)
		}
	})
}

// The journal holds snapshots as JSON; what comes back still matches.
func TestSnapshotSurvivesJSON(t *testing.T) {
	path := tempLog(t, "a\n")
	snap := mustSnapshot(t, path)
	text, err := json.Marshal(snap)
	if err != nil {
		t.Fatal(err)
	}
	var back session.Snapshot
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(snap, back); diff != "" {
		t.Error(diff)
	}
	if err := back.Matches(mustStat(t, path)); err != nil {
		t.Error(err)
	}
}

func TestSnapshotSeesChanges(t *testing.T) {
	for name, c := range map[string]struct {
		change func(t *testing.T, path string)
		reason string
	}{
		"grown":     {func(t *testing.T, path string) { appendText(t, path, "b\n") }, "2 bytes were added"},
		"shorter":   {func(t *testing.T, path string) { write(t, path, "a") }, "shorter"},
		"rewritten": {func(t *testing.T, path string) { write(t, path, "A\n"); touch(t, path, time.Now().Add(time.Hour)) }, "touched or rewritten"},
		"touched":   {func(t *testing.T, path string) { touch(t, path, time.Now().Add(time.Hour)) }, "touched or rewritten"},
		"replaced": {func(t *testing.T, path string) {
			write(t, path+".new", "a\n")
			if err := os.Rename(path+".new", path); err != nil {
				t.Fatal(err)
			}
			touch(t, path, time.Now().Add(time.Hour))
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			path := tempLog(t, "a\n")
			snap := mustSnapshot(t, path)
			c.change(t, path)
			err := snap.Matches(mustStat(t, path))
			var busy *session.BusyError
			if !errors.As(err, &busy) || !errors.Is(err, session.ErrBusy) || !strings.Contains(busy.Reason, c.reason) {
				t.Errorf("%v, want a BusyError with %q", err, c.reason)
			}
			if snap.SameBytes(session.Observe(path, mustStat(t, path))) {
				t.Error("SameBytes says that nothing changed")
			}
		})
	}
}

// What happens to the file while it is read makes it busy.
func TestTakeSnapshotBusy(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, path string){
		"moved away": func(t *testing.T, path string) {
			if err := os.Rename(path, path+".old"); err != nil {
				t.Fatal(err)
			}
		},
		"another file in its place": func(t *testing.T, path string) {
			write(t, path+".new", "a\n")
			if err := os.Rename(path+".new", path); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := tempLog(t, "a\n")
			f := mustOpen(t, path)
			defer f.Close()
			change(t, path)
			if _, err := session.TakeSnapshot(context.Background(), f, path); !errors.Is(err, session.ErrBusy) {
				t.Errorf("%v, want busy", err)
			}
		})
	}
}

func TestTakeSnapshotCancelled(t *testing.T) {
	path := tempLog(t, "a\n")
	f := mustOpen(t, path)
	defer f.Close()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := session.TakeSnapshot(ctx, f, path); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestSameBytesComparesHashes(t *testing.T) {
	path := tempLog(t, "a\n")
	snap := mustSnapshot(t, path)
	other := snap
	other.SHA256 = strings.Repeat("0", 64)
	if snap.SameBytes(other) {
		t.Error("different hashes are the same bytes")
	}
	other.SHA256 = ""
	if !snap.SameBytes(other) {
		t.Error("an observation without a hash must match")
	}
}

// Each of what a system tells about a file is enough to tell two apart.
func TestSameBytesComparesEverything(t *testing.T) {
	snap := mustSnapshot(t, tempLog(t, "a\n"))
	for name, change := range map[string]func(s *session.Snapshot){
		"device": func(s *session.Snapshot) { s.Device++ }, "inode": func(s *session.Snapshot) { s.Inode++ },
		"size": func(s *session.Snapshot) { s.Size++ }, "modified": func(s *session.Snapshot) { s.ModTime = s.ModTime.Add(1) },
		"changed": func(s *session.Snapshot) { s.Changed = s.Changed.Add(1) },
	} {
		other := snap
		change(&other)
		if snap.SameBytes(other) || other.SameBytes(snap) {
			t.Errorf("another %s is the same", name)
		}
	}
}

// After the machine was started again the same file is on another device.
func TestSameFileAfterARestart(t *testing.T) {
	snap := mustSnapshot(t, tempLog(t, "a\n"))
	other := snap
	if other.Device++; !snap.SameFile(other) {
		t.Error("the file is not recognised")
	}
	if other.Inode++; snap.SameFile(other) && snap.Inode != 0 {
		t.Error("another inode is the same file")
	}
}

type fataler interface {
	Helper()
	Fatal(...any)
}

// tempLog makes a file for a test or for one run of a property.
func tempLog(t fataler, text string) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "snapshot")
	if err != nil {
		t.Fatal(err)
	}
	if c, ok := t.(interface{ Cleanup(func()) }); ok {
		c.Cleanup(func() { os.RemoveAll(dir) })
	}
	path := filepath.Join(dir, "log.jsonl")
	write(t, path, text)
	return path
}

func write(t fataler, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func appendText(t fataler, path, text string) {
	t.Helper()
	old, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	write(t, path, string(old)+text)
}

func touch(t fataler, path string, when time.Time) {
	t.Helper()
	if err := os.Chtimes(path, when, when); err != nil {
		t.Fatal(err)
	}
}

func mustOpen(t fataler, path string) *os.File {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func mustStat(t fataler, path string) os.FileInfo {
	t.Helper()
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info
}

func mustSnapshot(t fataler, path string) session.Snapshot {
	t.Helper()
	f := mustOpen(t, path)
	defer f.Close()
	snap, err := session.TakeSnapshot(context.Background(), f, path)
	if err != nil {
		t.Fatal(err)
	}
	return snap
}
