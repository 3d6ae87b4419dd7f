package rowlog

import (
	"context"
	"database/sql"
	"slices"

	"github.com/sessctl/sessctl/pkg/session/sqlitefile"
)

// Weighing adds to sessions what the rows of a table say of them.
type Weighing[S any] struct {
	Conn  Querier
	Query string // over a table with the column session_id, which it selects first
	All   []S
	ID    func(S) string
	Into  []any    // what the columns behind the id are read into
	Take  func(*S) // adds the row that was read to its session

	place map[string]int
}

func (w *Weighing[S]) index() {
	w.place = make(map[string]int, len(w.All))
	for i, s := range w.All {
		w.place[w.ID(s)] = i
	}
}

// Run takes every row, in the order in which they lie. Where a damaged page ends that,
// it begins anew with the rows of one session after the other: of a session that lies
// on such a page those before it. Then the error is a [*sqlitefile.DamagedError].
func (w Weighing[S]) Run(ctx context.Context) error {
	w.index()
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
	w.index()
	for _, s := range w.All {
		if err := w.rows(ctx, " WHERE session_id = ?", w.ID(s)); err != nil && !sqlitefile.IsDamaged(err) {
			return err
		}
	}
	return &sqlitefile.DamagedError{Err: damage}
}

// Reach reads the rows of the table whose key sessions name in a column, one after the
// other, as their logs do. Where a page of it is damaged the error is a [*sqlitefile.DamagedError].
func (t Table) Reach(ctx context.Context, conn Querier, sessions, column, key string) error {
	if !t.Has(key) {
		return nil
	}
	return sqlitefile.Damage(Each(ctx, For(conn, "read the rows of "+t.Name), func(*sql.Rows) error { return nil },
		"SELECT t.* FROM (SELECT DISTINCT "+Quoted(column)+" AS named FROM "+Quoted(sessions)+") s CROSS JOIN "+Quoted(t.Name)+" t ON t."+Quoted(key)+" = s.named"))
}

func (w Weighing[S]) rows(ctx context.Context, which string, args ...any) error {
	return Each(ctx, For(w.Conn, "list sessions"), func(rows *sql.Rows) error {
		var id sql.RawBytes
		if err := rows.Scan(append([]any{&id}, w.Into...)...); err != nil {
			return err
		}
		if i, ok := w.place[string(id)]; ok {
			w.Take(&w.All[i])
		}
		return nil
	}, w.Query+which, args...)
}
