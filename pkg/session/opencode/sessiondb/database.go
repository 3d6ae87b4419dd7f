package sessiondb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

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
	tables map[string]table
}

// table is what is asked of a table.
type table struct {
	name    string
	columns []string
	key     []string // columns of its primary key, or rowid
}

func (t table) has(columns ...string) bool {
	return !slices.ContainsFunc(columns, func(c string) bool { return !slices.Contains(t.columns, c) })
}

// Open opens a database for reading, without a trace ([sqlitefile.Open]). It
// returns an error that wraps [ErrSchema] for a database of something else.
func Open(ctx context.Context, f File) (*Database, error) {
	d := &Database{}
	var err error
	d.Database, err = sqlitefile.Open(ctx, f, func(ctx context.Context, conn *sql.Conn) (err error) {
		d.conn = conn
		d.tables, err = readSchema(ctx, conn)
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
var required = map[string][]string{
	sessionTable: {"id", "project_id", "directory", "title", "version", "time_created", "time_updated"},
	messageTable: {"id", "session_id", "time_created", "data"},
	partTable:    {"id", "message_id", "session_id", "data"},
}

const (
	sessionTable = "session"
	messageTable = "message"
	partTable    = "part"
	eventTable   = "event"
	projectTable = "project"
	countTable   = "event_sequence"
	shareTable   = "session_share" // holds a secret
)

// querier is a connection or a transaction.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// readSchema reads what tables there are, and checks that they are OpenCode's.
func readSchema(ctx context.Context, conn querier) (map[string]table, error) {
	var encoding string
	if err := conn.QueryRowContext(ctx, "PRAGMA encoding").Scan(&encoding); err != nil {
		return nil, fmt.Errorf("read its encoding: %w", err)
	}
	if encoding != "UTF-8" {
		return nil, fmt.Errorf("%w: its texts are %s", ErrSchema, encoding)
	}
	rows, err := conn.QueryContext(ctx, `SELECT m.name, c.name, c.pk FROM sqlite_schema m JOIN pragma_table_info(m.name) c WHERE m.type = 'table' ORDER BY m.name, c.cid`)
	if err != nil {
		return nil, fmt.Errorf("read its schema: %w", err)
	}
	type column struct {
		table, name string
		key         int
	}
	all, err := collect(rows, "read its schema", func(rows *sql.Rows) (c column, err error) {
		err = rows.Scan(&c.table, &c.name, &c.key)
		return c, err
	})
	if err != nil {
		return nil, err
	}
	tables := map[string]table{}
	for _, c := range all {
		t := tables[c.table]
		t.name = c.table
		t.columns = append(t.columns, c.name)
		if c.key > 0 {
			t.key = append(t.key, c.name)
		}
		tables[c.table] = t
	}
	for name, columns := range required {
		if !tables[name].has(columns...) {
			return nil, fmt.Errorf("%w: there is no table %s with %s", ErrSchema, name, strings.Join(columns, ", "))
		}
	}
	return tables, nil
}

// HasJournal reports whether there is a journal that is understood.
func (d *Database) HasJournal() bool { return hasJournal(d.tables) }

func hasJournal(tables map[string]table) bool {
	return tables[eventTable].has("id", "aggregate_id", "seq", "type", "data") && tables[countTable].has("aggregate_id", "seq")
}

// extra are the other tables with rows of a session, in the order of their
// names.
func extra(tables map[string]table) (names []string) {
	for name, t := range tables {
		switch name {
		case sessionTable, messageTable, partTable, eventTable, countTable, projectTable, shareTable:
		default:
			if t.has("session_id") && !secret(name) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return names
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
	Model     string // "" if unknown
	Workspace string // that it is synced to, or ""
	Messages  int
	Bytes     int64     // of the data of its messages and parts
	Changed   time.Time // when the runtime has changed it last
	Archived  bool      // put away by a person
}

// Sessions returns the sessions, the one that was changed last first. It reads
// no more of a row than its beginning.
func (d *Database) Sessions(ctx context.Context) ([]Session, error) {
	t := d.tables[sessionTable]
	rows, err := d.conn.QueryContext(ctx, "SELECT id, "+t.text("parent_id")+", directory, title, version, "+t.text("model")+", "+t.text("workspace_id")+
		", time_updated, "+t.text("time_archived")+" <> '' FROM session ORDER BY time_updated DESC, id")
	if err != nil {
		return nil, fmt.Errorf("list sessions: %w", err)
	}
	all, err := collect(rows, "list sessions", func(rows *sql.Rows) (s Session, err error) {
		var changed int64
		err = rows.Scan(&s.ID, &s.Parent, &s.Directory, &s.Title, &s.Version, &s.Model, &s.Workspace, &changed, &s.Archived)
		s.Changed = time.UnixMilli(changed)
		return s, err
	})
	if err != nil {
		return nil, err
	}
	return all, d.weigh(ctx, all)
}

// text is a column of text, as an expression; ” if the table lacks it.
func (t table) text(column string) string {
	if !t.has(column) {
		return "''"
	}
	return "coalesce(CAST(" + quoted(column) + " AS TEXT), '')"
}

// weigh counts the messages of all sessions and the bytes of their rows. The
// tables are read in the order in which they lie: by an index every row would be
// looked for.
func (d *Database) weigh(ctx context.Context, all []Session) error {
	place := map[string]int{}
	for i, s := range all {
		place[s.ID] = i
	}
	for _, name := range []string{messageTable, partTable} {
		rows, err := d.conn.QueryContext(ctx, "SELECT session_id, octet_length(data) FROM "+name+" NOT INDEXED")
		if err != nil {
			return fmt.Errorf("list sessions: %w", err)
		}
		_, err = collect(rows, "list sessions", func(rows *sql.Rows) (none struct{}, err error) {
			var id sql.RawBytes
			var size sql.NullInt64
			if err := rows.Scan(&id, &size); err != nil {
				return none, err
			}
			if i, ok := place[string(id)]; ok {
				all[i].Bytes += size.Int64
				if name == messageTable {
					all[i].Messages++
				}
			}
			return none, nil
		})
		if err != nil {
			return err
		}
	}
	return d.Unchanged()
}

// collect reads all rows and closes them.
func collect[T any](rows *sql.Rows, doing string, scan func(*sql.Rows) (T, error)) ([]T, error) {
	defer rows.Close()
	var all []T
	for rows.Next() {
		x, err := scan(rows)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", doing, err)
		}
		all = append(all, x)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", doing, err)
	}
	return all, nil
}

// quoted is a name as SQL reads it.
func quoted(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
