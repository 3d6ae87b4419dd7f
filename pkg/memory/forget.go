package memory

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sessctl/sessctl/pkg/agentset"
	"github.com/sessctl/sessctl/pkg/memory/database"
	"github.com/sessctl/sessctl/pkg/memory/vectors"
)

// ErrNothingSelected is returned for a selection that names nothing.
var ErrNothingSelected = errors.New("nothing is selected")

// Selection says which records to forget. All fields that are set must match.
type Selection struct {
	ID               string
	Agent            agentset.Set
	Runtime, Session string
	// IDs are the only ones of which records are forgotten, unless they are nil:
	// see Containing.
	IDs []string
}

func (s Selection) empty() bool {
	return s.ID == "" && s.Runtime == "" && s.Agent == "" && s.Session == "" && s.IDs == nil
}

func (s Selection) filter() (string, []any) {
	condition, args := "1=1", []any(nil)
	if s.IDs != nil {
		list, _ := json.Marshal(s.IDs) // strings are always JSON
		condition, args = "id IN (SELECT value FROM json_each(?))", []any{string(list)}
	}
	if of, list := whose(s.Agent, ""); of != "" {
		condition, args = condition+" AND "+of, append(args, list...)
	}
	for _, f := range []struct{ sql, value string }{{"id=?", s.ID}, {"runtime=?", s.Runtime}, {"session=?", s.Session}} {
		if f.value != "" {
			condition += " AND " + f.sql
			args = append(args, f.value)
		}
	}
	return condition, args
}

// Selected counts the records of one session that a selection means.
type Selected struct {
	Runtime  string `json:"runtime"`
	Agent    string `json:"agent"`
	Session  string `json:"session"`
	Records  int    `json:"records"`
	Actions  int    `json:"actions"`  // of the work
	Archives int    `json:"archives"` // that the records come from; Forget does not touch them
}

// Select returns what a selection means, by session. It changes nothing.
// ErrNothingSelected is returned for an empty selection.
func (s forgetting) Select(ctx context.Context, selection Selection) ([]Selected, error) {
	if selection.empty() {
		return nil, ErrNothingSelected
	}
	has, err := hasActions(ctx, s.db)
	if err != nil {
		return nil, err
	}
	condition, args := selection.filter()
	query := "SELECT runtime, agent, session, count(*) AS records, 0 AS actions, min(created_at) AS created_at, archive FROM records WHERE " + condition + " GROUP BY 1, 2, 3, 7"
	if has {
		work, more := selection.workFilter()
		query += " UNION ALL SELECT s.runtime, s.agent, s.session, 0, count(*), min(a.created_at), s.archive FROM actions a JOIN sources s ON s.source=a.source WHERE " + work + " GROUP BY 1, 2, 3, 7"
		args = append(args, more...)
	}
	return database.All(ctx, database.For(s.db, "list records"), func(x *Selected) []any {
		return []any{&x.Runtime, &x.Agent, &x.Session, &x.Records, &x.Actions, &x.Archives}
	},
		`SELECT runtime, agent, session, sum(records), sum(actions), count(DISTINCT archive) FILTER (WHERE archive<>'')
		FROM (`+query+") GROUP BY 1, 2, 3 ORDER BY 2, 1, min(created_at), 3", args...)
}

// ids are those that are selected, as JSON; false if ids do not matter.
func (s Selection) ids() (list string, matter bool) {
	ids := s.IDs
	if s.ID != "" {
		ids = slices.DeleteFunc([]string{s.ID}, func(id string) bool { return s.IDs != nil && !slices.Contains(s.IDs, id) })
	}
	text, _ := json.Marshal(ids) // strings are always JSON
	return string(text), ids != nil
}

// workFilter is the condition under which actions a of sources s are selected:
// with a piece of the log goes what was done in it.
func (s Selection) workFilter() (string, []any) {
	condition, args := s.ownActions()
	ids, matter := s.ids()
	if !matter {
		return condition, args
	}
	of, more := Selection{Runtime: s.Runtime, Agent: s.Agent, Session: s.Session}.filter()
	pieces := `EXISTS (SELECT 1 FROM json_each(?) j JOIN records r ON r.id=j.value WHERE r.position>=0
		AND r.runtime=s.runtime AND r.agent=s.agent AND r.session=s.session AND r.archive=s.archive AND ` + standsIn("r") + ")"
	return condition + " OR " + of + " AND " + pieces, append(append(args, more...), ids)
}

// ownActions is the condition under which actions a of sources s are selected by
// themselves.
func (s Selection) ownActions() (string, []any) {
	condition, args := Selection{Runtime: s.Runtime, Agent: s.Agent, Session: s.Session}.filter()
	if ids, matter := s.ids(); matter {
		condition, args = condition+" AND a.id IN (SELECT unhex(value) FROM json_each(?))", append(args, ids)
	}
	return condition, args
}

// Removed counts what Forget removed.
type Removed struct {
	Records int
	Actions int // of the work
	// Marked are the tombstones that were left: one for each record, and for each
	// action that went by itself and not with a record.
	Marked int
	// Places are the pieces of archives that went, by the ids of those; "" for what has
	// none.
	Places map[string][]Place
}

// Place is a part of an archive's bytes: from First to before End; both 0 for what is
// no piece of a log.
type Place struct{ First, End int64 }

// Forget removes records with their text, words and vectors, and what was done
// in them, and leaves a tombstone for each, so that a later Put or Rebuild does
// not bring it back, not even in a memory that is rebuilt. It returns what it
// removed. Archives are not touched. The caller holds the lock of the data directory.
// ErrNothingSelected is returned for an empty selection, ErrUnwiped (with the
// numbers) when the records are gone and their traces in the files are not.
func (s forgetting) Forget(ctx context.Context, selection Selection) (removed Removed, err error) {
	if selection.empty() {
		return removed, ErrNothingSelected
	}
	err = s.deleteSecurely(ctx, func(tx *sql.Tx) (bool, error) {
		removed, err = s.forget(ctx, tx, selection)
		return removed.Marked > 0, err
	})
	if err != nil {
		return Removed{}, fmt.Errorf("forget: %w", err)
	}
	return removed, s.Wipe(ctx)
}

// Withdrawal says which records of a session to take out.
type Withdrawal struct {
	Runtime, Agent, Session string
	Categories              []string // of these only; all if empty
	// From are the archives whose records go. What has no archive, or another one,
	// was stored by others, and stays.
	From []string
	// Regardless are categories of which all records go, of whatever archive.
	Regardless []string
}

// Containing lists the ids of the selected records, also of those of the work,
// that contain a text, in any case and however it is spaced.
func (s forgetting) Containing(ctx context.Context, selection Selection, text string) ([]string, error) {
	ids, wanted := []string{}, spaced(text)
	condition, args := selection.filter()
	err := database.Each(ctx, database.For(s.db, "look for a text"), func(scan database.Scan) error {
		var id string
		var found keptText
		err := scan(&id, &found)
		if strings.Contains(spaced(string(found)), wanted) {
			ids = append(ids, id)
		}
		return err
	}, "SELECT records.id, t.text FROM records JOIN texts t ON t.record=records.rowid WHERE "+condition, args...)
	if err != nil {
		return nil, err
	}
	has, err := hasActions(ctx, s.db)
	if err != nil || !has {
		return ids, err
	}
	condition, args = selection.ownActions()
	err = eachAction(ctx, s.db, condition, args, func(x *storedAction) error {
		if slices.ContainsFunc([]string{x.Action.Subject, x.Action.Place, x.Action.Errors}, func(text string) bool { return strings.Contains(spaced(text), wanted) }) {
			ids = append(ids, x.ID)
		}
		return nil
	})
	return ids, err
}

// spaced is a text in lower case with one space between words.
func spaced(text string) string { return strings.ToLower(strings.Join(strings.Fields(text), " ")) }

// Withdraw takes records of one session out, with their text, words and
// vectors, and leaves no tombstones: unlike what was forgotten they are stored
// again by a later Put. What an agent stored stays. It is for a session that is back in its runtime. It
// returns how many it took out. ErrNothingSelected is returned when runtime,
// agent or session is missing.
func (s forgetting) Withdraw(ctx context.Context, w Withdrawal) (taken int, err error) {
	if w.Runtime == "" || w.Agent == "" || w.Session == "" {
		return 0, ErrNothingSelected
	}
	condition, args := w.filter()
	err = s.inTransaction(ctx, func(tx *sql.Tx) error {
		if taken, err = remove(ctx, tx, condition, args); err != nil {
			return err
		}
		condition, args = Withdrawal{Runtime: w.Runtime, Agent: w.Agent, Session: w.Session, From: w.From}.filter()
		_, err = removeActions(ctx, tx, condition, args)
		return err
	})
	return taken, err
}

// Made are the ids of the pieces that runs of one session make.
type Made struct {
	Own    map[string]bool // by the run whose pieces are taken out
	Beside map[string]bool // by others, of the same archive
	Others map[string]bool // by others, of any archive: these stay
}

// WithdrawAlone takes those pieces of a session out that only one run has made, and
// leaves no tombstones. It returns how many it took out.
//
// A memory that was made anew since from the archives has pieces that no run has
// stored. So only what was stored after all that is in Beside and not in Own goes,
// and nothing if none of that is there.
func (s forgetting) WithdrawAlone(ctx context.Context, source Source, made Made) (taken int, err error) {
	own, beside := without(made.Own, made.Others), without(made.Beside, made.Own)
	const listed = "runtime=? AND agent=? AND session=? AND position>=0 AND id IN (SELECT value FROM json_each(?))"
	of := func(ids string) []any { return []any{source.Runtime, source.Agent, source.Session, ids} }
	err = s.inTransaction(ctx, func(tx *sql.Tx) error {
		var newest int64
		if err := tx.QueryRowContext(ctx, "SELECT coalesce(max(rowid), 0) FROM records WHERE "+listed, of(beside)...).Scan(&newest); err != nil || newest == 0 {
			return err
		}
		taken, err = remove(ctx, tx, listed+" AND rowid>?", append(of(own), newest))
		return err
	})
	return taken, err
}

// without lists the ids that others does not have, as JSON.
func without(ids, others map[string]bool) string {
	left := []string{}
	for id := range ids {
		if !others[id] {
			left = append(left, id)
		}
	}
	list, _ := json.Marshal(left) // strings are always JSON
	return string(list)
}

func (w Withdrawal) filter() (string, []any) {
	condition, args := "runtime=? AND agent=? AND session=? AND branch<>?", []any{w.Runtime, w.Agent, w.Session, BranchStored}
	if len(w.Categories) > 0 {
		condition, args = condition+" AND category IN ("+database.Marks(w.Categories)+")", append(args, database.Args(w.Categories)...)
	}
	condition += " AND (archive IN (" + database.Marks(w.From) + ") OR category IN (" + database.Marks(w.Regardless) + "))"
	return condition, append(append(args, database.Args(w.From)...), database.Args(w.Regardless)...)
}

// forget records what is to be forgotten, beside the database and in it, and
// then deletes it.
func (s forgetting) forget(ctx context.Context, tx *sql.Tx, selection Selection) (gone Removed, err error) {
	condition, args := selection.filter()
	tombstones, err := findTombstones(ctx, tx, condition, args)
	if _, ids := selection.ids(); err == nil && (ids || len(tombstones) == 0) {
		tombstones, err = addActionTombstones(ctx, tx, selection, tombstones)
	}
	if err != nil || len(tombstones) == 0 {
		return gone, err
	}
	gone.Marked, gone.Places = len(tombstones), map[string][]Place{}
	for _, t := range tombstones {
		gone.Places[t.Archive] = append(gone.Places[t.Archive], Place{t.FirstByte, t.EndByte})
	}
	noted := forgottenFile{Schema: 1, At: time.Now().UnixMilli(), Records: tombstones}
	if err := s.forgottenFiles().noteForgotten(noted); err != nil {
		return gone, err
	}
	if err := keptSummaries(s).dropKept(tombstones); err != nil {
		return gone, err
	}
	if err := addTombstones(ctx, tx, noted); err != nil {
		return gone, err
	}
	work, more := selection.workFilter()
	if gone.Actions, err = removeActions(ctx, tx, work, more); err != nil {
		return gone, err
	}
	gone.Records, err = remove(ctx, tx, condition, args)
	return gone, err
}

// addActionTombstones adds those of the actions that have a selected id, or of
// those of a session that has nothing else. Else none is kept of actions: they
// go with the pieces of the log that they stand in.
func addActionTombstones(ctx context.Context, tx *sql.Tx, selection Selection, tombstones []tombstone) ([]tombstone, error) {
	has, err := hasActions(ctx, tx)
	if err != nil || !has {
		return tombstones, err
	}
	condition, args := selection.ownActions()
	ids, err := database.Strings(ctx, tx, "SELECT lower(hex(a.id)) FROM actions a JOIN sources s ON s.source=a.source WHERE "+condition, args...)
	for _, id := range ids {
		tombstones = append(tombstones, tombstone{ID: id})
	}
	return tombstones, err
}

// remove deletes records with their words and vectors; text and pending rows go with
// them.
func remove(ctx context.Context, tx *sql.Tx, condition string, args []any) (int, error) {
	if err := recordWords().RemoveWords(ctx, tx, "SELECT rowid FROM records WHERE "+condition, args...); err != nil {
		return 0, err
	}
	if err := vectors.Remove(ctx, tx, "record IN (SELECT rowid FROM records WHERE "+condition+")", args...); err != nil {
		return 0, err
	}
	result, err := tx.ExecContext(ctx, "DELETE FROM record_rows WHERE record IN (SELECT rowid FROM records WHERE "+condition+")", args...)
	if err != nil {
		return 0, fmt.Errorf("delete records: %w", err)
	}
	n, err := result.RowsAffected()
	if err != nil || n == 0 {
		return int(n), err
	}
	return int(n), removeSources(ctx, tx)
}
