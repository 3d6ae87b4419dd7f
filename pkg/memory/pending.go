package memory

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/sessctl/sessctl/pkg/embed"
)

// PendingText is a record that has no vector yet.
type PendingText struct {
	ID   string
	Text string

	row int64
}

const (
	// maxTries is how often a record that an embedder refuses is offered again.
	maxTries = 3
	// nothingTries marks a record that has nothing to embed.
	nothingTries = 1000
)

// Pending returns up to limit records of an agent that have no vector of this
// model, in the order they were stored. Rows that a vector file has lost are
// pending again. What an embedder has refused three times is not offered.
func (s *Store) Pending(ctx context.Context, model embed.Model, agent string, limit int) ([]PendingText, error) {
	if _, err := s.Reclaim(ctx, model, agent); err != nil {
		return nil, err
	}
	return s.pendingAfter(ctx, model, agent, page{limit: limit})
}

// page is a part of a long list: up to limit rows after a row.
type page struct {
	after int64
	limit int
}

func (s *Store) pendingAfter(ctx context.Context, model embed.Model, agent string, p page) ([]PendingText, error) {
	rows, err := s.db.QueryContext(ctx, `SELECT r.rowid, r.id, t.text FROM pending p JOIN records r ON r.rowid=p.record JOIN texts t ON t.record=p.record
		WHERE p.model=? AND p.agent=? AND p.record>? AND p.tries<? ORDER BY p.record LIMIT ?`, model.Fingerprint(), agent, p.after, maxTries, p.limit)
	if err != nil {
		return nil, fmt.Errorf("list pending records: %w", judged(err))
	}
	defer rows.Close()
	var pending []PendingText
	for rows.Next() {
		var p PendingText
		if err := rows.Scan(&p.row, &p.ID, &p.Text); err != nil {
			return nil, fmt.Errorf("list pending records: %w", judged(err))
		}
		pending = append(pending, p)
	}
	return pending, judged(rows.Err())
}

// CountPending returns how many records of an agent have no vector of a model:
// those that are open, and those that were refused too often. What has nothing
// to embed counts as neither.
func (s *Store) CountPending(ctx context.Context, model embed.Model, agent string) (open, refused int, err error) {
	if err := s.register(ctx, model); err != nil {
		return 0, 0, err
	}
	err = s.db.QueryRowContext(ctx, `SELECT count(*) FILTER (WHERE tries<?1), count(*) FILTER (WHERE tries>=?1 AND tries<?2)
		FROM pending WHERE model=?3 AND agent=?4`, maxTries, nothingTries, model.Fingerprint(), agent).Scan(&open, &refused)
	return open, refused, judged(err)
}

// register makes a model known: from now on every record has a vector of it or
// is pending. All that is there is pending.
func (s *Store) register(ctx context.Context, model embed.Model) error {
	var known bool
	err := s.db.QueryRowContext(ctx, "SELECT count(*)>0 FROM models WHERE fingerprint=?", model.Fingerprint()).Scan(&known)
	if err != nil || known {
		return judged(err)
	}
	return s.inTransaction(ctx, func(tx *sql.Tx) error { return registerIn(ctx, tx, model) })
}

func registerIn(ctx context.Context, tx *sql.Tx, model embed.Model) error {
	result, err := tx.ExecContext(ctx, "INSERT OR IGNORE INTO models (fingerprint, name, dim) VALUES (?, ?, ?)", model.Fingerprint(), model.String(), model.Dim)
	if err != nil {
		return fmt.Errorf("register model: %w", err)
	}
	if n, err := result.RowsAffected(); err != nil || n == 0 {
		return err
	}
	_, err = tx.ExecContext(ctx, "INSERT INTO pending (model, agent, record, tries, reason) SELECT ?, agent, rowid, 0, '' FROM records", model.Fingerprint())
	return err
}

// noteFailures counts a failed try against each record.
func noteFailures(ctx context.Context, tx *sql.Tx, model embed.Model, failed []Failure) error {
	for _, f := range failed {
		tries := 1
		if f.Nothing {
			tries = nothingTries
		}
		_, err := tx.ExecContext(ctx, `UPDATE pending SET tries=tries+?, reason=? WHERE model=? AND record=(SELECT rowid FROM records WHERE id=?)`,
			tries, f.Reason, model.Fingerprint(), f.ID)
		if err != nil {
			return fmt.Errorf("note failures: %w", err)
		}
	}
	return nil
}
