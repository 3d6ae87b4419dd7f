package durable_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/sessctl/sessctl/pkg/durable"
)

// pinnedPlace is a directory that a run holds open, with a file in it and in a
// directory below, and another one with the same in it.
type pinnedPlace struct {
	top, other string
	pins       *durable.Pins
}

func newPinnedPlace(t *testing.T) pinnedPlace {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("a directory that is held open cannot be renamed there")
	}
	dir := t.TempDir()
	p := pinnedPlace{filepath.Join(dir, "top"), filepath.Join(dir, "other"), &durable.Pins{}}
	for _, place := range []string{p.top, p.other} {
		if err := os.MkdirAll(filepath.Join(place, "below"), 0o700); err != nil {
			t.Fatal(err)
		}
		mustWrite(t, filepath.Join(place, "a"), "a")
		mustWrite(t, filepath.Join(place, "below", "a"), "a")
		mustWrite(t, filepath.Join(place, "below", ".x.sessctl-0123456789abcdef.tmp"), "half")
	}
	return p
}

// swap puts a link to the other directory in the place of a path below the top.
func (p pinnedPlace) swap(t *testing.T, below string) {
	t.Helper()
	dir := filepath.Join(p.top, below)
	if err := errors.Join(os.Rename(dir, dir+".real"), os.Symlink(filepath.Join(p.other, below), dir)); err != nil {
		t.Fatal(err)
	}
}

func text(s string) func(io.Writer) error {
	return func(w io.Writer) error { _, err := io.WriteString(w, s); return err }
}

// acts are the methods that change something below a directory.
func (p pinnedPlace) acts(dir string) map[string]func() error {
	at := func(name string) string { return filepath.Join(dir, name) }
	return map[string]func() error{
		"AppendLine":  func() error { return p.pins.AppendLine(at("lines"), []byte("x"), 0o600) },
		"CreateFile":  func() error { return p.pins.CreateFile(at("created"), 0o600, text("x")) },
		"ReplaceFile": func() error { return p.pins.ReplaceFile(at("a"), 0o600, text("new")) },
		"CreateNamed": func() error {
			_, err := p.pins.CreateNamed(dir, "label", 0o600, func(w io.Writer) (string, error) { return "named", text("x")(w) })
			return err
		},
		"MakeDir":    func() error { return p.pins.MakeDir(at("made/deep"), 0o700) },
		"LinkFile":   func() error { return p.pins.LinkFile(at("a"), at("linked")) },
		"MoveFile":   func() error { return p.pins.MoveFile(at("a"), at("moved")) },
		"RemoveFile": func() error { return p.pins.RemoveFile(at("a")) },
		"Sweep":      func() error { return p.pins.Sweep(dir, 0) },
		"OpenDir": func() error {
			root, err := p.pins.OpenDir(dir)
			if err == nil {
				_, left := durable.EndMovesIn(root, 0)
				err = errors.Join(durable.SyncFileIn(root, "a"), left, root.Close())
			}
			return err
		},
	}
}

func listed(t *testing.T, dir string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		names = append(names, path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// A directory that was named is held open: a link in its place leads nowhere, and
// what is done is done in the directory.
func TestPinsHoldADirectory(t *testing.T) {
	for name := range newPinnedPlace(t).acts("") {
		p := newPinnedPlace(t)
		p.pins.Hold()
		p.pins.Top(p.top)
		p.swap(t, "")
		if err := p.acts(p.top)[name](); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := p.pins.InPlace(p.top); !errors.Is(err, durable.ErrElsewhere) {
			t.Errorf("%s: in place: %v", name, err)
		}
		if got := listed(t, p.other); len(got) != 5 {
			t.Errorf("%s changed what the link leads to: %v", name, got)
		}
		if text := mustRead(t, filepath.Join(p.other, "a")); text != "a" {
			t.Errorf("%s wrote through the link: %q", name, text)
		}
		p.pins.Release()
	}
}

// Below it a link that leads out of it is an error.
func TestPinsFollowNoLinkBelow(t *testing.T) {
	for name := range newPinnedPlace(t).acts("") {
		p := newPinnedPlace(t)
		p.pins.Hold()
		p.pins.Top(p.top)
		p.swap(t, "below")
		if err := p.acts(filepath.Join(p.top, "below"))[name](); err == nil {
			t.Errorf("%s followed a link", name)
		}
		if got := listed(t, p.other); len(got) != 5 {
			t.Errorf("%s changed what the link leads to: %v", name, got)
		}
		p.pins.Release()
	}
}

// A link that is there when a directory is opened is the user's; after the run
// the path is looked at anew.
func TestPinsFollowALinkOnce(t *testing.T) {
	p := newPinnedPlace(t)
	p.pins.Top(p.top)
	p.swap(t, "")
	p.pins.Hold()
	if err := errors.Join(p.pins.CreateFile(filepath.Join(p.top, "x"), 0o600, text("x")), p.pins.InPlace(p.top)); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(p.other, "x")); err != nil {
		t.Error(err)
	}
	if err := errors.Join(os.Remove(p.top), os.Rename(p.top+".real", p.top)); err != nil {
		t.Fatal(err)
	}
	if _, err := p.pins.Lstat(filepath.Join(p.top, "x")); err != nil {
		t.Errorf("during the run the directory is another one: %v", err)
	}
	p.pins.Release()
	if _, err := p.pins.Lstat(filepath.Join(p.top, "x")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("after the run the old directory is held: %v", err)
	}
}

// A directory that is made during the run is held from then on.
func TestPinsHoldWhatTheyMake(t *testing.T) {
	p := newPinnedPlace(t)
	p.pins.Hold()
	defer p.pins.Release()
	made := filepath.Join(p.top, "..", "made", "deep")
	if err := p.pins.MakeDir(made, 0o700); err != nil {
		t.Fatal(err)
	}
	above := filepath.Dir(made)
	if err := errors.Join(os.Rename(above, above+".real"), os.MkdirAll(made, 0o700)); err != nil {
		t.Fatal(err)
	}
	if err := p.pins.CreateFile(filepath.Join(made, "x"), 0o600, text("x")); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(above+".real", "deep", "x")); err != nil {
		t.Error(err)
	}
}

// What reads sees what is in the directory that is held.
func TestPinsRead(t *testing.T) {
	p := newPinnedPlace(t)
	p.pins.Hold()
	defer p.pins.Release()
	p.pins.Top(p.top)
	p.swap(t, "")
	if err := os.WriteFile(filepath.Join(p.other, "a"), []byte("other"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := p.pins.OpenSingle(p.top, filepath.Join(p.top, "a"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if got, err := io.ReadAll(f); err != nil || string(got) != "a" {
		t.Errorf("%q, %v", got, err)
	}
	entries, err := p.pins.ReadDir(filepath.Join(p.top, "below"))
	left, errLeft := p.pins.Leftovers(filepath.Join(p.top, "below"), 0)
	if err := errors.Join(err, errLeft); err != nil || len(entries) != 2 || len(left) != 1 || filepath.Dir(left[0]) != filepath.Join(p.top, "below") {
		t.Errorf("%v, %v, %v", entries, left, err)
	}
	if old, err := p.pins.Leftovers(filepath.Join(p.top, "below"), time.Hour); err != nil || len(old) != 0 {
		t.Errorf("%v, %v", old, err)
	}
}

// A link that is found in the place of a directory that was about to be made is
// followed by nothing that comes after, until the run ends.
func TestPinsRememberALinkInTheWay(t *testing.T) {
	p := newPinnedPlace(t)
	made, other := filepath.Join(p.top, "made"), filepath.Join(p.other, "elsewhere")
	p.pins.Top(p.top)
	p.pins.Top(made)
	p.pins.Hold()
	mustLink(t, other, made)
	if err := p.pins.MakeDir(made, 0o700); err == nil {
		t.Error("a link was taken for a directory that was made")
	}
	if err := os.Mkdir(other, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := p.pins.CreateFile(filepath.Join(made, "created"), 0o600, text("x")); err == nil {
		t.Error("a file was made through the link")
	}
	if names, err := os.ReadDir(other); err != nil || len(names) > 0 {
		t.Errorf("where the link leads: %v, %v", names, err)
	}
	p.pins.Release()
	p.pins.Hold() // another run: the link is the user's
	defer p.pins.End()
	if err := p.pins.CreateFile(filepath.Join(made, "created"), 0o600, text("x")); err != nil {
		t.Error(err)
	}
}

func mustLink(t *testing.T, to, name string) {
	t.Helper()
	if err := os.Symlink(to, name); err != nil {
		t.Fatal(err)
	}
}

func TestPinsRenew(t *testing.T) {
	moved := func(t *testing.T, p pinnedPlace) string {
		t.Helper()
		dir := filepath.Join(p.top, "below")
		p.pins.Hold()
		t.Cleanup(p.pins.End)
		p.pins.Top(p.top)
		p.pins.Top(dir)
		if err := p.pins.Renew(dir); err != nil {
			t.Fatalf("nothing was moved: %v", err)
		}
		if err := os.Rename(dir, dir+".real"); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	write := func(t *testing.T, p pinnedPlace, dir, lands string) {
		t.Helper()
		if err := p.pins.CreateFile(filepath.Join(dir, "new"), 0o600, text("x")); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Lstat(filepath.Join(lands, "new")); err != nil {
			t.Fatal(err)
		}
	}
	t.Run("a directory", func(t *testing.T) {
		p := newPinnedPlace(t)
		dir := moved(t, p)
		if err := errors.Join(os.Mkdir(dir, 0o700), p.pins.Renew(dir)); err != nil {
			t.Fatal(err)
		}
		write(t, p, dir, dir)
	})
	t.Run("a link", func(t *testing.T) {
		p := newPinnedPlace(t)
		dir := moved(t, p)
		if err := errors.Join(os.Symlink(filepath.Join(p.other, "below"), dir), p.pins.Renew(dir)); err != nil {
			t.Fatal(err)
		}
		write(t, p, dir, dir+".real")
	})
	t.Run("nothing", func(t *testing.T) {
		p := newPinnedPlace(t)
		if dir := moved(t, p); !errors.Is(p.pins.Renew(dir), durable.ErrElsewhere) {
			t.Fatal("no error")
		}
	})
}
