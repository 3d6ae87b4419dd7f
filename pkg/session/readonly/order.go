package readonly

import (
	"bytes"
	"context"
	"io"
	"slices"

	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
)

// mostHeld is how many records are held back for one that comes before them.
const mostHeld = 16

// held is a record that was held back, with its number.
type held struct {
	record jsonl.Record
	number int64
}

// RunInOrder is [Lines.Run] for records with numbers that do not always stand in their
// order: each is read after those with lower numbers, if these stand at most 16 records
// behind it. number is below 0 for a record without one, which is read where it stands.
func (l *Lines) RunInOrder(ctx context.Context, r io.Reader, emit func(*session.Message) error, number func(raw []byte) (int64, error), read func(raw []byte) (Record, error)) (session.Scan, error) {
	var failed error
	heard := func(m *session.Message) error {
		failed = emit(m)
		return failed
	}
	q := queue{read: func(r *jsonl.Record) (bool, error) { return l.record(r, read) }}
	scan, err := l.scan.Run(ctx, r, heard, func(r *jsonl.Record) (bool, error) {
		n, err := number(r.Raw)
		if err != nil {
			return false, err
		}
		if n < 0 {
			return q.read(r)
		}
		return true, q.add(r, n)
	})
	if err != nil {
		return scan, err
	}
	for len(q.waiting) > 0 && failed == nil {
		_ = q.first() // an error of a record that was read once is that of emit
	}
	return l.scan.Result, failed
}

// queue are the records that wait for their turn, by their numbers.
type queue struct {
	read    func(r *jsonl.Record) (bool, error)
	waiting []held
	next    int64
}

// add reads a record whose turn it is, and those that waited for it; any other waits.
func (q *queue) add(r *jsonl.Record, number int64) error {
	at, _ := slices.BinarySearchFunc(q.waiting, number+1, func(h held, n int64) int { return int(min(max(h.number-n, -1), 1)) })
	kept := *r
	kept.Raw = bytes.Clone(r.Raw)
	q.waiting = slices.Insert(q.waiting, at, held{kept, number})
	for len(q.waiting) > 0 && (q.waiting[0].number <= q.next || len(q.waiting) > mostHeld) {
		if err := q.first(); err != nil {
			return err
		}
	}
	return nil
}

// first reads the record with the lowest number.
func (q *queue) first() error {
	h := q.waiting[0]
	q.waiting, q.next = q.waiting[1:], h.number+1
	_, err := q.read(&h.record)
	return err
}
