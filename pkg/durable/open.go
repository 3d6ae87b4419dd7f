package durable

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// OpenRegular opens a regular file for reading. It never follows a symbolic
// link, never waits (on a pipe, on a lease) and never opens anything but a
// regular file: [ErrNotRegular] is returned for those, [ErrHeld] when another
// process holds a lease on the file.
func OpenRegular(path string) (*os.File, error) {
	before, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	return openChecked(path, before, func() (*os.File, error) {
		return os.OpenFile(path, os.O_RDONLY|openNoFollow|openNonblock, 0)
	})
}

// ReadSmall reads a file of at most so many bytes that a person wrote: settings,
// a key. It follows links to a regular file and waits for nothing.
// [ErrNotRegular] is returned for anything else, such as a pipe or a device.
func ReadSmall(path string, most int64) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: %w", path, ErrNotRegular)
	}
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, err
	}
	file, err := OpenRegular(target)
	if err != nil {
		return nil, err
	}
	return readSmall(file, path, most)
}

// readSmall reads a file, and closes it.
func readSmall(file *os.File, path string, most int64) ([]byte, error) {
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, most+1))
	if err == nil && int64(len(text)) > most {
		err = fmt.Errorf("%s has more than %d bytes", path, most)
	}
	return text, err
}

// OpenRegularIn is [OpenRegular] for a name below root, which it cannot leave.
func OpenRegularIn(root *os.Root, name string) (*os.File, error) {
	before, err := root.Lstat(name)
	if err != nil {
		return nil, err
	}
	return OpenListedIn(root, name, before)
}

// OpenListedIn is [OpenRegularIn] for a name that was looked at already: before
// is what root.Lstat said of it.
func OpenListedIn(root *os.Root, name string, before os.FileInfo) (*os.File, error) {
	return openChecked(name, before, func() (*os.File, error) {
		return root.OpenFile(name, os.O_RDONLY|openNoFollow|openNonblock, 0)
	})
}

// OpenSingle is [OpenRegular] for a log by its absolute path below base: no
// link in between leads out of base, and a file with several names is
// [ErrManyNames], since changing it would change something else. A path that
// is not below base, or an empty base, is opened as OpenRegular does.
func OpenSingle(base, path string) (*os.File, error) {
	return single(path, func() (*os.File, error) { return openBelow(base, path) })
}

func single(path string, open func() (*os.File, error)) (*os.File, error) {
	file, err := open()
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && Identify(info).Links > 1 {
		err = fmt.Errorf("open %s: %w", path, ErrManyNames)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// OpenSingle is [OpenSingle].
func (p *Pins) OpenSingle(base, path string) (*os.File, error) {
	if p == nil {
		return OpenSingle(base, path)
	}
	if base != "" {
		p.Top(base)
	}
	if found, err := p.find(filepath.Dir(path)); err != nil || found.root == nil {
		return OpenSingle(base, path) // which says what is wrong
	}
	return single(path, func() (*os.File, error) { return p.OpenRegular(path) })
}

func openBelow(base, path string) (*os.File, error) {
	below, err := filepath.Rel(base, path)
	if base == "" || err != nil || !filepath.IsLocal(below) || below == "." {
		return OpenRegular(path)
	}
	root, err := os.OpenRoot(base)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return OpenRegularIn(root, below)
}

// openChecked looks before it opens, because opening a device may act on it,
// and again afterwards, because the name may have changed hands in between.
func openChecked(path string, before os.FileInfo, open func() (*os.File, error)) (*os.File, error) {
	if !before.Mode().IsRegular() {
		return nil, fmt.Errorf("open %s: %w", path, ErrNotRegular)
	}
	file, err := open()
	switch {
	case isLink(err):
		return nil, fmt.Errorf("open %s: %w", path, ErrNotRegular)
	case isLeased(err):
		return nil, fmt.Errorf("open %s: %w", path, ErrHeld)
	case err != nil:
		return nil, err
	}
	after, err := file.Stat()
	if err == nil && !after.Mode().IsRegular() {
		err = fmt.Errorf("open %s: %w", path, ErrNotRegular)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// Identity tells whether a file is still the one that was looked at. The zero
// Identity (Windows) tells nothing; use os.SameFile, size and time there.
type Identity struct {
	Device, Inode uint64
	// Links is the number of names the file has.
	Links uint64
	// Changed is when content or metadata last changed (ctime): unlike the
	// modification time no program can set it back.
	Changed time.Time
}

// Identify returns the identity behind what os.Lstat, os.Stat or File.Stat
// returned.
func Identify(fi os.FileInfo) Identity { return identify(fi) }

// ChangeTimeTells reports whether the file system at path is one that changes
// [Identity].Changed with every write to a file, and does so here: a local
// file system of Linux whose driver is known for it. There a file that was
// left alone for longer than a clock may stand still, and has the same
// identity, size and times later, has the same bytes.
//
// It is false for network and FUSE file systems, which may tell what they knew
// a moment ago, for FAT, which has no such time, and on other systems, where a
// program can set it (macOS, setattrlist) or there is none (Windows). Not even
// where it is true does it tell of writing through a memory map, for up to the
// half minute that such pages stay in memory.
func ChangeTimeTells(path string) bool { return changeTimeTells(path) }

// ReadEnd reads the last len(p) bytes of the first size bytes of the file at
// path, all of them if there are fewer, and returns how many it read: fewer
// than that if the file is shorter now. It never follows a symbolic link at
// path and never waits. The caller has just looked at path and knows that it
// is a regular file; what the file is now he cannot tell from the bytes alone.
func ReadEnd(path string, size int64, p []byte) (int, error) {
	from := max(size-int64(len(p)), 0)
	return readAt(path, p[:size-from], from)
}

// TouchIn sets the modification time of a regular file in root, which is held
// open, and makes it durable. [ErrNotRegular] is returned for anything else; a link
// is not followed.
func TouchIn(root *os.Root, base string, at time.Time) error {
	path := filepath.Join(root.Name(), base)
	fi, err := root.Lstat(base)
	if err != nil {
		return fmt.Errorf("touch %s: %w", path, bare(err))
	}
	if !fi.Mode().IsRegular() {
		return fmt.Errorf("touch %s: %w", path, ErrNotRegular)
	}
	if err := root.Chtimes(base, at, at); err != nil {
		return explain("touch", path, root.Name(), err)
	}
	return SyncFileIn(root, base)
}
