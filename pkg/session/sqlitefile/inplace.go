package sqlitefile

import (
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/sessctl/sessctl/pkg/durable"
	"modernc.org/sqlite/vfs"
)

// inPlace is a database that SQLite reads where it lies. SQLite opens files by
// their paths, and somebody may have put a link in the place of one of the
// directories on the way: so it gets the file that was opened from the
// directory that is held open, and has no other.
type inPlace struct {
	root *os.Root // in which the file has a name
	name string
	file *os.File
	vfs  string // SQLite's name of the file system that has only this file
	fs   *vfs.FS
}

// hold opens the database. It never follows a link. What it returns is to be
// closed, with an error too.
func (f File) hold(root *os.Root) (held *inPlace, err error) {
	held = &inPlace{name: f.Name}
	if held.root, err = root.OpenRoot("."); err != nil {
		return held, err
	}
	held.file, err = durable.OpenRegularIn(root, f.Name)
	return held, err
}

// show shows SQLite the file, or what is read in its place.
func (h *inPlace) show(as fs.FS) (err error) {
	h.vfs, h.fs, err = vfs.New(as)
	return err
}

// address is the driver's name of the file. What SQLite would put into a file of
// its own it keeps in memory: there is no place for one.
func (h *inPlace) address() string {
	return address(copyName, unchanging+"&vfs="+h.vfs+"&_pragma=temp_store(memory)")
}

// is reports whether the file that is open, and the one that has its name, still
// look as it did.
func (h *inPlace) is(then looks) bool {
	opened, err := h.file.Stat()
	if err != nil {
		return false
	}
	named, err := h.root.Lstat(h.name)
	return err == nil && os.SameFile(opened, named) && durable.Identify(opened).Inode == then.inode &&
		opened.Size() == then.size && opened.ModTime().Equal(then.mod)
}

// close gives back what is there of it, after SQLite has closed the file.
func (h *inPlace) close() error {
	var err error
	if h.fs != nil {
		err = h.fs.Close()
	}
	if h.file != nil {
		err = errors.Join(err, h.file.Close())
	}
	if h.root != nil {
		err = errors.Join(err, h.root.Close())
	}
	return err
}

// onlyFile is the file system in which an open file is everything there is.
type onlyFile struct{ file *os.File }

// Open implements [fs.FS].
func (f onlyFile) Open(name string) (fs.File, error) {
	if name != copyName {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	info, err := f.file.Stat()
	if err != nil {
		return nil, err
	}
	return section{io.NewSectionReader(f.file, 0, info.Size()), f.file}, nil
}

// section is one opening of an open file, with a position of its own.
type section struct {
	*io.SectionReader
	file *os.File
}

// Stat implements [fs.File].
func (s section) Stat() (fs.FileInfo, error) { return s.file.Stat() }

// Close implements [fs.File]. The file stays open for whoever opened it.
func (section) Close() error { return nil }
