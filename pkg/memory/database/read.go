package database

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"
)

// Querier is a database or a transaction.
type Querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// Scan reads the columns of a row.
type Scan func(columns ...any) error

// Purpose is a database and what it is asked for. Errors say that, if it is not "".
type Purpose struct {
	Querier
	doing string
}

// For is a purpose: doing is as in "list models".
func For(q Querier, doing string) Purpose { return Purpose{q, doing} }

func (p Purpose) failed(err error) error {
	if err = Classify(err); err != nil && p.doing != "" {
		return fmt.Errorf("%s: %w", p.doing, err)
	}
	return err
}

// Each hands the rows of a query to fn, which ends it with an error.
func Each(ctx context.Context, p Purpose, fn func(scan Scan) error, query string, args ...any) error {
	rows, err := p.QueryContext(ctx, query, args...)
	if err != nil {
		return p.failed(err)
	}
	defer rows.Close()
	scan := func(columns ...any) error { return p.failed(rows.Scan(columns...)) }
	for rows.Next() {
		if err := fn(scan); err != nil {
			return err
		}
	}
	return p.failed(rows.Err())
}

// All returns the rows of a query, before an error those that were read. fields are
// where the columns of one are read to; they are asked for once.
func All[T any](ctx context.Context, p Purpose, fields func(x *T) []any, query string, args ...any) (list []T, err error) {
	var x, none T
	columns := fields(&x)
	err = Each(ctx, p, func(scan Scan) error {
		x = none
		if err := scan(columns...); err != nil {
			return err
		}
		list = append(list, x)
		return nil
	}, query, args...)
	return list, err
}

// Strings returns the rows of a query of one text column.
func Strings(ctx context.Context, q Querier, query string, args ...any) ([]string, error) {
	return All(ctx, For(q, ""), func(text *string) []any { return []any{text} }, query, args...)
}

// Numbers returns the rows of a query of one column of numbers.
func Numbers(ctx context.Context, q Querier, query string, args ...any) ([]int64, error) {
	return All(ctx, For(q, ""), func(n *int64) []any { return []any{n} }, query, args...)
}

// HasTable reports whether there is a table of a name.
func HasTable(ctx context.Context, q Querier, name string) (has bool, err error) {
	err = q.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE type='table' AND name=?)", name).Scan(&has)
	return has, Classify(err)
}

// Set is a set of numbers or texts.
func Set[K comparable](keys []K) map[K]bool {
	set := make(map[K]bool, len(keys))
	for _, key := range keys {
		set[key] = true
	}
	return set
}

// List are numbers as an SQL list: there is nothing to quote.
func List(numbers []int64) string {
	list := []byte("(")
	for _, n := range numbers {
		list = append(strconv.AppendInt(list, n, 10), ',')
	}
	return string(append(bytes.TrimSuffix(list, []byte(",")), ')'))
}

// Marks are the placeholders of an SQL list of texts.
func Marks(list []string) string {
	return strings.TrimSuffix(strings.Repeat("?,", len(list)), ",")
}

// Args are the arguments for [Marks].
func Args(list []string) []any {
	args := make([]any, len(list))
	for i, x := range list {
		args[i] = x
	}
	return args
}
