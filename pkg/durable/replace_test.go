package durable_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/sessctl/sessctl/pkg/durable"
)

func TestReplaceFile(t *testing.T) {
	long := strings.Repeat("x", 255)
	accents := strings.Repeat("é", 127) // cut inside a character by the label limit
	tests := map[string]struct{ name, before, after string }{
		"new":             {"a.json", "", "one"},
		"empty":           {"a.json", "", ""},
		"over old":        {"a.json", "old and longer", "new"},
		"emptied":         {"a.json", "old", ""},
		"large":           {"a.json", "old", strings.Repeat("0123456789abcdef", 1<<16)},
		"longest name":    {long, "old", "new"},
		"longest unicode": {accents, "old", "new"},
		"hidden":          {".a", "old", "new"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, test.name)
			if test.before != "" {
				mustWrite(t, path, test.before)
			}
			mustWrite(t, path, test.after)
			if got := mustRead(t, path); got != test.after {
				t.Errorf("content is %.20q, want %.20q", got, test.after)
			}
			if got := names(t, dir); got != test.name {
				t.Errorf("directory holds %q, want only the file", got)
			}
		})
	}
}

// A file whose writing failed in any way leaves what was there, and nothing else.
func TestReplaceFileFailing(t *testing.T) {
	broken := errors.New("broken")
	tests := map[string]func(io.Writer) error{
		"at once":      func(io.Writer) error { return broken },
		"after a part": func(w io.Writer) error { io.WriteString(w, "part"); return broken },
	}
	for name, fail := range tests {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "a")
			mustWrite(t, path, "old")
			wantIs(t, durable.ReplaceFile(path, 0o600, fail), broken)
			if got := mustRead(t, path); got != "old" {
				t.Errorf("content is %q, want the old one", got)
			}
			if got := names(t, dir); got != "a" {
				t.Errorf("directory holds %q", got)
			}
		})
	}
}

func TestReplaceFilePanicking(t *testing.T) {
	dir := t.TempDir()
	func() {
		defer func() { recover() }()
		durable.ReplaceFile(filepath.Join(dir, "a"), 0o600, func(io.Writer) error { panic("bug") })
	}()
	if got := names(t, dir); got != "" {
		t.Errorf("directory holds %q after a panic", got)
	}
}

func TestReplaceFileMissingDirectory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "gone", "a")
	err := durable.ReplaceFile(path, 0o600, write("x"))
	wantIs(t, err, os.ErrNotExist)
	if !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), ".tmp") {
		t.Errorf("error %q should name %s and no temporary file", err, path)
	}
}

// A symbolic link is replaced; what it points to is not touched.
func TestReplaceFileOverLink(t *testing.T) {
	dir := t.TempDir()
	target, link := filepath.Join(dir, "target"), filepath.Join(dir, "link")
	mustWrite(t, target, "precious")
	if err := os.Symlink(target, link); err != nil {
		t.Skip("no symbolic links:", err)
	}
	mustWrite(t, link, "new")
	if got := mustRead(t, target); got != "precious" {
		t.Errorf("target is %q now", got)
	}
	fi, err := os.Lstat(link)
	if err != nil || !fi.Mode().IsRegular() {
		t.Errorf("link is %v, %v; want a regular file", fi.Mode(), err)
	}
}

// Readers see one writer's whole content at every time, and no file is left.
func TestReplaceFileConcurrently(t *testing.T) {
	const writers, rounds, size = 4, 15, 100_000
	dir := t.TempDir()
	path := filepath.Join(dir, "shared")
	mustWrite(t, path, strings.Repeat("0", size))
	var running sync.WaitGroup
	for w := range writers {
		running.Go(func() {
			for range rounds {
				if err := durable.ReplaceFile(path, 0o600, write(strings.Repeat(string(rune('a'+w)), size))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { running.Wait(); close(done) }()
	for open := true; open; {
		data, err := os.ReadFile(path)
		if err != nil && runtime.GOOS != "windows" {
			t.Fatal(err)
		}
		if len(data) != size || strings.Count(string(data), string(data[:1])) != size {
			t.Fatalf("a reader saw %d bytes of mixed content", len(data))
		}
		select {
		case <-done:
			open = false
		default:
		}
	}
	if got := names(t, dir); got != "shared" {
		t.Errorf("directory holds %q", got)
	}
}

func TestCreateFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	if err := durable.CreateFile(path, 0o600, write("first")); err != nil {
		t.Fatal(err)
	}
	wantIs(t, durable.CreateFile(path, 0o600, func(io.Writer) error {
		t.Error("write was called although the file is there")
		return nil
	}), durable.ErrExists)
	if got := mustRead(t, path); got != "first" {
		t.Errorf("content is %q", got)
	}
}

// The file appears while the content is being written: it wins.
func TestCreateFileRace(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	err := durable.CreateFile(path, 0o600, func(w io.Writer) error {
		mustWrite(t, path, "theirs")
		return write("ours")(w)
	})
	wantIs(t, err, durable.ErrExists)
	if got := mustRead(t, path) + " " + names(t, dir); got != "theirs a" {
		t.Errorf("got %q", got)
	}
}

// Of many that make one file, one succeeds and the content is that one's.
func TestCreateFileConcurrently(t *testing.T) {
	path := inDir(t, "a")
	winners := make(chan string, 8)
	var running sync.WaitGroup
	for i := range 8 {
		running.Go(func() {
			text := strings.Repeat(string(rune('a'+i)), 10_000)
			err := durable.CreateFile(path, 0o600, write(text))
			if err == nil {
				winners <- text
			} else if !errors.Is(err, durable.ErrExists) {
				t.Error(err)
			}
		})
	}
	running.Wait()
	close(winners)
	if len(winners) != 1 {
		t.Fatalf("%d succeeded, want 1", len(winners))
	}
	if mustRead(t, path) != <-winners {
		t.Error("the content is not the winner's")
	}
}

func TestCreateNamed(t *testing.T) {
	dir := t.TempDir()
	path, err := durable.CreateNamed(dir, "label", 0o600, func(w io.Writer) (string, error) {
		return "named", write("text")(w)
	})
	if err != nil || path != filepath.Join(dir, "named") {
		t.Fatalf("got %q, %v", path, err)
	}
	if got := mustRead(t, path); got != "text" {
		t.Errorf("content is %q", got)
	}
}

func TestCreateNamedRefusesOtherDirectories(t *testing.T) {
	for _, name := range []string{"", ".", "..", "a/b", "../a", "/a", "a/"} {
		dir := t.TempDir()
		if _, err := durable.CreateNamed(dir, "label", 0o600, func(io.Writer) (string, error) { return name, nil }); err == nil {
			t.Errorf("name %q was accepted", name)
		}
		if got := names(t, dir); got != "" {
			t.Errorf("name %q left %q", name, got)
		}
	}
}
