package crashloop_test

import (
	"errors"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sessctl/sessctl/internal/crashloop"
)

// calls tries what may be refused, on one new file.
func calls(dir string) (lease, exchange, rename error) {
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

func TestLackingRefuses(t *testing.T) {
	dir := t.TempDir()
	for _, l := range []crashloop.Lacking{{}, {Leases: true}, {RenameFlags: true}, {Leases: true, RenameFlags: true}} {
		err := l.On(func() error {
			lease, exchange, rename := calls(dir)
			if errors.Is(lease, unix.EINVAL) != l.Leases || errors.Is(exchange, unix.EINVAL) != l.RenameFlags || rename != nil {
				t.Errorf("%+v: lease %v, exchange %v, rename %v", l, lease, exchange, rename)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if lease, exchange, _ := calls(dir); lease != nil || exchange != nil {
			t.Fatalf("%+v is left on another thread: %v, %v", l, lease, exchange)
		}
	}
}

// A program that is started there has the filter too.
func TestLackingIsInherited(t *testing.T) {
	o := options(t)
	o.Args = []string{"/bin/sh", "-c", `grep ^Seccomp: /proc/self/status; grep ^NoNewPrivs: /proc/self/status`}
	o.Lacking = crashloop.Lacking{Leases: true}
	got, err := crashloop.Run(o)
	if err != nil || got.Output != "Seccomp:\t2\nNoNewPrivs:\t1\n" {
		t.Fatalf("%q, %v", got.Output, err)
	}
}
