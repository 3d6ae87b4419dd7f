package goosedb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/rowlog"
	"github.com/sessctl/sessctl/pkg/session/sqlitefile"
)

// File is where a database lies.
type File = sqlitefile.File

// ErrSchema is returned for a database without the tables of sessions.
var ErrSchema = errors.New("not a database of Goose's sessions")

// The schemas that are known. Another one is read as far as its columns have the names
// of today.
const (
	OldestSchema = 15
	NewestSchema = 17
)

const (
	sessionTable = "sessions"
	messageTable = "messages"
	ledgerTable  = "usage_ledger"
	threadTable  = "thread_messages" // of the schemas 10 and 11: what was said in threads
)

// Database is a database as it was at one moment. It may be used by several
// goroutines at once.
type Database struct {
	*sqlitefile.Database
	conn   *sql.Conn
	tables rowlog.Tables
	// Schema is its version, 0 if it does not say.
	Schema int
	// Unread are tables in which something is said that is not read.
	Unread []string
}

// open opens a database for reading, without a trace ([sqlitefile.Open]). It
// returns an error that wraps [ErrSchema] for a database of something else.
func open(ctx context.Context, f File) (*Database, error) {
	d := &Database{}
	var err error
	d.Database, err = sqlitefile.Open(ctx, f, func(ctx context.Context, db *sqlitefile.Database) error {
		d.Database, d.conn = db, db.Conn()
		return d.readSchema(ctx)
	})
	if err != nil {
		return nil, err
	}
	return d, nil
}

// Databases are the open databases of a store.
type Databases = sqlitefile.Cache[*Database]

// NewDatabases returns a cache in which none is open.
func NewDatabases() *Databases { return &Databases{Open: open} }

func (d *Database) readSchema(ctx context.Context) (err error) {
	d.tables, err = rowlog.ReadKnown(ctx, d.conn, ErrSchema, map[string][]string{
		sessionTable: {"id", "working_dir"}, messageTable: {"id", "session_id", "role", "content_json", "created_timestamp"},
	})
	if err == nil {
		d.Schema, err = d.tables.Version(ctx, d.conn)
		err = d.Spare(err)
	}
	if err == nil {
		err = d.Spare(d.tables.Seek(ctx, d.conn, "session_id"))
	}
	if err == nil {
		d.Unread, err = d.tables.Unread(ctx, d.conn, threadTable, func(name string) bool {
			return slices.ContainsFunc(d.said(), func(t rowlog.Table) bool { return t.Name == name })
		})
	}
	for _, t := range d.said() {
		var unread []string
		if err == nil {
			unread, err = d.tables.Orphaned(ctx, d.conn, t.Name, sessionTable)
		}
		d.Unread = append(d.Unread, unread...)
	}
	return err
}

// said are the tables of what is said in sessions.
func (d *Database) said() []rowlog.Table {
	all := []rowlog.Table{d.tables[messageTable]}
	if t := d.tables[threadTable]; t.Has("id", "session_id", "role", "content_json", "created_timestamp") {
		all = append(all, t)
	}
	return all
}

// Session is one session in the database.
type Session struct {
	ID        string
	Parent    string // the session whose agent began it, or ""
	Kind      string // user, scheduled, sub_agent, hidden, terminal, gateway, acp
	Name      string
	Directory string
	Tokens    int64 // that the last model call counted, 0 if none did
	Messages  int
	Bytes     int64 // of its texts
	Changed   time.Time
	Doubt     session.Reason // why not all of it is known; "" for none
}

// Sessions returns the sessions in the order of their ids. It reads no text. With a
// [*sqlitefile.DamagedError] it returns those of which a row or messages can be read.
func (d *Database) Sessions(ctx context.Context) ([]Session, error) {
	t := d.tables[sessionTable]
	all, err := rowlog.Gathering[Session]{
		Purpose: rowlog.For(d.conn, "list sessions"), Table: t, Key: "id", Named: d.tables[messageTable],
		Columns: strings.Join([]string{"id", t.Text("parent_session_id"), t.Text("session_type"), t.Text("name"), t.Text("working_dir"), t.Text("total_tokens"), t.Text("updated_at")}, ", "),
		Read: func(rows *sql.Rows, s *Session) error {
			var tokens, updated string
			err := rows.Scan(&s.ID, &s.Parent, &s.Kind, &s.Name, &s.Directory, &tokens, &updated)
			_, _ = fmt.Sscan(tokens, &s.Tokens) // what is no number counts nothing
			s.Changed = written(updated)
			return err
		},
		ID:   idOf,
		Lost: func(id string, why session.Reason) Session { return Session{ID: id, Doubt: why} },
	}.Run(ctx)
	if err = d.Spare(err); err == nil {
		err = d.weigh(ctx, all)
	}
	if err != nil {
		return nil, err
	}
	slices.SortFunc(all, func(x, y Session) int { return strings.Compare(x.ID, y.ID) })
	all, rowless, hidden := rowlog.Sift(d.tables, all, func(s *Session) (string, *session.Reason, int) { return s.ID, &s.Doubt, s.Messages })
	return all, d.Listed(rowless, hidden)
}

func idOf(s Session) string { return s.ID }

// weigh adds the messages of all sessions to them.
func (d *Database) weigh(ctx context.Context, all []Session) error {
	var size, at sql.NullInt64
	w := rowlog.Weighing[Session]{Conn: d.conn, All: all, ID: idOf, Into: []any{&size, &at}}
	w.Sum = "octet_length(content_json), CAST(created_timestamp AS INTEGER)"
	w.Take = func(s *Session) {
		s.Messages++
		s.Bytes += size.Int64
		s.Changed = later(s.Changed, Moment(at.Int64))
	}
	for _, w.Table = range d.said() {
		if err := d.Spare(w.Run(ctx)); err != nil {
			return err
		}
	}
	return nil
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// Moment is a time in seconds since 1970, or in milliseconds where it is too large
// for that; zero for none.
func Moment(at int64) time.Time {
	const largestSeconds = 10_000_000_000
	switch {
	case at <= 0:
		return time.Time{}
	case at > largestSeconds:
		return time.UnixMilli(at).UTC()
	}
	return time.Unix(at, 0).UTC()
}

// written is a time as SQLite, or the program, writes it; zero for anything else.
func written(text string) time.Time {
	for _, layout := range []string{time.DateTime, time.RFC3339Nano, "2006-01-02 15:04:05.999999999-07:00", "2006-01-02 15:04:05.999999999"} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC()
		}
	}
	return time.Time{}
}

// Tokens is what the last model call of a session counted, 0 if none did.
func (d *Database) Tokens(ctx context.Context, session string) (n int64, err error) {
	if !d.tables[sessionTable].Has("total_tokens") {
		return 0, nil
	}
	err = d.conn.QueryRowContext(ctx, "SELECT coalesce(max(CAST(total_tokens AS INTEGER)), 0) FROM sessions WHERE id = ?", session).Scan(&n)
	if err != nil && !sqlitefile.IsDamaged(err) { // then they are estimated
		return 0, fmt.Errorf("read session %s: %w", session, err)
	}
	return n, nil
}

// CountMessages returns the number of messages of a session, those of its threads too.
func (d *Database) CountMessages(ctx context.Context, session string) (n int, err error) {
	for _, t := range d.said() {
		rows, err := t.CountMessages(ctx, d.conn, session)
		if n += rows; err != nil {
			return 0, err
		}
	}
	return n, nil
}
