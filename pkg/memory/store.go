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
	// sessctl. Nothing of it is touched.
	ErrNewerSchema = errors.New("memory was written by a newer sessctl")
	// ErrCorrupt is returned when the database is damaged or is not ours. The
	// archives still have everything: memory can be rebuilt from them.
	ErrCorrupt = errors.New("memory is damaged")
	// ErrOtherModel is returned when only vectors of another model could
	// answer. Vectors of different models are never compared.
	ErrOtherModel = errors.New("memory has vectors of another model")
)

// Options say how a store is opened.
type Options struct {
	ReadOnly bool // never write, not even a missing database
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
	if o.ReadOnly {
		if _, err := os.Stat(path); err != nil {
			return nil, fmt.Errorf("look for %s: %w", path, err)
		}
	} else if err := makeFile(dir, path); err != nil {
		return nil, err
	}
	db, err := sql.Open("sqlite", address(path, o.ReadOnly))
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	s := &Store{db: db, dir: dir, readOnly: o.ReadOnly}
	if err := s.prepare(ctx); err != nil {
		_ = db.Close() // it was only looked at
		return nil, fmt.Errorf("open %s: %w", path, err)
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

// address is the driver's name of the database: write-ahead log, every commit
// synced, and patience with another process's lock.
func address(path string, readOnly bool) string {
	q := url.Values{}
	for _, pragma := range []string{"busy_timeout(10000)", "journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(1)"} {
		q.Add("_pragma", pragma)
	}
	q.Set("_txlock", "immediate")
	if readOnly {
		q.Del("_pragma")
		q.Add("_pragma", "busy_timeout(10000)")
		q.Add("_pragma", "query_only(1)")
	}
	return (&url.URL{Scheme: "file", OmitHost: true, Path: path, RawQuery: q.Encode()}).String()
}

// prepare checks the version and makes the tables of a new database.
func (s *Store) prepare(ctx context.Context) error {
	var version, application int
	if err := s.db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return judged(err)
	}
	if err := s.db.QueryRowContext(ctx, "PRAGMA application_id").Scan(&application); err != nil {
		return judged(err)
	}
	switch {
	case version > schemaVersion:
		return fmt.Errorf("%w (schema %d, this one knows %d)", ErrNewerSchema, version, schemaVersion)
	case version == schemaVersion && application == applicationID:
		return nil
	case version != 0 || application != 0:
		return fmt.Errorf("%w: not a memory of sessctl", ErrCorrupt)
	case s.readOnly:
		return fmt.Errorf("%w: it has no tables", ErrCorrupt)
	}
	return s.inTransaction(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, schema+fmt.Sprintf("PRAGMA user_version = %d; PRAGMA application_id = %d;", schemaVersion, applicationID))
		return err
	})
}

// judged marks the errors by which SQLite says that the file itself is bad. A
// full disk or a missing permission is not that.
func judged(err error) error {
	var e *sqlite.Error
	if errors.As(err, &e) && (e.Code()&0xFF == sqlitelib.SQLITE_CORRUPT || e.Code()&0xFF == sqlitelib.SQLITE_NOTADB) {
		return fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return err
}

// inTransaction runs f in one transaction: all of it or nothing.
func (s *Store) inTransaction(ctx context.Context, f func(*sql.Tx) error) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin transaction: %w", err)
	}
	if err := f(tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}

// Close closes the store.
func (s *Store) Close() error { return s.db.Close() }
