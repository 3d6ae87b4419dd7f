package sessiondb

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"

	"github.com/sessctl/sessctl/pkg/session/rowlog"
)

// Journal opens the log of a session's journal: the row that counts its events,
// and every event. The error wraps fs.ErrNotExist if there is none.
func (d *Database) Journal(ctx context.Context, session string) (*Log, error) {
	return openJournal(ctx, d.conn, d.tables, session, d.Unchanged)
}

func openJournal(ctx context.Context, db rowlog.Querier, tables rowlog.Tables, session string, check func() error) (*Log, error) {
	l := &Log{ctx: ctx, db: db, tables: tables, session: session, events: true, after: math.MinInt64, check: check}
	err := fs.ErrNotExist
	if hasJournal(tables) {
		var n int
		if n, err = l.rows(selection{kind: typeRow, table: countTable, where: "aggregate_id = ?", order: "aggregate_id"}, nil, session); err == nil && n == 0 {
			err = fs.ErrNotExist
		}
	}
	if err != nil {
		return nil, fmt.Errorf("read the journal of session %s: %w", session, err)
	}
	return l, check()
}

// nextEvents writes the next events of a journal.
func (l *Log) nextEvents() error {
	numbered := true
	n, err := l.rows(selection{kind: typeEvent, table: eventTable, where: "aggregate_id = ? AND seq > ?", order: "seq"}, func(r Row) {
		var whole bool
		l.after, whole = r.Value("seq").(int64)
		numbered = numbered && whole
	}, l.session, l.after)
	if err == nil && !numbered {
		err = fmt.Errorf("%w: the numbers of its events are no whole numbers", ErrSchema)
	}
	if err != nil || n > 0 {
		return l.failure(err)
	}
	if err := l.failure(l.complete()); err != nil {
		return err
	}
	return io.EOF
}

// complete returns an error that wraps [ErrSchema] if the journal has events that
// were not found by their numbers: two of the same.
func (l *Log) complete() error {
	var there int64
	err := l.db.QueryRowContext(l.ctx, "SELECT count(*) FROM event WHERE aggregate_id = ?", l.session).Scan(&there)
	if found := l.written - 1; err == nil && there != found { // without the row that counts them
		err = fmt.Errorf("%w: its journal has %d events, and %d were found by their numbers", ErrSchema, there, found)
	}
	return err
}

// Superseded are events of a session whose object has a newer event.
type Superseded struct {
	Events int
	Bytes  int64 // of their data
	Synced bool  // the session is synced to a workspace, or owned by another host: its journal is somebody else's too

	seqs []int64
}

// Superseded looks for the events of a session whose object has a newer event,
// which has its whole state. Of types that are not known every event stays, and
// so does one of a session with a field that no newer one has.
func (d *Database) Superseded(ctx context.Context, session string) (Superseded, error) {
	return superseded(ctx, d.conn, d.tables, session)
}

func superseded(ctx context.Context, db rowlog.Querier, tables rowlog.Tables, session string) (s Superseded, err error) {
	if !hasJournal(tables) {
		return s, nil
	}
	if s.Synced, err = synced(ctx, db, tables, session); err != nil || s.Synced {
		return s, err
	}
	newest := map[string]map[string]bool{} // by object, which fields its newest event states
	err = rowlog.Each(ctx, rowlog.For(db, "read the journal of session "+session), func(rows *sql.Rows) error {
		var seq, size int64
		var object sql.NullString
		var fields string
		if err := rows.Scan(&seq, &size, &object, &fields); err != nil || !object.Valid {
			return err
		}
		stated, newer := newest[object.String]
		if stated == nil {
			stated = map[string]bool{}
			newest[object.String] = stated
		}
		whole, err := states(stated, fields)
		if newer && whole {
			s.Events++
			s.Bytes += size
			s.seqs = append(s.seqs, seq)
		}
		return err
	}, `
SELECT seq, octet_length(data), CASE type
  WHEN 'message.part.updated.1' THEN json_extract(data, '$.part.id')
  WHEN 'message.updated.1' THEN json_extract(data, '$.info.id')
  WHEN 'session.updated.1' THEN 'session' END,
  iif(type = 'session.updated.1', (SELECT json_group_array(key) FROM json_each(data, '$.info')), '[]')
FROM event WHERE aggregate_id = ? AND type IN ('message.part.updated.1', 'message.updated.1', 'session.updated.1') AND json_valid(data) ORDER BY seq DESC`, session)
	return s, err
}

// states reports whether newer events that stay state all of these fields, and
// adds them: an event of a session may say only what has changed.
func states(stated map[string]bool, fields string) (whole bool, err error) {
	var names []string
	if err := json.Unmarshal([]byte(fields), &names); err != nil {
		return false, err
	}
	whole = true
	for _, name := range names {
		whole = whole && stated[name]
		stated[name] = true
	}
	return whole, nil
}

// synced reports whether anybody else reads the journal of a session.
func synced(ctx context.Context, db rowlog.Querier, tables rowlog.Tables, session string) (is bool, err error) {
	err = db.QueryRowContext(ctx, "SELECT "+tables[sessionTable].Text("workspace_id")+" <> '' FROM session WHERE id = ?", session).Scan(&is)
	if err == nil && !is {
		err = db.QueryRowContext(ctx, "SELECT "+tables[countTable].Text("owner_id")+" <> '' FROM event_sequence WHERE aggregate_id = ?", session).Scan(&is)
	}
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	if err != nil {
		return false, fmt.Errorf("read session %s: %w", session, err)
	}
	return is, nil
}
