package rowlog

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/sqlitefile"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// Writer has a database for itself until it is closed. While it is open nothing
// else of this process may open the file: closing it would give the lock away.
type Writer struct {
	Tables Tables // that there are

	file sqlitefile.File
	db   *sql.DB
	conn *sql.Conn
}

// Hold takes a database for itself. It returns a [*session.BusyError] if any
// program has it open. Opening it takes in what a killed program has left.
func Hold(ctx context.Context, f sqlitefile.File) (*Writer, error) {
	w := &Writer{file: f}
	if err := w.open(ctx); err != nil {
		return nil, errors.Join(w.Explain("open", err), w.Close())
	}
	return w, nil
}

func (w *Writer) open(ctx context.Context) (err error) {
	// The mode of locking comes first: with it SQLite takes its lock for as long
	// as the connection lives, and makes no index of the log that it would share.
	// The log is taken in only where we ask for it: SQLite says nothing when it
	// cannot do so by itself.
	query := url.Values{"mode": {"rw"}, "_pragma": {"locking_mode(exclusive)", "busy_timeout(0)", "synchronous(full)", "foreign_keys(1)", "cache_size(-2000)", "journal_size_limit(0)", "wal_autocheckpoint(0)"}}
	if err := w.connect(ctx, query); err != nil {
		return err
	}
	if _, err := w.conn.ExecContext(ctx, "BEGIN IMMEDIATE; COMMIT"); err != nil {
		return err
	}
	if w.Tables, err = ReadTables(ctx, w.conn); err != nil {
		return err
	}
	return Sound(ctx, w.conn)
}

func (w *Writer) connect(ctx context.Context, query url.Values) (err error) {
	path := filepath.ToSlash(w.file.Path())
	if filepath.VolumeName(path) != "" {
		path = "/" + path
	}
	address := (&url.URL{Scheme: "file", OmitHost: true, Path: path, RawQuery: query.Encode()}).String()
	if w.db, err = sql.Open("sqlite", address); err != nil {
		return err
	}
	w.db.SetMaxOpenConns(1)
	w.conn, err = w.db.Conn(ctx)
	return err
}

// HoldLock takes a database that a program uses as its lock, until it is closed, and
// changes nothing of it. It returns a [*session.BusyError] if the program has it.
func HoldLock(ctx context.Context, f sqlitefile.File) (io.Closer, error) {
	w := &Writer{file: f}
	err := w.connect(ctx, url.Values{"mode": {"rw"}, "_pragma": {"busy_timeout(0)"}})
	if err == nil {
		_, err = w.conn.ExecContext(ctx, "BEGIN EXCLUSIVE") // closing rolls it back
	}
	if err != nil {
		return nil, errors.Join(w.Explain("open", err), w.Close())
	}
	return w, nil
}

// Explain names the database, and says that it is busy if that is why.
func (w *Writer) Explain(doing string, err error) error {
	var code *sqlite.Error
	if errors.As(err, &code) && (code.Code()&0xff == sqlite3.SQLITE_BUSY || code.Code()&0xff == sqlite3.SQLITE_LOCKED) {
		return &session.BusyError{Path: w.file.Path(), Reason: session.ReasonOpenHere.Text()}
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

// Change does something in one transaction that is durable when it returns
// without an error, and has not happened if it returns one.
func (w *Writer) Change(ctx context.Context, doing string, do func(tx *sql.Tx) error) error {
	tx, err := w.conn.BeginTx(ctx, nil)
	if err != nil {
		return w.Explain(doing, err)
	}
	if err := do(tx); err != nil {
		return errors.Join(w.Explain(doing, err), ignoreDone(tx.Rollback()))
	}
	return w.Explain(doing, tx.Commit())
}

func ignoreDone(err error) error {
	if errors.Is(err, sql.ErrTxDone) {
		return nil
	}
	return err
}

// Vacuum makes the file as small as what is in it, and empties its log. It is
// durable when it returns; a full disk leaves everything as it was.
func (w *Writer) Vacuum(ctx context.Context) error {
	for _, query := range []string{"VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)"} {
		if err := w.run(ctx, query); err != nil {
			return w.Explain("vacuum", err)
		}
	}
	return nil
}

// Checkpoint takes the write-ahead log in. What is in it is durable already; a
// disk that is full is told.
func (w *Writer) Checkpoint(ctx context.Context) error {
	return w.Explain("take the log into", w.run(ctx, "PRAGMA wal_checkpoint(TRUNCATE)"))
}

func (w *Writer) run(ctx context.Context, query string) error {
	return Each(ctx, For(w.conn, query), func(*sql.Rows) error { return nil }, query)
}

// Check has SQLite look at all pages. It returns an error with what is wrong.
func (w *Writer) Check(ctx context.Context) error {
	var said string
	err := w.conn.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&said)
	if err == nil && said != "ok" {
		err = errors.New(said)
	}
	return w.Explain("check", err)
}

// ErrDifferent is returned when there is a session of the same id with other
// rows.
var ErrDifferent = errors.New("the session is there with other rows")

// InsertRow puts one row in.
func (w *Writer) InsertRow(ctx context.Context, tx *sql.Tx, r Row) error {
	names := make([]string, len(r.Columns))
	for i, c := range r.Columns {
		names[i] = Quoted(c)
	}
	marks := strings.TrimSuffix(strings.Repeat("?, ", len(names)), ", ")
	_, err := tx.ExecContext(ctx, "INSERT INTO "+Quoted(r.Table)+" ("+strings.Join(names, ", ")+") VALUES ("+marks+")", r.Values...)
	return err
}

// UpdateRow gives the row with the same key the values of r.
func (w *Writer) UpdateRow(ctx context.Context, tx *sql.Tx, t Table, r Row) error {
	sets, values := make([]string, len(r.Columns)), slices.Clone(r.Values)
	for i, c := range r.Columns {
		sets[i] = Quoted(c) + " = ?"
	}
	where := make([]string, len(t.Key))
	for i, c := range t.Key {
		where[i] = Quoted(c) + " = ?"
		values = append(values, r.Value(c))
	}
	_, err := tx.ExecContext(ctx, "UPDATE "+Quoted(t.Name)+" SET "+strings.Join(sets, ", ")+" WHERE "+strings.Join(where, " AND "), values...)
	return err
}

// Fits returns an error if the database has no place for the row.
func (t Tables) Fits(r Row) error {
	table, known := t[r.Table]
	if !known {
		return fmt.Errorf("the database has no table %q for the row", r.Table)
	}
	for _, c := range r.Columns {
		if !table.Has(c) {
			return fmt.Errorf("the database's table %s has no column %q", r.Table, c)
		}
	}
	return nil
}

// Find looks for a row by its primary key, and compares it. In a table without one
// none is found ([Present]).
func (w *Writer) Find(ctx context.Context, tx *sql.Tx, t Table, r Row) (there, same bool, err error) {
	if len(t.Key) == 0 {
		return false, false, nil
	}
	where, keys := make([]string, len(t.Key)), make([]any, len(t.Key))
	for i, c := range t.Key {
		where[i], keys[i] = Quoted(c)+" = ?", r.Value(c)
	}
	err = tx.QueryRowContext(ctx, "SELECT "+strings.Join(r.equal(), " AND ")+" FROM "+Quoted(t.Name)+" WHERE "+strings.Join(where, " AND "), append(append([]any{}, r.Values...), keys...)...).Scan(&same)
	if errors.Is(err, sql.ErrNoRows) {
		return false, false, nil
	}
	return err == nil, same, err
}

// EachRow reads the rows of a log, line by line. named, if it is not nil, gets the
// type of a line that names sessions, and these. The error names the line.
func (f Format) EachRow(log io.Reader, take func(Row) error, named func(kind string, sessions []string)) error {
	lines := bufio.NewReaderSize(log, 1<<20)
	for n := 1; ; n++ {
		text, err := lines.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		last := err != nil
		if text = bytes.TrimSpace(text); len(text) > 0 {
			r, holds, err := f.Read(text)
			switch {
			case err != nil:
			case holds:
				err = take(r)
			case named != nil:
				var l line
				if err = json.Unmarshal(text, &l); err == nil {
					named(l.Type, l.Sessions)
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

// InsertLogs puts the rows of logs back in one transaction, and returns how many were
// missing. next opens the logs one after the other and ends with io.EOF; put puts one
// row back, and reports false if it is there already.
func (w *Writer) InsertLogs(ctx context.Context, f Format, next func() (io.ReadCloser, error), put func(*sql.Tx, *Present, Row) (bool, error)) (rows int, err error) {
	err = w.Change(ctx, "put rows into", func(tx *sql.Tx) error {
		rows = 0
		present := w.Present()
		// A log may name a row that others refer to after them.
		if _, err := tx.ExecContext(ctx, "PRAGMA defer_foreign_keys=ON"); err != nil {
			return err
		}
		return eachLog(next, func(log io.Reader) error {
			return f.EachRow(log, func(r Row) error {
				added, err := put(tx, present, r)
				if added {
					rows++
				}
				return err
			}, nil)
		})
	})
	return rows, err
}

// Holds reports whether a row is there that is to be put back. One that is must be
// the same, save where others have changed it since, rightly: the error wraps
// [ErrDifferent]. It is another one if the database has no place for the row.
func (w *Writer) Holds(ctx context.Context, tx *sql.Tx, present *Present, r Row, mayDiffer bool) (bool, error) {
	if err := w.Tables.Fits(r); err != nil {
		return false, err
	}
	t := w.Tables[r.Table]
	there, same, err := present.Find(ctx, tx, t, r)
	if err == nil && there && !same && !mayDiffer {
		err = fmt.Errorf("%w: table %s, %v", ErrDifferent, r.Table, r.Value(t.Key[0]))
	}
	return there, err
}

// Sum is the SHA-256 of a log, in hex.
func Sum(log io.Reader) (string, error) {
	hash := sha256.New()
	if _, err := io.Copy(hash, log); err != nil {
		return "", err
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}

// live returns how many bytes of pages are used.
func (w *Writer) live(ctx context.Context) (int64, error) {
	var pages, free, size int64
	for query, to := range map[string]*int64{"PRAGMA page_count": &pages, "PRAGMA freelist_count": &free, "PRAGMA page_size": &size} {
		if err := w.conn.QueryRowContext(ctx, query).Scan(to); err != nil {
			return 0, w.Explain("measure", err)
		}
	}
	return (pages - free) * size, nil
}
