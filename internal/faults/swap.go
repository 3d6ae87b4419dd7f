//go:build linux && amd64

package faults

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/internal/crashloop"
)

// swapped are directories and files in whose place somebody puts a link to
// another one, with a copy of all that is in it, while the program is at work.
// Nothing may change there.
func swapped() []Fault {
	return []Fault{
		swap("the log's directory becomes a link", func(h *Home, _ string) string { return h.Sessions() }),
		swap("the store becomes a link", func(h *Home, _ string) string { return h.store() }),
		swap("a directory of our own becomes a link", (*Home).own),
		swap("a file of our own becomes a link", (*Home).ownFile),
	}
}

// ownFile is the path itself, if it is in a directory of our own.
func (h *Home) ownFile(path string) string {
	if dir := h.own(path); dir == "" || dir == path {
		return ""
	}
	return path
}

// own is the directory of our own, or of archives or trash, that a path is in, ""
// if it is in none.
func (h *Home) own(path string) string {
	dirs := []string{filepath.Join(h.Sessions(), ".sessctl-trash"), filepath.Join(h.store(), "..", "session_archive")}
	for _, name := range []string{"archive", "archives", "journal", "receipts", "facts", "trash", "given-up", "memory", "memory-forgotten", "memory-summaries", "memory-stored", "runs", "outbox", "jobs", "pages"} {
		dirs = append(dirs, filepath.Join(h.Data(), name))
	}
	for _, dir := range dirs {
		if path == dir || strings.HasPrefix(path, dir+"/") {
			return dir
		}
	}
	return ""
}

// store is the directory that all sessions are below.
func (h *Home) store() string {
	if h.Command.Runtime == "openclaw" {
		return filepath.Dir(filepath.Dir(h.Sessions()))
	}
	return filepath.Dir(h.Sessions())
}

// swap puts a link in the place of the directory that of names for a path with
// which the program is about to do something.
func swap(name string, of func(h *Home, path string) string) Fault {
	at := func(b *Bench, c crashloop.Call) bool {
		dir := of(&b.home, c.Path)
		return dir != "" && c.N > firstLook(b, dir)
	}
	return Fault{
		Name: name, reads: true, at: at,
		fits: func(b *Bench) string {
			calls, _ := b.calls(nil, true) // an error is told by whoever asks for the calls themselves
			if !slices.ContainsFunc(calls, func(c crashloop.Call) bool { return at(b, c) }) {
				return "nothing is done there"
			}
			return ""
		},
		try: func(b *Bench, c crashloop.Call) (problem, err error) { return swapAt(b, c, of(&b.home, c.Path)) },
	}
}

// firstLook is the first call of an undisturbed run that opens a directory: a
// link that is there by then is one that the user has made.
func firstLook(b *Bench, dir string) int {
	calls, _ := b.calls(nil, true)
	at := slices.IndexFunc(calls, func(c crashloop.Call) bool { return strings.HasPrefix(c.Name, "open") && c.Path == dir })
	if at < 0 {
		return len(calls)
	}
	return calls[at].N
}

func swapAt(b *Bench, c crashloop.Call, dir string) (problem, err error) {
	h, err := b.fresh()
	if err != nil {
		return nil, err
	}
	other, aside, before := h.Dir+".elsewhere", h.Dir+".aside", ""
	swapErr := errors.Join(os.RemoveAll(other), os.RemoveAll(aside))
	if _, err := os.Stat(dir); err == nil { // now: later the program may hold a lease on what is in it
		swapErr = errors.Join(swapErr, copyTree(dir, other))
	}
	if swapErr != nil {
		return nil, swapErr
	}
	hook := func() {
		if _, err := os.Stat(dir); err != nil {
			return // it is gone again
		}
		if _, err := os.Stat(other); err != nil {
			swapErr = copyTree(dir, other)
		}
		if swapErr == nil {
			before, swapErr = contents(other)
		}
		swapErr = errors.Join(swapErr, os.Rename(dir, aside), os.Symlink(other, dir))
	}
	got, err := h.trace(true, afterFirstLook(dir, c.N, crashloop.Fault{Hook: hook}))
	if err = errors.Join(err, swapErr); err != nil {
		return nil, err
	}
	var after string
	if _, err := os.Lstat(aside); err == nil { // the call was met
		if err := putBack(dir, aside); err != nil {
			return nil, err
		}
		if after, err = contents(other); err != nil {
			return nil, err
		}
	}
	if before != after {
		problem = fmt.Errorf("exit %d: it changed what the link leads to:\n%s\nwas\n%s", got.Exit, after, before)
	}
	return errors.Join(orderly(got), problem, h.linesKept(), h.settles()), nil
}

// afterFirstLook lets a fault happen at the first call from the nth on that does
// something there, once the run has opened it. Two runs number their calls
// differently: the nth call of this one can come before its first look, and a
// link that is there by then is the user's.
func afterFirstLook(dir string, n int, f crashloop.Fault) func(crashloop.Call) crashloop.Fault {
	opened, done := false, false
	return func(c crashloop.Call) crashloop.Fault {
		now := opened && !done && c.N >= n && (c.Path == dir || strings.HasPrefix(c.Path, dir+"/"))
		opened = opened || strings.HasPrefix(c.Name, "open") && c.Path == dir
		if !now {
			return crashloop.Fault{}
		}
		done = true
		return f
	}
}

// putBack takes a link away and puts in its place what was there. A file that the
// program has removed, or replaced, is gone.
func putBack(path, aside string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Mode().IsRegular() {
		return os.RemoveAll(aside)
	}
	return errors.Join(err, os.Remove(path), os.Rename(aside, path))
}

// contents lists the files below a directory, with their lengths and times.
func contents(dir string) (string, error) {
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil && !d.IsDir() {
			fmt.Fprintf(&b, "%s %d %s\n", strings.TrimPrefix(path, dir), info.Size(), info.ModTime())
		} else if err == nil {
			fmt.Fprintf(&b, "%s/\n", strings.TrimPrefix(path, dir))
		}
		return err
	})
	return b.String(), err
}
