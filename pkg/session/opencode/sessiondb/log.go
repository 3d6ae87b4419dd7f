package sessiondb

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strconv"

	"github.com/sessctl/sessctl/pkg/session/rowlog"
	"github.com/sessctl/sessctl/pkg/session/sqlitefile"
)

// Log is the log of a session, written out while it is read: one message with
// its parts after the other. It belongs to the context that it was opened with
// and is used by one goroutine at a time.
type Log struct {
	ctx      context.Context
	db       rowlog.Querier
	tables   rowlog.Tables
	check    func() error // that the database still is what was opened
	session  string
	messages []string // ids that are still to be written, in their order
	after    int64    // number of the last event that was written, of a journal
	events   bool     // it is the log of a journal
	spares   bool     // what lies on a damaged page beside its messages is left out, which the listing tells
	whole    bool     // it has its header and its end
	written  int64    // rows that go with the session: all but that of its project
	pieces   rowlog.Pieces
}

// Log opens the log of a session. It returns an error that wraps fs.ErrNotExist
// if there is no such session.
func (d *Database) Log(ctx context.Context, session string) (*Log, error) {
	return openLog(ctx, d.conn, d.tables, stretch{session: session, spares: true}, d.Unchanged)
}

// Since opens the log of a session from a message on, its header included, as
// far as a look at its end needs it.
func (d *Database) Since(ctx context.Context, session, message string) (*Log, error) {
	return openLog(ctx, d.conn, d.tables, stretch{session, message, true}, d.Unchanged)
}

// stretch is a session from a message on; "" is all of it. Who only reads it is spared
// what lies on a damaged page beside its messages; who changes it is not.
type stretch struct {
	session, from string
	spares        bool
}

func openLog(ctx context.Context, db rowlog.Querier, tables rowlog.Tables, of stretch, check func() error) (*Log, error) {
	l := &Log{ctx: ctx, db: db, tables: tables, session: of.session, whole: of.from == "", spares: of.spares, check: check}
	if err := l.begin(); err != nil {
		return nil, fmt.Errorf("read session %s: %w", of.session, err)
	}
	l.pieces.Buffer = rowlog.AppendLost(l.pieces.Buffer, tables.MayLack(of.session))
	ids, err := messageIDs(ctx, db, tables, of.session)
	if err != nil {
		return nil, err
	}
	if of.from != "" {
		ids = ids[max(slices.Index(ids, of.from), 0):]
	}
	l.messages = ids
	return l, check()
}

// messageIDs are the messages of a session in the order in which the runtime
// sends them.
func messageIDs(ctx context.Context, db rowlog.Querier, tables rowlog.Tables, session string) ([]string, error) {
	return rowlog.OfSession[string](ctx, rowlog.For(db, "read session "+session), rowlog.Asked{Table: tables[messageTable], Expression: "id", More: " ORDER BY time_created, id"}, session)
}

// begin writes the session and the project that it needs. What the project
// counts for itself is not the session's: it would be another log every day.
func (l *Log) begin() error {
	var project any
	found, err := l.rows(selection{kind: typeSession, table: sessionTable, where: "id = ?", order: "id"}, func(r Row) { project = r.Value("project_id") }, l.session)
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
	if _, there := l.tables[projectTable]; !there {
		return nil
	}
	_, err = l.rows(selection{kind: typeRow, table: projectTable, without: []string{"time_updated", "time_initialized", "commands", "sandboxes"}, where: "id = ?", order: "id"}, nil, project)
	if l.spares && sqlitefile.IsDamaged(err) {
		return nil
	}
	return err
}

// selection says which rows of a table are written, and as what.
type selection struct {
	kind, table, where, order string
	without                   []string // columns that are left out
}

// rows writes rows of a table and returns how many: of events no more than fill
// the buffer.
func (l *Log) rows(s selection, each func(Row), args ...any) (n int, err error) {
	most := 0
	if s.kind == typeEvent {
		most = rowlog.PieceBytes
	}
	l.pieces.Buffer, n, err = lines().AppendRows(l.ctx, l.db, l.pieces.Buffer, rowlog.Selection{Kind: s.kind, Table: l.tables[s.table], Without: s.without, Where: s.where, Order: s.order, Args: args, Most: most}, each)
	if s.table != projectTable {
		l.written += int64(n)
	}
	return n, err
}

// Read implements io.Reader.
func (l *Log) Read(p []byte) (int, error) { return l.pieces.Read(p, l.next) }

// next writes the next message, or the end.
func (l *Log) next() error {
	if l.events {
		return l.nextEvents()
	}
	if len(l.messages) == 0 {
		if l.whole {
			l.whole = false
			return l.end()
		}
		return io.EOF
	}
	id := l.messages[0]
	l.messages = l.messages[1:]
	n, err := l.rows(selection{kind: typeMessage, table: messageTable, where: "id = ?", order: "id"}, nil, id)
	if err == nil && n == 0 {
		err = fmt.Errorf("message %s: it is gone", id)
	}
	if err == nil {
		_, err = l.rows(selection{kind: typePart, table: partTable, where: l.tables[partTable].Of("message_id", "?"), order: "id"}, nil, id)
	}
	return l.failure(err)
}

// end writes what is no message: parts without one, rows of other tables, the
// sessions that its agents have begun, and that there is a journal.
func (l *Log) end() error {
	_, err := l.rows(selection{kind: typePart, table: partTable, where: l.tables[partTable].Of("session_id", "?") + " AND message_id NOT IN (SELECT id FROM message" + rowlog.Whole + ")", order: "id"}, nil, l.session)
	names, where := extra(l.tables)
	for _, name := range names {
		if err == nil {
			_, err = l.rows(selection{kind: typeRow, table: name, where: where[name], order: l.tables[name].Order()}, nil, l.session)
		}
	}
	if err == nil {
		err = l.children()
	}
	if err == nil && hasJournal(l.tables) {
		err = l.journal()
	}
	return l.failure(err)
}

// children names the sessions that its agents have begun.
func (l *Log) children() error {
	ids, err := childrenOf(l.ctx, l.db, l.tables, l.session)
	if l.spares && sqlitefile.IsDamaged(err) {
		ids, err = l.foundChildren()
	}
	l.pieces.Buffer = rowlog.AppendChildren(l.pieces.Buffer, ids)
	return err
}

// foundChildren are those whose rows can be read.
func (l *Log) foundChildren() (ids []string, err error) {
	all, err := gather(l.ctx, l.db, l.tables)
	for _, s := range all {
		if s.Parent == l.session {
			ids = append(ids, s.ID)
		}
	}
	slices.Sort(ids)
	if sqlitefile.IsDamaged(err) {
		err = nil
	}
	return ids, err
}

func childrenOf(ctx context.Context, db rowlog.Querier, tables rowlog.Tables, session string) ([]string, error) {
	if !tables[sessionTable].Has("parent_id") {
		return nil, nil
	}
	return rowlog.Column[string](ctx, rowlog.For(db, "list sub-agents"), "SELECT id FROM session WHERE parent_id = ? ORDER BY id", session)
}

// journal notes that there is a journal: how many events, and which is the last.
func (l *Log) journal() error {
	var n, last int64
	var id string
	err := rowlog.WithoutIndex(func(indexed string) error {
		return l.db.QueryRowContext(l.ctx, "SELECT count(*), coalesce(max(seq), 0) FROM event"+indexed+" WHERE aggregate_id = ?", l.session).Scan(&n, &last)
	})
	if err == nil && n > 0 {
		err = l.db.QueryRowContext(l.ctx, "SELECT id FROM event WHERE aggregate_id = ? AND seq = ?", l.session, last).Scan(&id)
	}
	if l.spares && sqlitefile.IsDamaged(err) { // nothing of what was said is in it
		l.pieces.Buffer = append(l.pieces.Buffer, `{"type":"`+typeJournal+`","damaged":true}`+"\n"...)
		return nil
	}
	if err != nil || n == 0 {
		return err
	}
	l.pieces.Buffer = append(l.pieces.Buffer, `{"type":"`+typeJournal+`","events":`...)
	l.pieces.Buffer = strconv.AppendInt(l.pieces.Buffer, n, 10)
	l.pieces.Buffer = strconv.AppendInt(append(l.pieces.Buffer, `,"last_seq":`...), last, 10)
	l.pieces.Buffer = append(rowlog.AppendText(append(l.pieces.Buffer, `,"last_id":`...), id), '}', '\n')
	return nil
}

func (l *Log) failure(err error) error { return rowlog.Failure(l.check, l.session, err) }

// Close implements io.Closer. Nothing is held.
func (l *Log) Close() error { return nil }
