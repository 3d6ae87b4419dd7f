package memory

import (
	"context"
	"fmt"
)

// Sources returns the sessions that memory has records of, each with its
// runtime and agent, in their order. Archives are not named.
func (s *Store) Sources(ctx context.Context) ([]Source, error) {
	rows, err := s.db.QueryContext(ctx, "SELECT DISTINCT runtime, agent, session FROM records ORDER BY agent, runtime, session")
	if err != nil {
		return nil, fmt.Errorf("list sessions: %w", classifyError(err))
	}
	defer rows.Close()
	var all []Source
	for rows.Next() {
		var source Source
		if err := rows.Scan(&source.Runtime, &source.Agent, &source.Session); err != nil {
			return nil, fmt.Errorf("list sessions: %w", classifyError(err))
		}
		all = append(all, source)
	}
	return all, classifyError(rows.Err())
}

// RecordIDs returns at most limit ids that start with a prefix, in their order:
// of records, and of those that were forgotten.
func (s *Store) RecordIDs(ctx context.Context, prefix string, limit int) ([]string, error) {
	return readStrings(ctx, s.db, `SELECT id FROM records WHERE substr(id, 1, length(?1))=?1
		UNION SELECT id FROM tombstones WHERE substr(id, 1, length(?1))=?1 ORDER BY id LIMIT ?2`, prefix, limit)
}
