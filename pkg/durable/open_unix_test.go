//go:build linux || darwin

package durable_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sessctl/sessctl/pkg/durable"
)

func TestOpenRegular(t *testing.T) {
	dir := t.TempDir()
	regular := filepath.Join(dir, "regular")
	mustWrite(t, regular, "text")
	socket, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(socket)
	if err := errors.Join(
		os.Symlink("regular", filepath.Join(dir, "link")),
		os.Symlink("nowhere", filepath.Join(dir, "dangling")),
		os.Mkdir(filepath.Join(dir, "directory"), 0o700),
		unix.Mkfifo(filepath.Join(dir, "pipe"), 0o600),
	); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	opens := map[string]func(string) (*os.File, error){
		"path": func(name string) (*os.File, error) { return durable.OpenRegular(filepath.Join(dir, name)) },
		"root": func(name string) (*os.File, error) { return durable.OpenRegularIn(root, name) },
	}
	for by, open := range opens {
		file, err := open("regular")
		if err != nil {
			t.Fatal(by, err)
		}
		if data, err := io.ReadAll(file); err != nil || string(data) != "text" {
			t.Errorf("%s: read %q, %v", by, data, err)
		}
		file.Close()
		for _, name := range []string{"link", "dangling", "directory", "pipe"} {
			_, err := open(name)
			if !errors.Is(err, durable.ErrNotRegular) {
				t.Errorf("%s: %s gave %v, want ErrNotRegular", by, name, err)
			}
		}
		_, err = open("gone")
		wantIs(t, err, os.ErrNotExist)
	}
	if _, err := durable.OpenRegular("/dev/null"); !errors.Is(err, durable.ErrNotRegular) {
		t.Errorf("a device gave %v", err)
	}
	if _, err := durable.OpenRegularIn(root, "../"+filepath.Base(dir)+"/regular"); err == nil {
		t.Error("a name outside the root was opened")
	}
}

func TestIdentify(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	mustWrite(t, path, "one")
	first := identify(t, path)
	if first.Inode == 0 || first.Links != 1 || first.Changed.IsZero() {
		t.Errorf("identity is %+v", first)
	}
	if again := identify(t, path); again != first {
		t.Errorf("identity changed: %+v, %+v", first, again)
	}
	if err := os.Link(path, filepath.Join(dir, "b")); err != nil {
		t.Fatal(err)
	}
	linked := identify(t, path)
	if linked.Inode != first.Inode || linked.Links != 2 {
		t.Errorf("with two names: %+v", linked)
	}
	mustWrite(t, path, "two")
	if replaced := identify(t, path); replaced.Inode == first.Inode || replaced.Links != 1 {
		t.Errorf("after replacing: %+v", replaced)
	}
}

func identify(t *testing.T, path string) durable.Identity {
	t.Helper()
	fi, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	return durable.Identify(fi)
}

// A small file is read through links to a regular one, whole or not at all.
func TestReadSmall(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	mustWrite(t, at("settings"), "text")
	if err := errors.Join(os.Symlink("settings", at("link")), os.Symlink("pipe", at("to a pipe")), unix.Mkfifo(at("pipe"), 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"settings", "link"} {
		if text, err := durable.ReadSmall(at(name), 4); err != nil || string(text) != "text" {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
	if text, err := durable.ReadSmall(at("settings"), 3); err == nil {
		t.Errorf("more than three bytes were read: %q", text)
	}
	for _, path := range []string{at("pipe"), at("to a pipe"), dir, "/dev/zero"} {
		_, err := durable.ReadSmall(path, 4)
		wantIs(t, err, durable.ErrNotRegular)
	}
	_, err := durable.ReadSmall(at("gone"), 4)
	wantIs(t, err, os.ErrNotExist)
}
