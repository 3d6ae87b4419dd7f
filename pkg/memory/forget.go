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

// Selected counts the records of one session that a selection means.
type Selected struct {
	Runtime  string `json:"runtime"`
	Agent    string `json:"agent"`
	Session  string `json:"session"`
	Records  int    `json:"records"`
	Archives int    `json:"archives"` // that the records come from; Forget does not touch them
}

// Select returns what a selection means, by session. It changes nothing.
// ErrNothingSelected is returned for an empty selection.
func (s *Store) Select(ctx context.Context, selection Selection) ([]Selected, error) {
	if selection == (Selection{}) {
		return nil, ErrNothingSelected
	}
	condition, args := selection.filter()
	rows, err := s.db.QueryContext(ctx, `SELECT runtime, agent, session, count(*), count(DISTINCT archive) FILTER (WHERE archive<>'')
		FROM records WHERE `+condition+" GROUP BY 1, 2, 3 ORDER BY 2, 1, min(created_at), 3", args...)
	if err != nil {
		return nil, fmt.Errorf("list records: %w", judged(err))
	}
	defer rows.Close()
	var list []Selected
	for rows.Next() {
		var x Selected
		if err := rows.Scan(&x.Runtime, &x.Agent, &x.Session, &x.Records, &x.Archives); err != nil {
			return nil, fmt.Errorf("list records: %w", judged(err))
		}
		list = append(list, x)
	}
	return list, judged(rows.Err())
}

// Forget removes records with their text, words and vectors and leaves a
// tombstone for each, so that a later Put or Rebuild does not bring it back,
// not even in a memory that is made anew. It returns how many it removed.
// Archives are not touched. ErrNothingSelected is returned for an empty
// selection.
func (s *Store) Forget(ctx context.Context, selection Selection) (forgotten int, err error) {
	if selection == (Selection{}) {
		return 0, ErrNothingSelected
	}
	err = s.securely(ctx, func(tx *sql.Tx) (bool, error) {
		forgotten, err = s.forget(ctx, tx, selection)
		return forgotten > 0, err
	})
	if err != nil {
		return 0, fmt.Errorf("forget: %w", err)
	}
	return forgotten, nil
}

// securely runs f in a transaction in which what is deleted is overwritten. If
// f says that it deleted something, that is taken out of the index and the log
// too. Always on it would slow down storing.
func (s *Store) securely(ctx context.Context, f func(tx *sql.Tx) (deleted bool, err error)) error {
	c, err := s.db.Conn(ctx)
	if err != nil {
		return judged(err)
	}
	defer c.Close()
	if _, err := c.ExecContext(ctx, "PRAGMA secure_delete=1"); err != nil {
		return judged(err)
	}
	defer c.ExecContext(context.WithoutCancel(ctx), "PRAGMA secure_delete=0")
	deleted := false
	err = inTransaction(ctx, c, func(tx *sql.Tx) error {
		deleted, err = f(tx)
		return err
	})
	if err != nil || !deleted {
		return err
	}
	return wipe(ctx, c)
}

// forget notes down what is to be forgotten, beside the database and in it,
// and then deletes it.
func (s *Store) forget(ctx context.Context, tx *sql.Tx, selection Selection) (int, error) {
	condition, args := selection.filter()
	graves, err := findGraves(ctx, tx, condition, args)
	if err != nil || len(graves) == 0 {
		return 0, err
	}
	if err := s.noteForgotten(forgottenFile{Schema: 1, At: time.Now().UnixMilli(), Records: graves}); err != nil {
		return 0, err
	}
	if err := s.dropSummaries(graves); err != nil {
		return 0, err
	}
	if err := bury(ctx, tx, time.Now().UnixMilli(), graves); err != nil {
		return 0, err
	}
	if err := s.zeroVectors(ctx, tx, condition, args); err != nil {
		return 0, err
	}
	return remove(ctx, tx, condition, args)
}

// remove deletes records with their words; text, vectors and pending rows go
// with them.
func remove(ctx context.Context, tx *sql.Tx, condition string, args []any) (int, error) {
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
