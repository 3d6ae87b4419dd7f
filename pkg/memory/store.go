package memory

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

	"modernc.org/sqlite" // also the driver "sqlite"
	sqlitelib "modernc.org/sqlite/lib"

	"github.com/sessctl/sessctl/pkg/durable"
)

var (
	// ErrNewerSchema is returned when the database was written by a newer
	// sessctl. Nothing of it is touched. What to do: use that sessctl.
	ErrNewerSchema = errors.New("memory was written by a newer sessctl")
	// ErrCorrupt is returned when the database is damaged or is not ours. What
	// to do: move the directory away; the archives still have everything, and
	// memory can be rebuilt from them.
	ErrCorrupt = errors.New("memory is damaged")
	// ErrFull is returned when the file system has no room for what was to be
	// stored. Nothing of it was stored.
	ErrFull = errors.New("no room for the memory")
	// ErrBusy is returned when another process works on the database and does
	// not come to an end. Nothing was changed.
	ErrBusy = errors.New("memory is in use by another process")
	// ErrEmpty is returned when a memory is only to be read and nothing was
	// ever stored in it: the run that made the file was cut off. It is
	// fs.ErrNotExist.
	ErrEmpty = fmt.Errorf("nothing was stored in it yet: %w", fs.ErrNotExist)
	// ErrInUse is returned when a memory is to be looked at without a trace
	// and its log has not been written into the database: somebody is at work
	// in it, or was killed. What to do: look at it in the usual way.
	ErrInUse = errors.New("the memory has a log of changes that are not in it yet")
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
}

// Store is an open memory. It may be used by several goroutines; of several
// processes one may write.
type Store struct {
	db       *sql.DB
	dir      string
	readOnly bool
}

// Open opens the memory in dir and makes it if it is missing (unless it is
// only to be read: then it is an error that wraps fs.ErrNotExist). Errors:
// ErrNewerSchema, ErrCorrupt.
func Open(ctx context.Context, dir string, o Options) (*Store, error) {
	path := filepath.Join(dir, "memory.db")
	o.ReadOnly = o.ReadOnly || o.NoTrace
	if !o.ReadOnly {
		if err := makeFile(dir, path); err != nil {
			return nil, err
		}
	}
	if err := checkSize(path); err != nil {
		return nil, err
	}
	name := address(path, o.ReadOnly)
	if o.NoTrace {
		var err error
		if name, err = traceless(path); err != nil {
			return nil, fmt.Errorf("open %s: %w", path, err)
		}
	}
	db, err := sql.Open("sqlite", name)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	s := &Store{db: db, dir: dir, readOnly: o.ReadOnly}
	if err := s.prepare(ctx); err != nil {
		_ = db.Close() // it was only looked at
		return nil, fmt.Errorf("open %s: %w", path, judged(err))
	}
	return s, nil
}

// makeFile makes the directory and an empty database for this user only.
func makeFile(dir, path string) error {
	if err := durable.MakeDir(dir, 0o700); err != nil {
		return fmt.Errorf("make memory directory: %w", err)
	}
	err := durable.CreateFile(path, 0o600, func(w io.Writer) error { return nil })
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("make %s: %w", path, err)
	}
	return nil
}

// checkSize refuses what SQLite would take for a new database although it is
// the beginning of another.
func checkSize(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("look for %s: %w", path, err)
	}
	if size := info.Size(); size > 0 && size < 512 {
		return fmt.Errorf("open %s: %w: it has only %d bytes", path, ErrCorrupt, size)
	}
	return nil
}

// traceless is the driver's name of a database that is looked at without a
// trace: as if it lay on a disk that cannot change. With a log beside it that
// would be wrong, and to read the log SQLite touches it and its index
// (research/real-runtimes.md section 4).
func traceless(path string) (string, error) {
	if info, err := os.Stat(path + "-wal"); err == nil && info.Size() > 0 {
		return "", ErrInUse
	}
	return address(path, true) + "&mode=ro&immutable=1", nil
}

// address is the driver's name of the database: every commit synced, and
// patience with another process's lock.
func address(path string, readOnly bool) string {
	q := url.Values{}
	pragmas := []string{"busy_timeout(10000)", "synchronous(FULL)", "foreign_keys(1)", "journal_size_limit(4194304)"}
	if readOnly {
		pragmas = []string{"busy_timeout(10000)", "query_only(1)"}
	}
	for _, pragma := range pragmas {
		q.Add("_pragma", pragma)
	}
	q.Set("_txlock", "immediate")
	path = filepath.ToSlash(path)
	if filepath.VolumeName(path) != "" {
		path = "/" + path // file:/C:/...
	}
	return (&url.URL{Scheme: "file", OmitHost: true, Path: path, RawQuery: q.Encode()}).String()
}

// prepare checks the version and makes the tables of a new database.
func (s *Store) prepare(ctx context.Context) error {
	isNew, err := judgeVersion(ctx, s.db)
	switch {
	case err != nil || !isNew:
		return err
	case s.readOnly:
		return ErrEmpty
	}
	for _, pragma := range []string{fmt.Sprintf("PRAGMA page_size=%d", pageSize), "PRAGMA journal_mode=WAL"} {
		if _, err := s.db.ExecContext(ctx, pragma); err != nil {
			return fmt.Errorf("set up: %w", judged(err))
		}
	}
	return s.inTransaction(ctx, func(tx *sql.Tx) error {
		// Another process may have been faster.
		if isNew, err := judgeVersion(ctx, tx); err != nil || !isNew {
			return err
		}
		if _, err := tx.ExecContext(ctx, schema+fmt.Sprintf("PRAGMA user_version = %d; PRAGMA application_id = %d;", schemaVersion, applicationID)); err != nil {
			return err
		}
		_, err := s.buryForgotten(ctx, tx)
		return err
	})
}

// querier is a database or a transaction.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// judgeVersion says whether the database is new; if it is not, it is ours and
// of this version, or the error says what it is.
func judgeVersion(ctx context.Context, q querier) (isNew bool, err error) {
	var version, application, tables int
	err = q.QueryRowContext(ctx, `SELECT user_version, application_id, (SELECT count(*) FROM sqlite_schema)
		FROM pragma_user_version, pragma_application_id`).Scan(&version, &application, &tables)
	switch {
	case err != nil:
		return false, judged(err)
	case application == applicationID && version > schemaVersion:
		return false, fmt.Errorf("%w (schema %d, this one knows %d)", ErrNewerSchema, version, schemaVersion)
	case application == applicationID && version == schemaVersion:
		return false, nil
	case application != 0 || version != 0 || tables != 0:
		return false, fmt.Errorf("%w: not a memory of sessctl", ErrCorrupt)
	}
	return true, nil
}

// judged marks the errors by which SQLite says that the file itself is bad, or
// that there is no room for it. A missing permission is neither.
func judged(err error) error {
	var e *sqlite.Error
	if errors.Is(err, ErrCorrupt) || errors.Is(err, ErrFull) || errors.Is(err, ErrBusy) || !errors.As(err, &e) {
		return err
	}
	if e.Code() == sqlitelib.SQLITE_IOERR_SHMSIZE { // the file beside the database could not be made larger
		return fmt.Errorf("%w: %w", ErrFull, err)
	}
	switch e.Code() & 0xFF {
	case sqlitelib.SQLITE_CORRUPT, sqlitelib.SQLITE_NOTADB:
		return fmt.Errorf("%w: %w", ErrCorrupt, err)
	case sqlitelib.SQLITE_FULL:
		return fmt.Errorf("%w: %w", ErrFull, err)
	case sqlitelib.SQLITE_BUSY, sqlitelib.SQLITE_LOCKED, sqlitelib.SQLITE_PROTOCOL:
		return fmt.Errorf("%w: %w", ErrBusy, err)
	}
	return err
}

// inTransaction runs f in one transaction: all of it or nothing.
func (s *Store) inTransaction(ctx context.Context, f func(*sql.Tx) error) error {
	return inTransaction(ctx, s.db, f)
}

// beginner is a database or one connection to it.
type beginner interface {
	BeginTx(ctx context.Context, o *sql.TxOptions) (*sql.Tx, error)
}

func inTransaction(ctx context.Context, b beginner, f func(*sql.Tx) error) error {
	tx, err := b.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin transaction: %w", judged(err))
	}
	if err := f(tx); err != nil {
		_ = tx.Rollback() // the error says more
		return judged(err)
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("commit: %w", judged(err))
	}
	return nil
}

// Close closes the store.
func (s *Store) Close() error { return s.db.Close() }
