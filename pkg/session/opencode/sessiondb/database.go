package sessiondb

import (
	"cmp"
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
var ErrSchema = errors.New("not a database of OpenCode's sessions")

// Database is a database as it was at one moment. It may be used by several
// goroutines at once.
type Database struct {
	*sqlitefile.Database
	conn   *sql.Conn
	tables rowlog.Tables
	// Schema is the date of its last migration, as 20260622; 0 if it does not say.
	Schema int
	// Unread are tables in which something is said that is not read.
	Unread []string
}

// Open opens a database for reading, without a trace ([sqlitefile.Open]). It
// returns an error that wraps [ErrSchema] for a database of something else.
func Open(ctx context.Context, f File) (*Database, error) {
	d := &Database{}
	var err error
	d.Database, err = sqlitefile.Open(ctx, f, func(ctx context.Context, db *sqlitefile.Database) (err error) {
		d.conn = db.Conn()
		if d.tables, err = readSchema(ctx, d.conn); err == nil {
			err = db.Spare(d.tables.Seek(ctx, d.conn, "session_id", "message_id"))
		}
		if err == nil {
			_, read := extra(d.tables)
			d.Unread, err = d.tables.Unread(ctx, d.conn, boardTable, func(name string) bool { return read[name] != "" })
		}
		if err == nil {
			var unread []string
			unread, err = d.tables.Orphaned(ctx, d.conn, messageTable, sessionTable)
			d.Unread = append(d.Unread, unread...)
		}
		if err == nil {
			d.Schema, err = lastMigration(ctx, d.conn, d.tables)
			err = db.Spare(err)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return d, nil
}

// Databases are the open databases of a store.
type Databases = sqlitefile.Cache[*Database]

// NewDatabases returns a cache in which none is open.
func NewDatabases() *Databases { return &Databases{Open: Open} }

// required is what every version has that is read. Other columns are taken as
// they come: they are added with almost every release.
func required() map[string][]string {
	return map[string][]string{
		sessionTable: {"id", "project_id", "directory", "title", "version", "time_created", "time_updated"},
		messageTable: {"id", "session_id", "time_created", "data"},
		partTable:    {"id", "message_id", "session_id", "data"},
	}
}

// The dates of the last migrations that were tried. Another database is read as far as
// its columns have the names of today.
const (
	OldestSchema = 2026_01_27
	NewestSchema = 2026_06_22
	NewestOfKilo = 2026_09_07
)

const (
	sessionTable   = "session"
	messageTable   = "message"
	partTable      = "part"
	eventTable     = "event"
	projectTable   = "project"
	countTable     = "event_sequence"
	shareTable     = "session_share" // holds a secret
	migrationTable = "migration"
	boardTable     = "kilo_board_message" // what agents of Kilo say to each other
)

// readSchema reads what tables there are, and checks that they are OpenCode's.
func readSchema(ctx context.Context, conn rowlog.Querier) (rowlog.Tables, error) {
	return rowlog.ReadKnown(ctx, conn, ErrSchema, required())
}

// lastMigration is the date with which the name of the last migration begins, 0 without
// one.
func lastMigration(ctx context.Context, conn rowlog.Querier, tables rowlog.Tables) (date int, err error) {
	if !tables[migrationTable].Has("id") {
		return 0, nil
	}
	if err := conn.QueryRowContext(ctx, "SELECT coalesce(max(CAST(substr(id, 1, 8) AS INTEGER)), 0) FROM "+migrationTable).Scan(&date); err != nil {
		return 0, fmt.Errorf("read its version: %w", err)
	}
	return date, nil
}

// hasJournal reports whether there is a journal that is understood.
func hasJournal(tables rowlog.Tables) bool {
	return tables[eventTable].Has("id", "aggregate_id", "seq", "type", "data") && tables[countTable].Has("aggregate_id", "seq")
}

// extra are the other tables with rows of a session, those before whose rows these belong
// to, and the conditions by which they do: the database's own foreign keys, and the
// column session_id.
func extra(tables rowlog.Tables) (names []string, where map[string]string) {
	known := map[string]string{sessionTable: "id = ?1", messageTable: tables[messageTable].Of("session_id", "?1"), partTable: tables[partTable].Of("session_id", "?1")}
	return tables.Owned(known, "session_id", func(name string) bool {
		switch name {
		case eventTable, countTable, projectTable, shareTable:
			return true
		}
		return secret(name)
	})
}

// secret reports whether a table holds what opens accounts.
func secret(name string) bool {
	return slices.ContainsFunc([]string{"account", "credential", "token", "share", "secret"}, func(part string) bool { return strings.Contains(name, part) })
}

// Session is one session in the database.
type Session struct {
	ID        string
	Parent    string // the session whose agent started it, or ""
	Directory string // that it works in
	Title     string
	Version   string // of the program that began it
	Slug      string // its name in addresses
	Model     string // "" if unknown
	Workspace string // that it is synced to, or ""
	Messages  int
	Bytes     int64          // of the data of its messages and parts
	Changed   time.Time      // when the runtime has changed it last
	Archived  bool           // put away by a person
	Doubt     session.Reason // why not all of it is known; "" for none
}

// Sessions returns the sessions, the one that was changed last first. It reads
// no more of a row than its beginning. With a [*sqlitefile.DamagedError] it returns those
// of which a row or messages can be read.
func (d *Database) Sessions(ctx context.Context) ([]Session, error) {
	all, err := gather(ctx, d.conn, d.tables)
	if err = d.Spare(err); err == nil {
		err = d.weigh(ctx, all)
	}
	if err != nil {
		return nil, err
	}
	for i := range all {
		if all[i].Changed.IsZero() {
			all[i].Changed = d.lastMessage(ctx, all[i].ID)
		}
	}
	slices.SortFunc(all, func(x, y Session) int { return cmp.Or(y.Changed.Compare(x.Changed), cmp.Compare(x.ID, y.ID)) })
	all, rowless, hidden := rowlog.Sift(d.tables, all, func(s *Session) (string, *session.Reason, int) { return s.ID, &s.Doubt, s.Messages })
	return all, d.Listed(rowless, hidden)
}

// gather reads the rows of all sessions, in no certain order.
func gather(ctx context.Context, conn rowlog.Querier, tables rowlog.Tables) ([]Session, error) {
	t := tables[sessionTable]
	return rowlog.Gathering[Session]{
		Purpose: rowlog.For(conn, "list sessions"), Table: t, Key: "id", Named: tables[messageTable], ID: idOf,
		Columns: "id, " + t.Text("parent_id") + ", directory, title, version, " + t.Text("model") + ", " + t.Text("workspace_id") + ", time_updated, " + t.Text("time_archived") + " <> '', " + t.Text("slug"),
		Lost:    func(id string, why session.Reason) Session { return Session{ID: id, Doubt: why} },
		Read: func(rows *sql.Rows, s *Session) error {
			var changed int64
			err := rows.Scan(&s.ID, &s.Parent, &s.Directory, &s.Title, &s.Version, &s.Model, &s.Workspace, &changed, &s.Archived, &s.Slug)
			s.Changed = time.UnixMilli(changed)
			return err
		},
	}.Run(ctx)
}

func idOf(s Session) string { return s.ID }

// lastMessage is when the last message of a session was begun; now if nobody knows.
func (d *Database) lastMessage(ctx context.Context, session string) time.Time {
	var at sql.NullInt64
	err := d.conn.QueryRowContext(ctx, "SELECT max(time_created) FROM message WHERE "+d.tables[messageTable].Of("session_id", "?"), session).Scan(&at)
	if err != nil || !at.Valid {
		return time.Now()
	}
	return time.UnixMilli(at.Int64)
}

// weigh counts the messages of all sessions and the bytes of their rows. The
// tables are read in the order in which they lie: by an index every row would be
// looked for.
func (d *Database) weigh(ctx context.Context, all []Session) error {
	t := d.tables[sessionTable]
	for _, name := range []string{messageTable, partTable} {
		var size sql.NullInt64
		w := rowlog.Weighing[Session]{Conn: d.conn, All: all, ID: idOf, Into: []any{&size}}
		w.Table, w.Sum = d.tables[name], "octet_length(data)"
		w.Take = func(s *Session) {
			s.Bytes += size.Int64
			if name == messageTable {
				s.Messages++
			}
		}
		if err := d.Spare(w.Run(ctx)); err != nil {
			return err
		}
	}
	return d.Spare(d.tables[projectTable].Reach(ctx, d.conn, t, "project_id", "id"))
}

// Parts says what the database is made of, the largest part first. Every page is
// looked at.
func (d *Database) Parts(ctx context.Context) ([]session.DatabasePart, error) {
	return d.Database.Parts(ctx, partOf)
}

// partOf names what a table or an index is for.
func partOf(table, name string) string {
	switch {
	case table == eventTable || table == countTable:
		return "journal (event), with its indexes"
	case table != name:
		return "other indexes"
	case table == partTable:
		return "parts of messages"
	case table == messageTable:
		return "messages"
	case table == sessionTable || table == projectTable:
		return "sessions and projects"
	}
	return "other tables"
}
