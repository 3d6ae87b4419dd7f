package durable

import (
	"errors"
	"fmt"
	"os"
)

// Handle is a directory that is held open for those who know only paths, such as
// a database.
type Handle struct {
	dir  *os.File // nil where its path is all that there is
	path string
	held bool
}

// OpenHandle opens a directory. During a run it is the one that the run holds
// open. The caller closes the handle.
func (p *Pins) OpenHandle(dir string) (*Handle, error) {
	root, err := p.OpenDir(dir)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", dir, bare(err))
	}
	defer root.Close()
	opened, err := root.Open(".")
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", dir, bare(err))
	}
	if path := pathOf(opened); path != "" {
		return &Handle{dir: opened, path: path, held: true}, nil
	}
	return &Handle{path: dir}, errors.Join(opened.Close(), p.InPlace(dir))
}

// Path is a path of the directory. If the handle is [Handle.Held], it leads to
// this directory whatever happens to the name of it, for as long as the handle
// is open, and in this process only: it goes by a descriptor. It must not be
// resolved further. Elsewhere it is the path that was opened, which leads to
// whatever is there.
func (h *Handle) Path() string { return h.path }

// Held reports whether the path leads to the directory that was opened, and to
// no other: on Linux, where /proc is mounted.
func (h *Handle) Held() bool { return h.held }

// Close closes the handle.
func (h *Handle) Close() {
	if h.dir != nil {
		_ = h.dir.Close() // it was only looked at
	}
}
