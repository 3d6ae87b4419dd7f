package agentdb

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

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
// [*sqlitefile.DamagedError] it returns those that the windows of the runtime name, and
// of those that lie on a damaged page what lies before it.
func (d *Database) Sessions(ctx context.Context) ([]Session, error) {
	all, err := d.sessions(ctx)
	if !sqlitefile.IsDamaged(err) {
		return all, err
	}
	damage := err
	if all, err = d.windows(ctx); err != nil {
		return nil, err
	}
	err = d.weighEach(ctx, all, damage)
	return slices.DeleteFunc(all, func(s Session) bool { return s.Records == 0 }), err
}

// windows are the sessions that the windows of the runtime name, not weighed.
func (d *Database) windows(ctx context.Context) ([]Session, error) {
	return rowlog.All(ctx, rowlog.For(d.conn, "list sessions"), func(s *Session) []any { return []any{&s.ID, &s.Key, &s.Model} },
		"SELECT w.session_id, coalesce(w.session_key, ''), "+d.modelColumn()+" FROM session_windows w ORDER BY w.session_id")
}

// weighEach weighs the records of one session after the other.
func (d *Database) weighEach(ctx context.Context, all []Session, damage error) error {
	var size, at sql.NullInt64
	w := rowlog.Weighing[Session]{Conn: d.conn, All: all, ID: func(s Session) string { return s.ID }, Into: []any{&size, &at}}
	w.Query = "SELECT session_id, " + d.columns.eventBytes() + ", created_at FROM transcript_events"
	w.Take = func(s *Session) {
		s.Records++
		s.Bytes += size.Int64 + 1
		s.Changed = time.UnixMilli(at.Int64)
	}
	return w.Each(ctx, damage)
}

// modelColumn is the model of a window, as an expression.
func (d *Database) modelColumn() string {
	if d.columns.model {
		return "coalesce(w.model, '')"
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

// Nodes returns the routing keys in their order.
func (d *Database) Nodes(ctx context.Context) ([]Node, error) {
	return rowlog.All(ctx, rowlog.For(d.conn, "list keys"), func(n *Node) []any { return []any{&n.Key, &n.Session, &n.Entry} },
		"SELECT session_key, current_session_id, entry_json FROM session_nodes ORDER BY session_key")
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
		return defaultMain, err
	}
	return keys[0], nil
}

const defaultMain = "main"
