package jsonl

import "io"

// BackwardReader yields the lines of a file from the last to the first.
type BackwardReader struct{}

// NewBackwardReader returns a reader of the first size bytes of r.
func NewBackwardReader(r io.ReaderAt, size int64, o Options) *BackwardReader {
	return &BackwardReader{}
}

// Prev returns the line before the last one returned; io.EOF at the start.
func (b *BackwardReader) Prev() (Line, error) { return Line{}, io.EOF }

// BytesRead returns how many bytes were read so far.
func (b *BackwardReader) BytesRead() int64 { return 0 }
