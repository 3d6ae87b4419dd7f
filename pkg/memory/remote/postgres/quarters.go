package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// quarterMoment is how long the first tries to make the table of a quarter wait. It
// takes its place beside the others only while nobody reads or writes those: it
// waits for the longest question that is under way, and whoever comes meanwhile
// waits behind it. So it is tried for a moment only, again and again, apart from
// storing; later for longer.
const quarterMoment = 200 * time.Millisecond

// patience is how many times as long as a request it is tried to store something
// that somebody is in the way of.
const patience = 30

// quarters are the tables of records, one for each quarter.
type quarters struct{ *Memory }

// makeOf makes the tables of the quarters of a batch.
func (m quarters) makeOf(ctx context.Context, times []int64) error {
	missing, err := m.missing(ctx, times)
	for _, quarter := range missing {
		if err != nil {
			break
		}
		err = patiently(ctx, patience*m.options.Timeout, func(try int) error {
			return m.add(ctx, quarter, min(quarterMoment<<min(try/20, 10), m.options.Timeout/2))
		})
	}
	if err != nil {
		return fmt.Errorf("make the tables of quarters: %w", err)
	}
	return nil
}

// makeNext makes the table of the next quarter, so that nobody waits for it
// when that begins. If somebody is in the way the next push does it.
func (m quarters) makeNext(ctx context.Context) error {
	now := time.Now().UTC()
	next := time.Date(now.Year(), now.Month()+3, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
	missing, err := m.missing(ctx, []int64{next})
	if err == nil && len(missing) > 0 {
		err = m.add(ctx, next, quarterMoment)
	}
	if err != nil && !isCollision(err) {
		return fmt.Errorf("make the table of the next quarter: %w", err)
	}
	return nil
}

// missing returns a time of each quarter that could have a table and has none.
func (m quarters) missing(ctx context.Context, times []int64) (list []int64, err error) {
	err = m.transact(ctx, readOnly, func(tx pgx.Tx) error {
		found, err := tx.Query(ctx, `SELECT min(t) FROM unnest($1::bigint[]) t WHERE quarter_of(t) <= date_trunc('quarter', now() AT TIME ZONE 'UTC') + interval '3 months'
			GROUP BY quarter_of(t) HAVING to_regclass('records_' || to_char(quarter_of(min(t)), 'YYYY_"q"Q')) IS NULL ORDER BY 1`, times)
		if err == nil {
			list, err = pgx.CollectRows(found, pgx.RowTo[int64])
		}
		return err
	})
	return list, err
}

// add makes the table of the quarter of a time, if nobody is in the way for longer
// than a moment.
func (m quarters) add(ctx context.Context, at int64, moment time.Duration) error {
	return m.call(ctx, m.options.Timeout, nil, "add_quarters($1, $2)", []int64{at}, moment.Milliseconds())
}
