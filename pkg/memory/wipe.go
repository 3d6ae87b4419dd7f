package memory

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strings"
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
func (s *Store) deleteSecurely(ctx context.Context, f func(tx *sql.Tx) (deleted bool, err error)) error {
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
func (s *Store) overwriting(ctx context.Context, f func(ctx context.Context, c *sql.Conn) error) error {
	c, err := s.db.Conn(ctx)
	if err != nil {
		return classifyError(err)
	}
	defer c.Close()
	if _, err := c.ExecContext(ctx, "PRAGMA secure_delete=1"); err != nil {
		return classifyError(err)
	}
	defer c.ExecContext(context.WithoutCancel(ctx), "PRAGMA secure_delete=0")
	return f(ctx, c)
}

// Wipe removes the traces of what was forgotten from the database, its log and
// the vector files, if there may be some. The caller holds the lock of the data
// directory. ErrUnwiped is returned when it could not be done, because there is
// no room for a copy of the database or somebody is reading it; nothing else is
// wrong then.
func (s *Store) Wipe(ctx context.Context) error {
	due, err := s.WipeIsDue(ctx)
	if err != nil || !due {
		return err
	}
	err = s.wipeVectors(ctx)
	if err == nil {
		err = s.overwriting(ctx, s.wipeDatabase)
	}
	if err == nil {
		_, err = s.db.ExecContext(ctx, "DELETE FROM state WHERE name=?", wipeDue)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnwiped, classifyError(err))
	}
	return nil
}

// WipeIsDue says whether something was forgotten whose traces may be left.
func (s *Store) WipeIsDue(ctx context.Context) (due bool, err error) {
	err = s.db.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM state WHERE name=?)", wipeDue).Scan(&due)
	return due, classifyError(err)
}

// wipeDatabase writes the full-text indexes and then the whole database anew, and
// empties the log. What SQLite gathers meanwhile lies in the memory's own
// directory: elsewhere others might see it, or there is no room. The log is
// emptied twice: first what was overwritten reaches the file, then the file
// gets shorter.
func (s *Store) wipeDatabase(ctx context.Context, c *sql.Conn) error {
	if _, err := c.ExecContext(ctx, "PRAGMA temp_store_directory='"+strings.ReplaceAll(s.dir, "'", "''")+"'"); err != nil {
		return err
	}
	defer c.ExecContext(context.WithoutCancel(ctx), "PRAGMA temp_store_directory=''")
	if err := inTransaction(ctx, c, func(tx *sql.Tx) error { return mergeAllWords(ctx, tx) }); err != nil {
		return err
	}
	var statements []string
	has, err := hasActions(ctx, c)
	if err != nil {
		return err
	}
	if has {
		statements = append(statements, "INSERT INTO work_words (work_words) VALUES ('optimize')")
	}
	for _, statement := range append(statements, truncateLog, "VACUUM", truncateLog) {
		if err := execute(ctx, c, statement); err != nil {
			return err
		}
	}
	return nil
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

// wipeVectors overwrites the rows of vector files that belong to no record, and
// removes the files that the database does not name.
func (s *Store) wipeVectors(ctx context.Context) error {
	files, err := s.files(ctx, s.db)
	if err != nil {
		return err
	}
	for _, f := range files {
		if err := s.wipeFile(ctx, f); err != nil {
			return fmt.Errorf("overwrite vectors: %w", err)
		}
	}
	return s.removeUnnamed(ctx)
}

// wipeFile overwrites the rows of a vector file that belong to no record. A
// file that nobody else has touched stays known as such.
func (s *Store) wipeFile(ctx context.Context, f *vectorFile) error {
	info, err := f.pins.Lstat(f.path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	unnamed, err := s.unnamedSpans(ctx, f, info.Size())
	if err != nil || len(unnamed) == 0 {
		return err
	}
	known := stampOf(f.pins, f.path)
	empty := func(yield func(int64, []byte) bool) {
		for _, x := range unnamed {
			for at := x.from; at < x.to; at += mostEmpty {
				if !yield(at, emptyRow(min(x.to-at, mostEmpty))) {
					return
				}
			}
		}
	}
	if err := f.pins.Overwrite(f.path, empty); err != nil {
		return err
	}
	_, err = s.db.ExecContext(ctx, "UPDATE files SET stamp=? WHERE model=? AND agent=? AND stamp=?", stampOf(f.pins, f.path), f.fingerprint, f.agent, known)
	return err
}

// unnamedSpans lists what of a file, which has so many bytes, is no row of a
// record. A row that does not verify is none.
func (s *Store) unnamedSpans(ctx context.Context, f *vectorFile, size int64) (list []byteRange, err error) {
	places, err := listAll(ctx, s.db, f)
	if err != nil {
		return nil, err
	}
	next := int64(0)
	reader := rowReader{dim: f.dim, pins: f.pins}
	err = reader.each(ctx, places, func(b block) error {
		for i, p := range b.places {
			if at := p.slot * slotBytes; next < at {
				list = append(list, byteRange{next, at})
			}
			next = b.ends[i] * slotBytes
		}
		return nil
	})
	if size = (size + slotBytes - 1) &^ (slotBytes - 1); next < size {
		list = append(list, byteRange{next, size})
	}
	return list, err
}

// listAll lists the vectors of a file.
func listAll(ctx context.Context, q querier, f *vectorFile) ([]place, error) {
	rows, err := q.QueryContext(ctx, "SELECT record, slot<<32 | crc FROM vectors WHERE model=? AND agent=?", f.fingerprint, f.agent)
	if err != nil {
		return nil, err
	}
	return appendPlaces(nil, rows, f.path)
}
