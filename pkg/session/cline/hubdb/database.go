package hubdb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/rowlog"
	"github.com/sessctl/sessctl/pkg/session/sqlitefile"
)

// File is where a database lies.
type File = sqlitefile.File

// ErrSchema is returned for a database with other tables than are known.
var ErrSchema = errors.New("not a database of Cline's hub as it is known")

const (
	eventTable   = "hub_events"
	indexedTable = "indexed_sessions"
	searchTable  = "session_search" // a virtual one, of FTS5
	sessionTable = "sessions"
	indexVersion = 2 // of the texts in the index that is known
)

// Database is a database of the hub as it was at one moment. It may be used by
// several goroutines at once.
type Database struct {
	*sqlitefile.Database
	conn   *sql.Conn
	tables rowlog.Tables

	mutex  sync.Mutex
	places places // of all rows; nil until one asks for it
}

// Open opens a database for reading, without a trace ([sqlitefile.Open]). It
// returns an error that wraps [ErrSchema] for one with other tables.
func Open(ctx context.Context, f File) (*Database, error) {
	d := &Database{}
	var err error
	d.Database, err = sqlitefile.Open(ctx, f, func(ctx context.Context, db *sqlitefile.Database) (err error) {
		d.conn = db.Conn()
		d.tables, err = readSchema(ctx, d.conn)
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

// readSchema reads which tables there are, and checks that they are those of events
// or those of the index. A trigger would do what nobody here knows.
func readSchema(ctx context.Context, db rowlog.Querier) (rowlog.Tables, error) {
	tables, err := rowlog.ReadKnown(ctx, db, ErrSchema, nil)
	if err != nil {
		return nil, err
	}
	var triggers int
	if err := db.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema WHERE type = 'trigger'").Scan(&triggers); err != nil {
		return nil, fmt.Errorf("read its schema: %w", err)
	}
	if triggers > 0 {
		return nil, fmt.Errorf("%w: it has triggers", ErrSchema)
	}
	if err := addSearch(ctx, db, tables); err != nil {
		return nil, err
	}
	events := tables[eventTable]
	switch {
	case hasEvents(tables) == hasIndex(tables):
		return nil, fmt.Errorf("%w: it has neither the events nor the index of the hub, or both", ErrSchema)
	case hasEvents(tables) && (len(events.Key) != 1 || events.Key[0] != "sequence"):
		return nil, fmt.Errorf("%w: its events have another key", ErrSchema)
	}
	return tables, nil
}

func hasEvents(tables rowlog.Tables) bool {
	return tables[eventTable].Has("sequence", "event", "session_id", "envelope_json", "created_at")
}

func hasIndex(tables rowlog.Tables) bool {
	return tables[indexedTable].Has("session_id", "indexed_at", "index_version") && tables[searchTable].Has("session_id", "document_id", "content")
}

// addSearch adds the virtual table of the index, if there is one.
func addSearch(ctx context.Context, db rowlog.Querier, tables rowlog.Tables) error {
	var made string
	err := db.QueryRowContext(ctx, "SELECT sql FROM sqlite_schema WHERE type = 'table' AND rootpage = 0 AND name = ?", searchTable).Scan(&made)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read its schema: %w", err)
	}
	if !strings.Contains(strings.ToLower(made), "using fts5(") {
		return fmt.Errorf("%w: its index is none of FTS5", ErrSchema)
	}
	columns, err := rowlog.Column[string](ctx, rowlog.For(db, "read its schema"), "SELECT name FROM pragma_table_info(?) ORDER BY cid", searchTable)
	tables[searchTable] = rowlog.Table{Name: searchTable, Columns: columns}
	return err
}

// Rows are those of one session in a database.
type Rows struct {
	Session string
	Count   int
	Bytes   int64     // of what they say
	Newest  time.Time // when the last one was written; zero if none says so
	Odd     string    // why the rows are not understood, or ""
}

// Sessions returns what the database has of each session, in the order of their
// ids. Rows that name no session belong to none.
func (d *Database) Sessions(ctx context.Context) ([]Rows, error) {
	all, err := sessionsIn(ctx, d.conn, d.tables)
	return all, errors.Join(err, d.Unchanged())
}

// understoodEvent is an expression that is true of an event that is understood.
const understoodEvent = `typeof(session_id) = 'text' AND typeof(event) = 'text' AND typeof(envelope_json) = 'text' AND CASE WHEN json_valid(envelope_json) THEN
  coalesce(json_extract(envelope_json, '$.version') = 'v1' AND json_extract(envelope_json, '$.sessionId') = session_id AND json_extract(envelope_json, '$.event') = event, 0)
  ELSE 0 END`

func sessionsIn(ctx context.Context, db rowlog.Querier, tables rowlog.Tables) ([]Rows, error) {
	query := `SELECT CAST(session_id AS TEXT), count(*), sum(octet_length(envelope_json)), coalesce(max(CAST(created_at AS INTEGER)), 0), '', count(*) - sum(` + understoodEvent + `)
FROM hub_events WHERE session_id IS NOT NULL AND session_id <> '' GROUP BY 1 ORDER BY 1`
	if hasIndex(tables) {
		query = fmt.Sprintf(`SELECT CAST(id AS TEXT), sum(n), sum(size), 0, max(indexed), sum(odd) FROM (
  SELECT CAST(session_id AS TEXT) AS id, count(*) AS n, sum(octet_length(content)) AS size, '' AS indexed, count(*) - sum(coalesce(typeof(session_id) = 'text' AND typeof(content) = 'text' AND substr(document_id, 1, length(session_id) + 1) = session_id || ':', 0)) AS odd FROM session_search GROUP BY 1
  UNION ALL SELECT CAST(session_id AS TEXT), 1, 0, CAST(indexed_at AS TEXT), index_version IS NOT %d OR typeof(session_id) <> 'text' FROM indexed_sessions)
WHERE id IS NOT NULL AND id <> '' GROUP BY 1 ORDER BY 1`, indexVersion)
	}
	return rowlog.Read(ctx, rowlog.For(db, "read which sessions it names"), func(rows *sql.Rows, r *Rows) error {
		var at, odd int64
		var size sql.NullInt64
		var indexed string
		if err := rows.Scan(&r.Session, &r.Count, &size, &at, &indexed, &odd); err != nil {
			return err
		}
		r.Bytes = size.Int64
		if at > 0 {
			r.Newest = time.UnixMilli(at)
		} else if t, err := time.Parse(time.RFC3339, indexed); err == nil {
			r.Newest = t
		}
		if odd > 0 {
			r.Odd = fmt.Sprintf("%d of its rows have a form that is not known", odd)
		}
		return nil
	}, query)
}

// Parts says what the database is made of, the largest part first. Every page is
// looked at.
func (d *Database) Parts(ctx context.Context) ([]session.DatabasePart, error) {
	return d.Database.Parts(ctx, partOf)
}

// partOf names what a table or an index is for.
func partOf(table, name string) string {
	switch {
	case table == eventTable && table == name:
		return "events of the hub"
	case table == eventTable:
		return "indexes of the events"
	case table == searchTable+"_content":
		return "texts of the index"
	case strings.HasPrefix(table, searchTable):
		return "words of the index"
	}
	return "other tables"
}

// Known are the ids of the sessions that Cline's own list of them names: of each its
// own, and that of the session whose agent began it.
func Known(ctx context.Context, f File) (ids map[string]bool, err error) {
	ids = map[string]bool{}
	db, err := sqlitefile.Open(ctx, f, func(ctx context.Context, db *sqlitefile.Database) error {
		tables, err := rowlog.ReadTables(ctx, db.Conn())
		if err != nil {
			return err
		}
		if !tables[sessionTable].Has("session_id", "parent_session_id") {
			return fmt.Errorf("%w: there is no table of sessions", ErrSchema)
		}
		return rowlog.Each(ctx, rowlog.For(db.Conn(), "list sessions"), func(rows *sql.Rows) error {
			var id, parent string
			err := rows.Scan(&id, &parent)
			ids[id], ids[parent] = true, true
			return err
		}, "SELECT CAST(session_id AS TEXT), coalesce(CAST(parent_session_id AS TEXT), '') FROM sessions")
	})
	if err != nil {
		return nil, err
	}
	return ids, errors.Join(db.Unchanged(), db.Close())
}
