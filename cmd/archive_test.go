package cmd

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/sessctl/sessctl/internal/removal"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/session"
)

// TestLogCopy: a log is archived byte for byte, whether it is read once or
// twice; once only if it has settled.
func TestLogCopy(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "log.jsonl")
	text := bytes.Repeat([]byte("{\"type\":\"session\"}\n"), 40_000)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(text)
	for name, age := range map[string]time.Duration{"settled": time.Hour, "young": 0} {
		c := newLogCopy(t, path, age)
		entry, err := c.Once(t.Context())
		if restless := errors.Is(err, removal.ErrRestless); restless != (age == 0 || !durable.ChangeTimeTells(path)) {
			t.Errorf("%s: %v", name, err)
		} else if restless {
			entry, err = c.Twice(t.Context())
		}
		if err != nil || entry.SHA256 != hex.EncodeToString(sum[:]) || entry.Bytes != int64(len(text)) {
			t.Errorf("%s: %+v, %v", name, entry, err)
		}
	}
}

// TestLogCopyIsWhole: a log that is shorter than it was when it was listed, or
// becomes so, is busy, and nothing of it is archived.
func TestLogCopyIsWhole(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.jsonl")
	if err := os.WriteFile(path, []byte("{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := newLogCopy(t, path, time.Hour)
	c.Ref.Bytes = 4
	_, err := c.Once(t.Context())
	if !errors.Is(err, session.ErrBusy) && !errors.Is(err, removal.ErrRestless) {
		t.Errorf("read once: %v", err)
	}
	if _, err := c.Twice(t.Context()); !errors.Is(err, session.ErrBusy) {
		t.Errorf("read twice: %v", err)
	}
	if entries, err := c.Store.List(t.Context(), archive.Filter{}); err != nil || len(entries) != 0 {
		t.Errorf("archived: %v, %v", entries, err)
	}
}

// TestLogCopyChanged: a log that changes under the copy leaves no archive.
func TestLogCopyChanged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.jsonl")
	if err := os.WriteFile(path, bytes.Repeat([]byte("{}\n"), 400_000), 0o600); err != nil {
		t.Fatal(err)
	}
	c := newLogCopy(t, path, time.Hour)
	info, err := c.Log.Stat()
	if err != nil {
		t.Fatal(err)
	}
	snap := session.Observe(path, info)
	src, ok := snap.Watch(c.Log, c.Now())
	if !ok {
		t.Skip("files have no time of change here")
	}
	if _, err := io.CopyN(io.Discard, src, 1000); err != nil {
		t.Fatal(err)
	}
	time.Sleep(20 * time.Millisecond) // longer than any clock's step
	if err := os.Chtimes(path, info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	snap.Size -= 1000
	if _, err := c.PutEntry(t.Context(), c.Ref, snap, src); !errors.Is(err, session.ErrBusy) {
		t.Errorf("%v, want busy", err)
	}
	if entries, err := c.Store.List(t.Context(), archive.Filter{}); err != nil || len(entries) != 0 {
		t.Errorf("archived: %v, %v", entries, err)
	}
}

// newLogCopy opens a log for an archive of its own, by a clock that is ahead.
func newLogCopy(t *testing.T, path string, ahead time.Duration) removal.LogCopy {
	t.Helper()
	dir := t.TempDir()
	store, err := archive.Open(filepath.Join(dir, "archives"), archive.Options{
		Dir: func(archive.Meta) string { return filepath.Join(dir, "copies") }, Compression: archive.CompressionZstd,
	})
	if err != nil {
		t.Fatal(err)
	}
	log, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { log.Close() })
	return removal.LogCopy{
		Archiver: workspace.Archiver{Store: store, Now: func() time.Time { return time.Now().Add(ahead) }, Reason: "test"},
		Ref:      session.Ref{Runtime: "pi", Agent: "a", ID: "s", Path: path}, Log: log,
	}
}
