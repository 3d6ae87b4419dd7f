package adapters_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/logfile"
)

// shelf is a store whose logs are <agent>/<id>.jsonl.
func shelf(base string) *logfile.Logs {
	isLog := func(name string) bool {
		log, _ := logfile.OriginalName(name)
		return strings.HasSuffix(log, ".jsonl")
	}
	return &logfile.Logs{
		Base: base, Depth: 1, Store: base,
		Locate: func(below string) (session.Ref, bool) {
			agent, name, nested := strings.Cut(below, "/")
			return session.Ref{Agent: agent, ID: strings.TrimSuffix(name, ".jsonl")}, nested && isLog(name)
		},
	}
}

func logfilePlaceMust(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestLogfilePlace(t *testing.T) {
	base := t.TempDir()
	outside := t.TempDir()
	logfilePlaceMust(t, os.MkdirAll(filepath.Join(base, "a", "sub.jsonl"), 0o700))
	logfilePlaceMust(t, os.WriteFile(filepath.Join(base, "a", "there.jsonl"), []byte("{}\n"), 0o640))
	logfilePlaceMust(t, os.WriteFile(filepath.Join(base, "a", "twice.jsonl"), nil, 0o600))
	logfilePlaceMust(t, os.Link(filepath.Join(base, "a", "twice.jsonl"), filepath.Join(base, "a", "again.jsonl")))
	logfilePlaceMust(t, os.Symlink(filepath.Join(base, "a", "there.jsonl"), filepath.Join(base, "a", "link.jsonl")))
	logfilePlaceMust(t, os.Symlink(outside, filepath.Join(base, "out")))
	for name, c := range map[string]struct {
		want  error
		there bool
	}{
		"a/there.jsonl": {there: true},
		"a/there.jsonl.rotated.2026-03-01T10-00-00.000Z": {there: true},
		"a/new.jsonl":        {},
		"new/new.jsonl":      {},
		"a/notes.txt":        {want: session.ErrUnsupported},
		"a/b/c.jsonl":        {want: session.ErrUnsupported},
		".hidden/a.jsonl":    {want: session.ErrUnsupported},
		"top.jsonl":          {want: session.ErrUnsupported},
		"a/sub.jsonl":        {want: session.ErrUnsupported},
		"a/link.jsonl":       {want: session.ErrUnsupported},
		"a/twice.jsonl":      {want: session.ErrUnsupported},
		"../elsewhere.jsonl": {want: session.ErrElsewhere},
	} {
		place, err := shelf(base).Place(t.Context(), filepath.Join(base, filepath.FromSlash(name)), time.Now())
		if !errors.Is(err, c.want) || place.There != c.there {
			t.Errorf("%s: there %v, error %v, want %v, %v", name, place.There, err, c.there, c.want)
		}
		if c.want == nil && (!strings.HasSuffix(place.Path, ".jsonl") || place.Kept == place.SecondKept) {
			t.Errorf("%s: path %s, aside %s, spare %s", name, place.Path, place.Kept, place.SecondKept)
		}
	}
	if _, err := shelf(base).Place(t.Context(), filepath.Join(base, "out", "a.jsonl"), time.Now()); err == nil {
		t.Error("a link that leads out of the store is a place")
	}
}

// A new log is like its newest neighbour, and like nothing else.
func TestLogfilePlaceLike(t *testing.T) {
	base := t.TempDir()
	logfilePlaceMust(t, os.MkdirAll(filepath.Join(base, "a"), 0o700))
	for i, name := range []string{"old.jsonl", "new.jsonl", "notes.txt"} {
		path := filepath.Join(base, "a", name)
		logfilePlaceMust(t, os.WriteFile(path, nil, 0o600))
		at := time.Now().Add(time.Duration(i-10) * time.Hour)
		logfilePlaceMust(t, os.Chtimes(path, at, at))
	}
	place, err := shelf(base).Place(t.Context(), filepath.Join(base, "a", "x.jsonl"), time.Now())
	if err != nil || place.Like == nil || place.Like.Name() != "new.jsonl" {
		t.Fatalf("like %v (%v), want new.jsonl", place.Like, err)
	}
	place, err = shelf(base).Place(t.Context(), filepath.Join(base, "b", "x.jsonl"), time.Now())
	if err != nil || place.Like != nil {
		t.Fatalf("like %v (%v), want nothing", place.Like, err)
	}
}

func TestLogfileUnused(t *testing.T) {
	base := t.TempDir()
	path := filepath.Join(base, "a", "x.jsonl")
	if err := shelf(base).Unused(t.Context(), path, time.Now(), time.Minute); err != nil {
		t.Fatal(err)
	}
	logfilePlaceMust(t, os.MkdirAll(filepath.Dir(path), 0o700))
	logfilePlaceMust(t, os.WriteFile(path, nil, 0o600))
	if err := shelf(base).Unused(t.Context(), path, time.Now(), time.Minute); !errors.Is(err, session.ErrBusy) {
		t.Fatalf("error %v, want busy", err)
	}
	if err := shelf(base).Unused(t.Context(), path, time.Now().Add(time.Hour), time.Minute); err != nil {
		t.Fatal(err)
	}
}

// A name that was moved aside gives the name back that it had, whatever that
// is, and moving aside always finds a name that is free.
func TestLogfileRotatedNames(t *testing.T) {
	base := t.TempDir()
	d, err := logfile.Open(base)
	logfilePlaceMust(t, err)
	defer d.Close()
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[a-z0-9._-]{1,30}\.(jsonl|md)`).Draw(t, "name")
		at := time.UnixMilli(rapid.Int64Range(0, 4e12).Draw(t, "at"))
		if log, rotated := logfile.OriginalName(logfile.Rotated(name, at)); !rotated || log != name {
			t.Fatalf("%s came back as %s (%v)", name, log, rotated)
		}
		path, err := d.FreeRotated(name, at)
		if err != nil {
			t.Fatal(err)
		}
		f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
		if again, err := d.FreeRotated(name, at); err != nil || again == path {
			t.Fatalf("%s is not free (%v)", again, err)
		}
	})
	for _, name := range []string{"a.jsonl", "a.jsonl.rotated.", "a.jsonl.rotated.2026-03-01", ".rotated.2026-03-01T10-00-00.000Z"} {
		if log, rotated := logfile.OriginalName(name); rotated || log != name {
			t.Errorf("%s was rotated from %s", name, log)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := shelf(base).Place(ctx, filepath.Join(base, "a", "x.jsonl"), time.Now()); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
