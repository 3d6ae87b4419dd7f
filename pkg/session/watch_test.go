package session_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sessctl/sessctl/pkg/session"
)

// later is a time by which a log that was just made has settled.
func later() time.Time { return time.Now().Add(time.Hour) }

// watch opens a log of 600,000 bytes, of which two thirds are read.
func watch(t *testing.T) (path string, rest func() ([]byte, error)) {
	path = tempLog(t, strings.Repeat("abcde\n", 100_000))
	f := mustOpen(t, path)
	t.Cleanup(func() { f.Close() })
	r, ok := session.Observe(path, mustStat(t, path)).Watch(f, later())
	if !ok {
		t.Skip("files have no time of change here")
	}
	begin := make([]byte, 400_000)
	if _, err := io.ReadFull(r, begin); err != nil {
		t.Fatal(err)
	}
	return path, func() ([]byte, error) {
		end, err := io.ReadAll(r)
		return append(begin, end...), err
	}
}

func TestWatch(t *testing.T) {
	path, rest := watch(t)
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := rest(); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

// Whatever is done to a log while it is read takes its last bytes away.
func TestWatchSeesChanges(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, path string){
		"grown": func(t *testing.T, path string) { appendText(t, path, "more\n") },
		"rewritten, its time set back": func(t *testing.T, path string) {
			before := mustStat(t, path)
			write(t, path, strings.Repeat("ABCDE\n", 100_000))
			touch(t, path, before.ModTime())
		},
		"touched": func(t *testing.T, path string) { touch(t, path, time.Now().Add(-time.Hour)) },
		"moved away": func(t *testing.T, path string) {
			if err := os.Rename(path, path+".old"); err != nil {
				t.Fatal(err)
			}
		},
		"replaced": func(t *testing.T, path string) {
			write(t, path+".new", strings.Repeat("abcde\n", 100_000))
			if err := os.Rename(path+".new", path); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			path, rest := watch(t)
			time.Sleep(20 * time.Millisecond) // longer than any clock's step
			change(t, path)
			got, err := rest()
			if !errors.Is(err, session.ErrBusy) || len(got) >= 600_000 {
				t.Errorf("%d bytes, %v", len(got), err)
			}
		})
	}
	t.Run("shorter", func(t *testing.T) {
		path, rest := watch(t)
		if err := os.Truncate(path, 500_000); err != nil {
			t.Fatal(err)
		}
		if got, err := rest(); len(got) >= 600_000 {
			t.Errorf("%d bytes, %v", len(got), err)
		}
	})
}

// Times that are too young tell nothing: the clock may stand still.
func TestWatchWantsSettledTimes(t *testing.T) {
	path := tempLog(t, "a\n")
	f := mustOpen(t, path)
	defer f.Close()
	snap := session.Observe(path, mustStat(t, path))
	for _, now := range []time.Time{snap.ModTime.Add(session.Settled), time.Now().Add(-time.Hour)} {
		if _, ok := snap.Watch(f, now); ok {
			t.Errorf("watched %s after it was written", now.Sub(snap.ModTime))
		}
	}
	old := snap.ModTime.Add(-time.Hour)
	touch(t, path, old)
	if _, ok := session.Observe(path, mustStat(t, path)).Watch(f, time.Now()); ok {
		t.Error("a time that was set back is taken for an old one")
	}
}
