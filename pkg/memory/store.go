package memory

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"path/filepath"

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/memory/database"
	"modernc.org/sqlite"
	sqlitelib "modernc.org/sqlite/lib"
)

var (
	// ErrNewerSchema is returned when the database was written by a newer
	// sessctl. Nothing of it is touched. What to do: use that sessctl.
	ErrNewerSchema = errors.New("memory was written by a newer sessctl")
	// ErrCorrupt is returned when the database is damaged or is not ours. What
	// to do: move the directory away; the archives still have everything, and
	// memory can be rebuilt from them.
	ErrCorrupt = database.ErrCorrupt
	// ErrFull is returned when the file system has no room for what was to be
	// stored. Nothing of it was stored.
	ErrFull = database.ErrFull
	// ErrBusy is returned when another process keeps the database locked.
	// Nothing was changed.
	ErrBusy = database.ErrBusy
	// ErrEmpty is returned when a memory is only to be read and nothing was
	// ever stored in it: the run that made the file was cut off. It is
	// fs.ErrNotExist.
	ErrEmpty = fmt.Errorf("nothing was stored in it yet: %w", fs.ErrNotExist)
	// ErrInUse is returned when a memory is to be looked at without a trace
	// and its log has not been written into the database: somebody is at work
	// in it, or was killed. What to do: look at it in the usual way.
	ErrInUse = errors.New("the memory's write-ahead log is not checkpointed yet")
	// ErrOtherModel is returned when only vectors of another model could
	// answer. Vectors of different models are never compared.
	ErrOtherModel = errors.New("memory has vectors of another model")
)

// Options say how a store is opened.
type Options struct {
	ReadOnly bool // never write, not even a missing database
	// NoTrace is ReadOnly, and not even SQLite's files beside the database are
	// made or changed. It is for a memory that nobody writes meanwhile: what
	// is read while somebody does may look damaged. See ErrInUse.
	NoTrace bool
	// Rebuild says that a memory that is missing is made to be filled from the
	// archives: it is Incomplete until Complete is called.
	Rebuild bool
	// Pins hold the directories of the memory open for longer than the store is;
	// nil holds them from here to Close.
	Pins *durable.Pins
}

// Store is an open memory. It may be used by several goroutines; of several
// processes one may write. What can be done with it is told where it is done: each
// part of a store is a value over the connection.
type Store struct {
	*connection   // the database and its files, how it is opened, held and wiped
	putting       // records, with their vectors or without (put.go)
	factStore     // facts (facts.go)
	storedWords   // what agents stored in their own words (own_words.go)
	keptSummaries // summaries that models wrote (summary.go)
	embeddings    // vectors of records that have none (reindex.go, vectors.go)
	asking        // questions about what was said and what was done (recall.go, work.go)
	reading       // records by their ids and sessions (sources.go, verify.go)
	statistics    // counts (statistics.go)
	forgetting    // what is gone for good (forget.go, tombstones.go)
	redacting     // secrets that were kept by older rules (redact.go)
	verification  // checks (verify.go)
	rebuilding    // a memory that is made again from the archives (rebuild.go)
	exporting     // the memory as data (export.go)
	sharing       // what a memory of many hosts is sent (share.go)
	identity      // which memory this is (identity.go)
}

// newStore returns the store of a connection.
func newStore(c *connection) *Store {
	return &Store{
		c, putting{c}, factStore{c}, storedWords{c}, keptSummaries{c}, embeddings{c}, asking{c}, reading{c}, statistics{c},
		forgetting{c}, redacting{c}, verification{c}, rebuilding{c}, exporting{c}, sharing{c}, identity{c},
	}
}

// The parts of a Store.
type (
	putting       struct{ *connection }
	factStore     struct{ *connection }
	storedWords   struct{ *connection }
	keptSummaries struct{ *connection }
	embeddings    struct{ *connection }
	asking        struct{ *connection }
	reading       struct{ *connection }
	statistics    struct{ *connection }
	forgetting    struct{ *connection }
	redacting     struct{ *connection }
	verification  struct{ *connection }
	rebuilding    struct{ *connection }
	exporting     struct{ *connection }
	sharing       struct{ *connection }
	identity      struct{ *connection }
)

// connection is the database of a memory, and the directories that it lies in.
type connection struct {
	db       *sql.DB
	dir      string
	pins     *durable.Pins   // its directories, until Close
	held     *durable.Handle // that of the database
	readOnly bool
	rebuild  bool             // one that is made is incomplete
	created  bool             // it was made when it was opened
	moment   database.Querier // sees the database as it was at one moment; nil sees it as it is
}

// reads is what questions are put to.
func (s *connection) reads() database.Querier {
	if s.moment != nil {
		return s.moment
	}
	return s.db
}

// Open opens the memory in dir and makes it if it is missing (unless it is
// only to be read: then it is an error that wraps fs.ErrNotExist). Errors:
// ErrNewerSchema, ErrCorrupt.
func Open(ctx context.Context, dir string, o Options) (*Store, error) {
	o.ReadOnly = o.ReadOnly || o.NoTrace
	c := &connection{dir: dir, readOnly: o.ReadOnly, rebuild: o.Rebuild}
	c.hold(o.Pins)
	if err := c.open(ctx, o); err != nil {
		c.letGo()
		return nil, err
	}
	return newStore(c), nil
}

func (s *connection) open(ctx context.Context, o Options) (err error) {
	if !o.ReadOnly {
		if err := s.makeFile(); err != nil {
			return err
		}
	}
	if err := s.checkFile(); err != nil {
		return err
	}
	if s.held, err = s.pins.OpenHandle(s.dir); err != nil {
		return fmt.Errorf("open %s: %w", s.path(), err)
	}
	if o.NoTrace {
		err = s.openTraceless(ctx)
	} else if err = s.openNamed(ctx, s.address()); o.ReadOnly && unwritable(err) {
		err = s.openTraceless(ctx)
	}
	if err != nil {
		return fmt.Errorf("open %s: %w", s.path(), database.Classify(err))
	}
	return nil
}

func (s *connection) path() string { return filepath.Join(s.dir, "memory.db") }

func (s *connection) openNamed(ctx context.Context, name string) (err error) {
	if s.db, err = sql.Open("sqlite", name); err != nil {
		return err
	}
	if err = s.inPlace(); err == nil {
		err = s.prepare(ctx)
	}
	if err != nil {
		_ = s.db.Close() // it was only looked at
	}
	return err
}

// unwritable reports whether SQLite could not make its files beside a database
// that is only to be read: the directory is another user's, or on a disk that
// cannot be written.
func unwritable(err error) bool {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return false
	}
	code := e.Code() & 0xFF
	return code == sqlitelib.SQLITE_READONLY || code == sqlitelib.SQLITE_CANTOPEN
}

// makeFile makes the directory and an empty database, private (0700, 0600).
func (s *connection) makeFile() error {
	if err := s.pins.MakeDir(s.dir, 0o700); err != nil {
		return fmt.Errorf("make memory directory: %w", err)
	}
	err := s.pins.CreateFile(s.path(), 0o600, func(w io.Writer) error { return nil })
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("make %s: %w", s.path(), err)
	}
	return nil
}

// checkFile refuses what SQLite would take for a new database although it is
// the beginning of another, what it would wait for, as for a pipe, and links.
func (s *connection) checkFile() error {
	path := s.path()
	info, err := s.pins.Lstat(path)
	if err != nil {
		return fmt.Errorf("look for %s: %w", path, err)
	}
	for _, beside := range []string{"", "-wal", "-shm", "-journal"} {
		other, err := s.pins.Lstat(path + beside)
		if err == nil && other.Mode()&fs.ModeSymlink != 0 {
			return fmt.Errorf("open %s: %w: it is a symbolic link; put the file itself there, or link the directory", path+beside, durable.ErrNotRegular)
		}
		if err == nil && !other.Mode().IsRegular() {
			return fmt.Errorf("open %s: %w: %w", path+beside, ErrCorrupt, durable.ErrNotRegular)
		}
	}
	if size := info.Size(); size > 0 && size < 512 {
		return fmt.Errorf("open %s: %w: it has only %d bytes", path, ErrCorrupt, size)
	}
	return nil
}

// openTraceless opens a database to look at it without a trace: as if it lay on a
// disk that cannot change. With a log beside it that would be wrong, and to read
// the log SQLite touches it and its index (docs/dev/decisions.md D10).
func (s *connection) openTraceless(ctx context.Context) error {
	if info, err := s.pins.Lstat(s.path() + "-wal"); err == nil && info.Size() > 0 {
		return ErrInUse
	}
	s.readOnly = true
	return s.openNamed(ctx, s.address()+"&mode=ro&immutable=1")
}

// address is the driver's name of the database: every commit synced, and
// patience with another process's lock.
func (s *connection) address() string {
	path := filepath.Join(s.held.Path(), "memory.db")
	q := url.Values{}
	pragmas := []string{"busy_timeout(10000)", "synchronous(FULL)", "foreign_keys(1)", "journal_size_limit(4194304)"}
	if s.readOnly {
		pragmas = []string{"busy_timeout(10000)", "query_only(1)"}
	}
	for _, pragma := range pragmas {
		q.Add("_pragma", pragma)
	}
	q.Set("_txlock", "immediate")
	if s.held.Held() {
		q.Set("vfs", heldVFS)
	}
	path = filepath.ToSlash(path)
	if filepath.VolumeName(path) != "" {
		path = "/" + path // file:/C:/...
	}
	return (&url.URL{Scheme: "file", OmitHost: true, Path: path, RawQuery: q.Encode()}).String()
}

// inTransaction runs f in one transaction: all of it or nothing.
func (s *connection) inTransaction(ctx context.Context, f func(*sql.Tx) error) error {
	return inTransaction(ctx, s.db, f)
}

// beginner is a database or one connection to it.
type beginner interface {
	BeginTx(ctx context.Context, o *sql.TxOptions) (*sql.Tx, error)
}

func inTransaction(ctx context.Context, b beginner, f func(*sql.Tx) error) error {
	tx, err := b.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin transaction: %w", database.Classify(err))
	}
	if err := f(tx); err != nil {
		_ = tx.Rollback() // the error says more
		if errors.Is(err, sql.ErrTxDone) && ctx.Err() != nil {
			return ctx.Err() // which ended it
		}
		return database.Classify(err)
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("commit: %w", database.Classify(err))
	}
	return nil
}

// Close closes the store.
func (s *connection) Close() error {
	defer s.letGo()
	if err := s.inPlace(); err != nil {
		return err // the database is left as by a process that was killed: closing it removes its log by path
	}
	return s.db.Close()
}
