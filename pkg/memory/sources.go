package memory

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"github.com/sessctl/sessctl/pkg/memory/database"
)

// Sources returns the sessions that memory has records of, each with its
// runtime and agent, in their order. Archives are not named. What an agent stored
// outside a session is of none.
func (s reading) Sources(ctx context.Context) ([]Source, error) {
	return database.All(ctx, database.For(s.db, "list sessions"), func(source *Source) []any { return []any{&source.Runtime, &source.Agent, &source.Session} },
		"SELECT DISTINCT runtime, agent, session FROM records WHERE session<>'' ORDER BY agent, runtime, session")
}

// RecordIDs returns at most limit ids that start with a prefix, in their order:
// of records, also of those of the work, and of those that were forgotten.
func (s reading) RecordIDs(ctx context.Context, prefix string, limit int) ([]string, error) {
	has, err := hasActions(ctx, s.db)
	if err != nil {
		return nil, err
	}
	query := `SELECT id FROM records WHERE substr(id, 1, length(?1))=?1
		UNION SELECT id FROM tombstones WHERE substr(id, 1, length(?1))=?1`
	if has {
		query += " UNION SELECT lower(hex(id)) FROM actions WHERE substr(lower(hex(id)), 1, length(?1))=?1"
	}
	return database.Strings(ctx, s.db, query+" ORDER BY id LIMIT ?2", prefix, limit)
}

// Lacking returns those of some ids that are of no record and of nothing that was
// forgotten, and how many of them were forgotten.
func (s reading) Lacking(ctx context.Context, ids []string) (lacking []string, forgotten int, err error) {
	list, _ := json.Marshal(ids) // strings are always JSON
	err = s.db.QueryRowContext(ctx, "SELECT count(*) FROM tombstones WHERE id IN (SELECT value FROM json_each(?))", string(list)).Scan(&forgotten)
	if err == nil {
		lacking, err = database.Strings(ctx, s.db, `SELECT DISTINCT value FROM json_each(?1) WHERE value NOT IN (SELECT id FROM records WHERE id IN (SELECT value FROM json_each(?1)))
			AND value NOT IN (SELECT id FROM tombstones WHERE id IN (SELECT value FROM json_each(?1)))`, string(list))
	}
	if err != nil {
		return nil, 0, fmt.Errorf("look for records: %w", database.Classify(err))
	}
	return lacking, forgotten, nil
}

// Record returns the record of an id. One that is not there, or was forgotten,
// is [fs.ErrNotExist]; one that is not what was stored is [ErrCorrupt].
func (s reading) Record(ctx context.Context, id string) (Record, error) {
	var r stored
	err := s.db.QueryRowContext(ctx, "SELECT "+recordColumns+" FROM records r JOIN texts t ON t.record=r.rowid WHERE r.id=?", id).Scan(r.fields()...)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return s.action(ctx, id)
	case err != nil:
		return Record{}, fmt.Errorf("read record %s: %w", id, database.Classify(err))
	case !r.sound():
		return Record{}, fmt.Errorf("read record %s: %w", id, ErrCorrupt)
	}
	return r.Record, nil
}

// SummaryOf returns the summary of an archive, or, where an older summary of its
// session is all there is, the newest of these. None is [fs.ErrNotExist].
func (s reading) SummaryOf(ctx context.Context, of Source, archive string) (Record, error) {
	var id string
	err := s.db.QueryRowContext(ctx, `SELECT id FROM records WHERE runtime=? AND agent=? AND session=? AND category=?
		ORDER BY archive=? DESC, created_at DESC, id LIMIT 1`, of.Runtime, of.Agent, of.Session, CategorySummary, archive).Scan(&id)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return Record{}, fmt.Errorf("look for the summary of session %s: %w", of.Session, fs.ErrNotExist)
	case err != nil:
		return Record{}, fmt.Errorf("look for the summary of session %s: %w", of.Session, database.Classify(err))
	}
	return s.Record(ctx, id)
}

// action returns the record of an action.
func (s reading) action(ctx context.Context, id string) (Record, error) {
	has, err := hasActions(ctx, s.db)
	var list []storedAction
	if err == nil && has {
		list, err = readActions(ctx, s.db, selectAction, id)
	}
	switch {
	case err != nil:
		return Record{}, fmt.Errorf("read record %s: %w", id, err)
	case len(list) == 0:
		return Record{}, fmt.Errorf("read record %s: %w", id, fs.ErrNotExist)
	case !list[0].sound():
		return Record{}, fmt.Errorf("read record %s: %w", id, ErrCorrupt)
	}
	return list[0].Record, nil
}
