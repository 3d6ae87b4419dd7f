package durable

import (
	"errors"
	"os"
)

// FileState tells a file that nobody has changed from one that somebody has, where
// [ChangeTimeTells] holds. States are compared with ==. Inode is 0 where the system has
// none (Windows): there a state tells nothing.
type FileState struct {
	Device, Inode uint64
	Size          int64
	// Modified and Changed are when the content, and anything at all, was last changed,
	// in nanoseconds since 1970.
	Modified, Changed int64
}

// FileStateOf returns the state that os.Lstat, os.Stat or File.Stat saw.
func FileStateOf(info os.FileInfo) FileState {
	id := Identify(info)
	return FileState{id.Device, id.Inode, info.Size(), info.ModTime().UnixNano(), id.Changed.UnixNano()}
}

// Looker looks at many files of one directory, which it holds open: each takes the
// system half as long as by its path. Close it.
type Looker struct {
	root *os.Root
	dir  *os.File
}

// OpenLooker opens a directory to look at files in it, as pins (nil or not) has it.
func OpenLooker(pins *Pins, dir string) (*Looker, error) {
	root, err := pins.OpenDir(dir)
	if err != nil {
		return nil, err
	}
	opened, err := root.Open(".")
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return &Looker{root, opened}, nil
}

// Look returns the state of the file of that name, which is one word; of a link its own.
// The error is bare, for there may be many.
func (l *Looker) Look(name string) (FileState, error) { return l.look(name) }

// Close closes the directory.
func (l *Looker) Close() error { return errors.Join(l.dir.Close(), l.root.Close()) }
