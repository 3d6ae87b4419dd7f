package sessiondb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
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
// program has it open, and one that wraps [ErrSchema] for a database of something
// else. Opening it takes in what a killed program has left.
func Hold(ctx context.Context, f File) (*Writer, error) {
	held, err := rowlog.Hold(ctx, f)
	if err != nil {
		return nil, err
	}
	if missing := held.Tables.Missing(required()); missing != "" {
		return nil, errors.Join(held.Explain("open", fmt.Errorf("%w: %s", ErrSchema, missing)), held.Close())
	}
	return &Writer{held, f}, nil
}

func unchecked() error { return nil }

func exec(ctx context.Context, tx *sql.Tx, query string, args ...any) error {
	_, err := tx.ExecContext(ctx, query, args...)
	return err
}

// Proof is what must still be true of a session when something of it is
// removed: the hashes of its log and of its journal's log, as they are archived.
// The hash of a journal is "" for a session that has none.
type Proof struct {
	Session string `json:"session"`
	Log     string `json:"log_sha256,omitempty"`
	Journal string `json:"journal_sha256,omitempty"`
}

// Removal is what is to be removed.
type Removal struct {
	Sessions []Proof // as a whole
	Journals []Proof // of which only superseded events go
}

// Removed is what was removed.
type Removed struct {
	Sessions, Events int
	Gone             []string // sessions that were not there any more
}

// Remove removes sessions and superseded events, all or nothing. Each session
// is read again before, in the same transaction: one that is not what its proof
// says makes everything busy. A session that is gone already is passed over, and
// so are events.
func (w *Writer) Remove(ctx context.Context, r Removal) (done Removed, err error) {
	err = w.Change(ctx, "remove from", func(tx *sql.Tx) (err error) {
		done, err = w.remove(ctx, tx, r)
		return err
	})
	return done, err
}

// remove counts every row that changes, also by foreign keys and triggers of
// tables that are not known here: all of them must be rows that are archived.
func (w *Writer) remove(ctx context.Context, tx *sql.Tx, r Removal) (done Removed, err error) {
	archived, before, err := w.proveAll(ctx, tx, r.Sessions, &done)
	if err != nil {
		return done, err
	}
	shares := before.shares
	for _, p := range r.Sessions {
		if slices.Contains(done.Gone, p.Session) {
			continue
		}
		if err := w.removeSession(ctx, tx, p.Session); err != nil {
			return done, err
		}
		done.Sessions++
	}
	for _, p := range r.Journals {
		if err := w.trimJournal(ctx, tx, p, &done); err != nil {
			return done, err
		}
	}
	after, err := w.count(ctx, tx)
	if err != nil {
		return done, err
	}
	archived += int64(done.Events) + shares - after.shares // what a share opens is not archived, on purpose
	if changed := after.changes - before.changes; changed != archived {
		return done, fmt.Errorf("%w: %d rows would change, and %d are archived; nothing was removed", ErrNotArchived, changed, archived)
	}
	return done, nil
}

// ErrNotArchived is returned when with a session rows would go that its archives
// do not hold, or other rows would change: by foreign keys or triggers of tables
// that this version does not know. Nothing was removed then.
var ErrNotArchived = errors.New("the database has rows of these sessions that sessctl does not archive")

// proveAll proves every session before the first one goes, since the log of one
// names those that its agents have begun. It returns how many rows their archives
// hold.
func (w *Writer) proveAll(ctx context.Context, tx *sql.Tx, all []Proof, done *Removed) (archived int64, before counted, err error) {
	for _, p := range all {
		rows, err := w.proved(ctx, tx, p)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			done.Gone = append(done.Gone, p.Session)
		case err != nil:
			return 0, before, err
		}
		archived += rows
	}
	before, err = w.count(ctx, tx)
	return archived, before, err
}

// counted is how many rows this connection has changed, and how many shares there
// are.
type counted struct{ changes, shares int64 }

func (w *Writer) count(ctx context.Context, tx *sql.Tx) (c counted, err error) {
	if err = tx.QueryRowContext(ctx, "SELECT total_changes()").Scan(&c.changes); err != nil {
		return c, err
	}
	if _, there := w.Tables[shareTable]; there {
		err = tx.QueryRowContext(ctx, "SELECT count(*) FROM "+rowlog.Quoted(shareTable)).Scan(&c.shares)
	}
	return c, err
}

func (w *Writer) removeSession(ctx context.Context, tx *sql.Tx, id string) error {
	if hasJournal(w.Tables) {
		if err := exec(ctx, tx, "DELETE FROM event WHERE aggregate_id = ?", id); err != nil {
			return err
		}
		if err := exec(ctx, tx, "DELETE FROM event_sequence WHERE aggregate_id = ?", id); err != nil {
			return err
		}
	}
	names, where := extra(w.Tables)
	for _, name := range slices.Backward(names) { // first those that belong to others
		if err := exec(ctx, tx, "DELETE FROM "+rowlog.Quoted(name)+" WHERE "+where[name], id); err != nil {
			return err
		}
	}
	// Messages and parts go with the session, by its foreign keys.
	return exec(ctx, tx, "DELETE FROM session WHERE id = ?", id)
}

// trimJournal removes superseded events. The proof is of the journal alone: what
// it says of the session's log may be older.
func (w *Writer) trimJournal(ctx context.Context, tx *sql.Tx, p Proof, done *Removed) error {
	old, err := superseded(ctx, tx, w.Tables, p.Session)
	if err != nil || old.Events == 0 {
		return err
	}
	if old.Synced {
		return nil
	}
	log, err := openJournal(ctx, tx, w.Tables, p.Session, unchecked)
	if err == nil {
		err = w.same(log, p.Journal, p.Session)
	}
	for _, seq := range old.seqs {
		if err != nil {
			return err
		}
		err = exec(ctx, tx, "DELETE FROM event WHERE aggregate_id = ? AND seq = ?", p.Session, seq)
	}
	done.Events += old.Events
	return err
}

// proved checks that a session is what its archives hold, and returns how many
// rows that is. An error wraps fs.ErrNotExist if it is gone.
func (w *Writer) proved(ctx context.Context, tx *sql.Tx, p Proof) (rows int64, err error) {
	log, err := openLog(ctx, tx, w.Tables, stretch{session: p.Session}, unchecked)
	if err == nil {
		err = w.same(log, p.Log, p.Session)
	}
	if err != nil {
		return 0, err
	}
	journal, err := openJournal(ctx, tx, w.Tables, p.Session, unchecked)
	if errors.Is(err, fs.ErrNotExist) && p.Journal == "" {
		return log.written, nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		return 0, &session.BusyError{Path: w.file.Path(), Reason: session.ReasonJournalGone.Text(p.Session)}
	}
	if err != nil {
		return 0, err
	}
	if err := w.same(journal, p.Journal, p.Session); err != nil {
		return 0, err
	}
	return log.written + journal.written, nil
}

// same compares a log with the hash of its archive.
func (w *Writer) same(log io.Reader, sum, id string) error {
	if now, err := rowlog.Sum(log); err != nil {
		return err
	} else if now != sum {
		return &session.BusyError{Path: w.file.Path(), Reason: session.ReasonRowsChanged.Text(id)}
	}
	return nil
}

// Accepts returns why the rows of logs cannot be put back, see [rowlog.Tables.Accept].
func (d *Database) Accepts(ctx context.Context, next func() (io.ReadCloser, error)) error {
	return d.tables.Accept(ctx, d.conn, lines(), next)
}

// Insert puts the rows of logs back, all or nothing, and returns how many rows
// were missing. read opens the logs one after the other and ends with io.EOF. A
// row that is there must be the same: a session of the same id with others is an
// error that wraps [rowlog.ErrDifferent].
func (w *Writer) Insert(ctx context.Context, next func() (io.ReadCloser, error)) (rows int, err error) {
	return w.InsertLogs(ctx, lines(), next, func(tx *sql.Tx, present *rowlog.Present, r Row) (bool, error) {
		return w.insertRow(ctx, tx, present, r)
	})
}

// defaults are columns of a project that its log leaves out, because they are
// not the session's, and that must have a value.
func defaults(r Row) Row {
	if r.Table == projectTable {
		r.Columns = append(r.Columns, "time_updated", "sandboxes")
		r.Values = append(r.Values, r.Value("time_created"), "[]")
	}
	return r
}

// insertRow puts one row back; false if it is there already.
func (w *Writer) insertRow(ctx context.Context, tx *sql.Tx, present *rowlog.Present, r Row) (bool, error) {
	if r.Table == shareTable || secret(r.Table) {
		return false, fmt.Errorf("the database has no table %q for the row", r.Table)
	}
	there, err := w.Holds(ctx, tx, present, r, r.Table == projectTable || r.Table == countTable)
	if err != nil || there {
		return false, err
	}
	return true, w.InsertRow(ctx, tx, defaults(r))
}
