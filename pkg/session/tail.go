package session

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/sessctl/sessctl/pkg/jsonl"
)

const (
	// ExactTail is the size, in bytes, up to which the messages of most logs are
	// counted exactly. Of a larger log only the end is read.
	ExactTail = 64 << 10
	// tailSample is how much of the end of a larger log is looked at to
	// estimate its messages. It is less than two of the blocks of 16 KiB that
	// are read at once, so that the line at their edge is not read.
	tailSample = 28 << 10
	// A file of which so many lines and bytes at the end are no records of its
	// format is not a session.
	strangeLines = 16
	strangeBytes = 1 << 20
)

// TailReader reads the records of one log, from the last to the first. It does
// not keep raw.
type TailReader interface {
	// Decode reads one record without counting it. It returns an error for
	// what is not one JSON object.
	Decode(raw []byte) error
	// Take reads one record and counts it. settled says that nothing further
	// back changes the tail, but for the number of messages. It returns an
	// error, and counts nothing, for what is not one JSON object.
	Take(raw []byte) (settled bool, err error)
}

// TailWalk reads a log from its end, for as long as its [TailReader] has not
// seen enough. It is embedded in the reader, which counts in it.
type TailWalk struct {
	Runtime string // whose records these are, in words
	Size    int64  // of the log, in bytes
	Base    int64  // how many of them stand before the lines that are walked
	Exact   int64  // the size up to which the whole log is read

	Offset   int64 // of the line that is read
	Known    int   // records of the format
	Messages int   // records that count as messages
	LastTime int64 // of the last record that has one, in epoch milliseconds; 0 before it is known

	Unread Beginning // while no record is known

	lines   int // with text
	settled bool
	torn    bool // the last line has no line feed and is not a whole record
	pending bool // it looks like a record that is still being written
}

// Walk hands the records of lines to reader until it has seen enough, or the
// first line is read. An error that wraps [ErrUnknownFormat] is returned if
// there is text but no record of the format, and io.ErrUnexpectedEOF, wrapped,
// if the log became shorter while it was read.
func (w *TailWalk) Walk(ctx context.Context, lines *jsonl.BackwardReader, reader TailReader) error {
	w.Offset = w.Size
	err := w.read(ctx, lines, reader)
	if errors.Is(err, jsonl.ErrUTF16) {
		return fmt.Errorf("%w: %w", ErrUnknownFormat, err)
	}
	if err != nil {
		return fmt.Errorf("read the end of the log: %w", err)
	}
	if onlyPending := w.lines == 1 && w.pending; w.Known == 0 && w.lines > 0 && !onlyPending && (w.Offset > w.Base || !w.Unread.Blank()) {
		return fmt.Errorf("%w: none of the last %d lines is a record of %s", ErrUnknownFormat, w.lines, w.Runtime)
	}
	return nil
}

func (w *TailWalk) read(ctx context.Context, lines *jsonl.BackwardReader, reader TailReader) error {
	for !w.enough() {
		if err := ctx.Err(); err != nil {
			return err
		}
		line, err := lines.Prev()
		if errors.Is(err, io.EOF) {
			w.Offset = w.Base
			return nil
		}
		if err != nil {
			return err
		}
		w.Offset = w.Base + line.Offset
		if err := w.line(ctx, line, reader); err != nil {
			return err
		}
	}
	return nil
}

// enough reports whether nothing further back matters.
func (w *TailWalk) enough() bool {
	seen := w.Size - w.Offset
	return w.settled && w.Size > w.Exact && seen >= tailSample ||
		w.Known == 0 && w.Unread.odd && w.lines >= strangeLines && seen >= strangeBytes
}

// line reads one line. Of a line that is not one record, what a scan would
// save counts.
func (w *TailWalk) line(ctx context.Context, line jsonl.Line, reader TailReader) error {
	if len(bytes.TrimSpace(line.Raw)) == 0 {
		return nil
	}
	w.lines++
	settled, err := reader.Take(line.Raw)
	if w.Known == 0 {
		w.Unread.Before(line.Raw)
	}
	if err == nil {
		w.settled = settled
		return nil
	}
	records, torn, err := saved(ctx, line.Raw, reader)
	if err != nil {
		return err
	}
	if w.lines == 1 && !line.Complete && torn {
		w.torn = true
		w.pending = bytes.HasPrefix(bytes.TrimLeft(line.Raw, "\x00\t\r "), []byte("{"))
	}
	for i := len(records) - 1; i >= 0; i-- {
		if w.settled, err = reader.Take(records[i]); err != nil {
			return err
		}
	}
	return nil
}

// saved returns the records that a scan finds in a line that is not one.
func saved(ctx context.Context, line []byte, reader TailReader) (records [][]byte, torn bool, err error) {
	counts, err := jsonl.Scan(ctx, bytes.NewReader(line), jsonl.Options{}, func(r *jsonl.Record) error {
		err := reader.Decode(r.Raw)
		if err == nil {
			records = append(records, bytes.Clone(r.Raw))
		}
		return err
	})
	if errors.Is(err, jsonl.ErrUTF16) {
		err = nil
	}
	return records, counts.Torn, err
}

// Complete sets what the walk knows of a tail: how many messages the log has,
// when it was used, and whether its last line is whole. modTime is when the
// log was changed last.
func (w *TailWalk) Complete(t *Tail, modTime time.Time) {
	t.Torn = w.torn
	t.Messages, t.MessagesExact = w.Messages, w.Offset == 0
	if seen := w.Size - w.Offset; !t.MessagesExact && seen > 0 {
		t.Messages = int(float64(w.Messages) * float64(w.Size) / float64(seen))
	}
	t.SetLast(w.LastTime, modTime)
}
