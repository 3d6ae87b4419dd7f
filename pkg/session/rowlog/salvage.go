package rowlog

import (
	"context"
	"database/sql"
	"slices"

	"github.com/sessctl/sessctl/pkg/session/sqlitefile"
)

// Weigh hands take every row of a query over a table with the column session_id, in the
// order in which they lie. Where a damaged page ends that, it takes what was taken back
// from all, and hands out the rows of one session after the other: of a session that
// lies on such a page those before it. Then the error is a [*sqlitefile.DamagedError].
func Weigh[S any](ctx context.Context, conn Querier, query string, all []S, id func(S) string, take func(*sql.Rows) error) error {
	before := slices.Clone(all)
	damage := eachRow(ctx, conn, query+" NOT INDEXED", take)
	if !sqlitefile.IsDamaged(damage) {
		return damage
	}
	copy(all, before)
	for _, s := range before {
		if err := eachRow(ctx, conn, query+" WHERE session_id = ?", take, id(s)); err != nil && !sqlitefile.IsDamaged(err) {
			return err
		}
	}
	return &sqlitefile.DamagedError{Err: damage}
}

func eachRow(ctx context.Context, conn Querier, query string, take func(*sql.Rows) error, args ...any) error {
	const doing = "list sessions"
	rows, err := conn.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	_, err = Collect(rows, doing, func(rows *sql.Rows) (struct{}, error) { return struct{}{}, take(rows) })
	return err
}
