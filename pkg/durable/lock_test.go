package durable_test

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gofrs/flock"
	"github.com/google/go-cmp/cmp"
	"github.com/sessctl/sessctl/pkg/durable"
)

func TestLock(t *testing.T) {
	path := inDir(t, "lock")
	lock, err := durable.Lock(path)
	if err != nil {
		t.Fatal(err)
	}
	_, err = durable.Lock(path)
	wantIs(t, err, durable.ErrLocked)
	if want := fmt.Sprintf("process %d", os.Getpid()); !strings.Contains(err.Error(), want) {
		t.Errorf("error %q should name %q", err, want)
	}
	for range 2 {
		if err := lock.Unlock(); err != nil {
			t.Fatal(err)
		}
	}
	again, err := durable.Lock(path)
	if err != nil {
		t.Fatal("after unlock:", err)
	}
	again.Unlock()
}

func TestLockMissingDirectory(t *testing.T) {
	_, err := durable.Lock(filepath.Join(t.TempDir(), "gone", "lock"))
	wantIs(t, err, os.ErrNotExist)
}

// A lock goes with its process, however that ends, whatever the file says.
func TestLockOfKilledProcess(t *testing.T) {
	dir := t.TempDir()
	cmd := child(t, "lock", dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(line, err)
	}
	_, err = durable.Lock(filepath.Join(dir, "lock"))
	wantIs(t, err, durable.ErrLocked)
	if want := fmt.Sprintf("process %d", cmd.Process.Pid); !strings.Contains(err.Error(), want) {
		t.Errorf("error %q should name %q", err, want)
	}
	cmd.Process.Kill()
	cmd.Wait()
	lock, err := durable.Lock(filepath.Join(dir, "lock"))
	if err != nil {
		t.Fatal("after the kill:", err)
	}
	lock.Unlock()
}

func lockForever() error {
	if _, err := durable.Lock("lock"); err != nil {
		return err
	}
	fmt.Println("locked")
	time.Sleep(time.Minute)
	return nil
}

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

// Between the opening of a lock file and its locking somebody may put another in its
// place, which a second process could lock: the first does not have "the" lock then.
func TestLockOfAReplacedFile(t *testing.T) {
	path, other := inDir(t, "lock"), inDir(t, "other")
	held := flock.New(path)
	if ok, err := held.TryLock(); !ok || err != nil {
		t.Fatal(ok, err)
	}
	defer func() { _ = held.Unlock() }()
	if !durable.IsFileOf(held, path) {
		t.Error("the file that was locked is at its place, and is taken for another")
	}
	if err := errors.Join(os.WriteFile(other, nil, 0o600), os.Rename(other, path)); err != nil {
		t.Fatal(err)
	}
	if durable.IsFileOf(held, path) {
		t.Error("another file is at the place of the one that was locked, and is taken for it")
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if durable.IsFileOf(held, path) {
		t.Error("no file is at the place of the one that was locked")
	}
}
