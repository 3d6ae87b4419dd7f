package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// monthMoment is how long the first tries to make the table of a month wait. It
// takes its place beside the others only while nobody reads or writes those: it
// waits for the longest question that is under way, and whoever comes meanwhile
// waits behind it. So it is tried for a moment only, again and again, apart from
// storing; later for longer.
const monthMoment = 200 * time.Millisecond

// patience is how many times as long as a request it is tried to store something
// that somebody is in the way of.
const patience = 30

// months are the tables of records, one for each month.
type months struct{ *Memory }

// makeOf makes the tables of the months of a batch.
func (m months) makeOf(ctx context.Context, times []int64) error {
	missing, err := m.missing(ctx, times)
	for _, month := range missing {
		if err != nil {
			break
		}
		err = patiently(ctx, patience*m.options.Timeout, func(try int) error {
			return m.add(ctx, month, min(monthMoment<<min(try/20, 10), m.options.Timeout/2))
		})
	}
	if err != nil {
		return fmt.Errorf("make the tables of months: %w", err)
	}
	return nil
}

// makeNext makes the table of the next month, so that nobody waits for it
// when that begins. If somebody is in the way the next push does it.
func (m months) makeNext(ctx context.Context) error {
	now := time.Now().UTC()
	next := time.Date(now.Year(), now.Month()+1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
	missing, err := m.missing(ctx, []int64{next})
	if err == nil && len(missing) > 0 {
		err = m.add(ctx, next, monthMoment)
	}
	if err != nil && !isCollision(err) {
		return fmt.Errorf("make the table of the next month: %w", err)
	}
	return nil
}

// missing returns a time of each month that could have a table and has none.
func (m months) missing(ctx context.Context, times []int64) (list []int64, err error) {
	err = m.transact(ctx, readOnly, func(tx pgx.Tx) error {
		found, err := tx.Query(ctx, `SELECT min(t) FROM unnest($1::bigint[]) t WHERE month_of(t) <= date_trunc('month', now() AT TIME ZONE 'UTC') + interval '1 month'
			GROUP BY month_of(t) HAVING to_regclass('records_' || to_char(month_of(min(t)), 'YYYY_MM')) IS NULL ORDER BY 1`, times)
		if err == nil {
			list, err = pgx.CollectRows(found, pgx.RowTo[int64])
		}
		return err
	})
	return list, err
}

// add makes the table of the month of a time, if nobody is in the way for longer
// than a moment.
func (m months) add(ctx context.Context, at int64, moment time.Duration) error {
	return m.call(ctx, m.options.Timeout, nil, "add_months($1, $2)", []int64{at}, moment.Milliseconds())
}
