package memory

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

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

// maxKept bounds, in bytes, what is read of one such file.
const maxKept = 1 << 20

// KeptDir is where the kept summaries of a memory in dir are: beside it, so that
// they outlive it.
func KeptDir(dir string) string { return filepath.Clean(dir) + "-summaries" }

// keptPath returns the file of a record's summary, "" for what is no id of one.
func (s keptSummaries) keptPath(id string) string {
	if len(id) != 32 || strings.Trim(id, "0123456789abcdef") != "" {
		return ""
	}
	return filepath.Join(KeptDir(s.dir), id+".json")
}

// KeepSummary keeps a summary that a model wrote, in the place of an older one
// of the same record. A summary that memory does not have, because it was
// forgotten on purpose, is not kept.
func (s keptSummaries) KeepSummary(ctx context.Context, k KeptSummary) error {
	var stored bool
	if err := s.db.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM records WHERE id=?)", k.ID).Scan(&stored); err != nil {
		return fmt.Errorf("keep the summary: %w", database.Classify(err))
	}
	path := s.keptPath(k.ID)
	if !stored || path == "" {
		return nil
	}
	if err := s.pins.MakeDir(KeptDir(s.dir), 0o700); err != nil {
		return fmt.Errorf("keep the summary: %w", err)
	}
	k.Schema = 1
	text, err := json.Marshal(k)
	if err == nil {
		err = s.pins.ReplaceFile(path, 0o600, func(w io.Writer) error {
			_, err := w.Write(append(text, '\n'))
			return err
		})
	}
	if err != nil {
		return fmt.Errorf("keep the summary: %w", err)
	}
	return nil
}

// KeptSummary returns the summary that is kept for a record; false if there is
// none, or none that can be read: then it is made again.
func (s keptSummaries) KeptSummary(id string) (k KeptSummary, found bool) {
	path := s.keptPath(id)
	if path == "" {
		return k, false
	}
	file, err := s.pins.OpenRegular(path)
	if err != nil {
		return k, false
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxKept))
	if err != nil || json.Unmarshal(text, &k) != nil {
		return KeptSummary{}, false
	}
	return k, k.Schema == 1 && k.ID == id && k.Text != ""
}

// DropSummary removes the kept summary of a record, if there is one.
func (s keptSummaries) DropSummary(id string) error {
	if err := s.removeBeside(s.keptPath(id)); err != nil {
		return fmt.Errorf("remove the kept summary: %w", err)
	}
	return nil
}

// removeBeside removes a file that is kept beside the memory, if it is there. ""
// is none.
func (s *connection) removeBeside(path string) error {
	if path == "" {
		return nil
	}
	if _, err := s.pins.Lstat(path); errors.Is(err, fs.ErrNotExist) { // nearly always
		return nil
	}
	return s.pins.RemoveFile(path)
}

// LastSummary returns the newest summary of a session, or if it has none of its
// agent. What agents stored is none.
func (s keptSummaries) LastSummary(ctx context.Context, of Source) (Record, bool, error) {
	var r stored
	err := s.db.QueryRowContext(ctx, "SELECT "+recordColumns+` FROM records r JOIN texts t ON t.record=r.rowid
		WHERE r.runtime=? AND r.agent=? AND r.category=? AND r.branch<>? ORDER BY r.session=? DESC, r.created_at DESC, r.rowid DESC LIMIT 1`,
		of.Runtime, of.Agent, CategorySummary, BranchStored, of.Session).Scan(r.fields()...)
	if errors.Is(err, sql.ErrNoRows) || err == nil && !r.sound() {
		return Record{}, false, nil
	}
	return r.Record, err == nil, database.Classify(err)
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
