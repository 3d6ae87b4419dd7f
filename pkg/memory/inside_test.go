package memory

import (
	"context"
	"database/sql"

	"github.com/sessctl/sessctl/pkg/embed"
	"github.com/sessctl/sessctl/pkg/memory/database"
)

// SetWords gives a record other words than its text has, as damage would.
func (s *Store) SetWords(ctx context.Context, record int64, terms string) error {
	return s.inTransaction(ctx, func(tx *sql.Tx) error {
		w := recordWords().NewWriter(ctx, tx)
		if err := w.Remove(record); err != nil {
			return err
		}
		if err := w.AddTerms(record, []byte(terms)); err != nil {
			return err
		}
		return w.Flush()
	})
}

// CountSession returns how many records a session has and how many of them
// have no vector of any model.
func (s statistics) CountSession(ctx context.Context, runtime, agent, session string) (records, pending int, err error) {
	err = s.db.QueryRowContext(ctx, `SELECT count(*), count(*) FILTER (WHERE NOT EXISTS (SELECT 1 FROM vectors v WHERE v.record=r.rowid))
		FROM records r WHERE runtime=? AND agent=? AND session=?`, runtime, agent, session).Scan(&records, &pending)
	return records, pending, database.Classify(err)
}

// Pending returns up to limit records of an agent that have no vector of this
// model, in the order they were stored, those that Reclaim finds included. What an embedder has refused three times is not offered.
func (s embeddings) Pending(ctx context.Context, model embed.Model, agent string, limit int) ([]PendingText, error) {
	if _, err := s.Reclaim(ctx, model, agent); err != nil {
		return nil, err
	}
	return s.pendingAfter(ctx, model, agent, page{limit: limit})
}
