package memory

import (
	"context"
	"fmt"
)

// Neighbors returns the records that stand in the same session at most n
// places before and after x, in their order. A summary has none. Where a place
// was cut twice as the session grew, it is the record of x's archive, else the
// latest.
func (s *Store) Neighbors(ctx context.Context, x Record, n int) (before, after []Record, err error) {
	if n < 1 || x.Position < 0 {
		return nil, nil, nil
	}
	rows, err := s.db.QueryContext(ctx, "SELECT "+columns+` FROM records r JOIN texts t ON t.record=r.rowid
		WHERE r.agent=? AND r.runtime=? AND r.session=? AND r.category=? AND r.position BETWEEN max(?, 0) AND ? AND r.position<>?
		ORDER BY r.position, r.archive=? DESC, r.rowid DESC`,
		x.Agent, x.Runtime, x.Session, x.Category, x.Position-n, x.Position+n, x.Position, x.Archive)
	if err != nil {
		return nil, nil, fmt.Errorf("read neighbours: %w", judged(err))
	}
	defer rows.Close()
	last := -1
	for rows.Next() {
		var r Record
		if err := rows.Scan(r.fields()...); err != nil {
			return nil, nil, fmt.Errorf("read neighbours: %w", judged(err))
		}
		switch {
		case r.Position == last:
		case r.Position < x.Position:
			before = append(before, r)
		default:
			after = append(after, r)
		}
		last = r.Position
	}
	return before, after, judged(rows.Err())
}
