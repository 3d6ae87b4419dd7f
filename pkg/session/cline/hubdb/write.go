package hubdb

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/rowlog"
)

// Writer has a database for itself until it is closed. While it is open nothing
// else of this process may open the file: closing it would give the lock away.
type Writer struct {
	*rowlog.Writer
	file File
}

// Hold takes a database for itself. It returns a [*session.BusyError] if any
// program has it open, as a running hub has, and one that wraps [ErrSchema] for a
// database with other tables.
func Hold(ctx context.Context, f File) (*Writer, error) {
	held, err := rowlog.Hold(ctx, f)
	if err != nil {
		return nil, err
	}
	err = held.Change(ctx, "read", func(tx *sql.Tx) (err error) {
		held.Tables, err = readSchema(ctx, tx)
		return err
	})
	if err != nil {
		return nil, errors.Join(err, held.Close())
	}
	return &Writer{held, f}, nil
}

// Proof is what must still be true of a session's rows when they are removed: the
// hash of their log, as it is archived.
type Proof struct{ Session, Log string }

// Removed is what was removed.
type Removed struct {
	Sessions, Rows int
	Gone           []string // sessions of which there was nothing any more
}

// errNotArchived is returned when other rows would change than those that are
// archived. Nothing was removed then.
var errNotArchived = errors.New("rows would change that are not archived")

// Remove removes the rows of sessions, all or nothing. The rows are read again
// before, in the same transaction: rows that are not what the proof says, or that
// are not understood, make everything busy.
func (w *Writer) Remove(ctx context.Context, all []Proof) (done Removed, err error) {
	err = w.Change(ctx, "remove from", func(tx *sql.Tx) (err error) {
		done, err = w.remove(ctx, tx, all)
		return err
	})
	return done, err
}

func (w *Writer) remove(ctx context.Context, tx *sql.Tx, all []Proof) (done Removed, err error) {
	where, err := w.proveAll(ctx, tx, all, &done)
	if err != nil {
		return done, err
	}
	before, err := w.count(ctx, tx)
	if err != nil {
		return done, err
	}
	for _, p := range where {
		ids, err := json.Marshal(p.ids)
		if err != nil {
			return done, err
		}
		if _, err := tx.ExecContext(ctx, "DELETE FROM "+p.table+" WHERE "+within, string(ids)); err != nil {
			return done, err
		}
		done.Rows += len(p.ids)
	}
	after, err := w.count(ctx, tx)
	if err != nil {
		return done, err
	}
	if gone := before.rows - after.rows; gone != done.Rows || !hasIndex(w.Tables) && after.changes-before.changes != int64(done.Rows) {
		return done, fmt.Errorf("%w: %d rows would go and %d change, and %d are archived; nothing was removed", errNotArchived, gone, after.changes-before.changes, done.Rows)
	}
	if hasIndex(w.Tables) && done.Rows > 0 {
		return done, tidy(ctx, tx)
	}
	return done, nil
}

// tidy has FTS5 write its words anew, without those of rows that are gone, and
// check that they are those of the rows that stay.
func tidy(ctx context.Context, tx *sql.Tx) error {
	for _, command := range []string{"optimize", "integrity-check"} {
		if _, err := tx.ExecContext(ctx, "INSERT INTO session_search(session_search) VALUES(?)", command); err != nil {
			return fmt.Errorf("%s of its index: %w", command, err)
		}
	}
	return nil
}

// proveAll proves the rows of every session before the first one goes, and returns
// where they are.
func (w *Writer) proveAll(ctx context.Context, tx *sql.Tx, all []Proof, done *Removed) (where []place, err error) {
	there, err := sessionsIn(ctx, tx, w.Tables)
	if err != nil {
		return nil, err
	}
	at, err := placesIn(ctx, tx, w.Tables)
	if err != nil {
		return nil, err
	}
	for _, p := range all {
		i := slices.IndexFunc(there, func(r Rows) bool { return r.Session == p.Session })
		if i < 0 {
			done.Gone = append(done.Gone, p.Session)
			continue
		}
		if there[i].Odd != "" {
			return nil, &session.BusyError{Path: w.file.Path(), Reason: session.ReasonHubRowsOdd.Text(p.Session, there[i].Odd)}
		}
		log := &Log{ctx: ctx, db: tx, tables: w.Tables, check: func() error { return nil }, session: p.Session, rest: at[p.Session]}
		if err := log.begin(); err != nil {
			return nil, err
		}
		if sum, err := rowlog.Sum(log); err != nil {
			return nil, err
		} else if sum != p.Log {
			return nil, &session.BusyError{Path: w.file.Path(), Reason: session.ReasonHubRowsChanged.Text(p.Session)}
		}
		where = append(where, at[p.Session]...)
		done.Sessions++
	}
	return where, nil
}

// counted is how many rows this connection has changed, and how many there are.
type counted struct {
	changes int64
	rows    int
}

func (w *Writer) count(ctx context.Context, tx *sql.Tx) (c counted, err error) {
	if err = tx.QueryRowContext(ctx, "SELECT total_changes()").Scan(&c.changes); err != nil {
		return c, err
	}
	for _, table := range []string{eventTable, indexedTable, searchTable} {
		if _, there := w.Tables[table]; !there {
			continue
		}
		var n int
		if err := tx.QueryRowContext(ctx, "SELECT count(*) FROM "+table).Scan(&n); err != nil {
			return c, err
		}
		c.rows += n
	}
	return c, nil
}

// Accepts returns why the rows of logs cannot be put back, see [rowlog.Tables.Accept].
func (d *Database) Accepts(ctx context.Context, next func() (io.ReadCloser, error)) error {
	return d.tables.Accept(ctx, d.conn, lines(), next)
}

// Insert puts the rows of logs back, all or nothing, and returns how many were
// missing. next opens the logs one after the other and ends with io.EOF. A row that
// is there must be the same; an error wraps [rowlog.ErrDifferent] if it is another.
func (w *Writer) Insert(ctx context.Context, next func() (io.ReadCloser, error)) (rows int, err error) {
	return w.InsertLogs(ctx, lines(), next, func(tx *sql.Tx, present *rowlog.Present, r rowlog.Row) (bool, error) {
		return w.insertRow(ctx, tx, present, r)
	})
}

// insertRow puts one row back; false if it is there already.
func (w *Writer) insertRow(ctx context.Context, tx *sql.Tx, present *rowlog.Present, r rowlog.Row) (bool, error) {
	if !slices.Contains([]string{eventTable, indexedTable, searchTable}, r.Table) {
		return false, fmt.Errorf("the database has no table %q for the row", r.Table)
	}
	there, err := w.Holds(ctx, tx, present, r, false)
	if err != nil || there {
		return false, err
	}
	return true, w.InsertRow(ctx, tx, r)
}
