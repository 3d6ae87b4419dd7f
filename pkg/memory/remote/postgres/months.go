package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// The table of a month takes its place beside the others only while nobody reads
// or writes those: it waits for the longest question that is under way, and
// whoever comes meanwhile would wait behind it. So it is tried for a moment only,
// again and again, apart from storing.
const (
	monthMoment = 200 * time.Millisecond // others wait as long
	monthPause  = 100 * time.Millisecond // they go on
	monthTries  = 100                    // then it waits for its turn
)

// months are the tables of records, one for each month.
type months struct{ conn *pgx.Conn }

// makeOf makes the tables of the months of a batch.
func (m months) makeOf(ctx context.Context, times []int64) error {
	missing, err := m.missing(ctx, times)
	for _, month := range missing {
		for try := 0; err == nil; try++ {
			moment := monthMoment
			if try == monthTries {
				moment = 0 // as long as it takes
			}
			if err = m.add(ctx, month, moment); !isLockTimeout(err) {
				break
			}
			select {
			case <-time.After(monthPause):
				err = nil
			case <-ctx.Done():
			}
		}
	}
	if err != nil {
		return fmt.Errorf("make the tables of months: %w", classify(err))
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
	if err != nil && !isLockTimeout(err) {
		return fmt.Errorf("make the table of the next month: %w", classify(err))
	}
	return nil
}

// missing returns a time of each month that could have a table and has none.
func (m months) missing(ctx context.Context, times []int64) ([]int64, error) {
	found, err := m.conn.Query(ctx, `SELECT min(t) FROM unnest($1::bigint[]) t WHERE month_of(t) <= date_trunc('month', now() AT TIME ZONE 'UTC') + interval '1 month'
		GROUP BY month_of(t) HAVING to_regclass('records_' || to_char(month_of(min(t)), 'YYYY_MM')) IS NULL ORDER BY 1`, times)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(found, pgx.RowTo[int64])
}

// add makes the table of the month of a time. It waits for others as long as
// it is told, 0 is for ever.
func (m months) add(ctx context.Context, at int64, moment time.Duration) error {
	return pgx.BeginFunc(ctx, m.conn, func(tx pgx.Tx) error {
		if moment > 0 {
			if _, err := tx.Exec(ctx, fmt.Sprintf("SET LOCAL lock_timeout = %d", moment.Milliseconds())); err != nil {
				return err
			}
		}
		_, err := tx.Exec(ctx, "SELECT add_months($1)", []int64{at})
		return err
	})
}

// isLockTimeout says whether somebody else was in the way for too long.
func isLockTimeout(err error) bool {
	var known *pgconn.PgError
	return errors.As(err, &known) && known.Code == "55P03"
}
