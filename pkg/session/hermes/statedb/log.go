package statedb

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/pkg/session/rowlog"
	"github.com/sessctl/sessctl/pkg/session/sqlitefile"
)

// The types of lines in a log.
const (
	typeSession = "hermes.session"
	typeMessage = "message"
	typeLinked  = "linked"
)

// lines are those of the log of a session.
func lines() rowlog.Format {
	return rowlog.Format{
		Session: typeSession, Version: 1, Silent: []string{typeLinked},
		Tables: map[string]string{typeSession: sessionTable, typeMessage: messageTable},
	}
}

// Log is the log of a session, written out while it is read. It belongs to the
// context that it was opened with and is used by one goroutine at a time.
type Log struct {
	ctx      context.Context
	db       rowlog.Querier
	tables   rowlog.Tables
	check    func() error // that the database still is what was opened
	session  string
	messages []int64 // ids that are still to be written, in their order
	whole    bool    // it has its end
	spares   bool    // what lies on a damaged page beside its messages is left out, which the listing tells
	pieces   rowlog.Pieces
}

// Log opens the log of a session. It returns an error that wraps fs.ErrNotExist
// if there is no such session.
func (d *Database) Log(ctx context.Context, session string) (*Log, error) {
	l := &Log{ctx: ctx, db: d.conn, tables: d.tables, session: session, whole: true, spares: true, check: d.Unchanged}
	return l, l.open("")
}

// Context opens the log of a session without what is no part of its context any
// more, and without its end.
func (d *Database) Context(ctx context.Context, session string) (*Log, error) {
	l := &Log{ctx: ctx, db: d.conn, tables: d.tables, session: session, spares: true, check: d.Unchanged}
	which := ""
	if d.tables[messageTable].Has("active") {
		which = " AND coalesce(active, 1) <> 0"
	}
	return l, l.open(which)
}

func openLog(ctx context.Context, db rowlog.Querier, tables rowlog.Tables, session string, check func() error) (*Log, error) {
	l := &Log{ctx: ctx, db: db, tables: tables, session: session, whole: true, check: check}
	return l, l.open("")
}

// open writes the beginning, and looks which messages there are. Their ids are
// sorted here: in the order of the table every row of it would be looked at.
func (l *Log) open(which string) error {
	err := l.begin()
	if err == nil {
		l.pieces.Buffer = rowlog.AppendLost(l.pieces.Buffer, l.tables.MayLack(l.session))
		l.messages, err = rowlog.OfSession[int64](l.ctx, rowlog.For(l.db, "list messages"), rowlog.Asked{Table: l.tables[messageTable], Expression: "id", More: which + " ORDER BY +id"}, l.session)
	}
	return l.failure(err)
}

// begin writes the session and the prompt that it names.
func (l *Log) begin() error {
	var prompt any
	found, err := l.rows(rowlog.Selection{Kind: typeSession, Table: l.tables[sessionTable], Where: "id = ?", Order: "id"}, func(r rowlog.Row) { prompt = r.Value("system_prompt_hash") }, l.session)
	if gone := l.tables[sessionTable].IsOrphan(l.session); l.spares && (sqlitefile.IsDamaged(err) || err == nil && gone) {
		l.pieces.Buffer = lines().AppendRowless(l.pieces.Buffer[:0], l.session, gone)
		return nil
	}
	if err != nil {
		return err
	}
	if found == 0 {
		return fs.ErrNotExist
	}
	if !l.tables[promptTable].Has("hash") || prompt == nil {
		return nil
	}
	_, err = l.rows(rowlog.Selection{Kind: rowlog.TypeRow, Table: l.tables[promptTable], Where: "hash = ?", Order: "hash"}, nil, prompt)
	if l.spares && sqlitefile.IsDamaged(err) {
		return nil
	}
	return err
}

func (l *Log) rows(s rowlog.Selection, each func(rowlog.Row), args ...any) (n int, err error) {
	s.Args = args
	l.pieces.Buffer, n, err = lines().AppendRows(l.ctx, l.db, l.pieces.Buffer, s, each)
	return n, err
}

// Read implements io.Reader.
func (l *Log) Read(p []byte) (int, error) { return l.pieces.Read(p, l.next) }

// next writes the next messages, or the end.
func (l *Log) next() error {
	if len(l.messages) == 0 {
		if l.whole {
			l.whole = false
			return l.failure(l.end())
		}
		return io.EOF
	}
	for len(l.messages) > 0 && !l.pieces.Full() {
		id := l.messages[0]
		l.messages = l.messages[1:]
		n, err := l.rows(rowlog.Selection{Kind: typeMessage, Table: l.tables[messageTable], Where: "id = ?", Order: "id"}, nil, id)
		if err == nil && n == 0 {
			err = fmt.Errorf("message %d: it is gone", id)
		}
		if err != nil {
			return l.failure(err)
		}
	}
	return l.check()
}

// end writes the rows of other tables, and which sessions came from this one.
func (l *Log) end() error {
	links, err := linksTo(l.ctx, l.db, l.tables)
	if err != nil {
		return err
	}
	for _, link := range links {
		if link.deep {
			continue // TooDeep says so to whoever wants to remove anything
		}
		_, err := l.rows(rowlog.Selection{Kind: rowlog.TypeRow, Table: l.tables[link.table], Where: link.where, Order: l.tables[link.table].Order()}, nil, l.session)
		if err != nil {
			return err
		}
	}
	return l.children()
}

// link is a table whose rows belong to sessions.
type link struct {
	table, where string
	deep         bool // by way of a table other than those of sessions and messages
}

// linksTo are the tables whose rows belong to a session, beside its messages: by
// foreign keys, or by a column session_id. What only holds while the program runs
// is none of them.
func linksTo(ctx context.Context, db rowlog.Querier, tables rowlog.Tables) (all []link, err error) {
	type key struct{ table, to, from, column string }
	keys, err := rowlog.All(ctx, rowlog.For(db, "read its foreign keys"), func(k *key) []any { return []any{&k.table, &k.to, &k.from, &k.column} },
		`SELECT m.name, f."table", f."from", coalesce(f."to", '') FROM sqlite_schema m JOIN pragma_foreign_key_list(m.name) f WHERE m.type = 'table' AND m.rootpage > 0 ORDER BY m.name, f.id, f.seq`)
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	add := func(l link) {
		if own := l.table == sessionTable || l.table == messageTable || l.table == promptTable || transient(l.table); !own && !seen[l.table] {
			seen[l.table] = true
			all = append(all, l)
		}
	}
	for _, k := range keys {
		switch {
		case k.to == sessionTable && (k.column == "id" || k.column == ""):
			add(link{table: k.table, where: rowlog.Quoted(k.from) + " = ?"})
		case k.to == messageTable && (k.column == "id" || k.column == ""):
			add(link{table: k.table, where: rowlog.Quoted(k.from) + " IN (SELECT id FROM messages WHERE " + tables[messageTable].Of("session_id", "?") + ")"})
		}
	}
	for name, t := range tables {
		if t.Has("session_id") {
			add(link{table: name, where: t.Of("session_id", "?")})
		}
	}
	direct := len(all)
	for _, k := range keys {
		if slices.ContainsFunc(all[:direct], func(l link) bool { return l.table == k.to }) {
			add(link{table: k.table, deep: true})
		}
	}
	slices.SortFunc(all, func(x, y link) int { return strings.Compare(x.table, y.table) })
	return all, nil
}

// transient reports whether the rows of a table hold only while the program runs.
func transient(table string) bool {
	return table == "compression_locks" || table == "session_turn_leases" || table == "gateway_heartbeats"
}

// children names the sessions that came from this one.
func (l *Log) children() error {
	if !l.tables[sessionTable].Has("parent_session_id") {
		return nil
	}
	all, err := l.cameFrom()
	var begun, linked []string
	for _, s := range all {
		if s.Source == "subagent" || s.marks.Delegate == l.session {
			begun = append(begun, s.ID)
		} else {
			linked = append(linked, s.ID)
		}
	}
	l.pieces.Buffer = rowlog.AppendChildren(l.pieces.Buffer, begun)
	l.pieces.Buffer = rowlog.AppendSessions(l.pieces.Buffer, typeLinked, linked)
	return err
}

// cameFrom are the sessions that came from this one, in the order of their ids; with a
// damaged page those whose rows can be read.
func (l *Log) cameFrom() ([]Session, error) {
	t := table{l.tables[sessionTable]}
	all, err := rowlog.Read(l.ctx, rowlog.For(l.db, "list what came from it"), readSession, "SELECT "+t.listed()+" FROM sessions WHERE parent_session_id = ? ORDER BY id", l.session)
	if !l.spares || !sqlitefile.IsDamaged(err) {
		return all, err
	}
	if all, err = gather(l.ctx, l.db, l.tables); sqlitefile.IsDamaged(err) {
		err = nil
	}
	all = slices.DeleteFunc(all, func(s Session) bool { return s.Parent != l.session })
	slices.SortFunc(all, func(x, y Session) int { return strings.Compare(x.ID, y.ID) })
	return all, err
}

func (l *Log) failure(err error) error { return rowlog.Failure(l.check, l.session, err) }

// Close implements io.Closer. Nothing is held.
func (l *Log) Close() error { return nil }
