package crashloop_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/sessctl/sessctl/internal/crashloop"
)

// A shell that writes one file in three steps is a program whose calls are known.
const script = `printf one > a.tmp && mv a.tmp a && rm -f b`

func options(t *testing.T) crashloop.Options {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "b"), []byte("b"), 0o600); err != nil {
		t.Fatal(err)
	}
	return crashloop.Options{Args: []string{"/bin/sh", "-c", script}, Env: os.Environ(), Dir: dir, Under: dir}
}

func TestCountsTheSameCallsEveryTime(t *testing.T) {
	first, err := crashloop.Run(options(t))
	if err != nil {
		t.Fatal(err)
	}
	second, err := crashloop.Run(options(t))
	if err != nil {
		t.Fatal(err)
	}
	if first.Exit != 0 || len(first.Calls) < 4 || len(first.Calls) != len(second.Calls) {
		t.Fatalf("exit %d, calls %v and %v", first.Exit, first.Calls, second.Calls)
	}
}

func TestKillStopsBeforeTheCall(t *testing.T) {
	o := options(t)
	o.Decide = func(c crashloop.Call) crashloop.Fault { return crashloop.Fault{Kill: c.Name == "write"} }
	got, err := crashloop.Run(o)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Join(o.Dir, "a.tmp")); !got.Killed || err != nil || info.Size() != 0 {
		t.Fatalf("outcome %+v, file %v %v", got, info, err)
	}
}

func TestTornWriteLeavesHalf(t *testing.T) {
	o := options(t)
	o.Decide = func(c crashloop.Call) crashloop.Fault { return crashloop.Fault{Torn: c.Name == "write"} }
	if _, err := crashloop.Run(o); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(filepath.Join(o.Dir, "a.tmp")); string(got) != "o" {
		t.Fatalf("file holds %q, want half of one", got)
	}
}

func TestErrnoFailsTheCallAndHookRunsBeforeIt(t *testing.T) {
	o := options(t)
	seen := false
	o.Decide = func(c crashloop.Call) crashloop.Fault {
		if c.Name != "unlinkat" && c.Name != "unlink" {
			return crashloop.Fault{}
		}
		return crashloop.Fault{Errno: syscall.EIO, Hook: func() { seen = true }}
	}
	got, err := crashloop.Run(o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(o.Dir, "b")); err != nil || got.Exit == 0 || !seen {
		t.Fatalf("exit %d, hook ran %v, file: %v, output %s", got.Exit, seen, err, got.Output)
	}
}
