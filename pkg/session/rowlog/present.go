package rowlog

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"strings"
)

// Present tells, while the rows of logs are put back in one transaction, which of
// them the database has. A table without a primary key may hold a row several
// times: of such rows it has as many as there were before, and the others are
// missing.
type Present struct {
	w    *Writer
	rows map[[sha256.Size]byte]*copies
}

// copies counts the same row: in the database before, and in the logs so far.
type copies struct{ there, met int }

// Present returns one that has met no row.
func (w *Writer) Present() *Present {
	return &Present{w: w, rows: map[[sha256.Size]byte]*copies{}}
}

// Find looks for a row, by its primary key if the table has one, and compares it.
func (p *Present) Find(ctx context.Context, tx *sql.Tx, t Table, r Row) (there, same bool, err error) {
	if len(t.Key) > 0 {
		return p.w.Find(ctx, tx, t, r)
	}
	sum := sha256.Sum256(Format{}.append(nil, TypeRow, r))
	c := p.rows[sum]
	if c == nil {
		c = &copies{}
		p.rows[sum] = c
		if c.there, err = p.w.count(ctx, tx, t, r); err != nil {
			return false, false, err
		}
	}
	c.met++
	there = c.met <= c.there
	return there, there, nil
}

// count counts the rows that are the same in every column of r.
func (w *Writer) count(ctx context.Context, tx *sql.Tx, t Table, r Row) (n int, err error) {
	err = tx.QueryRowContext(ctx, "SELECT count(*) FROM "+Quoted(t.Name)+" WHERE "+strings.Join(r.equal(), " AND "), r.Values...).Scan(&n)
	return n, err
}

// equal are the comparisons of the columns of a row with its values.
func (r Row) equal() []string {
	equal := make([]string, len(r.Columns))
	for i, c := range r.Columns {
		equal[i] = "(" + exact(c) + ") IS ?"
	}
	return equal
}
