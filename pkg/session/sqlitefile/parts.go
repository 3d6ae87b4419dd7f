package sqlitefile

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/sessctl/sessctl/pkg/session"
)

// Parts says what the database is made of, the largest part first. of names what a
// table, or an index of it, is for: for a table itself the two names are the same.
// Every page is looked at.
func (d *Database) Parts(ctx context.Context, of func(table, name string) string) ([]session.DatabasePart, error) {
	rows, err := d.conn.QueryContext(ctx, "SELECT coalesce(m.tbl_name, s.name), s.name, sum(s.pgsize) FROM dbstat s LEFT JOIN sqlite_schema m ON m.name = s.name WHERE s.aggregate = TRUE GROUP BY s.name")
	if err != nil {
		return nil, fmt.Errorf("measure the tables of %s: %w", d.file.Path(), err)
	}
	defer rows.Close()
	sizes := map[string]int64{}
	for rows.Next() {
		var table, name string
		var size int64
		if err := rows.Scan(&table, &name, &size); err != nil {
			return nil, fmt.Errorf("measure the tables of %s: %w", d.file.Path(), err)
		}
		sizes[of(table, name)] += size
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("measure the tables of %s: %w", d.file.Path(), err)
	}
	parts := make([]session.DatabasePart, 0, len(sizes))
	for name, size := range sizes {
		parts = append(parts, session.DatabasePart{Database: d.file.Path(), Name: name, Bytes: size})
	}
	slices.SortFunc(parts, func(x, y session.DatabasePart) int {
		return cmp.Or(cmp.Compare(y.Bytes, x.Bytes), cmp.Compare(x.Name, y.Name))
	})
	return parts, d.Unchanged()
}
