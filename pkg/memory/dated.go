package memory

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// What a record gains that was said in a time that the query names, on the
// scale of relevance: "what did we decide on 3 March" is answered on 3 March, or
// in the week after, when it is told; failing that, in that month
// (docs/recall.md, Dates).
const (
	saidThen    = 0.5
	saidAfter   = 0.25
	saidNear    = 0.15
	tellingDays = 7  // after a day, in which it is told
	overhang    = 10 // days after a month, in which it still is
)

// period is a time that a query names, or one near it.
type period struct {
	from, to int64   // epoch milliseconds, to not included
	share    float64 // that a record of this time gains
}

func newPeriod(from, to time.Time, share float64) period {
	return period{from.UnixMilli(), to.UnixMilli(), share}
}

// dayPeriods are a day and what is near it.
func dayPeriods(year int, month time.Month, day int, zone *time.Location) []period {
	start := time.Date(year, month, day, 0, 0, 0, 0, zone)
	if start.Month() != month {
		return nil // 31 June
	}
	next := start.AddDate(0, 0, 1)
	return append([]period{newPeriod(start, next, saidThen), newPeriod(next, next.AddDate(0, 0, tellingDays), saidAfter)},
		monthPeriod(year, month, zone, saidNear))
}

// monthPeriods are a month and what is near it.
func monthPeriods(year int, month time.Month, zone *time.Location) []period {
	p := monthPeriod(year, month, zone, saidThen)
	next := time.Date(year, month+1, 1, 0, 0, 0, 0, zone)
	return []period{p, newPeriod(next, next.AddDate(0, 0, overhang), saidNear)}
}

func monthPeriod(year int, month time.Month, zone *time.Location, share float64) period {
	start := time.Date(year, month, 1, 0, 0, 0, 0, zone)
	return newPeriod(start, start.AddDate(0, 1, 0), share)
}

// readDates finds the times that the query names. The words of dates are not
// looked for then: "25" and "May" stand everywhere. If the query has no others,
// they are, and the times count double.
func (r *recall) readDates(ctx context.Context) (err error) {
	dates, others := namedDates(r.query.Text)
	if r.periods, err = r.namedPeriods(ctx, dates); err != nil || len(dates) == 0 {
		return err
	}
	if matchAny(others) != "" {
		r.words = others
		return nil
	}
	for i := range r.periods {
		r.periods[i].share *= 2
	}
	return nil
}

// namedPeriods are the times of dates, and those that the query names by how
// long ago they were.
func (r *recall) namedPeriods(ctx context.Context, dates []date) ([]period, error) {
	list := relativePeriods(r.query.Text, r.query.Now)
	if len(dates) == 0 {
		return list, nil
	}
	first, last, err := r.store.span(ctx)
	if err != nil {
		return nil, err
	}
	zone := r.query.Now.Location() // UTC of the zero time
	for _, d := range dates {
		years := []int{d.year}
		if d.year == 0 { // any year that something was said in
			years = nil
			for y := time.UnixMilli(first).In(zone).Year(); y <= time.UnixMilli(last).In(zone).Year() && len(years) < 100; y++ {
				years = append(years, y)
			}
		}
		for _, year := range years {
			switch {
			case d.day != 0:
				list = append(list, dayPeriods(year, d.month, d.day, zone)...)
			case d.month != 0:
				list = append(list, monthPeriods(year, d.month, zone)...)
			default:
				start := time.Date(year, time.January, 1, 0, 0, 0, 0, zone)
				list = append(list, newPeriod(start, start.AddDate(1, 0, 0), saidNear))
			}
		}
	}
	return list, nil
}

// span is when the oldest and the newest record were said, in epoch
// milliseconds.
func (s *Store) span(ctx context.Context) (first, last int64, err error) {
	err = s.db.QueryRowContext(ctx, "SELECT coalesce(min(created_at), 0), coalesce(max(created_at), 0) FROM records").Scan(&first, &last)
	if err != nil {
		return 0, 0, fmt.Errorf("look when records were said: %w", judged(err))
	}
	return first, last, nil
}

// relativePeriods are the times that a query names by how long ago they were.
// Without a now there are none.
func relativePeriods(text string, now time.Time) (list []period) {
	if now.IsZero() {
		return nil
	}
	year, month, day := now.Date()
	today := time.Date(year, month, day, 0, 0, 0, 0, now.Location())
	monday := today.AddDate(0, 0, -(int(today.Weekday())+6)%7)
	first := time.Date(year, month, 1, 0, 0, 0, 0, now.Location())
	text = " " + strings.Join(strings.Fields(strings.ToLower(text)), " ")
	for phrase, p := range map[string]period{
		" today":      newPeriod(today, today.AddDate(0, 0, 1), saidThen),
		" yesterday":  newPeriod(today.AddDate(0, 0, -1), today, saidThen),
		" this week":  newPeriod(monday, monday.AddDate(0, 0, 7), saidThen),
		" last week":  newPeriod(monday.AddDate(0, 0, -7), monday, saidThen),
		" this month": newPeriod(first, first.AddDate(0, 1, 0), saidThen),
		" last month": newPeriod(first.AddDate(0, -1, 0), first, saidThen),
	} {
		if strings.Contains(text, phrase) {
			list = append(list, p)
		}
	}
	return list
}

// askDates proposes the records of the times that the query names: those that
// match a word best, and if those are few, any.
func (r *recall) askDates(ctx context.Context) error {
	for _, p := range r.periods {
		if p.share < saidAfter {
			continue
		}
		during := *r
		during.query.Since = max(r.query.Since, p.from)
		if r.query.Until == 0 || p.to < r.query.Until {
			during.query.Until = p.to
		}
		if _, err := during.askWords(ctx, matchAny(r.words), poolSize); err != nil {
			return err
		}
		if err := during.askTime(ctx, poolSize/2); err != nil {
			return err
		}
	}
	return nil
}

// askTime proposes the first n records that pass the filters.
func (r *recall) askTime(ctx context.Context, n int) error {
	condition, args := r.query.filter()
	rows, err := r.store.db.QueryContext(ctx, "SELECT r.rowid FROM records r WHERE "+condition+" ORDER BY r.created_at, r.rowid LIMIT ?", append(args, n)...)
	if err != nil {
		return fmt.Errorf("search by time: %w", judged(err))
	}
	defer rows.Close()
	for rows.Next() {
		var record int64
		if err := rows.Scan(&record); err != nil {
			return fmt.Errorf("search by time: %w", judged(err))
		}
		r.at(record)
	}
	return judged(rows.Err())
}

// favourDated adds to the relevance of records of the times that are named.
func (r *recall) favourDated(list []*rated) {
	for _, x := range list {
		share := 0.0
		for _, p := range r.periods {
			if p.from <= x.CreatedAt && x.CreatedAt < p.to {
				share = max(share, p.share)
			}
		}
		x.relevance += share
	}
}
