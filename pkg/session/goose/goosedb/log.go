package goosedb

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"io/fs"

	"github.com/sessctl/sessctl/pkg/session/rowlog"
	"github.com/sessctl/sessctl/pkg/session/sqlitefile"
)

// The types of lines in a log.
const (
	typeSession = "goose.session"
	typeMessage = "message"
)

func lines() rowlog.Format {
	return rowlog.Format{Session: typeSession, Version: 1, Tables: map[string]string{typeSession: sessionTable, typeMessage: messageTable}}
}

// Log is the log of a session, written out while it is read: its row, those of its
// messages in the order in which they were put in, and those of its usage. It
// belongs to the context that it was opened with and is used by one goroutine at a
// time.
type Log struct {
	ctx     context.Context
	db      *Database
	session string
	tables  []rowlog.Table // of messages, that are still to be written
	last    int64          // id of the last message of the first of them that was written
	told    int            // messages of it that were written
	pieces  rowlog.Pieces
}

// Log opens the log of a session. It returns an error that wraps fs.ErrNotExist if
// there is no such session.
func (d *Database) Log(ctx context.Context, session string) (*Log, error) {
	l := &Log{ctx: ctx, db: d, session: session, tables: d.said(), last: -1 << 63}
	n, err := l.rows(rowlog.Selection{Kind: typeSession, Table: d.tables[sessionTable], Where: "id = ?", Order: "id", Args: []any{session}}, nil)
	gone := d.tables[sessionTable].IsOrphan(session)
	switch {
	case sqlitefile.IsDamaged(err) || err == nil && gone: // the listing tells that
		l.pieces.Buffer, err = lines().AppendRowless(l.pieces.Buffer[:0], session, gone), d.Unchanged()
	case err == nil && n == 0:
		err = fs.ErrNotExist
	}
	if err != nil {
		return nil, fmt.Errorf("read session %s: %w", session, err)
	}
	l.pieces.Buffer = rowlog.AppendLost(l.pieces.Buffer, d.tables.MayLack(session))
	return l, nil
}

func (l *Log) rows(s rowlog.Selection, each func(rowlog.Row)) (n int, err error) {
	l.pieces.Buffer, n, err = lines().AppendRows(l.ctx, l.db.conn, l.pieces.Buffer, s, each)
	return n, err
}

// Read implements io.Reader.
func (l *Log) Read(p []byte) (int, error) { return l.pieces.Read(p, l.next) }

// next writes the next messages, or the end.
func (l *Log) next() error {
	if len(l.tables) == 0 {
		return io.EOF
	}
	t, kind, numbered := l.tables[0], typeMessage, true
	if t.Name == threadTable {
		kind = rowlog.TypeRow
	}
	n, err := l.rows(rowlog.Selection{
		Kind: kind, Table: t, Where: t.Of("session_id", "?") + " AND id > ?", Order: "id", Args: []any{l.session, l.last}, Most: rowlog.PieceBytes,
	}, func(r rowlog.Row) {
		var whole bool
		l.last, whole = r.Value("id").(int64)
		numbered = numbered && whole
	})
	l.told += n
	if err == nil && !numbered {
		err = fmt.Errorf("%w: the ids of its messages are no whole numbers", ErrSchema)
	}
	if err == nil && n == 0 {
		err = l.finish(t)
	}
	if err != nil {
		return fmt.Errorf("read session %s: %w", l.session, err)
	}
	return l.db.Unchanged()
}

// finish ends a table, and after the last one writes what the session used. It returns an
// error that wraps [ErrSchema] if there are messages that were not found by their ids: two
// of the same id, or some without one.
func (l *Log) finish(t rowlog.Table) error {
	there, err := t.CountMessages(l.ctx, l.db.conn, l.session)
	if err != nil {
		return err
	}
	if there != l.told {
		return cmp.Or(l.db.Unchanged(), fmt.Errorf("%w: it has %d messages, and %d were found by their ids", ErrSchema, there, l.told))
	}
	l.tables, l.last, l.told = l.tables[1:], -1<<63, 0
	if used := l.db.tables[ledgerTable]; len(l.tables) == 0 && used.Has("session_id") {
		_, err = l.rows(rowlog.Selection{Kind: rowlog.TypeRow, Table: used, Where: used.Of("session_id", "?"), Order: used.Order(), Args: []any{l.session}}, nil)
	}
	return err
}
