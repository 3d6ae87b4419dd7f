package rowlog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/sessctl/sessctl/pkg/session/sqlitefile"
)

// ErrDamagedPages is returned for a database that has damaged pages: nothing is written
// to it.
var ErrDamagedPages = errors.New("it has damaged pages, and a damaged database is not written to")

// Sound returns an error that wraps [ErrDamagedPages] if a page of a database is damaged.
// Every page is looked at, but for those after a table of a kind that only its program
// knows: that ends the check.
func Sound(ctx context.Context, conn Querier) error {
	said, err := Column[string](ctx, For(conn, "check its pages"), "PRAGMA quick_check(100)")
	for _, text := range said { // what else it says is of rows, and no damage
		for _, structure := range []string{"Tree ", "Page ", "Freelist", "*** in database"} {
			if strings.HasPrefix(text, structure) {
				return fmt.Errorf("%w: %s", ErrDamagedPages, strings.TrimSpace(text))
			}
		}
	}
	if sqlitefile.IsDamaged(err) {
		return fmt.Errorf("%w: %w", ErrDamagedPages, err)
	}
	return ctx.Err()
}

// reference is a foreign key of one column.
type reference struct{ From, Column, Table, Key string }

// LackError says that a database lacks a row that others refer to which are to be put
// back.
type LackError struct {
	Table, Key string
	Value      any
}

// Error implements error.
func (e *LackError) Error() string {
	return fmt.Sprintf("the database has no row of %s with the %s %v, which rows of the archive belong to, and the archive has none either: it lay on a damaged page, or is gone", e.Table, e.Key, e.Value)
}

// Accept returns why the rows of logs cannot be put back into a database, as far as that
// can be told without doing it: a [*LackError], say. next is as in [Writer.InsertLogs].
func (t Tables) Accept(ctx context.Context, conn Querier, f Format, next func() (io.ReadCloser, error)) error {
	if err := Sound(ctx, conn); err != nil {
		return err
	}
	references, err := t.references(ctx, conn)
	if err != nil {
		return err
	}
	there, wanted := map[LackError]bool{}, []LackError{}
	err = eachLog(next, func(log io.Reader) error {
		return f.EachRow(log, func(r Row) error {
			for _, x := range references {
				if value := r.Value(x.Key); x.Table == r.Table && value != nil {
					there[LackError{x.Table, x.Key, fmt.Sprint(value)}] = true
				}
				if value := r.Value(x.Column); x.From == r.Table && value != nil {
					wanted = append(wanted, LackError{x.Table, x.Key, fmt.Sprint(value)})
				}
			}
			return t.Fits(r)
		}, nil)
	})
	for _, w := range wanted {
		if err == nil && !there[w] {
			there[w] = true
			err = w.missing(ctx, conn)
		}
	}
	return err
}

// references are the foreign keys to other tables.
func (t Tables) references(ctx context.Context, conn Querier) ([]reference, error) {
	all, err := All(ctx, For(conn, "read its foreign keys"), func(r *reference) []any { return []any{&r.From, &r.Column, &r.Table, &r.Key} },
		`SELECT m.name, k."from", k."table", coalesce(k."to", '') FROM sqlite_schema m JOIN pragma_foreign_key_list(m.name) k
		WHERE m.type = 'table' AND m.rootpage > 0 AND k."table" <> m.name ORDER BY m.name, k.id`)
	for i, r := range all {
		if r.Key == "" && len(t[r.Table].Key) == 1 {
			all[i].Key = t[r.Table].Key[0]
		}
	}
	return all, err
}

func (e LackError) missing(ctx context.Context, conn Querier) error {
	var there bool
	err := conn.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM "+Quoted(e.Table)+" WHERE "+Quoted(e.Key)+" = ?)", e.Value).Scan(&there)
	if err == nil && !there {
		return &e
	}
	return err
}

// eachLog opens logs one after the other. next ends with io.EOF.
func eachLog(next func() (io.ReadCloser, error), read func(io.Reader) error) error {
	for {
		log, err := next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = errors.Join(read(log), log.Close())
		}
		if err != nil {
			return err
		}
	}
}
