package durable_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/sessctl/sessctl/pkg/durable"
	"pgregory.net/rapid"
)

// byPath is no run: its methods work on paths.
var byPath *durable.Pins

func exchangeFiles(a, b string) error {
	root, err := os.OpenRoot(filepath.Dir(a))
	if err != nil {
		return err
	}
	defer root.Close()
	return durable.System{}.ExchangeFilesIn(root, filepath.Base(a), filepath.Base(b))
}

func TestMoveFile(t *testing.T) {
	dir := t.TempDir()
	from, to := filepath.Join(dir, "from"), filepath.Join(dir, "sub", "to")
	if err := durable.MakeDir(filepath.Dir(to), 0o700); err != nil {
		t.Fatal(err)
	}
	wantIs(t, byPath.MoveFile(from, to), os.ErrNotExist)
	mustWrite(t, from, "text")
	if err := byPath.MoveFile(from, to); err != nil {
		t.Fatal(err)
	}
	if got := mustRead(t, to) + " " + names(t, dir); got != "text sub" {
		t.Errorf("got %q", got)
	}
	mustWrite(t, from, "other")
	wantIs(t, byPath.MoveFile(from, to), durable.ErrExists)
	if got := mustRead(t, to) + " " + mustRead(t, from); got != "text other" {
		t.Errorf("contents are %q", got)
	}
}

// Where a file system can only link and unlink, a kill in between leaves both
// names; the same call finishes the move.
func TestMoveFileHalfDone(t *testing.T) {
	dir := t.TempDir()
	from, to := filepath.Join(dir, "from"), filepath.Join(dir, "to")
	mustWrite(t, from, "text")
	if err := os.Link(from, to); err != nil {
		t.Skip("no hard links:", err)
	}
	if err := byPath.MoveFile(from, to); err != nil {
		t.Fatal(err)
	}
	if got := mustRead(t, to) + " " + names(t, dir); got != "text to" {
		t.Errorf("got %q", got)
	}
}

func TestRenameByLink(t *testing.T) {
	dir := t.TempDir()
	from, to := filepath.Join(dir, "from"), filepath.Join(dir, "to")
	mustWrite(t, from, "text")
	if err := durable.RenameByLink(from, to); err != nil {
		t.Skip("no hard links:", err)
	}
	mustWrite(t, from, "other")
	wantIs(t, durable.RenameByLink(from, to), durable.ErrExists)
	if got := mustRead(t, to) + " " + mustRead(t, from); got != "text other" {
		t.Errorf("contents are %q", got)
	}
}

func TestExchangeFiles(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	mustWrite(t, a, "1")
	wantIs(t, exchangeFiles(a, b), os.ErrNotExist)
	mustWrite(t, b, "2")
	before, err := os.Stat(a)
	if err != nil {
		t.Fatal(err)
	}
	err = exchangeFiles(a, b)
	if errors.Is(err, durable.ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if got := mustRead(t, a) + mustRead(t, b); got != "21" {
		t.Errorf("contents are %q", got)
	}
	if after, err := os.Stat(b); err != nil || !os.SameFile(before, after) {
		t.Error("the file itself did not move")
	}
}

func TestRemoveFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	mustWrite(t, path, "x")
	for range 2 {
		if err := durable.RemoveFile(path); err != nil {
			t.Fatal(err)
		}
	}
	if err := durable.RemoveFile(filepath.Join(dir, "no", "such")); err != nil {
		t.Error("a missing directory:", err)
	}
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	wantIs(t, durable.RemoveFile(path), durable.ErrNotRegular)
	if got := names(t, dir); got != "a" {
		t.Errorf("an empty directory was removed: %q", got)
	}
}

// Any sequence of changes leaves what the same sequence leaves in a map.
func TestAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp("", "durable")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		m := model{dir: dir, files: map[string]string{}}
		t.Repeat(map[string]func(*rapid.T){
			"replace":  m.replace,
			"create":   m.create,
			"move":     m.move,
			"exchange": m.exchange,
			"remove":   m.remove,
			"":         m.compare,
		})
	})
}

type model struct {
	dir   string
	files map[string]string
}

func (m *model) pick(t *rapid.T, label string) string {
	return rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, label)
}

func (m *model) path(name string) string { return filepath.Join(m.dir, name) }

func (m *model) replace(t *rapid.T) {
	name, text := m.pick(t, "name"), rapid.StringN(0, 5, -1).Draw(t, "text")
	if err := durable.ReplaceFile(m.path(name), 0o600, write(text)); err != nil {
		t.Fatal(err)
	}
	m.files[name] = text
}

func (m *model) create(t *rapid.T) {
	name, text := m.pick(t, "name"), rapid.StringN(0, 5, -1).Draw(t, "text")
	err := durable.CreateFile(m.path(name), 0o600, write(text))
	_, there := m.files[name]
	if there != errors.Is(err, durable.ErrExists) || !there && err != nil {
		t.Fatalf("create of %s (there: %v): %v", name, there, err)
	}
	if !there {
		m.files[name] = text
	}
}

func (m *model) move(t *rapid.T) {
	from, to := m.pick(t, "from"), m.pick(t, "to")
	if from == to {
		t.Skip("onto itself")
	}
	err := byPath.MoveFile(m.path(from), m.path(to))
	text, fromThere := m.files[from]
	_, toThere := m.files[to]
	if (err == nil) != (fromThere && !toThere) {
		t.Fatalf("move %s (%v) to %s (%v): %v", from, fromThere, to, toThere, err)
	}
	if err == nil {
		delete(m.files, from)
		m.files[to] = text
	}
}

func (m *model) exchange(t *rapid.T) {
	a, b := m.pick(t, "a"), m.pick(t, "b")
	err := exchangeFiles(m.path(a), m.path(b))
	if errors.Is(err, durable.ErrUnsupported) {
		t.Skip(err)
	}
	_, aThere := m.files[a]
	_, bThere := m.files[b]
	if (err == nil) != (aThere && bThere) {
		t.Fatalf("exchange %s (%v) with %s (%v): %v", a, aThere, b, bThere, err)
	}
	if err == nil {
		m.files[a], m.files[b] = m.files[b], m.files[a]
	}
}

func (m *model) remove(t *rapid.T) {
	name := m.pick(t, "name")
	if err := durable.RemoveFile(m.path(name)); err != nil {
		t.Fatal(err)
	}
	delete(m.files, name)
}

func (m *model) compare(t *rapid.T) {
	entries, err := os.ReadDir(m.dir)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, entry := range entries {
		data, err := os.ReadFile(m.path(entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		got[entry.Name()] = string(data)
	}
	if diff := cmp.Diff(m.files, got); diff != "" {
		t.Fatal("directory differs from the model (-want +got):\n", diff)
	}
}

// A program that renames another file to the old name, just before that is
// taken away from the moved file, keeps its file.
func TestDropNameOfAnotherFile(t *testing.T) {
	dir := t.TempDir()
	from, to := filepath.Join(dir, "from"), filepath.Join(dir, "to")
	mustWrite(t, to, "moved")
	mustWrite(t, from, "a stranger's")
	wantIs(t, durable.DropName(from, to), durable.ErrExists)
	if got := mustRead(t, to) + ", " + mustRead(t, from) + ": " + names(t, dir); got != "moved, a stranger's: from to" {
		t.Errorf("got %q", got)
	}
}

// A kill in between is ended by the next sweep, whatever the file is.
func TestSweepEndsMoves(t *testing.T) {
	hidden := strings.TrimSuffix(durable.TempName("from"), ".tmp") + ".moved"
	for name, test := range map[string]struct {
		prepare func(dir string) error
		want    string
	}{
		"the moved file": {
			func(dir string) error { return os.Link(filepath.Join(dir, hidden), filepath.Join(dir, "to")) }, "to",
		},
		"a stranger's file":              {func(string) error { return nil }, "from"},
		"a stranger's file, and another": {func(dir string) error { return os.WriteFile(filepath.Join(dir, "from"), nil, 0o600) }, hidden + " from"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			mustWrite(t, filepath.Join(dir, hidden), "text")
			if err := test.prepare(dir); err != nil {
				t.Skip(err)
			}
			for range 2 {
				if err := durable.Sweep(dir, 0); err != nil {
					t.Fatal(err)
				}
				if got := names(t, dir); got != test.want {
					t.Fatalf("left are %q, want %q", got, test.want)
				}
			}
		})
	}
}
