package memory

import (
	"context"
	"database/sql"
	"strings"
)

// Withdrawal says which records of a session to take out.
type Withdrawal struct {
	Runtime, Agent, Session string
	Categories              []string // of these only; all if empty
	// Keep are archives whose records stay: other runs stored them.
	Keep []string
}

// Withdraw takes records of one session out, with their text, words and
// vectors, and leaves no tombstones: unlike what was forgotten they are stored
// again by a later Put. It is for a session that is back in its runtime. It
// returns how many it took out. ErrNothingSelected is returned when runtime,
// agent or session is missing.
func (s *Store) Withdraw(ctx context.Context, w Withdrawal) (taken int, err error) {
	if w.Runtime == "" || w.Agent == "" || w.Session == "" {
		return 0, ErrNothingSelected
	}
	condition, args := w.filter()
	err = s.inTransaction(ctx, func(tx *sql.Tx) error {
		taken, err = remove(ctx, tx, condition, args)
		return err
	})
	return taken, err
}

func (w Withdrawal) filter() (string, []any) {
	condition, args := "runtime=? AND agent=? AND session=?", []any{w.Runtime, w.Agent, w.Session}
	add := func(column, operator string, values []string) {
		if len(values) == 0 {
			return
		}
		condition += " AND " + column + " " + operator + " (?" + strings.Repeat(",?", len(values)-1) + ")"
		for _, v := range values {
			args = append(args, v)
		}
	}
	add("category", "IN", w.Categories)
	add("archive", "NOT IN", w.Keep)
	return condition, args
}
