package database

import (
	"errors"
	"fmt"

	"modernc.org/sqlite"
	sqlitelib "modernc.org/sqlite/lib"
)

var (
	// ErrCorrupt is returned when the database is damaged or is not ours. What
	// to do: move the directory away; the archives still have everything, and
	// memory can be rebuilt from them.
	ErrCorrupt = errors.New("memory is damaged")
	// ErrFull is returned when the file system has no room for what was to be
	// stored. Nothing of it was stored.
	ErrFull = errors.New("no room for the memory")
	// ErrBusy is returned when another process keeps the database locked.
	// Nothing was changed.
	ErrBusy = errors.New("memory is in use by another process")
)

// Refuses reports whether an error is of the database and not of what was to be
// stored: damaged, full, in use, read-only, gone. The next store would fail as well.
func Refuses(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) || errors.Is(err, ErrCorrupt) || errors.Is(err, ErrFull) || errors.Is(err, ErrBusy)
}

// Classify marks the errors by which SQLite says that the file itself is bad, or
// that there is no room for it. A missing permission is neither.
func Classify(err error) error {
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
