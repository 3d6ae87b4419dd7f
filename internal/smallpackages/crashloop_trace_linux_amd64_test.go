package smallpackages_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/sessctl/sessctl/internal/crashloop"
	"golang.org/x/sys/unix"
)

// A shell that writes one file in three steps is a program whose calls are known.
const crashScript = `printf one > a.tmp && mv a.tmp a && rm -f b`

func crashOptions(t *testing.T) crashloop.Options {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "b"), []byte("b"), 0o600); err != nil {
		t.Fatal(err)
	}
	return crashloop.Options{Args: []string{"/bin/sh", "-c", crashScript}, Env: os.Environ(), Dir: dir, Under: dir}
}

func TestCrashloopCountsTheSameCallsEveryTime(t *testing.T) {
	first, err := crashloop.Run(crashOptions(t))
	if err != nil {
		t.Fatal(err)
	}
	second, err := crashloop.Run(crashOptions(t))
	if err != nil {
		t.Fatal(err)
	}
	if first.Exit != 0 || len(first.Calls) < 4 || len(first.Calls) != len(second.Calls) {
		t.Fatalf("exit %d, calls %v and %v", first.Exit, first.Calls, second.Calls)
	}
}

func TestCrashloopKillStopsBeforeTheCall(t *testing.T) {
	o := crashOptions(t)
	o.Decide = func(c crashloop.Call) crashloop.Fault { return crashloop.Fault{Kill: c.Name == "write"} }
	got, err := crashloop.Run(o)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Join(o.Dir, "a.tmp")); !got.Killed || err != nil || info.Size() != 0 {
		t.Fatalf("outcome %+v, file %v %v", got, info, err)
	}
}

func TestCrashloopTornWriteLeavesHalf(t *testing.T) {
	o := crashOptions(t)
	o.Decide = func(c crashloop.Call) crashloop.Fault { return crashloop.Fault{Torn: c.Name == "write"} }
	if _, err := crashloop.Run(o); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(filepath.Join(o.Dir, "a.tmp")); string(got) != "o" {
		t.Fatalf("file holds %q, want half of one", got)
	}
}

func TestCrashloopErrnoFailsTheCallAndHookRunsBeforeIt(t *testing.T) {
	o := crashOptions(t)
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

// calls tries what may be refused, on one new file.
func crashCalls(dir string) (lease, exchange, rename error) {
	f, err := os.CreateTemp(dir, "*")
	if err != nil {
		return err, err, err
	}
	defer f.Close()
	path := f.Name()
	_, lease = unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_WRLCK)
	if lease == nil {
		_, lease = unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_UNLCK)
	}
	exchange = unix.Renameat2(unix.AT_FDCWD, path, unix.AT_FDCWD, path, unix.RENAME_EXCHANGE)
	return lease, exchange, os.Rename(path, path+"2")
}

func TestCrashloopLackingRefuses(t *testing.T) {
	dir := t.TempDir()
	for _, l := range []crashloop.Lacking{{}, {Leases: true}, {RenameFlags: true}, {Leases: true, RenameFlags: true}} {
		err := l.On(func() error {
			lease, exchange, rename := crashCalls(dir)
			if errors.Is(lease, unix.EINVAL) != l.Leases || errors.Is(exchange, unix.EINVAL) != l.RenameFlags || rename != nil {
				t.Errorf("%+v: lease %v, exchange %v, rename %v", l, lease, exchange, rename)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if lease, exchange, _ := crashCalls(dir); lease != nil || exchange != nil {
			t.Fatalf("%+v is left on another thread: %v, %v", l, lease, exchange)
		}
	}
}

// A program that is started there has the filter too.
func TestCrashloopLackingIsInherited(t *testing.T) {
	o := crashOptions(t)
	o.Args = []string{"/bin/sh", "-c", `grep ^Seccomp: /proc/self/status; grep ^NoNewPrivs: /proc/self/status`}
	o.Lacking = crashloop.Lacking{Leases: true}
	got, err := crashloop.Run(o)
	if err != nil || got.Output != "Seccomp:\t2\nNoNewPrivs:\t1\n" {
		t.Fatalf("%q, %v", got.Output, err)
	}
}
