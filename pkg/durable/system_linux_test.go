package durable_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sessctl/sessctl/pkg/durable"
)

// mountTmpfs gives a small file system of its own, or skips the test.
func mountTmpfs(t *testing.T, options string) string {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount("none", dir, "tmpfs", 0, options); err != nil {
		t.Skip("tmpfs cannot be mounted (needs root):", err)
	}
	t.Cleanup(func() { unix.Unmount(dir, unix.MNT_DETACH) })
	return dir
}

// A full disk leaves the old content, no temporary file, and an error that
// names the file and the free space.
func TestFullDisk(t *testing.T) {
	tests := map[string]struct {
		options string
		change  func(dir string) error
	}{
		"replace, no blocks": {"size=256k", func(dir string) error {
			return durable.ReplaceFile(filepath.Join(dir, "a"), 0o600, write(strings.Repeat("x", 1<<20)))
		}},
		"replace, swallowed": {"size=256k", func(dir string) error {
			return durable.ReplaceFile(filepath.Join(dir, "a"), 0o600, func(w io.Writer) error {
				io.WriteString(w, strings.Repeat("x", 1<<20))
				return nil
			})
		}},
		"create, no blocks": {"size=256k", func(dir string) error {
			return durable.CreateFile(filepath.Join(dir, "b"), 0o600, write(strings.Repeat("x", 1<<20)))
		}},
		"replace, no inodes": {"size=256k,nr_inodes=2", func(dir string) error {
			return durable.ReplaceFile(filepath.Join(dir, "a"), 0o600, write("x"))
		}},
		"directory, no inodes": {"size=256k,nr_inodes=2", func(dir string) error {
			return durable.MakeDir(filepath.Join(dir, "d"), 0o700)
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			dir := mountTmpfs(t, test.options)
			mustSeed(t, filepath.Join(dir, "a"), "old")
			err := test.change(dir)
			var space *durable.SpaceError
			if !errors.As(err, &space) || !errors.Is(err, unix.ENOSPC) {
				t.Fatalf("got %v, want a SpaceError", err)
			}
			if space.Dir != dir || !strings.HasPrefix(space.Path, dir) || space.Free == 0 || space.Free > 256<<10 {
				t.Errorf("error is %+v", space)
			}
			if text := err.Error(); !strings.Contains(text, fmt.Sprint(space.Free, " bytes free in ", dir)) || strings.Contains(text, ".tmp") {
				t.Errorf("message is %q", text)
			}
			if got := mustRead(t, filepath.Join(dir, "a")) + " " + names(t, dir); got != "old a" {
				t.Errorf("got %q", got)
			}
		})
	}
}

// mustSeed makes a file without the inode that a temporary file would need.
func mustSeed(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestReadOnlyFileSystem(t *testing.T) {
	dir := mountTmpfs(t, "size=256k")
	mustSeed(t, filepath.Join(dir, "a"), "old")
	if err := unix.Mount("none", dir, "tmpfs", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		t.Skip("tmpfs cannot be remounted:", err)
	}
	for what, err := range map[string]error{
		"replace": durable.ReplaceFile(filepath.Join(dir, "a"), 0o600, write("x")),
		"remove":  durable.RemoveFile(filepath.Join(dir, "a")),
	} {
		if !errors.Is(err, unix.EROFS) {
			t.Errorf("%s: got %v, want a read-only file system", what, err)
		}
	}
}

func TestMoveBetweenFileSystems(t *testing.T) {
	here, there := t.TempDir(), mountTmpfs(t, "size=256k")
	from, to := filepath.Join(here, "a"), filepath.Join(there, "a")
	mustWrite(t, from, "text")
	wantIs(t, byPath.MoveFile(from, to), unix.EXDEV)
	if got := mustRead(t, from) + " " + names(t, there); got != "text " {
		t.Errorf("got %q", got)
	}
}

func openLeased(t *testing.T) (*os.File, *durable.Lease) {
	t.Helper()
	path := inDir(t, "session")
	mustWrite(t, path, "text")
	file, err := durable.OpenRegular(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	lease, err := durable.WriteLease(file)
	if errors.Is(err, durable.ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { lease.Release() })
	return file, lease
}

func TestWriteLeaseWhileOpen(t *testing.T) {
	file, lease := openLeased(t)
	if err := lease.Release(); err != nil {
		t.Fatal(err)
	}
	for name, flag := range map[string]int{"reader": os.O_RDONLY, "appender": os.O_WRONLY | os.O_APPEND} {
		other, err := os.OpenFile(file.Name(), flag, 0)
		if err != nil {
			t.Fatal(err)
		}
		_, err = durable.WriteLease(file)
		wantIs(t, err, durable.ErrHeld)
		other.Close()
		again, err := durable.WriteLease(file)
		if err != nil {
			t.Fatalf("after the %s closed: %v", name, err)
		}
		again.Release()
	}
}

// An open by another process waits until the lease is given back. The signal
// that announces it does not end this process.
func TestWriteLeaseIsBroken(t *testing.T) {
	file, lease := openLeased(t)
	if !lease.Held() {
		t.Fatal("a fresh lease is not held")
	}
	cmd := child(t, "open", filepath.Dir(file.Name()))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	if line, err := lines.ReadString('\n'); line != "opening\n" {
		t.Fatal(line, err)
	}
	for lease.Held() { // until the child's open has reached the kernel
		time.Sleep(time.Millisecond)
	}
	if _, err := durable.OpenRegular(file.Name()); !errors.Is(err, durable.ErrHeld) {
		t.Errorf("opening a leased file gave %v, want ErrHeld at once", err)
	}
	for range 2 {
		if err := lease.Release(); err != nil {
			t.Fatal(err)
		}
	}
	if line, err := lines.ReadString('\n'); line != "open\n" {
		t.Fatal(line, err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	if lease.Held() {
		t.Error("a released lease is held")
	}
}

func TestWriteLeaseUnsupported(t *testing.T) {
	dir, err := os.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	_, err = durable.WriteLease(dir)
	wantIs(t, err, durable.ErrUnsupported)
}

// Whoever sweeps a directory with the lock of another sees until a file has its name
// that it is being made.
func TestCreateNamedStaysOpen(t *testing.T) {
	dir := t.TempDir()
	seen := false
	path, err := durable.CreateNamedStepping(dir, "a", func(step string) {
		if step != "rename" {
			return
		}
		left, err := durable.Leftovers(dir, 0)
		if err != nil || len(left) != 1 {
			t.Fatal(left, err)
		}
		f, err := os.Open(left[0])
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := durable.WriteLease(f); errors.Is(err, durable.ErrUnsupported) {
			t.Skip(err)
		}
		if seen, err = durable.OpenElsewhere(f); err != nil {
			t.Error(err)
		}
	})
	if err != nil || !seen {
		t.Fatalf("seen to be open: %v, %v", seen, err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if open, err := durable.OpenElsewhere(f); open || err != nil {
		t.Errorf("it has its name and is open still: %v, %v", open, err)
	}
}

// Where no open file can be renamed it is closed first. A disk that is full or fails
// is no such place.
func TestCreateNamedWhereOpenFilesStay(t *testing.T) {
	for why, again := range map[error]bool{
		unix.EBUSY: true, unix.ETXTBSY: true, unix.EACCES: true, unix.EPERM: true,
		unix.ENOSPC: false, unix.EDQUOT: false, unix.EIO: false, unix.EROFS: false,
	} {
		dir := t.TempDir()
		if _, err := durable.CreateNamedClosed(dir, "a", why); (err == nil) != again {
			t.Errorf("%v: %v", why, err)
		}
		if _, err := os.Lstat(filepath.Join(dir, "a")); (err == nil) != again {
			t.Errorf("%v: %v", why, err)
		}
	}
}
