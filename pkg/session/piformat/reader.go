package piformat

import (
	"context"
	"io"
	"time"

	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
)

// Reader looks at many logs with the same memory, one after the other. The
// zero value is ready. What it returns does not share its memory.
type Reader struct {
	tail     tailReader
	backward *jsonl.BackwardReader
}

// Header is [ReadHeader]. start are the first bytes of the log, [HeaderRoom]
// or all there are; only a header that is not whole in them on the first line
// is looked for in the log itself, of size bytes.
func (r *Reader) Header(start []byte, log io.ReaderAt, size int64) (Header, bool, error) {
	if h, ok := r.tail.header(start); ok {
		return h, h.ID != "", nil
	}
	return searchHeader(io.NewSectionReader(log, 0, size))
}

// Tail is the function [Tail].
func (r *Reader) Tail(ctx context.Context, log io.ReaderAt, size int64, modTime time.Time) (session.Tail, error) {
	if r.backward == nil {
		r.backward = jsonl.NewBackwardReader(log, size, jsonl.Options{})
	} else {
		r.backward.Reset(log, size)
	}
	r.tail.begin(r.backward, log, size)
	return r.tail.run(ctx, modTime)
}

// begin forgets the log that was read before, and keeps the memory.
func (t *tailReader) begin(backward *jsonl.BackwardReader, log io.ReaderAt, size int64) {
	t.tailState = tailState{backward: backward, log: log, size: size, offset: size}
	t.thinking = true
	t.walk.any = true
}
