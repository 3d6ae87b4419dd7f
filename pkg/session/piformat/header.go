package piformat

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
)

// Header is the record that starts a session.
type Header struct {
	ID            string
	Version       int    // of the format; 1 if the header names none
	CWD           string // where the agent worked
	ParentSession string // path of the log that this one was forked from, or ""
	Time          time.Time
	Line          int // 1-based; pi reads only a header on line 1 as such
}

var errFound = errors.New("found")

// ReadHeader returns the first header of a log; false if there is none in its
// first 256 KiB.
func ReadHeader(r io.Reader) (Header, bool, error) {
	var d decoder
	start := make([]byte, HeaderRoom)
	n, err := io.ReadFull(r, start)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return Header{}, false, fmt.Errorf("read header: %w", err)
	}
	if h, ok := d.header(start[:n]); ok {
		return h, h.ID != "", nil
	}
	return searchHeader(io.MultiReader(bytes.NewReader(start[:n]), r))
}

// HeaderRoom is the room in bytes that a header on the first line takes: the
// reader of lines, with its buffer of 256 KiB, is for all others.
const HeaderRoom = 2 << 10

// header returns the header that is on the first line of start, if it is whole.
func (d *decoder) header(start []byte) (Header, bool) {
	line, _, whole := bytes.Cut(start, []byte("\n"))
	if !whole || d.decode(line) != nil || d.entry.kind != header {
		return Header{}, false
	}
	return newHeader(&d.entry, 1), true
}

// searchHeader looks for a header anywhere in the first 256 KiB.
func searchHeader(r io.Reader) (Header, bool, error) {
	var d decoder
	var h Header
	head := io.LimitReader(r, session.HeadSize)
	_, err := jsonl.Scan(context.Background(), head, jsonl.Options{}, func(record *jsonl.Record) error {
		if err := d.decode(record.Raw); err != nil {
			return err
		}
		if d.entry.kind != header {
			return nil
		}
		h = newHeader(&d.entry, record.Line)
		return errFound
	})
	if err != nil && !errors.Is(err, errFound) && !errors.Is(err, jsonl.ErrUTF16) {
		return Header{}, false, fmt.Errorf("read header: %w", err)
	}
	return h, h.ID != "", nil
}

func newHeader(e *entry, line int) Header {
	h := Header{
		ID: string(e.id), Version: e.formatVersion(), CWD: string(e.cwd),
		ParentSession: string(e.parentFile), Line: line,
	}
	if ms, _, ok := session.ParseTime(e.time); ok {
		h.Time = time.UnixMilli(ms).UTC()
	}
	return h
}
