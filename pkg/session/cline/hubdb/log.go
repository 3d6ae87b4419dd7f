package hubdb

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"strconv"

	"github.com/sessctl/sessctl/pkg/session/rowlog"
)

// TypeLeft is the type of the first line of a log of rows that belong to a session.
const TypeLeft = "cline.left"

// lines are those of such a log.
func lines() rowlog.Format {
	return rowlog.Format{Session: TypeLeft, Version: 1, Silent: []string{TypeLeft}}
}

// place is where rows of a session are: their numbers in a table.
type place struct {
	table string
	ids   []int64
}

// places are the rows of all sessions.
type places map[string][]place

// placesIn looks once at all rows: for each session they would be looked for again.
func placesIn(ctx context.Context, db rowlog.Querier, tables rowlog.Tables) (places, error) {
	all := places{}
	for _, table := range []string{eventTable, indexedTable, searchTable} {
		if _, there := tables[table]; !there {
			continue
		}
		err := rowlog.Each(ctx, rowlog.For(db, "look for the rows of sessions"), func(rows *sql.Rows) error {
			var id int64
			var session string
			if err := rows.Scan(&id, &session); err != nil {
				return err
			}
			of := all[session]
			if len(of) == 0 || of[len(of)-1].table != table {
				of = append(of, place{table: table})
			}
			of[len(of)-1].ids = append(of[len(of)-1].ids, id)
			all[session] = of
			return nil
		}, "SELECT rowid, CAST(session_id AS TEXT) FROM "+table+" WHERE session_id IS NOT NULL ORDER BY rowid")
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// Log is the log of a session's rows, written out while it is read. It belongs to
// the context that it was opened with and is used by one goroutine at a time.
type Log struct {
	ctx     context.Context
	db      rowlog.Querier
	tables  rowlog.Tables
	check   func() error // that the database still is what was opened
	session string
	rest    []place
	rows    int
	pieces  rowlog.Pieces
}

// Log opens the log of what the database has of a session. It returns an error that
// wraps fs.ErrNotExist if that is nothing.
func (d *Database) Log(ctx context.Context, session string) (*Log, error) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if d.places == nil {
		all, err := placesIn(ctx, d.conn, d.tables)
		if err != nil {
			return nil, err
		}
		d.places = all
	}
	l := &Log{ctx: ctx, db: d.conn, tables: d.tables, check: d.Unchanged, session: session, rest: d.places[session]}
	return l, l.begin()
}

func (l *Log) begin() error {
	for _, p := range l.rest {
		l.rows += len(p.ids)
	}
	if l.rows == 0 {
		return fmt.Errorf("read the rows of session %s: %w", l.session, fs.ErrNotExist)
	}
	head := rowlog.AppendText([]byte(`{"type":"`+TypeLeft+`","format":1,"session":`), l.session)
	head = strconv.AppendInt(append(head, `,"rows":`...), int64(l.rows), 10)
	l.pieces.Buffer = append(head, '}', '\n')
	return l.check()
}

// Read implements io.Reader.
func (l *Log) Read(p []byte) (int, error) { return l.pieces.Read(p, l.next) }

// atOnce is how many rows are asked for at a time. An event may have a megabyte.
const atOnce = 16

// next writes the next rows, in the order of their numbers.
func (l *Log) next() error {
	if len(l.rest) == 0 {
		return io.EOF
	}
	p := &l.rest[0]
	n := min(len(p.ids), atOnce)
	ids, err := json.Marshal(p.ids[:n])
	if err != nil {
		return err
	}
	var written int
	l.pieces.Buffer, written, err = lines().AppendRows(l.ctx, l.db, l.pieces.Buffer, rowlog.Selection{
		Kind: rowlog.TypeRow, Table: l.tables[p.table], Where: within, Order: "rowid", Args: []any{string(ids)},
	}, nil)
	if busy := l.check(); busy != nil {
		return busy
	}
	if err == nil && written != n {
		err = fmt.Errorf("%d rows are gone", n-written)
	}
	if err != nil {
		return fmt.Errorf("read the rows of session %s: %w", l.session, err)
	}
	rest := append([]place{{p.table, p.ids[n:]}}, l.rest[1:]...)
	if len(rest[0].ids) == 0 {
		rest = rest[1:]
	}
	l.rest = rest
	return nil
}

// within selects rows by their numbers.
const within = "rowid IN (SELECT value FROM json_each(?))"

// Close implements io.Closer. Nothing is held.
func (l *Log) Close() error { return nil }
