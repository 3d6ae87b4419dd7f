package agentdb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/session"
	_ "modernc.org/sqlite" // the driver "sqlite"
)

// Database is an agent's database as it was at one moment. It may be used by
// several goroutines at once.
type Database struct {
	file    File
	stamp   stamp     // of the files, before they were opened or copied
	taken   time.Time // when
	inPlace *inPlace  // read where it lies; nil for a copy
	db      *sql.DB
	conn    *sql.Conn        // the only one: a copy has no name any more by which another could be opened
	scratch *durable.Scratch // of a copy that could not be removed while it is open (Windows), else nil
	columns columns
}

// A database that changes while it is copied is copied again.
const (
	copyTries = 8
	copyWait  = 50 * time.Millisecond // times the try
)

// Open opens a database for reading. Nothing of it is changed and nothing is
// left beside it. It returns an error that wraps fs.ErrNotExist if there is
// none, a [*VersionError] for a schema that is not known, a
// [*session.BusyError] if the runtime changes it all the time, and a
// [*durable.SpaceError] if there is no room for a copy.
func Open(ctx context.Context, f File) (*Database, error) {
	root, err := f.openBase()
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", f.Path(), err)
	}
	defer root.Close()
	for try := 1; ; try++ {
		d, err := f.open(ctx, root)
		if err != nil || d != nil {
			return d, err
		}
		if try == copyTries {
			return nil, &session.BusyError{Path: f.Path(), Reason: "the runtime changes it while it is copied"}
		}
		if err := wait(ctx, time.Duration(try)*copyWait); err != nil {
			return nil, err
		}
	}
}

// open opens it once; nil if it changed meanwhile.
func (f File) open(ctx context.Context, root *os.Root) (*Database, error) {
	before, err := f.look(root)
	if err != nil {
		return nil, fmt.Errorf("look at %s: %w", f.Path(), err)
	}
	d := &Database{file: f, stamp: before, taken: time.Now()}
	if before.whole() {
		err = d.openInPlace(ctx, root)
	} else {
		err = d.openCopy(ctx, root)
	}
	if err == nil {
		err = d.checkSchema(ctx)
	}
	if errors.Is(err, errChanged) {
		return nil, d.Close()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", f.Path(), err), d.Close())
	}
	return d, nil
}

// errChanged is returned inside this package when the files changed while they
// were opened.
var errChanged = errors.New("it changed while it was opened")

// openInPlace opens a database that has no log beside it.
func (d *Database) openInPlace(ctx context.Context, root *os.Root) (err error) {
	if d.inPlace, err = d.file.hold(root); err != nil {
		return err
	}
	if err := d.connect(ctx, d.inPlace.address()); err != nil {
		return err
	}
	after, err := d.file.look(root)
	if err != nil {
		return err
	}
	if after != d.stamp || after.main.young(d.taken) || d.unchanged() != nil {
		return errChanged
	}
	return nil
}

// openCopy opens a copy. Its log is written into it first, so that it is one
// file, whose name can go as soon as it is open.
func (d *Database) openCopy(ctx context.Context, root *os.Root) error {
	s := d.stamp
	scratch, err := durable.MakeScratch(s.main.size + 2*s.wal.size + s.journal.size)
	if err != nil {
		return err
	}
	d.scratch = scratch
	if err := d.file.copyInto(root, scratch); err != nil {
		return err
	}
	after, err := d.file.look(root)
	if err != nil {
		return err
	}
	if !copiedBetween(s, after) || s.main.young(d.taken) {
		return errChanged
	}
	if err := mergeLogs(ctx, scratch.Path(copyName)); err != nil {
		return err
	}
	if err := d.connect(ctx, address(scratch.Path(copyName), unchanging)); err != nil {
		return err
	}
	if scratch.Remove() == nil {
		d.scratch = nil
	}
	return nil
}

// mergeLogs writes what the logs of a copy hold into it.
func mergeLogs(ctx context.Context, path string) error {
	db, err := sql.Open("sqlite", address(path, "mode=rw"))
	if err != nil {
		return err
	}
	var mode string
	err = db.QueryRowContext(ctx, "PRAGMA journal_mode=DELETE").Scan(&mode)
	if err := errors.Join(err, db.Close()); err != nil {
		return fmt.Errorf("read its log: %w", err)
	}
	if mode != "delete" {
		return fmt.Errorf("read its log: the copy stays in the mode %s", mode)
	}
	return nil
}

// unchanging are the parameters of a file that nobody changes.
const unchanging = "mode=ro&immutable=1"

// connect opens a file that nobody changes.
func (d *Database) connect(ctx context.Context, address string) (err error) {
	if d.db, err = sql.Open("sqlite", address); err != nil {
		return err
	}
	d.db.SetMaxOpenConns(1)
	d.conn, err = d.db.Conn(ctx)
	return err
}

// address is the driver's name of a file.
func address(path, query string) string {
	path = filepath.ToSlash(path)
	if filepath.VolumeName(path) != "" {
		path = "/" + path // file:/C:/...
	}
	return (&url.URL{Scheme: "file", OmitHost: true, Path: path, RawQuery: query}).String()
}

// Close gives everything back.
func (d *Database) Close() error {
	var err error
	if d.conn != nil {
		err = d.conn.Close()
	}
	if d.db != nil {
		err = errors.Join(err, d.db.Close())
	}
	if d.inPlace != nil {
		err = errors.Join(err, d.inPlace.close())
	}
	if d.scratch != nil {
		err = errors.Join(err, d.scratch.Remove())
	}
	return err
}

// current reports whether the files still look as they did when it was opened.
func (d *Database) current() bool {
	root, err := d.file.openBase()
	if err != nil {
		return false
	}
	defer root.Close()
	now, err := d.file.look(root)
	return err == nil && now == d.stamp && !now.main.young(d.taken) && !now.wal.young(d.taken)
}

// unchanged returns a [*session.BusyError] if what is read in place is not what
// was opened any more. A copy never changes.
func (d *Database) unchanged() error {
	if d.inPlace == nil || d.inPlace.is(d.stamp.main) {
		return nil
	}
	return &session.BusyError{Path: d.file.Path(), Reason: "the runtime has changed it while it was read"}
}

// wait waits, or returns the error of a context that ends earlier.
func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// Databases are the open databases of a store. A copy may be gigabytes large,
// so one that was made is used until the next listing. The zero value is ready.
type Databases struct {
	mu   sync.Mutex
	open map[string]*lease // by path
}

// lease is a database and how many use it.
type lease struct {
	*Database
	users   int
	retired bool // to be closed by its last user
}

// Fresh returns a database as it is now, and what gives it back.
func (s *Databases) Fresh(ctx context.Context, f File) (*Database, func(), error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if held := s.open[f.Path()]; held != nil && held.current() {
		return held.Database, s.lend(held), nil
	}
	return s.replace(ctx, f)
}

// Known returns a database as Fresh has last seen it, so that all of what one
// listing names is of one moment, and what gives it back.
func (s *Databases) Known(ctx context.Context, f File) (*Database, func(), error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if held := s.open[f.Path()]; held != nil && held.unchanged() == nil {
		return held.Database, s.lend(held), nil
	}
	return s.replace(ctx, f)
}

// replace opens a database anew.
func (s *Databases) replace(ctx context.Context, f File) (*Database, func(), error) {
	d, err := Open(ctx, f)
	if err != nil {
		return nil, nil, err
	}
	if old := s.open[f.Path()]; old != nil {
		_ = s.retire(old) // it was only read
	}
	if s.open == nil {
		s.open = make(map[string]*lease)
	}
	held := &lease{Database: d}
	s.open[f.Path()] = held
	return d, s.lend(held), nil
}

// lend counts a user in and returns what counts it out, once.
func (s *Databases) lend(held *lease) func() {
	held.users++
	return sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if held.users--; held.users == 0 && held.retired {
			_ = held.Close() // it was only read
		}
	})
}

// retire closes a database as soon as nobody uses it.
func (s *Databases) retire(held *lease) error {
	held.retired = true
	if held.users > 0 {
		return nil
	}
	return held.Close()
}

// Close closes all of them, those that are in use when they are given back.
func (s *Databases) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var err error
	for path, held := range s.open {
		err = errors.Join(err, s.retire(held))
		delete(s.open, path)
	}
	return err
}

// File is where a database lies: Name is relative to Base, an absolute path,
// and no link leads out of Base.
type File struct {
	Base, Name string
	// OpenRoot opens Base, the same directory all through a run. Without it Base
	// is opened by its path.
	OpenRoot func(base string) (*os.Root, error)
	// copied is called after each file that was copied. Tests change things
	// there.
	copied func(end string)
}

func (f File) openBase() (*os.Root, error) {
	if f.OpenRoot == nil {
		return os.OpenRoot(f.Base)
	}
	return f.OpenRoot(f.Base)
}

// Path is the absolute path of the database.
func (f File) Path() string { return filepath.Join(f.Base, f.Name) }

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
		if f.copied != nil {
			f.copied(end)
		}
	}
	return nil
}

// copyName is the name of the copy in its private directory.
const copyName = "agent.sqlite"
