package faults

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A home that is put back is the one that was prepared: contents, modes, times of
// files and directories, symbolic links and second names.
func TestCopyTree(t *testing.T) {
	from, to := filepath.Join(t.TempDir(), "from"), filepath.Join(t.TempDir(), "to")
	log := filepath.Join(from, "sessions", "a.jsonl")
	if err := writeAged(log, "one\n"); err != nil {
		t.Fatal(err)
	}
	past := time.Date(2026, 3, 1, 10, 0, 0, 123456789, time.UTC)
	for _, err := range []error{
		os.Link(log, filepath.Join(from, "second")), os.Symlink("sessions/a.jsonl", filepath.Join(from, "link")), os.Symlink("nowhere", filepath.Join(from, "broken")),
		os.Chmod(log, 0o640), os.Chtimes(log, past, past), os.Mkdir(filepath.Join(from, "closed"), 0o500), os.Chtimes(filepath.Join(from, "sessions"), past, past),
		copyTree(from, to),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	want, err := described(from)
	if err != nil {
		t.Fatal(err)
	}
	got, err := described(to)
	if err != nil || got != want {
		t.Errorf("the copy (%v)\n%s\nof\n%s", err, got, want)
	}
	copied, err := os.Stat(filepath.Join(to, "sessions/a.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if second, err := os.Stat(filepath.Join(to, "second")); err != nil || !os.SameFile(copied, second) {
		t.Errorf("the second name is not one of the same file (%v)", err)
	}
	if original, err := os.Stat(log); err != nil || os.SameFile(copied, original) {
		t.Errorf("the copy is the original (%v)", err)
	}
}

// A directory that is there gets what is in the other one.
func TestCopyTreeInto(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	if err := os.MkdirAll(filepath.Join(to, "data"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := writeAged(filepath.Join(from, "data/a"), "a"); err != nil {
		t.Fatal(err)
	}
	if err := copyTree(from, to); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(to, "data"))
	if text, readErr := os.ReadFile(filepath.Join(to, "data/a")); err != nil || readErr != nil || string(text) != "a" || info.Mode().Perm() != 0o700 {
		t.Errorf("%q, %v (%v, %v)", text, info, err, readErr)
	}
}

// described lists everything below a directory: names, modes, times, what links
// lead to and what files hold.
func described(dir string) (string, error) {
	var text string
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		content, _ := os.Readlink(path)
		if d.Type().IsRegular() {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			content = string(data)
		}
		name, err := filepath.Rel(dir, path)
		text += name + " " + info.Mode().String() + " " + info.ModTime().UTC().String() + " " + content + "\n"
		return err
	})
	return text, err
}
