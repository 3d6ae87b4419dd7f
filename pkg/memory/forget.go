package memory

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// ErrNothingSelected is returned when Forget is not told what to forget.
var ErrNothingSelected = errors.New("nothing is selected")

// Selection says which records to forget. All fields that are set must match.
type Selection struct {
	ID                      string
	Runtime, Agent, Session string
}

func (s Selection) filter() (string, []any) {
	condition, args := "1=1", []any(nil)
	for _, f := range []struct{ sql, value string }{{"id=?", s.ID}, {"runtime=?", s.Runtime}, {"agent=?", s.Agent}, {"session=?", s.Session}} {
		if f.value != "" {
			condition += " AND " + f.sql
			args = append(args, f.value)
		}
	}
	return condition, args
}

// Forget removes records with their text, words and vectors and leaves a
// tombstone for each, so that a later Put does not bring it back. It returns
// how many it removed. Archives are not touched. The numbers of their vectors
// stay in the vector file, without a name, until the file is made anew.
// ErrNothingSelected is returned for an empty selection.
func (s *Store) Forget(ctx context.Context, selection Selection) (forgotten int, err error) {
	if selection == (Selection{}) {
		return 0, ErrNothingSelected
	}
	c, err := s.db.Conn(ctx)
	if err != nil {
		return 0, fmt.Errorf("forget: %w", judged(err))
	}
	defer c.Close()
	// What is deleted is overwritten. Always on it would slow down storing.
	if _, err := c.ExecContext(ctx, "PRAGMA secure_delete=1"); err != nil {
		return 0, fmt.Errorf("forget: %w", judged(err))
	}
	defer c.ExecContext(context.WithoutCancel(ctx), "PRAGMA secure_delete=0")
	err = inTransaction(ctx, c, func(tx *sql.Tx) error {
		forgotten, err = forget(ctx, tx, selection)
		return err
	})
	if err != nil || forgotten == 0 {
		return 0, err
	}
	return forgotten, wipe(ctx, c)
}

func forget(ctx context.Context, tx *sql.Tx, selection Selection) (int, error) {
	condition, args := selection.filter()
	_, err := tx.ExecContext(ctx, "INSERT OR IGNORE INTO tombstones (id, at) SELECT id, ? FROM records WHERE "+condition, append([]any{time.Now().UnixMilli()}, args...)...)
	if err != nil {
		return 0, fmt.Errorf("bury records: %w", err)
	}
	if _, err := tx.ExecContext(ctx, "DELETE FROM words WHERE rowid IN (SELECT rowid FROM records WHERE "+condition+")", args...); err != nil {
		return 0, fmt.Errorf("delete words: %w", err)
	}
	result, err := tx.ExecContext(ctx, "DELETE FROM records WHERE "+condition, args...)
	if err != nil {
		return 0, fmt.Errorf("delete records: %w", err)
	}
	n, err := result.RowsAffected()
	return int(n), err
}

// wipe takes what was deleted out of the full-text index and the write-ahead
// log. Readers at work may keep the log for a while; the next commit without
// them takes its room.
func wipe(ctx context.Context, c *sql.Conn) error {
	for _, statement := range []string{"INSERT INTO words (words) VALUES ('optimize')", "PRAGMA wal_checkpoint(TRUNCATE)"} {
		if _, err := c.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("wipe what was forgotten: %w", judged(err))
		}
	}
	return nil
}
