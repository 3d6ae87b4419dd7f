//go:build linux && amd64

package faults

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/internal/crashloop"
)

// swapped are directories in whose place somebody puts a link to another one,
// with a copy of all that is in it, while the program is at work.
// Nothing may change there.
func swapped() []Fault {
	return []Fault{
		swap("the log's directory becomes a link", func(h *Home) string { return h.Sessions() }),
		swap("the store becomes a link", func(h *Home) string { return h.store() }),
	}
}

// store is the directory that all sessions are below.
func (h *Home) store() string {
	if h.Command.Runtime == "openclaw" {
		return filepath.Dir(filepath.Dir(h.Sessions()))
	}
	return filepath.Dir(h.Sessions())
}

func swap(name string, of func(*Home) string) Fault {
	return Fault{
		Name: name, reads: true,
		at: func(b *Bench, c crashloop.Call) bool {
			return c.N > firstLook(b, of(&b.home))
		},
		fits: func(b *Bench) string {
			if !b.home.Command.Sessions {
				return "no session is touched"
			}
			return ""
		},
		try: func(b *Bench, c crashloop.Call) (problem, err error) { return swapAt(b, c, of) },
	}
}

// firstLook is the first call of an undisturbed run that opens a directory: a
// link that is there by then is one that the user has made.
func firstLook(b *Bench, dir string) int {
	calls, _ := b.calls(nil, true) // an error is told by whoever asks for the calls themselves
	at := slices.IndexFunc(calls, func(c crashloop.Call) bool { return strings.HasPrefix(c.Name, "open") && c.Path == dir })
	if at < 0 {
		return len(calls)
	}
	return calls[at].N
}

func swapAt(b *Bench, c crashloop.Call, of func(*Home) string) (problem, err error) {
	h, err := b.fresh()
	if err != nil {
		return nil, err
	}
	dir, other := of(h), h.Dir+".elsewhere"
	if err := errors.Join(os.RemoveAll(other), copyTree(dir, other)); err != nil {
		return nil, err
	}
	before, err := contents(other)
	if err != nil {
		return nil, err
	}
	var swapErr error
	got, err := h.trace(true, once(c.N, crashloop.Fault{Hook: func() {
		swapErr = errors.Join(os.Rename(dir, dir+".real"), os.Symlink(other, dir))
	}}))
	if err = errors.Join(err, swapErr); err != nil {
		return nil, err
	}
	if _, err := os.Lstat(dir + ".real"); err == nil { // the call was met
		if err := errors.Join(os.Remove(dir), os.Rename(dir+".real", dir)); err != nil {
			return nil, err
		}
	}
	after, err := contents(other)
	if err != nil {
		return nil, err
	}
	if before != after {
		problem = fmt.Errorf("exit %d: it changed what the link leads to:\n%s\nwas\n%s", got.Exit, after, before)
	}
	return errors.Join(orderly(got), problem, h.linesKept(), h.settles()), nil
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
