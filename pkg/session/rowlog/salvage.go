package rowlog

import (
	"context"
	"database/sql"
	"fmt"
	"slices"

	"github.com/sessctl/sessctl/pkg/session/sqlitefile"
)

// Weighing adds to sessions what the rows of a table say of them.
type Weighing[S any] struct {
	Conn  Querier
	Query string // over a table with the column session_id
	All   []S
	ID    func(S) string
	Take  func(*sql.Rows) error // adds a row to All
}

// Run takes every row, in the order in which they lie. Where a damaged page ends that,
// it begins anew with the rows of one session after the other: of a session that lies
// on such a page those before it. Then the error is a [*sqlitefile.DamagedError].
func (w Weighing[S]) Run(ctx context.Context) error {
	before := slices.Clone(w.All)
	damage := w.rows(ctx, " NOT INDEXED")
	if !sqlitefile.IsDamaged(damage) {
		return damage
	}
	copy(w.All, before)
	return w.Each(ctx, damage)
}

// Each weighs the rows of one session after the other, for a database of which a query
// over all of them has met a damaged page, the error damage. It returns a
// [*sqlitefile.DamagedError].
func (w Weighing[S]) Each(ctx context.Context, damage error) error {
	for _, s := range w.All {
		if err := w.rows(ctx, " WHERE session_id = ?", w.ID(s)); err != nil && !sqlitefile.IsDamaged(err) {
			return err
		}
	}
	return &sqlitefile.DamagedError{Err: damage}
}

func (w Weighing[S]) rows(ctx context.Context, which string, args ...any) error {
	const doing = "list sessions"
	rows, err := w.Conn.QueryContext(ctx, w.Query+which, args...)
	if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	_, err = Collect(rows, doing, func(rows *sql.Rows) (struct{}, error) { return struct{}{}, w.Take(rows) })
	return err
}
