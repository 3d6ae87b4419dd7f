package logfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/session"
)

// Dir is one open directory of a store. Close it.
type Dir struct {
	Root *os.Root
	Path string // absolute
}

// ErrNoDirectory is returned by [Open] and [Dir.Below] for the name of a file.
var ErrNoDirectory = errors.New("not a directory")

// Open opens a directory by its absolute path.
func Open(path string) (*Dir, error) {
	info, err := os.Stat(path) // opening a pipe would wait for ever
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, &fs.PathError{Op: "open", Path: path, Err: ErrNoDirectory}
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	return &Dir{Root: root, Path: path}, nil
}

// OpenPinned is [Open] for a directory that is held open during a run.
func OpenPinned(pins *durable.Pins, path string) (*Dir, error) {
	root, err := pins.OpenDir(path)
	if err != nil {
		return nil, err
	}
	return &Dir{Root: root, Path: path}, nil
}

// Below opens a directory inside this one. A link out of it is an error.
func (d *Dir) Below(name string) (*Dir, error) {
	info, err := d.Root.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, &fs.PathError{Op: "open", Path: d.At(name), Err: ErrNoDirectory}
	}
	root, err := d.Root.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	return &Dir{Root: root, Path: filepath.Join(d.Path, name)}, nil
}

// DirOf opens the directory of a log, as deep below base as it may lie. Without
// a base, or for a log that is not below it, nothing is said of what is on the
// way. Outside of a run this is one.
func DirOf(pins *durable.Pins, base, path string) (*Dir, error) {
	if pins == nil {
		pins = &durable.Pins{}
	}
	pins.Hold()
	defer pins.Release()
	if base != "" {
		pins.Top(base)
	}
	return OpenPinned(pins, filepath.Dir(path))
}

// Close closes the directory. It was only looked at, so there is nothing that
// could go wrong with what is in it.
func (d *Dir) Close() { _ = d.Root.Close() }

// At returns the absolute path of a name, which is one word. There are many
// names, and filepath.Join looks at every byte of each path.
func (d *Dir) At(name string) string {
	if os.IsPathSeparator(d.Path[len(d.Path)-1]) {
		return d.Path + name
	}
	return d.Path + string(filepath.Separator) + name
}

// OpenLog opens a regular file. It never follows a link and never waits.
func (d *Dir) OpenLog(name string) (*os.File, os.FileInfo, error) {
	log, err := durable.OpenRegularIn(d.Root, name)
	if err != nil {
		return nil, nil, fmt.Errorf("open log: %w", err)
	}
	info, err := log.Stat()
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("look at log: %w", err), log.Close())
	}
	return log, info, nil
}

// maxSmall bounds what is read of a small file, in bytes.
const maxSmall = 1 << 20

// ReadSmall reads a small file that a runtime keeps beside its logs: at most
// 1 MiB of it. Like OpenLog it never follows a link and never waits.
func (d *Dir) ReadSmall(name string) ([]byte, os.FileInfo, error) {
	f, err := durable.OpenRegularIn(d.Root, name)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	raw, err := io.ReadAll(io.LimitReader(f, maxSmall))
	return raw, info, err
}

// Stat looks at a file, not through a link; nil for one that is not there.
func (d *Dir) Stat(name string) (os.FileInfo, error) {
	info, err := d.Root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look at %s: %w", d.At(name), err)
	}
	return info, nil
}

// What is done to a path below the directory is done in the directory that is
// open, wherever its own path leads by now.

// below is the name of a path in the directory, or further down.
func (d *Dir) below(path string) (string, error) {
	name, err := filepath.Rel(d.Path, path)
	if err != nil {
		return "", fmt.Errorf("look at %s: %w", path, err)
	}
	return name, nil
}

// look is [Dir.Stat] by the path of a file.
func (d *Dir) look(path string) (os.FileInfo, error) {
	name, err := d.below(path)
	if err != nil {
		return nil, err
	}
	return d.Stat(name)
}

// rename moves or exchanges the files of two paths, as act does it with names.
func (d *Dir) rename(act func(root *os.Root, a, b string) error, a, b string) error {
	first, errA := d.below(a)
	second, errB := d.below(b)
	if err := errors.Join(errA, errB); err != nil {
		return err
	}
	return act(d.Root, first, second)
}

// remove unlinks a file by its path.
func (d *Dir) remove(path string) error {
	name, err := d.below(path)
	if err != nil {
		return err
	}
	return durable.RemoveFileIn(d.Root, name)
}

// Names lists the directory, sorted.
func (d *Dir) Names() ([]string, error) {
	f, err := d.Root.Open(".")
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", d.Path, err)
	}
	defer f.Close()
	names, err := f.Readdirnames(-1)
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", d.Path, err)
	}
	slices.Sort(names)
	return names, nil
}

// InPlace checks that the path still leads to the directory that is open: what
// changes names works on paths.
func (d *Dir) InPlace() error {
	byPath, err := os.Stat(d.Path)
	if err != nil {
		return fmt.Errorf("look at %s: %w", d.Path, err)
	}
	opened, err := d.Root.Stat(".")
	if err != nil {
		return fmt.Errorf("look at %s: %w", d.Path, err)
	}
	if !os.SameFile(byPath, opened) {
		return &session.BusyError{Path: d.Path, Reason: session.ReasonDirectoryReplaced.Text()}
	}
	return nil
}

// FreeName returns the first name that is not taken of those that nameOf gives
// for 0, 1, 2 and so on.
func (d *Dir) FreeName(nameOf func(try int) string) (string, error) {
	const tries = 1000
	for try := range tries {
		name := nameOf(try)
		if info, err := d.Stat(name); err != nil || info == nil {
			return name, err
		}
	}
	return "", fmt.Errorf("no free name in %s", d.Path)
}

// Unusable says, for people, why a file can be no session here; "" if it can.
func Unusable(info os.FileInfo) string {
	switch mode := info.Mode(); {
	case mode&fs.ModeSymlink != 0:
		return session.ReasonSymlink.Text()
	case mode.IsDir():
		return session.ReasonDirectory.Text()
	case mode&fs.ModeNamedPipe != 0:
		return session.ReasonPipe.Text()
	case !mode.IsRegular():
		return session.ReasonDevice.Text()
	case durable.Identify(info).Links > 1:
		return session.ErrLinked.Error()
	}
	return ""
}

const (
	rotatedMark = ".rotated."
	rotatedForm = "2006-01-02T15-04-05.000Z"
)

var rotatedName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(.+)\.rotated\.\d{4}-\d{2}-\d{2}T\d{2}-\d{2}-\d{2}\.\d{3}Z$`)
})

// Rotated is the name, or the path, that a log gets when it is moved aside at
// a time. No runtime of those that use it takes such a file for a session.
func Rotated(log string, at time.Time) string {
	return log + rotatedMark + at.UTC().Format(rotatedForm)
}

// OriginalName returns the name that a log had before it was moved aside, and
// whether it was: any other name is returned as it is.
func OriginalName(name string) (log string, rotated bool) {
	if !strings.Contains(name, rotatedMark) { // the usual case, without an expression
		return name, false
	}
	if m := rotatedName().FindStringSubmatch(name); m != nil {
		return m[1], true
	}
	return name, false
}

// FreeRotated returns the path that a log of the directory gets when it is
// moved aside at a time, or, where that is taken, some milliseconds later.
func (d *Dir) FreeRotated(log string, at time.Time) (string, error) {
	at = at.UTC().Truncate(time.Millisecond)
	name, err := d.FreeName(func(try int) string { return Rotated(log, at.Add(time.Duration(try)*time.Millisecond)) })
	return filepath.Join(d.Path, name), err
}
