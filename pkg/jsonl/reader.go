package jsonl

import "io"

// Line is one line of a stream.
type Line struct {
	Number   int    // 1-based
	Offset   int64  // of the line's first byte in the stream
	Length   int64  // bytes in the stream, line ending included
	Raw      []byte // without LF/CR, leading/trailing NULs and (line 1) the BOM; valid until the next call
	Complete bool   // ended by LF
	CutBytes int64  // bytes left out by shrinking
	NULBytes int64  // NULs trimmed
}

// Reader yields the lines of a stream.
type Reader struct{}

// NewReader returns a reader of r.
func NewReader(r io.Reader, o Options) *Reader { return &Reader{} }

// Next returns the next line; io.EOF at the end. Errors are sticky.
func (r *Reader) Next() (Line, error) { return Line{}, io.EOF }
