package archive_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/durable"
)

// TestUnchanged: a file is passed over only while it, its archive and the entry are as
// they were, and only if the cache is whole.
func TestUnchanged(t *testing.T) {
	if !durable.ChangeTimeTells(t.TempDir()) {
		t.Skip("skipped: times of this file system do not tell whether a file was changed")
	}
	settled := func() time.Time { return time.Now().Add(time.Minute) }
	for name, test := range map[string]struct {
		now    func() time.Time
		change func(t *testing.T, root string, log string, e archive.Entry)
		want   bool
	}{
		"nothing":         {settled, func(*testing.T, string, string, archive.Entry) {}, true},
		"just written":    {time.Now, func(*testing.T, string, string, archive.Entry) {}, false},
		"log grown":       {settled, func(t *testing.T, _, log string, _ archive.Entry) { addTo(t, log) }, false},
		"log overwritten": {settled, func(t *testing.T, _, log string, _ archive.Entry) { overwriteQuietly(t, log) }, false},
		"log gone":        {settled, func(t *testing.T, _, log string, _ archive.Entry) { remove(t, log) }, false},
		"archive damaged": {settled, func(t *testing.T, _, _ string, e archive.Entry) { overwriteQuietly(t, e.Path) }, false},
		"archive gone":    {settled, func(t *testing.T, _, _ string, e archive.Entry) { remove(t, e.Path) }, false},
		"entry gone": {settled, func(t *testing.T, root, _ string, e archive.Entry) {
			remove(t, filepath.Join(root, "archives", e.ID+".json"))
		}, false},
		"entry damaged": {settled, func(t *testing.T, root, _ string, e archive.Entry) {
			overwriteQuietly(t, filepath.Join(root, "archives", e.ID+".json"))
		}, false},
		"cache damaged":    {settled, func(t *testing.T, root, _ string, _ archive.Entry) { overwriteQuietly(t, filepath.Join(root, "cache")) }, false},
		"cache cut short":  {settled, func(t *testing.T, root, _ string, _ archive.Entry) { truncate(t, filepath.Join(root, "cache")) }, false},
		"cache of nothing": {settled, func(t *testing.T, root, _ string, _ archive.Entry) { remove(t, filepath.Join(root, "cache")) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			s := open(t, root, "none")
			log := filepath.Join(root, "a log.jsonl")
			if err := os.WriteFile(log, []byte(sessionText(5_000, 1)), 0o600); err != nil {
				t.Fatal(err)
			}
			before, err := os.Lstat(log)
			if err != nil {
				t.Fatal(err)
			}
			m := meta("s1")
			m.Source = log
			e := put(t, s, "s1", sessionText(5_000, 1))
			kept := archive.OpenUnchanged(filepath.Join(root, "cache"))
			kept.Keep(s, m, e, before, test.now())
			if err := kept.Save(); err != nil {
				t.Fatal(err)
			}
			test.change(t, root, log, e)
			id, ok := "", false
			if here, err := os.Lstat(log); err == nil {
				id, ok = archive.OpenUnchanged(filepath.Join(root, "cache")).Find(s, m, durable.FileStateOf(here))
			}
			if ok != test.want || ok && id != e.ID {
				t.Errorf("found %q, %v, want %v", id, ok, test.want)
			}
		})
	}
}

func addTo(t *testing.T, path string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString("{}\n"); err != nil {
		t.Fatal(err)
	}
}

// overwriteQuietly changes a byte and gives the file its size and time back.
func overwriteQuietly(t *testing.T, path string) {
	t.Helper()
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text[len(text)/2] ^= 1
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}

func truncate(t *testing.T, path string) {
	t.Helper()
	if err := os.Truncate(path, 30); err != nil {
		t.Fatal(err)
	}
}
