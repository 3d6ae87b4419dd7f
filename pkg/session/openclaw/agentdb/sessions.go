package agentdb

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/rowlog"
	"github.com/sessctl/sessctl/pkg/session/sqlitefile"
)

// Session is one session that has records in the database.
type Session struct {
	ID      string
	Key     string // the routing key that it is of, or was; "" if no window of the runtime's names it
	Model   string // "" if unknown
	Records int
	Bytes   int64     // of its log, see [Log]
	Changed time.Time // when its last record was written
}

// Node is what the runtime knows of one routing key.
type Node struct {
	Key     string
	Session string // id of its current session
	Entry   []byte // JSON, as an entry of sessions.json in the file era
}

// Cold is a session whose records the runtime has moved out of the table of
// records, into a file or a row of another table.
type Cold struct {
	Session string
	Name    string // of the runtime's archive
	Records int
}

// Deleted is a session that was deleted, of which the runtime keeps a
// compressed copy in a row of another table.
type Deleted struct {
	Session string
	Name    string // of the file that the copy has, or is to have
}

// eventBytes is the length of a record's text in bytes; it needs no record to
// be read. What a damaged row claims is bounded, so that a sum never overflows.
func (c columns) eventBytes() string {
	if !c.zstd {
		return "octet_length(event_json)"
	}
	return fmt.Sprintf("CASE WHEN event_json IS NOT NULL THEN octet_length(event_json) ELSE min(max(coalesce(event_utf8_bytes, 0), 0), %d) END", maxEvent)
}

// Sessions returns the sessions in the order of their ids. With a
// [*sqlitefile.DamagedError] it returns those of which records can be read.
func (d *Database) Sessions(ctx context.Context) ([]Session, error) {
	all, err := d.sessions(ctx)
	if damage := err; sqlitefile.IsDamaged(err) {
		if all, err = d.each(ctx); err == nil {
			err = d.Spare(damage)
		}
	}
	if err != nil {
		return nil, err
	}
	var hidden []string
	all = slices.DeleteFunc(all, func(s Session) bool {
		if s.Records == 0 && d.hasRecords(ctx, s.ID) {
			hidden = append(hidden, s.ID)
		}
		return s.Records == 0
	})
	return all, d.Listed(nil, hidden)
}

// hasRecords reports whether there are records of a session, or nobody can tell.
func (d *Database) hasRecords(ctx context.Context, session string) (has bool) {
	err := d.conn.QueryRowContext(ctx, "SELECT count(*) > 0 FROM transcript_events WHERE session_id = ?", session).Scan(&has)
	return has || err != nil
}

// each are the sessions that the windows of the runtime and its records name, weighed one
// after the other. Of one whose window cannot be read the key is not known.
func (d *Database) each(ctx context.Context) ([]Session, error) {
	events := rowlog.Table{Name: "transcript_events"}
	of := func(s Session) string { return s.ID }
	all, err := rowlog.Gathering[Session]{
		Purpose: rowlog.For(d.conn, "list sessions"), Columns: "session_id, coalesce(session_key, ''), " + d.modelColumn(), Table: rowlog.Table{Name: "session_windows"}, Key: "session_id",
		Named: events, ID: of, Lost: func(id string, _ session.Reason) Session { return Session{ID: id} },
		Read: func(rows *sql.Rows, s *Session) error { return rows.Scan(&s.ID, &s.Key, &s.Model) },
	}.Run(ctx)
	if err != nil && !sqlitefile.IsDamaged(err) {
		return nil, err
	}
	var size, at sql.NullInt64
	w := rowlog.Weighing[Session]{Conn: d.conn, Table: events, All: all, ID: of, Into: []any{&size, &at}}
	w.Sum = d.columns.eventBytes() + ", created_at"
	w.Take = func(s *Session) {
		s.Records++
		s.Bytes += size.Int64 + 1
		if when := time.UnixMilli(at.Int64); when.After(s.Changed) {
			s.Changed = when
		}
	}
	return all, d.Spare(w.Run(ctx))
}

// modelColumn is the model of a window, as an expression.
func (d *Database) modelColumn() string {
	if d.columns.model {
		return "coalesce(model, '')"
	}
	return "''"
}

func (d *Database) sessions(ctx context.Context) ([]Session, error) {
	return rowlog.Read(ctx, rowlog.For(d.conn, "list sessions"), func(rows *sql.Rows, s *Session) error {
		var changed int64
		err := rows.Scan(&s.ID, &s.Key, &s.Model, &s.Records, &s.Bytes, &changed)
		s.Changed = time.UnixMilli(changed)
		return err
	}, `
SELECT t.session_id, coalesce(w.session_key, ''), `+d.modelColumn()+`, t.records, t.bytes,
       (SELECT e.created_at FROM transcript_events e WHERE e.session_id = t.session_id ORDER BY e.seq DESC LIMIT 1)
FROM (SELECT session_id, count(*) AS records, coalesce(sum(`+d.columns.eventBytes()+`), 0) + count(*) AS bytes
      FROM transcript_events GROUP BY session_id) t
LEFT JOIN session_windows w ON w.session_id = t.session_id
ORDER BY t.session_id`)
}

// Nodes returns the routing keys in their order. One whose row lies on a damaged page is
// left out, and [Database.Sessions] tells of it.
func (d *Database) Nodes(ctx context.Context) ([]Node, error) {
	all, err := rowlog.Gathering[Node]{
		Purpose: rowlog.For(d.conn, "list keys"), Columns: "session_key, current_session_id, entry_json", Table: rowlog.Table{Name: "session_nodes"}, Key: "session_key",
		Read: func(rows *sql.Rows, n *Node) error { return rows.Scan(&n.Key, &n.Session, &n.Entry) }, ID: func(n Node) string { return n.Key },
	}.Run(ctx)
	slices.SortFunc(all, func(x, y Node) int { return strings.Compare(x.Key, y.Key) })
	return all, d.Spare(err)
}

// Cold returns the sessions in cold storage in the order of their ids.
func (d *Database) Cold(ctx context.Context) ([]Cold, error) {
	if !d.columns.cold {
		return nil, nil
	}
	return rowlog.All(ctx, rowlog.For(d.conn, "list cold storage"), func(c *Cold) []any { return []any{&c.Session, &c.Name, &c.Records} },
		"SELECT session_id, archive_name, event_count FROM session_transcript_cold_archives ORDER BY session_id")
}

// Deleted returns the deleted sessions of which there is a copy, in the order
// of their ids.
func (d *Database) Deleted(ctx context.Context) ([]Deleted, error) {
	if !d.columns.deleted {
		return nil, nil
	}
	return rowlog.All(ctx, rowlog.For(d.conn, "list deleted sessions"), func(x *Deleted) []any { return []any{&x.Session, &x.Name} },
		"SELECT session_id, archive_name FROM session_transcript_archives ORDER BY session_id, archive_name")
}

// MainKey is the last part of the key of an agent's main session, "main" if
// the database does not say.
func (d *Database) MainKey(ctx context.Context) (string, error) {
	if !d.columns.main {
		return defaultMain, nil
	}
	keys, err := rowlog.Column[string](ctx, rowlog.For(d.conn, "read the main key"), "SELECT main_key FROM session_key_contract WHERE main_key <> '' LIMIT 1")
	if err != nil || len(keys) == 0 {
		return defaultMain, d.Spare(err)
	}
	return keys[0], nil
}

const defaultMain = "main"
