package durable_test

import (
	"os"
	"path/filepath"
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
	wantIs(t, durable.SyncFile(path), os.ErrNotExist)
	mustWrite(t, path, "x")
	if err := durable.SyncFile(path); err != nil {
		t.Error(err)
	}
	wantIs(t, durable.SyncFile(filepath.Dir(path)), durable.ErrNotRegular)
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

func TestWritable(t *testing.T) {
	dir := t.TempDir()
	if err := durable.Writable(dir); err != nil {
		t.Error(err)
	}
	if got := names(t, dir); got != "" {
		t.Errorf("left %q", got)
	}
	wantIs(t, durable.Writable(filepath.Join(dir, "gone")), os.ErrNotExist)
	for _, path := range []string{dir, filepath.Join(dir, "gone", "deeper")} {
		if err := durable.CheckWritable(path); err != nil {
			t.Error(err)
		}
	}
	mustWrite(t, filepath.Join(dir, "file"), "x")
	if err := durable.CheckWritable(filepath.Join(dir, "file")); err == nil {
		t.Error("a file passed for a directory")
	}
	if got := names(t, dir); got != "file" {
		t.Errorf("CheckWritable made %q", got)
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
