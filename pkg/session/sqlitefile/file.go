package sqlitefile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/sessctl/sessctl/pkg/durable"
)

// File is where a database lies: Name is relative to Base, an absolute path,
// and no link leads out of Base.
type File struct {
	Base, Name string
	// OpenRoot opens Base, the same directory all through a run. Without it Base
	// is opened by its path.
	OpenRoot func(base string) (*os.Root, error)
	// CopyMost is how many bytes, the log included, a database with a log may
	// have that is copied to be read; a larger one is read where it lies, together
	// with its log. 0 is 256 MiB.
	CopyMost int64
	// Copied is called after each file that was copied, with what its name has after
	// the database's ("", "-wal"). nil but in tests, which change things there.
	Copied func(end string)
}

func (f File) openBase() (*os.Root, error) {
	if f.OpenRoot == nil {
		return os.OpenRoot(f.Base)
	}
	return f.OpenRoot(f.Base)
}

func (f File) copyMost() int64 {
	if f.CopyMost > 0 {
		return f.CopyMost
	}
	return 256 << 20
}

// Path is the absolute path of the database.
func (f File) Path() string { return filepath.Join(f.Base, f.Name) }

// InPlace returns an error unless the database is a regular file, the same one by
// its path as in the base that is held open.
func (f File) InPlace() error {
	root, err := f.openBase()
	if err != nil {
		return err
	}
	defer root.Close()
	info, err := root.Lstat(f.Name)
	if err == nil && !info.Mode().IsRegular() {
		err = durable.ErrNotRegular
	}
	if named, lookErr := os.Lstat(f.Path()); err == nil && (lookErr != nil || !os.SameFile(info, named)) {
		err = durable.ErrNotRegular
	}
	return err
}

const (
	walEnd     = "-wal"     // the write-ahead log: commits that are not in the database yet
	journalEnd = "-journal" // what an unfinished transaction has overwritten
	walHead    = 32         // bytes of a write-ahead log's header (SQLite's file format, section 4.1)
	// clockTick is more than the step in which file systems count time: a file
	// that changed so short a time ago may change again and not show it.
	clockTick = 20 * time.Millisecond
)

// looks is what can be seen of one file without reading it.
type looks struct {
	there         bool
	size          int64
	mod, changed  time.Time
	device, inode uint64
}

// stamp is what can be seen of a database and the files beside it.
type stamp struct {
	main, wal, journal looks
	head               [walHead]byte // of the write-ahead log; a new one begins with another
}

// look takes the stamp of a database.
func (f File) look(root *os.Root) (s stamp, err error) {
	if s.main, err = lookAt(root, f.Name); err != nil {
		return s, err
	}
	if !s.main.there {
		return s, &fs.PathError{Op: "open", Path: f.Path(), Err: fs.ErrNotExist}
	}
	if s.wal, err = lookAt(root, f.Name+walEnd); err != nil {
		return s, err
	}
	if s.journal, err = lookAt(root, f.Name+journalEnd); err != nil {
		return s, err
	}
	if s.wal.size > 0 {
		s.head, err = readHead(root, f.Name+walEnd)
	}
	return s, err
}

func lookAt(root *os.Root, name string) (looks, error) {
	info, err := root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return looks{}, nil
	}
	if err != nil {
		return looks{}, err
	}
	id := durable.Identify(info)
	return looks{
		there: true, size: info.Size(), mod: info.ModTime(), changed: id.Changed, device: id.Device, inode: id.Inode,
	}, nil
}

// readHead reads the header of a write-ahead log, as far as it is there.
func readHead(root *os.Root, name string) (head [walHead]byte, err error) {
	f, err := durable.OpenRegularIn(root, name)
	if errors.Is(err, fs.ErrNotExist) {
		return head, nil
	}
	if err != nil {
		return head, err
	}
	defer f.Close()
	if _, err = io.ReadFull(f, head[:]); errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return head, err
}

// whole reports that the database is all there is: neither log has anything
// that the database lacks.
func (s stamp) whole() bool { return s.wal.size == 0 && s.journal.size == 0 }

// young reports that a file changed so short a time before now that another
// change might not show.
func (l looks) young(now time.Time) bool {
	age := now.Sub(l.mod)
	return l.there && age >= 0 && age < clockTick
}

// copiedBetween reports whether a copy made between two stamps is of one
// moment: the database did not change, and the write-ahead log, which was
// copied after it, was not begun anew. Commits that were added to the log do no
// harm: SQLite reads it up to the last one that is complete.
func copiedBetween(before, after stamp) bool {
	sameLog := before.wal.there == after.wal.there && before.wal.inode == after.wal.inode &&
		before.head == after.head && after.wal.size >= before.wal.size
	return before.main == after.main && before.journal == after.journal && sameLog
}

// copyInto copies the database and what belongs to it, the database first.
func (f File) copyInto(root *os.Root, to *durable.Scratch) error {
	for _, end := range []string{"", walEnd, journalEnd} {
		src, err := durable.OpenRegularIn(root, f.Name+end)
		if errors.Is(err, fs.ErrNotExist) && end != "" {
			continue
		}
		if err != nil {
			return fmt.Errorf("copy %s: %w", f.Path()+end, err)
		}
		_, err = to.Fill(copyName+end, src)
		if err := errors.Join(err, src.Close()); err != nil {
			return fmt.Errorf("copy %s: %w", f.Path()+end, err)
		}
		if f.Copied != nil {
			f.Copied(end)
		}
	}
	return nil
}

// copyName is the name of the copy in its private directory.
const copyName = "copy.sqlite"
