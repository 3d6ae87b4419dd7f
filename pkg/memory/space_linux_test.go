package memory_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sessctl/sessctl/pkg/memory"
)

// On a full disk a call fails and says so; what was stored before stays, and
// the store goes on when there is room again.
func TestFullDisk(t *testing.T) {
	root := t.TempDir()
	if err := unix.Mount("none", root, "tmpfs", 0, "size=3m"); err != nil {
		t.Skip("tmpfs cannot be mounted (needs root):", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(root, unix.MNT_DETACH) })
	dir := filepath.Join(root, "memory")
	s := open(t, dir)
	b, m := builtin(t)
	stored, failed := 0, false
	for n := 0; n < 200 && !failed; n++ {
		records := sessionOf(n)
		_, err := s.Put(context.Background(), memory.Source{}, all(records...))
		if err == nil {
			stored++
			_, err = s.EmbedPending(context.Background(), b, m, "a", nil)
		}
		if failed = err != nil; failed && !strings.Contains(err.Error(), "full") && !strings.Contains(err.Error(), "space") {
			t.Errorf("the error does not say why: %v", err)
		}
	}
	if !failed || stored == 0 {
		t.Fatalf("%d sessions stored, failed: %v", stored, failed)
	}
	s.Close()
	if err := unix.Mount("none", root, "tmpfs", unix.MS_REMOUNT, "size=30m"); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir)
	for n := range stored {
		if count, _ := countSession(t, s, n); count != sessionRecords {
			t.Errorf("session %d has %d records", n, count)
		}
	}
	if pending := embedAll(t, s, "a"); pending != 0 {
		t.Errorf("%d pending", pending)
	}
	if problems, err := s.Verify(context.Background()); err != nil || len(problems) > 0 {
		t.Error(problems, err)
	}
}

// A memory that cannot even be opened because the disk is full says so too.
func TestOpenOnFullDisk(t *testing.T) {
	root := t.TempDir()
	if err := unix.Mount("none", root, "tmpfs", 0, "size=1m"); err != nil {
		t.Skip("tmpfs cannot be mounted (needs root):", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(root, unix.MNT_DETACH) })
	dir := filepath.Join(root, "memory")
	open(t, dir).Close()
	if err := os.WriteFile(filepath.Join(root, "fill"), make([]byte, 2<<20), 0o600); err == nil {
		t.Fatal("the disk is not full")
	}
	s, err := memory.Open(context.Background(), dir, memory.Options{})
	if err == nil {
		s.Close()
	}
	if !errors.Is(err, memory.ErrFull) {
		t.Errorf("%v, want ErrFull", err)
	}
}
