//go:build linux || darwin

package durable_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sessctl/sessctl/pkg/durable"
)

func children() map[string]func() error {
	return map[string]func() error{
		"lock":   lockForever,
		"modes":  makeWithUmask,
		"crash":  replaceAndDie,
		"limit":  writeOverLimit,
		"nobody": changeAsNobody,
		"open":   openAndTell,
	}
}

// Files and directories have exactly the mode asked for under any umask.
func TestModes(t *testing.T) {
	for _, umask := range []string{"0", "077", "0777"} {
		t.Run(umask, func(t *testing.T) {
			dir := t.TempDir()
			runChild(t, child(t, "modes", dir, "TEST_UMASK="+umask))
			want := map[string]os.FileMode{"replaced": 0o600, "created": 0o640, "named": 0o600, "like": 0o640, "lock": 0o600, "a": 0o700, "a/b": 0o700}
			for name, mode := range want {
				fi, err := os.Stat(filepath.Join(dir, name))
				if err != nil {
					t.Fatal(err)
				}
				if name == "lock" && umask == "0777" {
					continue // a lock file has no content worth a mode
				}
				if got := fi.Mode().Perm(); got != mode {
					t.Errorf("%s has mode %o, want %o", name, got, mode)
				}
			}
		})
	}
}

func makeWithUmask() error {
	var mask int
	if _, err := fmt.Sscanf(os.Getenv("TEST_UMASK"), "%o", &mask); err != nil {
		return err
	}
	syscall.Umask(mask)
	err := errors.Join(
		durable.ReplaceFile("replaced", 0o600, write("x")),
		durable.CreateFile("created", 0o640, write("x")),
		durable.MakeDir("a/b", 0o700))
	_, named := durable.CreateNamed(".", "label", 0o600, func(io.Writer) (string, error) { return "named", nil })
	_, locked := durable.Lock("lock")
	like, statErr := os.Stat("created")
	if err := errors.Join(err, named, locked, statErr); err != nil {
		return err
	}
	return createLike(".", "like", like)
}

// createLike creates a file with the mode and the owner of another.
func createLike(dir, name string, like os.FileInfo) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	return durable.CreateCheckedIn(root, name, like, write("x"), nil)
}

// The owner of a file stays, where root replaces it.
func TestOwnerIsKept(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can give files away")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	mustWrite(t, path, "old")
	if err := os.Chown(path, 12345, 54321); err != nil {
		t.Fatal(err)
	}
	mustWrite(t, path, "new")
	fi, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := createLike(dir, "b", fi); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b"} {
		fi, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		stat := fi.Sys().(*syscall.Stat_t)
		if stat.Uid != 12345 || stat.Gid != 54321 {
			t.Errorf("%s belongs to %d:%d, want 12345:54321", name, stat.Uid, stat.Gid)
		}
	}
}

// A kill before any step leaves the old content or the new, and at most one
// temporary file, which a sweep takes.
func TestKillAtEveryStep(t *testing.T) {
	replaced := map[string]bool{"syncdir": true, "done": true}
	for _, step := range []string{"create", "write", "half", "seal", "sync", "rename", "syncdir", "done"} {
		t.Run(step, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "a")
			mustWrite(t, path, "old")
			err := child(t, "crash", dir, "TEST_STEP="+step).Run()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
				t.Fatalf("child was not killed: %v", err)
			}
			want := "old"
			if replaced[step] {
				want = "newer"
			}
			if got := mustRead(t, path); got != want {
				t.Errorf("content is %q, want %q", got, want)
			}
			if err := durable.Sweep(dir, 0); err != nil {
				t.Fatal(err)
			}
			if got := names(t, dir); got != "a" {
				t.Errorf("directory holds %q after a sweep", got)
			}
		})
	}
}

func replaceAndDie() error {
	die := func(step string) {
		if step == os.Getenv("TEST_STEP") {
			syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {} // the signal is on its way
		}
	}
	return durable.ReplaceFileStepping("a", die, func(w io.Writer) error {
		io.WriteString(w, "new")
		die("half")
		_, err := io.WriteString(w, "er")
		return err
	})
}

// RLIMIT_FSIZE: the write fails (and SIGXFSZ does not kill), the old stays.
func TestFileSizeLimit(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	mustWrite(t, path, "old")
	runChild(t, child(t, "limit", dir))
	if got := mustRead(t, path) + " " + names(t, dir); got != "old a" {
		t.Errorf("got %q", got)
	}
}

func writeOverLimit() error {
	limit := unix.Rlimit{Cur: 100 << 10, Max: 100 << 10}
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	err := durable.ReplaceFile("a", 0o600, func(w io.Writer) error {
		io.WriteString(w, strings.Repeat("x", 1<<20)) // the callback does not look
		return nil
	})
	if !errors.Is(err, unix.EFBIG) {
		return fmt.Errorf("got %w, want EFBIG", err)
	}
	return nil
}

// A directory that this user cannot write gives the system's answer before
// and at the change.
func TestReadOnlyDirectory(t *testing.T) {
	dir := t.TempDir()
	mustWrite(t, filepath.Join(dir, "a"), "old")
	if err := os.Chmod(dir, 0o555); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(dir, 0o700)
	runChild(t, child(t, "nobody", dir))
	if got := names(t, dir); got != "a" {
		t.Errorf("directory holds %q", got)
	}
}

func changeAsNobody() error {
	if os.Getuid() == 0 { // root may write anywhere
		if err := syscall.Setgid(65534); err != nil {
			return err
		}
		if err := syscall.Setuid(65534); err != nil {
			return err
		}
	}
	_, locked := durable.Lock("lock")
	for what, err := range map[string]error{
		"replace": durable.ReplaceFile("a", 0o600, write("x")),
		"create":  durable.CreateFile("b", 0o600, write("x")),
		"move":    byPath.MoveFile("a", "b"),
		"remove":  durable.RemoveFile("a"),
		"mkdir":   durable.MakeDir("d/e", 0o700),
		"lock":    locked,
	} {
		if !errors.Is(err, os.ErrPermission) {
			return fmt.Errorf("%s: got %v, want a permission error", what, err)
		}
	}
	return nil
}

// openAndTell is a process that opens a session while a lease is held on it.
func openAndTell() error {
	fmt.Println("opening")
	file, err := os.OpenFile("session", os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	fmt.Println("open")
	return file.Close()
}
