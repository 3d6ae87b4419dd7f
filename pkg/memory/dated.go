package memory

import (
	"context"
	"time"

	"github.com/sessctl/sessctl/pkg/memory/rank"
)

// readDates finds the times that the query names. The words of dates are not
// searched for then, because "25" and "May" are everywhere. If the query has no
// other words, they are, and the times count double. A date near which nothing was
// said is none: what is asked for may name it in its text only.
func (r *recall) readDates(ctx context.Context) (err error) {
	r.periods = rank.RelativePeriods(r.query.Text, r.query.Now)
	all, _ := rank.NamedDates(r.query.Text, func(rank.Date) bool { return true })
	if len(all) == 0 {
		return nil
	}
	recorded, err := r.recordedPeriods(ctx, all)
	if err != nil {
		return err
	}
	dates, others := rank.NamedDates(r.query.Text, func(d rank.Date) bool { return len(recorded[d]) > 0 })
	for _, d := range dates {
		r.periods = append(r.periods, recorded[d]...)
	}
	switch {
	case len(dates) == 0:
	case !matchAny(others).IsEmpty():
		r.words = others
	default:
		for i := range r.periods {
			r.periods[i].Share *= 2
		}
	}
	return nil
}

// recordedPeriods are the times of dates, of each only if anything that the query
// may find was said then.
func (r *recall) recordedPeriods(ctx context.Context, dates []rank.Date) (map[rank.Date][]rank.Period, error) {
	first, last, err := r.index.Span(ctx)
	if err != nil {
		return nil, err
	}
	zone := r.query.Now.Location() // UTC of the zero time
	recorded := map[rank.Date][]rank.Period{}
	for _, d := range dates {
		list := d.Periods(time.UnixMilli(first).In(zone).Year(), time.UnixMilli(last).In(zone).Year(), zone)
		for _, p := range list {
			keys, err := r.index.Words(ctx, r.query.during(p), Match{}, 1)
			if err != nil {
				return nil, err
			}
			if len(keys) > 0 {
				recorded[d] = list
				break
			}
		}
	}
	return recorded, nil
}

// during narrows a query to a time.
func (q Query) during(p rank.Period) Query {
	q.Since = max(q.Since, p.From)
	if q.Until == 0 || p.To < q.Until {
		q.Until = p.To
	}
	return q
}

// askDates proposes the records of the times that the query names: those that
// match a word best, and if those are few, any.
func (r *recall) askDates(ctx context.Context) error {
	for _, p := range r.periods {
		if !p.Proposes() {
			continue
		}
		during := r.query.during(p)
		if _, err := r.askWords(ctx, during, matchAny(r.words), rank.PoolSize); err != nil {
			return err
		}
		keys, err := r.index.Words(ctx, during, Match{}, rank.PoolSize/2)
		if err != nil {
			return err
		}
		for _, key := range keys {
			r.at(key)
		}
	}
	return nil
}
