package sqlitefile

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/session"
	_ "modernc.org/sqlite" // the driver "sqlite"
)

// Database is a database as it was at one moment. It may be used by several
// goroutines at once.
type Database struct {
	file    File
	stamp   stamp     // of the files, before they were opened or copied
	taken   time.Time // when
	inPlace *inPlace  // read where it lies; nil for a copy
	db      *sql.DB
	conn    *sql.Conn        // the only one: a copy has no name any more by which another could be opened
	scratch *durable.Scratch // of a copy that could not be removed while it is open (Windows), else nil
	overlay *overlay         // what reads it together with its log where it lies, else nil

	mutex  sync.Mutex
	damage *DamagedError // the first damaged page that was met, see Spare
}

// Conn returns the connection, the only one that there is.
func (d *Database) Conn() *sql.Conn { return d.conn }

// A database that changes while it is copied is copied again.
const (
	copyTries = 8
	copyWait  = 50 * time.Millisecond // times the try
)

// Open opens a database for reading. Nothing of it is changed and nothing is
// left beside it. check looks at what was opened; its error is returned. Open
// returns an error that wraps fs.ErrNotExist if there is no database, a
// [*session.BusyError] if the runtime changes it all the time, and a
// [*durable.SpaceError] if there is no room for a copy.
func Open(ctx context.Context, f File, check func(context.Context, *Database) error) (*Database, error) {
	root, err := f.openBase()
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", f.Path(), err)
	}
	defer root.Close()
	for try := 1; ; try++ {
		d, err := f.open(ctx, root, check)
		if err != nil || d != nil {
			return d, err
		}
		if try == copyTries {
			return nil, &session.BusyError{Path: f.Path(), Reason: session.ReasonDatabaseCopied.Text()}
		}
		if err := session.Wait(ctx, time.Duration(try)*copyWait); err != nil {
			return nil, err
		}
	}
}

// open opens it once; nil if it changed meanwhile.
func (f File) open(ctx context.Context, root *os.Root, check func(context.Context, *Database) error) (*Database, error) {
	before, err := f.look(root)
	if err != nil {
		return nil, fmt.Errorf("look at %s: %w", f.Path(), err)
	}
	d := &Database{file: f, stamp: before, taken: time.Now()}
	switch {
	case before.whole():
		err = d.openInPlace(ctx, root)
	case before.journal.size == 0 && before.main.size+before.wal.size > f.copyMost():
		err = d.openOverlaid(ctx, root)
	default:
		err = d.openCopy(ctx, root)
	}
	if err == nil {
		err = check(ctx, d)
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
	if err := d.inPlace.show(onlyFile{d.inPlace.file}); err != nil {
		return err
	}
	if err := d.connect(ctx, d.inPlace.address()); err != nil {
		return err
	}
	after, err := d.file.look(root)
	if err != nil {
		return err
	}
	if after != d.stamp || after.main.young(d.taken) || d.Unchanged() != nil {
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
	if err := d.noteLog(ctx, scratch.Path(copyName)+walEnd); err != nil {
		return err
	}
	if d.damage != nil && after.wal != s.wal { // it was copied while it was written
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
	if d.overlay != nil {
		err = errors.Join(err, d.overlay.close())
	}
	if d.scratch != nil {
		err = errors.Join(err, d.scratch.Remove())
	}
	return err
}

// Current reports whether the files still look as they did when it was opened.
func (d *Database) Current() bool {
	root, err := d.file.openBase()
	if err != nil {
		return false
	}
	defer root.Close()
	now, err := d.file.look(root)
	return err == nil && now == d.stamp && !now.main.young(d.taken) && !now.wal.young(d.taken)
}

// Unchanged returns a [*session.BusyError] if what is read in place is not what
// was opened any more. A copy never changes.
func (d *Database) Unchanged() error {
	if d.inPlace == nil || d.inPlace.is(d.stamp.main) && (d.overlay == nil || d.overlay.unchanged()) {
		return nil
	}
	return &session.BusyError{Path: d.file.Path(), Reason: session.ReasonDatabaseRead.Text()}
}
