package memory

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/sessctl/sessctl/pkg/memory/database"
)

// What is deleted from a database stays in its file: in pages that are free, in
// the room that a page has left, and in the log. SQLite's secure_delete
// overwrites what a statement deletes, but not what earlier statements have
// left behind when they moved or replaced a text. So a wipe also writes the
// whole database anew.

// ErrUnwiped is returned when something was forgotten, and its traces could not
// be removed from the files yet. The next Wipe tries again.
var ErrUnwiped = errors.New("what was forgotten is not found any more, but traces of it are still in the files")

// wipeDue is the row of state that says that a wipe is due.
const wipeDue = "wipe"

// deleteSecurely runs f in a transaction in which deleted rows are overwritten.
// If f says that it deleted something, a Wipe is due from then on, so that a run
// that is killed leaves it to the next. Doing so always would slow down storing.
func (s *connection) deleteSecurely(ctx context.Context, f func(tx *sql.Tx) (deleted bool, err error)) error {
	return s.overwriting(ctx, func(ctx context.Context, c *sql.Conn) error {
		return inTransaction(ctx, c, func(tx *sql.Tx) error {
			deleted, err := f(tx)
			if err != nil || !deleted {
				return err
			}
			_, err = tx.ExecContext(ctx, "INSERT OR REPLACE INTO state (name, value) VALUES (?, '')", wipeDue)
			return err
		})
	})
}

// overwriting runs f on a connection on which deleted rows are overwritten.
func (s *connection) overwriting(ctx context.Context, f func(ctx context.Context, c *sql.Conn) error) error {
	c, err := s.db.Conn(ctx)
	if err != nil {
		return database.Classify(err)
	}
	defer c.Close()
	if _, err := c.ExecContext(ctx, "PRAGMA secure_delete=1"); err != nil {
		return database.Classify(err)
	}
	defer c.ExecContext(context.WithoutCancel(ctx), "PRAGMA secure_delete=0")
	return f(ctx, c)
}

// Wipe removes the traces of what was forgotten from the database and its log, if
// there may be some. The caller holds the lock of the data
// directory. ErrUnwiped is returned when it could not be done, because there is
// no room for a copy of the database or somebody is reading it; nothing else is
// wrong then.
func (s *connection) Wipe(ctx context.Context) error {
	due, err := s.WipeIsDue(ctx)
	if err != nil || !due {
		return err
	}
	err = s.overwriting(ctx, s.wipeDatabase)
	if err == nil {
		_, err = s.db.ExecContext(ctx, "DELETE FROM state WHERE name=?", wipeDue)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnwiped, database.Classify(err))
	}
	return nil
}

// WipeIsDue says whether something was forgotten whose traces may be left.
func (s *connection) WipeIsDue(ctx context.Context) (due bool, err error) {
	err = s.db.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM state WHERE name=?)", wipeDue).Scan(&due)
	return due, database.Classify(err)
}

// wipeDatabase writes the indexes of words and then the whole database anew, and
// empties the log. What SQLite gathers meanwhile lies in the memory's own
// directory: elsewhere others might see it, or there is no room. The log is
// emptied twice: first what was overwritten reaches the file, then the file
// gets shorter.
func (s *connection) wipeDatabase(ctx context.Context, c *sql.Conn) error {
	if _, err := c.ExecContext(ctx, "PRAGMA temp_store_directory='"+strings.ReplaceAll(s.dir, "'", "''")+"'"); err != nil {
		return err
	}
	defer c.ExecContext(context.WithoutCancel(ctx), "PRAGMA temp_store_directory=''")
	if err := inTransaction(ctx, c, func(tx *sql.Tx) error { return mergeAllWords(ctx, tx) }); err != nil {
		return err
	}
	for _, statement := range []string{truncateLog, "VACUUM", truncateLog} {
		if err := execute(ctx, c, statement); err != nil {
			return err
		}
	}
	return nil
}

// mergeAllWords makes one segment of each index of words.
func mergeAllWords(ctx context.Context, tx *sql.Tx) error {
	if err := mergeWords(ctx, tx, recordWords()); err != nil {
		return err
	}
	has, err := hasActions(ctx, tx)
	if err != nil || !has {
		return err
	}
	return mergeWords(ctx, tx, workWords())
}

const truncateLog = "PRAGMA wal_checkpoint(TRUNCATE)"

// execute runs a statement. That a log could not be emptied is no error to
// SQLite, but to us.
func execute(ctx context.Context, c *sql.Conn, statement string) error {
	if statement != truncateLog {
		_, err := c.ExecContext(ctx, statement)
		return err
	}
	var busy, pages, written int
	if err := c.QueryRowContext(ctx, statement).Scan(&busy, &pages, &written); err != nil {
		return err
	}
	if busy != 0 {
		return fmt.Errorf("%w: somebody is reading it", ErrBusy)
	}
	return nil
}
