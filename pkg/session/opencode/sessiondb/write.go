package sessiondb

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/pkg/session"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// Writer has a database for itself until it is closed. While it is open nothing
// else of this process may open the file: closing it would give the lock away.
type Writer struct {
	file   File
	db     *sql.DB
	conn   *sql.Conn
	tables map[string]table
}

// Hold takes a database for itself. It returns a [*session.BusyError] if any
// program has it open, and one that wraps [ErrSchema] for a database of something
// else. Opening it takes in what a killed program has left.
func Hold(ctx context.Context, f File) (*Writer, error) {
	w := &Writer{file: f}
	if err := w.open(ctx); err != nil {
		return nil, errors.Join(w.explain("open", err), w.Close())
	}
	return w, nil
}

func (w *Writer) open(ctx context.Context) (err error) {
	path := filepath.ToSlash(w.file.Path())
	if filepath.VolumeName(path) != "" {
		path = "/" + path
	}
	// The mode of locking comes first: with it SQLite takes its lock for as long
	// as the connection lives, and makes no index of the log that it would share.
	// The log is taken in only where we ask for it: SQLite says nothing when it
	// cannot do so by itself.
	query := url.Values{"mode": {"rw"}, "_pragma": {"locking_mode(exclusive)", "busy_timeout(0)", "synchronous(full)", "foreign_keys(1)", "cache_size(-2000)", "journal_size_limit(0)", "wal_autocheckpoint(0)"}}
	address := (&url.URL{Scheme: "file", OmitHost: true, Path: path, RawQuery: query.Encode()}).String()
	if w.db, err = sql.Open("sqlite", address); err != nil {
		return err
	}
	w.db.SetMaxOpenConns(1)
	if w.conn, err = w.db.Conn(ctx); err != nil {
		return err
	}
	if _, err := w.conn.ExecContext(ctx, "BEGIN IMMEDIATE; COMMIT"); err != nil {
		return err
	}
	w.tables, err = readSchema(ctx, w.conn)
	return err
}

// explain names the database, and says that it is busy if that is why.
func (w *Writer) explain(doing string, err error) error {
	var code *sqlite.Error
	if errors.As(err, &code) && (code.Code()&0xff == sqlite3.SQLITE_BUSY || code.Code()&0xff == sqlite3.SQLITE_LOCKED) {
		return &session.BusyError{Path: w.file.Path(), Reason: "a program has it open; close it and try again"}
	}
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %s: %w", doing, w.file.Path(), err)
}

// Close gives the database back.
func (w *Writer) Close() error {
	var err error
	if w.conn != nil {
		err = w.conn.Close()
	}
	if w.db != nil {
		err = errors.Join(err, w.db.Close())
	}
	return err
}

func unchecked() error { return nil }

// change does something in one transaction that is durable when it returns
// without an error, and has not happened if it returns one.
func (w *Writer) change(ctx context.Context, doing string, do func(tx *sql.Tx) error) error {
	tx, err := w.conn.BeginTx(ctx, nil)
	if err != nil {
		return w.explain(doing, err)
	}
	if err := do(tx); err != nil {
		return errors.Join(w.explain(doing, err), ignoreDone(tx.Rollback()))
	}
	return w.explain(doing, tx.Commit())
}

func ignoreDone(err error) error {
	if errors.Is(err, sql.ErrTxDone) {
		return nil
	}
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
	err = w.change(ctx, "remove from", func(tx *sql.Tx) (err error) {
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
	if _, there := w.tables[shareTable]; there {
		err = tx.QueryRowContext(ctx, "SELECT count(*) FROM "+quoted(shareTable)).Scan(&c.shares)
	}
	return c, err
}

func (w *Writer) removeSession(ctx context.Context, tx *sql.Tx, id string) error {
	if hasJournal(w.tables) {
		if err := w.exec(ctx, tx, "DELETE FROM event WHERE aggregate_id = ?", id); err != nil {
			return err
		}
		if err := w.exec(ctx, tx, "DELETE FROM event_sequence WHERE aggregate_id = ?", id); err != nil {
			return err
		}
	}
	for _, name := range extra(w.tables) {
		if err := w.exec(ctx, tx, "DELETE FROM "+quoted(name)+" WHERE session_id = ?", id); err != nil {
			return err
		}
	}
	// Messages and parts go with the session, by its foreign keys.
	return w.exec(ctx, tx, "DELETE FROM session WHERE id = ?", id)
}

func (w *Writer) exec(ctx context.Context, tx *sql.Tx, query string, args ...any) error {
	_, err := tx.ExecContext(ctx, query, args...)
	return err
}

// trimJournal removes superseded events. The proof is of the journal alone: what
// it says of the session's log may be older.
func (w *Writer) trimJournal(ctx context.Context, tx *sql.Tx, p Proof, done *Removed) error {
	old, err := superseded(ctx, tx, w.tables, p.Session)
	if err != nil || old.Events == 0 {
		return err
	}
	if old.Synced {
		return nil
	}
	log, err := openJournal(ctx, tx, w.tables, p.Session, unchecked)
	if err == nil {
		err = w.same(log, p.Journal, p.Session)
	}
	for _, seq := range old.seqs {
		if err != nil {
			return err
		}
		err = w.exec(ctx, tx, "DELETE FROM event WHERE aggregate_id = ? AND seq = ?", p.Session, seq)
	}
	done.Events += old.Events
	return err
}

// proved checks that a session is what its archives hold, and returns how many
// rows that is. An error wraps fs.ErrNotExist if it is gone.
func (w *Writer) proved(ctx context.Context, tx *sql.Tx, p Proof) (rows int64, err error) {
	log, err := openLog(ctx, tx, w.tables, stretch{session: p.Session}, unchecked)
	if err == nil {
		err = w.same(log, p.Log, p.Session)
	}
	if err != nil {
		return 0, err
	}
	journal, err := openJournal(ctx, tx, w.tables, p.Session, unchecked)
	if errors.Is(err, fs.ErrNotExist) && p.Journal == "" {
		return log.written, nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		return 0, &session.BusyError{Path: w.file.Path(), Reason: "the journal of session " + p.Session + " is gone"}
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
	hash := sha256.New()
	if _, err := io.Copy(hash, log); err != nil {
		return err
	}
	if hex.EncodeToString(hash.Sum(nil)) != sum {
		return &session.BusyError{Path: w.file.Path(), Reason: "session " + id + " has changed since it was archived"}
	}
	return nil
}

// Vacuum makes the file as small as what is in it, and empties its log. It is
// durable when it returns; a full disk leaves everything as it was.
func (w *Writer) Vacuum(ctx context.Context) error {
	for _, query := range []string{"VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)"} {
		if err := w.run(ctx, query); err != nil {
			return w.explain("vacuum", err)
		}
	}
	return nil
}

// Checkpoint takes the write-ahead log in. What is in it is durable already; a
// disk that is full is told.
func (w *Writer) Checkpoint(ctx context.Context) error {
	return w.explain("take the log into", w.run(ctx, "PRAGMA wal_checkpoint(TRUNCATE)"))
}

func (w *Writer) run(ctx context.Context, query string) error {
	rows, err := w.conn.QueryContext(ctx, query)
	if err != nil {
		return err
	}
	_, err = collect(rows, query, func(*sql.Rows) (struct{}, error) { return struct{}{}, nil })
	return err
}

// Check has SQLite look at all pages. It returns an error with what is wrong.
func (w *Writer) Check(ctx context.Context) error {
	var said string
	err := w.conn.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&said)
	if err == nil && said != "ok" {
		err = errors.New(said)
	}
	return w.explain("check", err)
}

// ErrDifferent is returned when there is a session of the same id with other
// rows.
var ErrDifferent = errors.New("the session is there with other rows")

// Insert puts the rows of logs back, all or nothing, and returns how many rows
// were missing. read opens the logs one after the other and ends with io.EOF. A
// row that is there must be the same: a session of the same id with others is an
// error that wraps [ErrDifferent].
func (w *Writer) Insert(ctx context.Context, next func() (io.ReadCloser, error)) (rows int, err error) {
	err = w.change(ctx, "put rows into", func(tx *sql.Tx) error {
		rows = 0
		// A session's log names its project after it.
		if err := w.exec(ctx, tx, "PRAGMA defer_foreign_keys=ON"); err != nil {
			return err
		}
		for {
			log, err := next()
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err == nil {
				err = errors.Join(w.insertLog(ctx, tx, log, &rows), log.Close())
			}
			if err != nil {
				return err
			}
		}
	})
	return rows, err
}

func (w *Writer) insertLog(ctx context.Context, tx *sql.Tx, log io.Reader, rows *int) error {
	lines := bufio.NewReaderSize(log, 1<<20)
	for n := 1; ; n++ {
		text, err := lines.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		last := err != nil
		if text = bytes.TrimSpace(text); len(text) > 0 {
			r, holds, err := ReadRow(text)
			if err == nil && holds {
				var added bool
				if added, err = w.insertRow(ctx, tx, r); added {
					*rows++
				}
			}
			if err != nil {
				return fmt.Errorf("line %d: %w", n, err)
			}
		}
		if last {
			return nil
		}
	}
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
func (w *Writer) insertRow(ctx context.Context, tx *sql.Tx, r Row) (bool, error) {
	t, known := w.tables[r.Table]
	if !known || r.Table == shareTable || secret(r.Table) {
		return false, fmt.Errorf("the database has no table %q for the row", r.Table)
	}
	for _, c := range r.Columns {
		if !t.has(c) {
			return false, fmt.Errorf("the database's table %s has no column %q", r.Table, c)
		}
	}
	there, same, err := w.find(ctx, tx, t, r)
	if err != nil || there && (same || r.Table == projectTable || r.Table == countTable) {
		return false, err
	}
	if there {
		return false, fmt.Errorf("%w: table %s, %v", ErrDifferent, r.Table, r.Value(t.key[0]))
	}
	r = defaults(r)
	names := make([]string, len(r.Columns))
	for i, c := range r.Columns {
		names[i] = quoted(c)
	}
	marks := strings.TrimSuffix(strings.Repeat("?, ", len(names)), ", ")
	return true, w.exec(ctx, tx, "INSERT INTO "+quoted(r.Table)+" ("+strings.Join(names, ", ")+") VALUES ("+marks+")", r.Values...)
}

// find looks for a row by its primary key, and compares it.
func (w *Writer) find(ctx context.Context, tx *sql.Tx, t table, r Row) (there, same bool, err error) {
	if len(t.key) == 0 {
		return false, false, nil
	}
	equal := make([]string, len(r.Columns))
	for i, c := range r.Columns {
		equal[i] = "(" + exact(c) + ") IS ?"
	}
	where, keys := make([]string, len(t.key)), make([]any, len(t.key))
	for i, c := range t.key {
		where[i], keys[i] = quoted(c)+" = ?", r.Value(c)
	}
	err = tx.QueryRowContext(ctx, "SELECT "+strings.Join(equal, " AND ")+" FROM "+quoted(t.name)+" WHERE "+strings.Join(where, " AND "), append(append([]any{}, r.Values...), keys...)...).Scan(&same)
	if errors.Is(err, sql.ErrNoRows) {
		return false, false, nil
	}
	return err == nil, same, err
}

// Live returns how many bytes of pages are used.
func (w *Writer) Live(ctx context.Context) (int64, error) {
	var pages, free, size int64
	for query, to := range map[string]*int64{"PRAGMA page_count": &pages, "PRAGMA freelist_count": &free, "PRAGMA page_size": &size} {
		if err := w.conn.QueryRowContext(ctx, query).Scan(to); err != nil {
			return 0, w.explain("measure", err)
		}
	}
	return (pages - free) * size, nil
}
