package database

import (
	"bytes"
	"context"
	"database/sql"
	"strconv"
	"strings"
)

// Querier is a database or a transaction.
type Querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// Strings returns the rows of a query of one text column.
func Strings(ctx context.Context, q Querier, query string, args ...any) (list []string, err error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, Classify(err)
	}
	defer rows.Close()
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return list, Classify(err)
		}
		list = append(list, text)
	}
	return list, Classify(rows.Err())
}

// Numbers returns the rows of a query of one column of numbers.
func Numbers(ctx context.Context, q Querier, query string, args ...any) (list []int64, err error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, Classify(err)
	}
	defer rows.Close()
	for rows.Next() {
		var n int64
		if err := rows.Scan(&n); err != nil {
			return nil, Classify(err)
		}
		list = append(list, n)
	}
	return list, Classify(rows.Err())
}

// Set is a set of numbers.
func Set(keys []int64) map[int64]bool {
	set := make(map[int64]bool, len(keys))
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
