package statedb

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/rowlog"
	"github.com/sessctl/sessctl/pkg/session/sqlitefile"
)

// File is where a database lies.
type File = sqlitefile.File

// errSchema is returned for a database without the tables of sessions.
var errSchema = errors.New("not a database of Hermes' sessions")

// The schemas that are known. One that is newer is read as far as its columns
// have the names of today, and nothing of it is changed.
const (
	OldestSchema = 16
	NewestSchema = 30
)

const (
	sessionTable = "sessions"
	messageTable = "messages"
	promptTable  = "system_prompts"
	metaTable    = "state_meta"
)

// required is what every version has.
func required() map[string][]string {
	return map[string][]string{
		sessionTable: {"id", "source", "started_at"},
		messageTable: {"id", "session_id", "role", "content", "timestamp"},
	}
}

// Database is a database as it was at one moment. It may be used by several
// goroutines at once.
type Database struct {
	*sqlitefile.Database
	conn   *sql.Conn
	tables rowlog.Tables
	// Schema is its version, 0 if it does not say.
	Schema int
	// Unread are tables in which something is said that is not read.
	Unread []string
}

// Open opens a database for reading, without a trace ([sqlitefile.Open]). It
// returns an error that wraps errSchema for a database of something else.
func Open(ctx context.Context, f File) (*Database, error) {
	d := &Database{}
	var err error
	d.Database, err = sqlitefile.Open(ctx, f, func(ctx context.Context, db *sqlitefile.Database) (err error) {
		d.conn = db.Conn()
		d.tables, d.Schema, err = readSchema(ctx, d.conn)
		if d.tables != nil { // else it is not known what there is
			err = db.Spare(err)
		}
		if err == nil {
			err = db.Spare(d.tables.Seek(ctx, d.conn, "session_id"))
		}
		if err == nil {
			d.Unread, err = d.tables.Unread(ctx, d.conn, "", func(name string) bool { return name == messageTable })
		}
		if err == nil {
			var unread []string
			unread, err = d.tables.Orphaned(ctx, d.conn, messageTable, sessionTable)
			d.Unread = append(d.Unread, unread...)
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

// readSchema reads what tables there are, and checks that they are Hermes'.
func readSchema(ctx context.Context, conn rowlog.Querier) (tables rowlog.Tables, version int, err error) {
	if tables, err = rowlog.ReadKnown(ctx, conn, errSchema, required()); err != nil {
		return nil, 0, err
	}
	version, err = tables.Version(ctx, conn)
	return tables, version, err
}

// Session is one session in the database.
type Session struct {
	ID        string
	Parent    string // the session that it came from, or ""
	Source    string // where it is held: cli, telegram, cron
	Key       string // the routing key of a gateway, or ""
	Directory string // that it works in, or ""
	Model     string
	Title     string // that its program or a person gave it, or ""
	EndReason string // why it ended, or ""
	Delegate  bool   // an agent of its parent has begun it
	Continues bool   // a compaction of its parent goes on in it
	Pinned    bool   // its program never prunes it
	Messages  int
	Bytes     int64 // of its texts
	// Started, Ended and Active are zero for a time that is not known. Active is
	// the last sign of life as the program counts it when it prunes.
	Started, Ended, Active time.Time
	Doubt                  session.Reason // why not all of it is known; "" for none

	marks marks
}

// ByActivity reports whether the program prunes by the last sign of life. Earlier
// versions go by when a session began.
func (d *Database) ByActivity() bool { return d.tables[sessionTable].Has("last_activity_at") }

// Sessions returns the sessions in the order of their ids. It reads no text. With a
// [*sqlitefile.DamagedError] it returns those of which a row or messages can be read.
func (d *Database) Sessions(ctx context.Context) ([]Session, error) {
	all, err := gather(ctx, d.conn, d.tables)
	if err = d.Spare(err); err == nil {
		relate(all)
		err = d.weigh(ctx, all)
	}
	if err != nil {
		return nil, err
	}
	slices.SortFunc(all, func(x, y Session) int { return strings.Compare(x.ID, y.ID) })
	all, rowless, hidden := rowlog.Sift(d.tables, all, func(s *Session) (string, *session.Reason, int) { return s.ID, &s.Doubt, s.Messages })
	return all, d.Listed(rowless, hidden)
}

// gather reads the rows of all sessions, in no certain order.
func gather(ctx context.Context, conn rowlog.Querier, tables rowlog.Tables) ([]Session, error) {
	t := table{tables[sessionTable]}
	return rowlog.Gathering[Session]{
		Purpose: rowlog.For(conn, "list sessions"), Columns: t.listed(), Table: t.Table, Key: "id", Named: tables[messageTable],
		Read: readSession, ID: idOf, Lost: func(id string, why session.Reason) Session { return Session{ID: id, Doubt: why} },
	}.Run(ctx)
}

func idOf(s Session) string { return s.ID }

// listed are the columns that [readSession] reads, as expressions.
func (t table) listed() string {
	columns := []string{"id"}
	for _, c := range []string{"parent_session_id", "source", "session_key", "cwd", "model", "end_reason", "model_config", "pinned", "title"} {
		columns = append(columns, t.Text(c))
	}
	for _, c := range []string{"started_at", "ended_at", "last_activity_at"} {
		columns = append(columns, t.number(c))
	}
	return strings.Join(append(columns, t.size("id", "title", "system_prompt", "model_config")), ", ")
}

func readSession(rows *sql.Rows, s *Session) error {
	var config, pinned string
	var started, ended, active sql.NullFloat64
	err := rows.Scan(&s.ID, &s.Parent, &s.Source, &s.Key, &s.Directory, &s.Model, &s.EndReason, &config, &pinned, &s.Title, &started, &ended, &active, &s.Bytes)
	s.Started, s.Ended, s.Active = moment(started), moment(ended), moment(active)
	s.Pinned, s.marks = pinned != "" && pinned != "0", readMarks(config)
	return err
}

// marks are what the configuration of a session says of how it came about.
type marks struct {
	Branched string `json:"_branched_from"`
	Delegate string `json:"_delegate_from"`
	Reset    string `json:"_reset_from"`
}

func readMarks(config string) (m marks) {
	_ = json.Unmarshal([]byte(config), &m) // what it does not say it does not say
	return m
}

// relate says of every session that has a parent how it came from it. A session
// that a compaction began has the configuration of its parent, marks included: a
// mark counts only if it names the parent.
func relate(all []Session) {
	ended := map[string]string{}
	for _, s := range all {
		ended[s.ID] = s.EndReason
	}
	for i := range all {
		s, m := &all[i], all[i].marks
		if s.Parent == "" {
			continue
		}
		s.Delegate = m.Delegate == s.Parent || s.Source == "subagent"
		forked := s.Delegate || m.Branched == s.Parent || m.Reset == s.Parent || s.Source == "tool"
		s.Continues = !forked && ended[s.Parent] == "compression"
	}
}

// number is a column of numbers, as an expression; NULL if the table lacks it, and
// for what is no number.
func (t table) number(column string) string {
	if !t.Has(column) {
		return "NULL"
	}
	return "iif(typeof(" + rowlog.Quoted(column) + ") IN ('real', 'integer'), " + rowlog.Quoted(column) + ", NULL)"
}

// size adds up the bytes of columns of text, as an expression.
func (t table) size(columns ...string) string {
	sum := []string{"0"}
	for _, c := range columns {
		if t.Has(c) {
			sum = append(sum, "coalesce(octet_length("+rowlog.Quoted(c)+"), 0)")
		}
	}
	return strings.Join(sum, " + ")
}

// moment is a time in seconds since 1970, if it is one: in the years of this
// century and of the last one.
func moment(seconds sql.NullFloat64) time.Time {
	const latest = 1 << 32
	if !seconds.Valid || !(seconds.Float64 > 0 && seconds.Float64 < latest) {
		return time.Time{}
	}
	whole, part := math.Modf(seconds.Float64)
	return time.Unix(int64(whole), int64(part*1e6)*1000).UTC()
}

// texts are the columns of a message that hold text.
func texts() []string {
	return []string{"content", "tool_calls", "reasoning", "reasoning_content", "reasoning_details", "codex_reasoning_items", "codex_message_items", "api_content"}
}

// weigh counts the messages of all sessions and the bytes of their texts, and
// looks for the newest. The table is read in the order in which it lies.
func (d *Database) weigh(ctx context.Context, all []Session) error {
	t := table{d.tables[messageTable]}
	var at sql.NullFloat64
	var size int64
	w := rowlog.Weighing[Session]{Conn: d.conn, All: all, ID: idOf, Into: []any{&at, &size}}
	w.Table, w.Sum = t.Table, t.number("timestamp")+", "+t.size(texts()...)
	w.Take = func(s *Session) {
		s.Bytes += size
		s.Messages++
		if when := moment(at); when.After(s.Active) {
			s.Active = when
		}
	}
	err := d.Spare(w.Run(ctx))
	for i := range all {
		if all[i].Active.IsZero() {
			all[i].Active = all[i].Started
		}
	}
	if err != nil {
		return err
	}
	return d.Spare(d.tables[promptTable].Reach(ctx, d.conn, d.tables[sessionTable], "system_prompt_hash", "hash"))
}

// Held returns until when a turn, or a compaction, of the session is going on by
// the program's own leases; zero if there is none.
func (d *Database) Held(ctx context.Context, session string) (until time.Time, err error) {
	for name, column := range map[string]string{"compression_locks": "session_id", "session_turn_leases": "conversation_id"} {
		if !d.tables[name].Has(column, "expires_at") {
			continue
		}
		var at sql.NullFloat64
		err := d.conn.QueryRowContext(ctx, "SELECT max(expires_at) FROM "+name+" WHERE "+column+" = ?", session).Scan(&at)
		if err != nil && !sqlitefile.IsDamaged(err) { // then the quiet time alone tells
			return until, fmt.Errorf("read the leases of %s: %w", session, err)
		}
		if end := moment(at); end.After(until) {
			until = end
		}
	}
	return until, nil
}

// Parts says what the database is made of, the largest part first. Every page is
// looked at.
func (d *Database) Parts(ctx context.Context) ([]session.DatabasePart, error) {
	return d.Database.Parts(ctx, partOf)
}

// partOf names what a table or an index is for.
func partOf(table, name string) string {
	rest, full := strings.CutPrefix(table, "messages_fts")
	switch {
	case full && strings.HasSuffix(rest, "_content"):
		return "text copied for search"
	case full && strings.HasPrefix(rest, "_trigram"):
		return "search index by trigrams"
	case full && strings.HasPrefix(rest, "_cjk"):
		return "search index of Chinese, Japanese and Korean"
	case full:
		return "search index by words"
	case table != name:
		return "other indexes"
	case table == messageTable:
		return "messages"
	case table == sessionTable, table == promptTable:
		return "sessions and prompts"
	}
	return "other tables"
}

// table is a table that expressions are made for.
type table struct{ rowlog.Table }

// CountMessages returns the number of messages of a session.
func (d *Database) CountMessages(ctx context.Context, session string) (n int, err error) {
	return d.tables[messageTable].CountMessages(ctx, d.conn, session)
}

// Changed returns when a session was changed last, and whether it has ended. The
// error wraps fs.ErrNotExist if there is none.
func (d *Database) Changed(ctx context.Context, session string) (changed time.Time, ended bool, err error) {
	t := table{d.tables[sessionTable]}
	var at [4]sql.NullFloat64
	err = d.conn.QueryRowContext(ctx, "SELECT "+t.number("started_at")+", "+t.number("ended_at")+", "+t.number("last_activity_at")+" FROM sessions WHERE id = ?", session).Scan(&at[0], &at[1], &at[2])
	if sqlitefile.IsDamaged(err) || errors.Is(err, sql.ErrNoRows) && t.IsOrphan(session) { // its messages tell as much
		err = nil
	}
	if err == nil {
		newest, askErr := rowlog.OfSession[sql.NullFloat64](ctx, rowlog.For(d.conn, "look for its newest message"), rowlog.Asked{Table: d.tables[messageTable], Expression: "max(iif(typeof(timestamp) IN ('real', 'integer'), timestamp, NULL))"}, session)
		if err = askErr; err == nil {
			at[3] = newest[0]
		}
	}
	if errors.Is(err, sql.ErrNoRows) {
		err = fs.ErrNotExist
	}
	if err != nil {
		return changed, false, fmt.Errorf("read session %s: %w", session, err)
	}
	for _, a := range at {
		if when := moment(a); when.After(changed) {
			changed = when
		}
	}
	return changed, !moment(at[1]).IsZero(), nil
}
