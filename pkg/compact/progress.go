package compact

import (
	"io"
	"iter"
)

// counted tells how many bytes were read through it.
type counted struct {
	r    io.Reader
	done int64
	tell func(done int64)
}

// Read implements io.Reader.
func (c *counted) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.done += int64(n)
	c.tell(c.done)
	return n, err
}

// told tells how many records went through a sequence.
func told(records iter.Seq2[Record, error], tell func(done int64)) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		var done int64
		for r, err := range records {
			if !yield(r, err) {
				return
			}
			done++
			tell(done)
		}
	}
}

// each is a list as a sequence without errors.
func each(records []Record) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		for _, r := range records {
			if !yield(r, nil) {
				return
			}
		}
	}
}
