package rowlog

import (
	"cmp"
	"context"
	"database/sql"
	"slices"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/sqlitefile"
)

// Weighing adds to sessions what the rows of a table say of them.
type Weighing[S any] struct {
	Conn  Querier
	Table Table  // with the column session_id
	Sum   string // what is read of a row, as expressions
	All   []S
	ID    func(S) string
	Into  []any    // what is read of a row
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
// on such a page those before it. Then the error is that of the first page.
func (w Weighing[S]) Run(ctx context.Context) error {
	w.index()
	before := slices.Clone(w.All)
	damage := w.rows(ctx, " NOT INDEXED")
	if !sqlitefile.IsDamaged(damage) {
		return damage
	}
	copy(w.All, before)
	return cmp.Or(w.Each(ctx), damage)
}

// Each weighs the rows of one session after the other, and passes over damaged pages.
func (w Weighing[S]) Each(ctx context.Context) error {
	w.index()
	for _, s := range w.All {
		if err := w.rows(ctx, " WHERE "+w.Table.Of("session_id", "?"), w.ID(s)); err != nil && !sqlitefile.IsDamaged(err) {
			return err
		}
	}
	return nil
}

// Reach reads the rows of the table whose key sessions name in a column, one after the
// other, as their logs do.
func (t Table) Reach(ctx context.Context, conn Querier, sessions Table, column, key string) error {
	if !t.Has(key) || !sessions.Has(column) {
		return nil
	}
	return Each(ctx, For(conn, "read the rows of "+t.Name), func(*sql.Rows) error { return nil },
		"SELECT t.* FROM (SELECT DISTINCT "+Quoted(column)+" AS named FROM "+Quoted(sessions.Name)+") s CROSS JOIN "+Quoted(t.Name)+" t ON t."+Quoted(key)+" = s.named")
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
	}, "SELECT session_id, "+w.Sum+" FROM "+Quoted(w.Table.Name)+which, args...)
}

// Whole stands in the condition of a [Selection] behind the name of a table whose column
// is looked into as a whole. It keeps the index of that column out where that is damaged:
// without a condition SQLite would take it all the same.
const (
	Whole        = "/* whole */"
	wholeUnaided = " NOT INDEXED WHERE true"
)

// WithoutIndex asks again without an index where a page is damaged, since it may be the
// index's: indexed is what then follows the name of the table. If that helps nothing the
// first error is returned.
func WithoutIndex(ask func(indexed string) error) error {
	err := ask("")
	if sqlitefile.IsDamaged(err) && ask(" NOT INDEXED") == nil {
		return nil
	}
	return err
}

// Gathering reads all rows of a table, also of one with damaged pages.
type Gathering[T any] struct {
	Purpose
	Columns string // that are read, as expressions
	Table   Table
	Key     string // the column that names a row
	Named   Table  // whose column session_id names rows too, beside the table's own index; without a name there is none
	Read    func(*sql.Rows, *T) error
	ID      func(T) string
	Lost    func(id string, why session.Reason) T // stands for a row that cannot be read, or is gone; nil to leave it out

	all      []T
	gathered map[string]bool
}

// Run returns the rows in no certain order, and what stands for those that are gone
// ([Tables.Orphaned]). Where a damaged page ends that, it reads
// the table from its other end too, and then every row by its name that is known from
// elsewhere and was not met: no more is missing than what lies on such pages. Then the
// error is that of the first page.
func (g Gathering[T]) Run(ctx context.Context) ([]T, error) {
	g.gathered = map[string]bool{}
	for _, id := range g.Table.orphans {
		g.all = append(g.all, g.Lost(id, session.ReasonOrphan))
	}
	damage := g.rows(ctx, " NOT INDEXED")
	if !sqlitefile.IsDamaged(damage) {
		return g.all, damage
	}
	if err := g.rows(ctx, " NOT INDEXED ORDER BY rowid DESC"); err != nil && !sqlitefile.IsDamaged(err) {
		return nil, err
	}
	names, err := g.names(ctx)
	for _, name := range names {
		if err != nil {
			return nil, err
		}
		err = g.named(ctx, name)
	}
	return g.all, cmp.Or(err, damage)
}

func (g *Gathering[T]) rows(ctx context.Context, which string, args ...any) error {
	return Each(ctx, g.Purpose, func(rows *sql.Rows) error {
		var x T
		if err := g.Read(rows, &x); err != nil {
			return err
		}
		if id := g.ID(x); !g.gathered[id] {
			g.gathered[id] = true
			g.all = append(g.all, x)
		}
		return nil
	}, "SELECT "+g.Columns+" FROM "+Quoted(g.Table.Name)+which, args...)
}

// names are those of rows, from both ends of every place that has them.
func (g *Gathering[T]) names(ctx context.Context) ([]string, error) {
	var all []string
	places := []string{Quoted(g.Key) + " FROM " + Quoted(g.Table.Name)}
	if g.Named.Name != "" {
		column, from := g.Named.naming("session_id")
		places = append(places, column+" FROM "+from)
	}
	for _, from := range places {
		for _, order := range []string{" ORDER BY 1", " ORDER BY 1 DESC", " NOT INDEXED"} {
			err := Each(ctx, g.Purpose, func(rows *sql.Rows) error {
				var name sql.NullString
				err := rows.Scan(&name)
				all = append(all, name.String)
				return err
			}, "SELECT DISTINCT "+from+order)
			if err != nil && !sqlitefile.IsDamaged(err) {
				return nil, err
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

// named reads the row of a name, unless that was met.
func (g *Gathering[T]) named(ctx context.Context, name string) error {
	if name == "" || g.gathered[name] {
		return nil
	}
	err := g.rows(ctx, " WHERE "+Quoted(g.Key)+" = ?", name)
	if !sqlitefile.IsDamaged(err) {
		return err
	}
	if g.Lost != nil {
		g.all = append(g.all, g.Lost(name, session.ReasonRowless))
	}
	return nil
}

// Sift takes out sessions without a row of which no message can be read either, and
// returns the ids of both: of those that stay without their row, and of the others. It
// notes the doubt of those that may lack rows.
func Sift[S any](t Tables, all []S, of func(*S) (id string, doubt *session.Reason, messages int)) (left []S, rowless, hidden []string) {
	left = slices.DeleteFunc(all, func(s S) bool {
		id, doubt, messages := of(&s)
		is := *doubt == session.ReasonRowless
		if is && messages == 0 {
			hidden = append(hidden, id)
		} else if is {
			rowless = append(rowless, id)
		}
		return is && messages == 0
	})
	for i := range left {
		if id, doubt, _ := of(&left[i]); *doubt == "" && len(t.MayLack(id)) > 0 {
			*doubt = session.ReasonBeside
		}
	}
	return left, rowless, hidden
}
