package durable_test

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/sessctl/sessctl/pkg/durable"
)

func TestMakeDir(t *testing.T) {
	dir := t.TempDir()
	deep := filepath.Join(dir, "a", "b", "c")
	for range 2 {
		if err := durable.MakeDir(deep, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{deep, filepath.Dir(deep), filepath.Join(dir, "a")} {
		fi, err := os.Stat(path)
		if err != nil || !fi.IsDir() {
			t.Errorf("%s: %v, %v", path, fi, err)
		}
	}
}

func TestMakeDirInTheWay(t *testing.T) {
	dir := t.TempDir()
	mustWrite(t, filepath.Join(dir, "file"), "x")
	for _, path := range []string{"file", "file/below"} {
		if err := durable.MakeDir(filepath.Join(dir, path), 0o700); err == nil {
			t.Errorf("%s was made although a file is in the way", path)
		}
	}
	if err := os.Symlink("nowhere", filepath.Join(dir, "dangling")); err != nil {
		t.Skip("no symbolic links:", err)
	}
	if err := durable.MakeDir(filepath.Join(dir, "dangling"), 0o700); err == nil {
		t.Error("a dangling link passed for a directory")
	}
}

func TestSyncDir(t *testing.T) {
	if err := durable.SyncDir(t.TempDir()); err != nil {
		t.Error(err)
	}
	wantIs(t, durable.SyncDir(inDir(t, "gone")), os.ErrNotExist)
}

func TestSyncFile(t *testing.T) {
	path := inDir(t, "a")
	root, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	wantIs(t, durable.SyncFileIn(root, "a"), os.ErrNotExist)
	mustWrite(t, path, "x")
	if err := durable.SyncFileIn(root, "a"); err != nil {
		t.Error(err)
	}
	wantIs(t, durable.SyncFileIn(root, "."), durable.ErrNotRegular)
}

func TestSweep(t *testing.T) {
	dir := t.TempDir()
	abandoned, fresh := durable.TempName("a.json"), durable.TempName("b.json")
	keep := []string{"a.json", ".sessctl-0123456789abcdef.tmp", ".a.sessctl-0123456789abcde.tmp", "a.sessctl-0123456789abcdef.tmp", ".a.sessctl-0123456789ABCDEF.tmp"}
	old := time.Now().Add(-2 * time.Hour)
	for _, name := range append(keep, abandoned) {
		mustWrite(t, filepath.Join(dir, name), "x")
		if err := os.Chtimes(filepath.Join(dir, name), old, old); err != nil {
			t.Fatal(err)
		}
	}
	mustWrite(t, filepath.Join(dir, fresh), "x")
	directory := filepath.Join(dir, durable.TempName("directory"))
	if err := os.Mkdir(directory, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := durable.Sweep(dir); err != nil {
		t.Fatal(err)
	}
	for _, name := range append(keep, fresh, filepath.Base(directory)) {
		if _, err := os.Lstat(filepath.Join(dir, name)); err != nil {
			t.Errorf("%s should have stayed: %v", name, err)
		}
	}
	if _, err := os.Lstat(filepath.Join(dir, abandoned)); err == nil {
		t.Error("the abandoned file is still there")
	}
	if err := durable.Sweep(dir, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(filepath.Join(dir, fresh)); err == nil {
		t.Error("age 0 should take the fresh file too")
	}
	if err := durable.Sweep(inDir(t, "gone")); err != nil {
		t.Error("a directory that is not there:", err)
	}
}

func TestFreeSpace(t *testing.T) {
	dir := t.TempDir()
	for _, path := range []string{dir, filepath.Join(dir, "not", "yet")} {
		free, err := durable.FreeSpace(path)
		if err != nil || free == 0 {
			t.Errorf("%s: %d, %v", path, free, err)
		}
	}
}

func TestScratch(t *testing.T) {
	base := t.TempDir()
	t.Setenv("TMPDIR", base)
	t.Setenv("TMP", base)
	s, err := durable.MakeScratch(10)
	if err != nil {
		t.Fatal(err)
	}
	path := s.Path("copy")
	if n, err := s.Fill("copy", strings.NewReader("content")); n != 7 || err != nil {
		t.Error(n, err)
	}
	if _, err := s.Fill("copy", strings.NewReader("again")); err == nil {
		t.Error("a file was filled twice")
	}
	for path, mode := range map[string]os.FileMode{filepath.Dir(path): 0o700, path: 0o600} {
		info, err := os.Stat(path)
		if err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
	for range 2 {
		if err := s.Remove(); err != nil {
			t.Error(err)
		}
	}
	if left, err := os.ReadDir(base); len(left) > 0 || err != nil {
		t.Error(left, err)
	}
	var full *durable.SpaceError
	if _, err := durable.MakeScratch(math.MaxInt64); !errors.As(err, &full) || full.Dir != base {
		t.Error(err)
	}
}

// What killed runs left is removed: by its name and age, and nothing else.
func TestScratchSweeps(t *testing.T) {
	base := t.TempDir()
	t.Setenv("TMPDIR", base)
	t.Setenv("TMP", base)
	old := time.Now().Add(-2 * durable.SweepAge)
	for name, age := range map[string]time.Time{
		"sessctl-scratch-123": old, "sessctl-scratch-4": time.Now(), "sessctl-scratch-x1": old, "sessctl-scratch-": old, "other": old,
	} {
		dir := filepath.Join(base, name)
		if err := errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(filepath.Join(dir, "f"), nil, 0o600), os.Chtimes(dir, age, age)); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(base, "sessctl-scratch-9")
	if err := errors.Join(os.WriteFile(file, nil, 0o600), os.Chtimes(file, old, old)); err != nil {
		t.Fatal(err)
	}
	s, err := durable.MakeScratch(0)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Remove()
	for name, stays := range map[string]bool{
		"sessctl-scratch-123": false, "sessctl-scratch-4": true, "sessctl-scratch-x1": true, "sessctl-scratch-": true, "other": true, "sessctl-scratch-9": true,
	} {
		if _, err := os.Lstat(filepath.Join(base, name)); (err == nil) != stays {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestMoveDirOfAFile holds that a name that ends in a slash is moved only while it is that
// of a directory.
func TestMoveDirOfAFile(t *testing.T) {
	dir := t.TempDir()
	from, to := filepath.Join(dir, "lock"), filepath.Join(dir, "aside")
	if err := os.WriteFile(from, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var pins *durable.Pins
	if err := pins.MoveDir(from+string(filepath.Separator), to); err == nil {
		t.Error("a file was moved")
	}
	if err := errors.Join(os.Remove(from), os.Mkdir(from, 0o700), pins.MoveDir(from+string(filepath.Separator), to)); err != nil {
		t.Error(err)
	}
	if info, err := os.Lstat(to); err != nil || !info.IsDir() {
		t.Errorf("it is not there: %v", err)
	}
}
