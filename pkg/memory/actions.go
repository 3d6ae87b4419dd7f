package memory

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/sessctl/sessctl/pkg/memory/database"
	"github.com/sessctl/sessctl/pkg/memory/words"
)

// CategoryWork is the category of what was done: a command, a file that was read
// or changed, a search. Such a record has no text and no vector; what it says is
// in its Action, and it is kept in tables of its own, so that questions about
// what was said are answered as if it were not there.
const CategoryWork = "work"

// Action is what a record of the category work says. Its texts are bounded by
// whoever makes them.
type Action struct {
	Kind    string // command, read, write, edit, delete, search or fetch
	Tool    string // as its runtime names it
	Subject string // the command line, the path, the query or the address
	Place   string // the directory that a command ran in, or that was searched
	// SpanFrom and SpanTo are the lines of a file, both included; 0 if not known.
	SpanFrom, SpanTo int
	Answered         bool // its result is known
	Failed           bool
	HasExit          bool
	Exit             int
	Errors           string // the lines of the result that say what went wrong
	EndedAt          int64  // epoch milliseconds of the result, or 0
	// Where the result stands in the log, as the record says it of the call; 0 if
	// there is none.
	ResultFirstLine, ResultLastLine int
	ResultFirstByte, ResultEndByte  int64
}

// ActionIDs makes the ids of the actions of one log, in its order. What was done
// has the same id wherever in the log it stands and whatever came of it: an
// action that the same log says twice is told apart by which of the two it is.
type ActionIDs struct {
	agent, session string
	// How often an action came, by its first id: a log of a gigabyte has hundreds
	// of thousands of them, so their texts are not kept.
	seen map[actionID]uint32
}

type actionID [16]byte

// NewActionIDs makes ids for the log of a session.
func NewActionIDs(agent, session string) *ActionIDs {
	return &ActionIDs{agent, session, map[actionID]uint32{}}
}

// Next is the id of the next action; at is its time as the log has it, in epoch
// milliseconds, or 0.
func (ids *ActionIDs) Next(a Action, at int64) string {
	first := ids.of(a, at, 0)
	n := ids.seen[first]
	ids.seen[first]++
	if n == 0 {
		return hex.EncodeToString(first[:])
	}
	id := ids.of(a, at, n)
	return hex.EncodeToString(id[:])
}

// of is the id of an action that came n times before.
func (ids *ActionIDs) of(a Action, at int64, n uint32) actionID {
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	sum := sha256.Sum256(appendTexts(nil, ids.agent, ids.session, a.Kind, a.Tool, a.Subject, a.Place, number(int64(a.SpanFrom)), number(int64(a.SpanTo)), number(at), number(int64(n))))
	return actionID(sum[:])
}

// actionTables are made with the first action. A text that several actions have
// (a path, a command, the lines of an error) is kept once. The words of the texts
// are an index of their own, workWords.
const actionTables = `
CREATE TABLE IF NOT EXISTS work_texts (
  text INTEGER PRIMARY KEY,
  sort TEXT    NOT NULL, -- path, command, query, url or error
  body ANY     NOT NULL, -- compressed, see keptText
  sum  INTEGER NOT NULL  -- checksum of sort and body, by which it is found
) STRICT;
CREATE INDEX IF NOT EXISTS work_texts_by_sum ON work_texts (sum);
CREATE TABLE IF NOT EXISTS actions (
  action            INTEGER PRIMARY KEY,
  id                BLOB    NOT NULL UNIQUE, -- 16 bytes
  source            INTEGER NOT NULL REFERENCES sources (source),
  kind              TEXT    NOT NULL,
  tool              TEXT    NOT NULL,
  subject           INTEGER NOT NULL REFERENCES work_texts (text),
  place             INTEGER REFERENCES work_texts (text),
  errors            INTEGER REFERENCES work_texts (text),
  state             INTEGER NOT NULL, -- bits: 1 answered, 2 failed, 4 has an exit status
  exit              INTEGER NOT NULL,
  span_from         INTEGER NOT NULL,
  span_to           INTEGER NOT NULL,
  created_at        INTEGER NOT NULL, -- epoch milliseconds of the call
  ended_at          INTEGER NOT NULL, -- of the result, or 0
  first_line        INTEGER NOT NULL,
  last_line         INTEGER NOT NULL,
  first_byte        INTEGER NOT NULL,
  end_byte          INTEGER NOT NULL,
  result_first_line INTEGER NOT NULL,
  result_last_line  INTEGER NOT NULL,
  result_first_byte INTEGER NOT NULL,
  result_end_byte   INTEGER NOT NULL,
  sum               INTEGER NOT NULL -- checksum of the action and its texts, see sumOfAction
) STRICT;
CREATE INDEX IF NOT EXISTS actions_by_source ON actions (source);
CREATE INDEX IF NOT EXISTS actions_by_subject ON actions (subject);
CREATE INDEX IF NOT EXISTS actions_by_place ON actions (place) WHERE place IS NOT NULL;
CREATE INDEX IF NOT EXISTS actions_by_errors ON actions (errors) WHERE errors IS NOT NULL;
`

// The bits of actions.state.
const (
	stateAnswered = 1 << iota
	stateFailed
	stateHasExit
)

func (a *Action) state() (bits int) {
	if a.Answered {
		bits |= stateAnswered
	}
	if a.Failed {
		bits |= stateFailed
	}
	if a.HasExit {
		bits |= stateHasExit
	}
	return bits
}

// hasActions tells whether the memory ever had an action.
func hasActions(ctx context.Context, q database.Querier) (bool, error) {
	return database.HasTable(ctx, q, "actions")
}

// sumOfAction is the checksum of a record of the category work.
func sumOfAction(r Record) int64 {
	a := r.Action
	b := appendTexts(nil, r.ID, r.Runtime, r.Agent, r.Session, r.Key, r.Archive, r.ArchivePath, r.Branch, a.Kind, a.Tool, a.Subject, a.Place, a.Errors)
	for _, n := range []int64{int64(a.state()), int64(a.Exit), int64(a.SpanFrom), int64(a.SpanTo), r.CreatedAt, a.EndedAt, int64(r.FirstLine), int64(r.LastLine),
		r.FirstByte, r.EndByte, int64(a.ResultFirstLine), int64(a.ResultLastLine), a.ResultFirstByte, a.ResultEndByte} {
		b = binary.LittleEndian.AppendUint64(b, uint64(n))
	}
	return sumOfBytes(b)
}

// actionColumns are read of actions a.
const actionColumns = `a.action, lower(hex(a.id)), s.runtime, s.agent, s.session, s.key, s.archive, s.archive_path, s.branch, a.kind, a.tool,
	t.body, coalesce(p.body, ''), coalesce(e.body, ''), a.subject, coalesce(a.errors, 0), a.state, a.exit, a.span_from, a.span_to, a.created_at, a.ended_at,
	a.first_line, a.last_line, a.first_byte, a.end_byte, a.result_first_line, a.result_last_line, a.result_first_byte, a.result_end_byte, a.sum`

// fromActions are the tables that actionColumns are read from.
const fromActions = ` FROM actions a JOIN sources s ON s.source=a.source LEFT JOIN work_texts t ON t.text=a.subject
	LEFT JOIN work_texts p ON p.text=a.place LEFT JOIN work_texts e ON e.text=a.errors `

// storedAction is an action as it was read.
type storedAction struct {
	Record
	row             int64
	subject, errors int64 // rows of texts; 0 for no errors
	sum             int64
}

func (x *storedAction) sound() bool { return x.sum == sumOfAction(x.Record) }

// scan reads actionColumns.
func (x *storedAction) scan(scan database.Scan) error {
	a := &Action{}
	x.Record = Record{Category: CategoryWork, Action: a}
	var state int
	err := scan(&x.row, &x.ID, &x.Runtime, &x.Agent, &x.Session, &x.Key, &x.Archive, &x.ArchivePath, &x.Branch, &a.Kind, &a.Tool,
		(*keptText)(&a.Subject), (*keptText)(&a.Place), (*keptText)(&a.Errors), &x.subject, &x.errors, &state, &a.Exit, &a.SpanFrom, &a.SpanTo, &x.CreatedAt, &a.EndedAt,
		&x.FirstLine, &x.LastLine, &x.FirstByte, &x.EndByte, &a.ResultFirstLine, &a.ResultLastLine, &a.ResultFirstByte, &a.ResultEndByte, &x.sum)
	a.Answered, a.Failed, a.HasExit = state&stateAnswered != 0, state&stateFailed != 0, state&stateHasExit != 0
	return err
}

// readActions reads actions; tail is what follows fromActions.
func readActions(ctx context.Context, q database.Querier, tail string, args ...any) (list []storedAction, err error) {
	err = database.Each(ctx, database.For(q, "read actions"), func(scan database.Scan) error {
		var x storedAction
		err := x.scan(scan)
		list = append(list, x)
		return err
	}, "SELECT "+actionColumns+fromActions+tail, args...)
	return list, err
}

// actionWriter is a writer of what was done.
type actionWriter struct{ *writer }

// work stores the actions of a session as the records between them come.
//
// What stands in a piece of the log that was forgotten is forgotten too, whatever
// its id. A piece comes after the messages that it is made from, so actions wait
// until the pieces around them have come.
type work struct {
	ready   bool // the tables are there
	wasNew  bool // the action before was not there
	archive string
	held    []Record
	buried  []ByteRange           // of pieces of the archive that were forgotten
	made    func(id string) error // is told of every action; may be nil
	texts   map[workText]int64    // rows of texts that are there: most paths and directories come again and again
	sums    *sumFilter            // of all texts that are there; nil while they were not read
	missed  int                   // texts that were looked for and were not there
}

// mostKnownTexts bounds the texts whose rows are remembered.
const mostKnownTexts = 4096

// enter begins with another archive: places in the one before mean nothing in it.
func (w *writer) enter(archive string) error {
	if archive == w.work.archive {
		return nil
	}
	if err := (actionWriter{w}).release(math.MaxInt64); err != nil {
		return err
	}
	if err := w.leaveBuried(); err != nil {
		return err
	}
	w.work.archive, w.work.buried = archive, nil
	return w.enterBuried(archive)
}

// passed notes that a piece of the log was put, and whether it was forgotten.
// Actions that no later piece can hold are stored.
func (w *writer) passed(r Record, buried bool) error {
	if r.Position < 0 {
		return nil
	}
	last := len(w.work.buried) - 1
	if buried && last >= 0 && w.work.buried[last].From <= r.FirstByte && r.FirstByte <= w.work.buried[last].To {
		w.work.buried[last].To = max(w.work.buried[last].To, r.EndByte)
	} else if buried {
		w.work.buried = append(w.work.buried, ByteRange{r.FirstByte, r.EndByte})
	}
	return actionWriter{w}.release(r.FirstByte)
}

// release stores the actions that end before a byte of the log.
func (w actionWriter) release(before int64) error {
	kept := w.work.held[:0]
	for _, r := range w.work.held {
		if max(r.EndByte, r.Action.ResultEndByte) > before {
			kept = append(kept, r)
			continue
		}
		if err := w.putAction(r); err != nil {
			return fmt.Errorf("store action %s of %s: %w", r.ID, r.Session, err)
		}
	}
	clear(w.work.held[len(kept):])
	w.work.held = kept
	return nil
}

// spans are where an action stands in its log.
func (r *Record) spans() []ByteRange {
	spans := []ByteRange{{r.FirstByte, r.EndByte}}
	if a := r.Action; a.ResultEndByte > 0 {
		spans = append(spans, ByteRange{a.ResultFirstByte, a.ResultEndByte})
	}
	return spans
}

// forgotten says whether an action stands in a piece that was forgotten.
func (w *work) forgotten(r Record) bool {
	for _, span := range r.spans() {
		for _, b := range w.buried {
			if span.From < b.To && b.From < span.To {
				return true
			}
		}
	}
	return false
}

const selectAction = " WHERE a.id=unhex(?)"

// putAction stores an action, or brings it up to date.
func (w actionWriter) putAction(r Record) error {
	if err := w.prepareWork(); err != nil {
		return err
	}
	tombstone, err := w.isBuried(r.ID)
	if err != nil {
		return err
	}
	if w.work.made != nil {
		if err := w.work.made(r.ID); err != nil {
			return err
		}
	}
	if tombstone || w.work.forgotten(r) {
		return w.removeActions("a.id=unhex(?)", r.ID)
	}
	if w.work.wasNew { // then this one is new too, most likely, and inserting it tells
		if w.work.wasNew, err = w.insertAction(r); err != nil || w.work.wasNew {
			return err
		}
	}
	s, err := w.statement("SELECT " + actionColumns + fromActions + selectAction)
	if err != nil {
		return err
	}
	var known storedAction
	switch err := known.scan(s.QueryRowContext(w.ctx, r.ID).Scan); {
	case errors.Is(err, sql.ErrNoRows):
		w.work.wasNew, err = w.insertAction(r)
		return err
	case err != nil:
		return err
	}
	if r.Archive == "" && known.Archive != "" {
		r.Archive, r.ArchivePath = known.Archive, known.ArchivePath
	}
	switch {
	case !known.sound():
		w.result.Repaired++
		if err := w.removeActions("a.id=unhex(?)", r.ID); err != nil {
			return err
		}
		_, err := w.insertAction(r)
		return err
	case known.sum == sumOfAction(r):
		return nil
	}
	return w.updateAction(known, r)
}

const updateAction = `UPDATE actions SET source=?, errors=nullif(?,0), state=?, exit=?, created_at=?, ended_at=?, first_line=?, last_line=?, first_byte=?, end_byte=?,
	result_first_line=?, result_last_line=?, result_first_byte=?, result_end_byte=?, sum=? WHERE action=?`

// updateAction brings an action up to date: its log is in another archive, or its
// result has come. What is part of its id is the same.
func (w actionWriter) updateAction(known storedAction, r Record) error {
	source, err := w.sourceOf(r)
	if err != nil {
		return err
	}
	errors, a := known.errors, r.Action
	if known.Action.Errors != a.Errors {
		if errors, err = w.textIfAny(workText{sortError, a.Errors}); err != nil {
			return err
		}
	}
	_, err = w.exec(updateAction, source, errors, a.state(), a.Exit, r.CreatedAt, a.EndedAt, r.FirstLine, r.LastLine, r.FirstByte, r.EndByte,
		a.ResultFirstLine, a.ResultLastLine, a.ResultFirstByte, a.ResultEndByte, sumOfAction(r), known.row)
	if err != nil || errors == known.errors || known.errors == 0 {
		return err
	}
	clear(w.work.texts) // some may be gone
	if err := w.workWords.Flush(); err != nil {
		return err
	}
	return removeTexts(w.ctx, w.tx, "SELECT "+strconv.FormatInt(known.errors, 10))
}

// prepareWork makes the tables, once.
func (w actionWriter) prepareWork() error {
	if w.work.ready {
		return nil
	}
	if _, err := w.tx.ExecContext(w.ctx, actionTables+workWords().SQL(words.Tables)); err != nil {
		return fmt.Errorf("make the tables of the work: %w", err)
	}
	w.work.ready = true
	return nil
}

const insertAction = `INSERT INTO actions (id, source, kind, tool, subject, place, errors, state, exit, span_from, span_to, created_at, ended_at,
	first_line, last_line, first_byte, end_byte, result_first_line, result_last_line, result_first_byte, result_end_byte, sum)
	VALUES (unhex(?),?,?,?,?,nullif(?,0),nullif(?,0),?,?,?,?,?,?,?,?,?,?,?,?,?,?,?) ON CONFLICT (id) DO NOTHING`

// insertAction stores an action, unless it is there already. Then its texts are
// too: those of its id are the same, and that of its errors is that of the update
// which follows.
func (w actionWriter) insertAction(r Record) (inserted bool, err error) {
	r.Category = CategoryWork
	source, err := w.sourceOf(r)
	if err != nil {
		return false, err
	}
	a := r.Action
	subject, err := w.textOf(workText{sortOf(a.Kind), a.Subject})
	if err != nil {
		return false, err
	}
	place, err := w.textIfAny(workText{sortPath, a.Place})
	if err != nil {
		return false, err
	}
	errors, err := w.textIfAny(workText{sortError, a.Errors})
	if err != nil {
		return false, err
	}
	result, err := w.exec(insertAction, r.ID, source, a.Kind, a.Tool, subject, place, errors, a.state(), a.Exit, a.SpanFrom, a.SpanTo, r.CreatedAt, a.EndedAt,
		r.FirstLine, r.LastLine, r.FirstByte, r.EndByte, a.ResultFirstLine, a.ResultLastLine, a.ResultFirstByte, a.ResultEndByte, sumOfAction(r))
	if err != nil {
		return false, err
	}
	n, err := result.RowsAffected()
	return n > 0, err
}

// removeActions deletes the actions a of sources s that meet a condition, the
// texts that nobody else has, and the words of those.
func (w actionWriter) removeActions(condition string, args ...any) error {
	clear(w.sources) // some may be gone
	clear(w.work.texts)
	if err := w.workWords.Flush(); err != nil { // what is gathered may be of a text that goes
		return err
	}
	_, err := removeActions(w.ctx, w.tx, condition, args)
	return err
}

func removeActions(ctx context.Context, tx *sql.Tx, condition string, args []any) (int, error) {
	has, err := hasActions(ctx, tx)
	if err != nil || !has {
		return 0, err
	}
	const meant = " FROM actions a JOIN sources s ON s.source=a.source WHERE "
	for _, statement := range []string{"CREATE TEMP TABLE IF NOT EXISTS gone (text INTEGER PRIMARY KEY)", "DELETE FROM temp.gone"} {
		if _, err := tx.ExecContext(ctx, statement); err != nil {
			return 0, fmt.Errorf("prepare the list of texts: %w", err)
		}
	}
	for _, column := range []string{"subject", "place", "errors"} {
		_, err := tx.ExecContext(ctx, "INSERT OR IGNORE INTO temp.gone (text) SELECT a."+column+meant+"a."+column+" IS NOT NULL AND ("+condition+")", args...)
		if err != nil {
			return 0, fmt.Errorf("list texts of actions: %w", err)
		}
	}
	result, err := tx.ExecContext(ctx, "DELETE FROM actions WHERE action IN (SELECT a.action"+meant+condition+")", args...)
	if err != nil {
		return 0, fmt.Errorf("delete actions: %w", err)
	}
	n, err := result.RowsAffected()
	if err != nil || n == 0 {
		return 0, err
	}
	if err := removeTexts(ctx, tx, "SELECT text FROM temp.gone"); err != nil {
		return 0, err
	}
	return int(n), removeSources(ctx, tx)
}

// removeSources deletes where records and actions come from that are gone.
func removeSources(ctx context.Context, tx *sql.Tx) error {
	has, err := hasActions(ctx, tx)
	if err != nil {
		return err
	}
	statement := "DELETE FROM sources WHERE NOT EXISTS (SELECT 1 FROM record_rows r WHERE r.source=sources.source)"
	if has {
		statement += " AND NOT EXISTS (SELECT 1 FROM actions a WHERE a.source=sources.source)"
	}
	_, err = tx.ExecContext(ctx, statement)
	return err
}

// standsIn is the condition under which an action a stands in a piece of a log,
// which has a first and an end byte.
func standsIn(piece string) string {
	return strings.ReplaceAll("(a.first_byte<p.end_byte AND a.end_byte>p.first_byte OR a.result_first_byte<p.end_byte AND a.result_end_byte>p.first_byte)", "p.", piece+".")
}

// removeForgotten deletes the actions that were forgotten, by themselves or with
// a piece of their log. The records of those pieces are still there.
func removeForgotten(ctx context.Context, tx *sql.Tx) (int, error) {
	return removeActions(ctx, tx, `lower(hex(a.id)) IN (SELECT id FROM tombstones)
		OR EXISTS (SELECT 1 FROM tombstones f WHERE f.archive=s.archive AND f.archive<>'' AND f.end_byte>0 AND `+standsIn("f")+`)
		OR EXISTS (SELECT 1 FROM tombstones f JOIN records r ON r.id=f.id WHERE r.position>=0
		AND r.runtime=s.runtime AND r.agent=s.agent AND r.session=s.session AND r.archive=s.archive AND `+standsIn("r")+")", nil)
}
