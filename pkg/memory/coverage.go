package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
)

// Coverage says how much of a session's log the records of one category hold.
type Coverage struct {
	Records    int
	Characters int64 // code points of their texts, which overlap and have labels
	Bytes      int64 // of the log, that some record was made from or that was forgotten
	Forgotten  int   // pieces that were forgotten on purpose
	positions  map[int]bool
}

// Missing returns how many of the first n pieces of the session have no record
// and were not forgotten.
func (c Coverage) Missing(n int) int {
	missing := -c.Forgotten
	for i := range n {
		if !c.positions[i] {
			missing++
		}
	}
	return max(missing, 0)
}

// byteRange is a part of a log.
type byteRange struct{ from, to int64 }

// Coverage returns what memory holds of a session; source says which one.
// archives are all archives of the session, by which what was forgotten is
// found.
func (s *Store) Coverage(ctx context.Context, source Source, category string, archives []string) (Coverage, error) {
	c := Coverage{positions: map[int]bool{}}
	rows, err := s.db.QueryContext(ctx, `SELECT position, first_byte, end_byte, length(text) FROM records JOIN texts ON record=rowid
		WHERE runtime=? AND agent=? AND session=? AND category=?`, source.Runtime, source.Agent, source.Session, category)
	if err != nil {
		return c, fmt.Errorf("look what is covered: %w", judged(err))
	}
	defer rows.Close()
	var ranges []byteRange
	for rows.Next() {
		var position, characters int
		var r byteRange
		if err := rows.Scan(&position, &r.from, &r.to, &characters); err != nil {
			return c, fmt.Errorf("look what is covered: %w", judged(err))
		}
		c.Records++
		c.Characters += int64(characters)
		c.positions[position] = true
		ranges = append(ranges, r)
	}
	if err := rows.Err(); err != nil {
		return c, judged(err)
	}
	forgotten, err := s.forgottenRanges(ctx, archives)
	c.Forgotten, c.Bytes = len(forgotten), union(append(ranges, forgotten...))
	return c, err
}

func (s *Store) forgottenRanges(ctx context.Context, archives []string) (ranges []byteRange, err error) {
	if len(archives) == 0 {
		return nil, nil
	}
	args := make([]any, 0, len(archives))
	for _, id := range archives {
		args = append(args, id)
	}
	rows, err := s.db.QueryContext(ctx, "SELECT first_byte, end_byte FROM tombstones WHERE end_byte>0 AND archive IN (?"+strings.Repeat(",?", len(archives)-1)+")", args...)
	if err != nil {
		return nil, fmt.Errorf("look what was forgotten: %w", judged(err))
	}
	defer rows.Close()
	for rows.Next() {
		var r byteRange
		if err := rows.Scan(&r.from, &r.to); err != nil {
			return nil, fmt.Errorf("look what was forgotten: %w", judged(err))
		}
		ranges = append(ranges, r)
	}
	return ranges, judged(rows.Err())
}

// union is how many bytes ranges cover together.
func union(ranges []byteRange) (covered int64) {
	slices.SortFunc(ranges, func(a, b byteRange) int { return cmp.Compare(a.from, b.from) })
	end := int64(0)
	for _, r := range ranges {
		covered += max(0, r.to-max(r.from, end))
		end = max(end, r.to)
	}
	return covered
}
