package durable_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sessctl/sessctl/pkg/durable"
)

// Looking at a lock changes nothing, whoever has it.
func TestLookAtLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	look := func(want durable.LockState) {
		t.Helper()
		got, err := durable.LookAtLock(path)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Error(d)
		}
	}
	look(durable.LockState{})
	if _, err := os.Lstat(path); !os.IsNotExist(err) {
		t.Fatal("a lock file was made")
	}
	lock, err := durable.Lock(path)
	if err != nil {
		t.Fatal(err)
	}
	look(durable.LockState{Exists: true, Held: true, Process: os.Getpid()})
	if err := lock.Unlock(); err != nil {
		t.Fatal(err)
	}
	look(durable.LockState{Exists: true})
	if err := os.WriteFile(path, []byte("4711\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	look(durable.LockState{Exists: true, Process: 4711})
	if again, err := durable.Lock(path); err != nil {
		t.Fatal("it was left locked: ", err)
	} else if err := again.Unlock(); err != nil {
		t.Fatal(err)
	}
}
