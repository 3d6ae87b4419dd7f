package memory

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/sessctl/sessctl/pkg/memory/database"
)

// CategorySummary is the category of summaries.
const CategorySummary = "session_summary"

// KeptSummary is a summary that cannot be made again from an archive, because a
// model wrote it. It is kept in a file beside the memory, so that it outlives
// it.
type KeptSummary struct {
	Schema  int    `json:"schema"` // 1
	ID      string `json:"id"`     // of its record
	Runtime string `json:"runtime"`
	Agent   string `json:"agent"`
	Session string `json:"session"`
	Archive string `json:"archive"` // id of the archive that it sums up
	Model   string `json:"model"`   // provider and model
	Text    string `json:"text"`
}

// KeptDir is where the kept summaries of a memory in dir are: beside it, so that
// they outlive it.
func KeptDir(dir string) string { return filepath.Clean(dir) + "-summaries" }

// KeepSummary keeps a summary that a model wrote, in the place of an older one
// of the same record. A summary that memory does not have, because it was
// forgotten on purpose, is not kept.
func (s keptSummaries) KeepSummary(ctx context.Context, k KeptSummary) error {
	var stored bool
	if err := s.db.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM records WHERE id=?)", k.ID).Scan(&stored); err != nil {
		return fmt.Errorf("keep the summary: %w", database.Classify(err))
	}
	path := recordFile(KeptDir(s.dir), k.ID)
	if !stored || path == "" {
		return nil
	}
	k.Schema = 1
	if err := s.writeBeside(path, k); err != nil {
		return fmt.Errorf("keep the summary: %w", err)
	}
	return nil
}

// KeptSummary returns the summary that is kept for a record; false if there is
// none, or none that can be read: then it is made again.
func (s keptSummaries) KeptSummary(id string) (k KeptSummary, found bool) {
	path := recordFile(KeptDir(s.dir), id)
	if path == "" {
		return k, false
	}
	text, err := readWhole(s.pins, path, maxKept)
	if err != nil || json.Unmarshal(text, &k) != nil {
		return KeptSummary{}, false
	}
	return k, k.Schema == 1 && k.ID == id && k.Text != ""
}

// DropSummary removes the kept summary of a record, if there is one.
func (s keptSummaries) DropSummary(id string) error {
	if err := s.removeBeside(recordFile(KeptDir(s.dir), id)); err != nil {
		return fmt.Errorf("remove the kept summary: %w", err)
	}
	return nil
}

// dropKept removes the kept summaries, and words of agents, of what is to be
// forgotten. It comes before the records go: a forget that was stopped in between
// is asked for again.
func (s keptSummaries) dropKept(tombstones []tombstone) error {
	for _, g := range tombstones {
		if err := errors.Join(s.DropSummary(g.ID), storedWords(s).dropOwnWords(g.ID)); err != nil {
			return err
		}
	}
	return nil
}

// RecentSummaries returns the newest summaries of sessions that the filters of q take,
// at most limit of each runtime: by runtime, the newest first. What agents stored in
// their own words sums up no session. Sessions of the ids in without are left out, and
// damaged summaries are left out and counted.
func (s reading) RecentSummaries(ctx context.Context, q Query, without []string, limit int) (list []Record, damaged int, err error) {
	q.Category = CategorySummary
	condition, args := q.filter()
	ids, _ := json.Marshal(append([]string{}, without...)) // strings are always JSON
	all, err := database.All(ctx, database.For(s.db, "list summaries"), (*stored).fields, "SELECT "+recordColumns+` FROM
		(SELECT *, row_number() OVER (PARTITION BY r.runtime ORDER BY r.created_at DESC, r.rowid DESC) AS place FROM records r WHERE r.branch<>? AND r.session NOT IN (SELECT value FROM json_each(?)) AND `+condition+`) r
		JOIN texts t ON t.record=r.rowid WHERE r.place<=? ORDER BY r.runtime, r.place`, append(append([]any{BranchStored, string(ids)}, args...), limit)...)
	for _, r := range all {
		if r.sound() {
			list = append(list, r.Record)
		}
	}
	return list, len(all) - len(list), err
}
