package jsonl

import (
	"context"
	"errors"
	"io"
)

// ErrSyntax is returned (wrapped) for text that is not one JSON object.
var ErrSyntax = errors.New("invalid JSON")

// ErrUTF16 is returned when the stream is UTF-16.
var ErrUTF16 = errors.New("UTF-16 text")

// Record is one JSON object of a log.
type Record struct {
	Line     int   // 1-based
	Offset   int64 // of this object's first byte in the stream
	Length   int64 // bytes of this object in the stream
	Raw      []byte
	CutBytes int64
	Salvaged bool
}

// Counts is what a scan saw.
type Counts struct {
	Lines     int       `json:"lines"`
	Blank     int       `json:"blank_lines"`
	Records   int       `json:"records"`
	Bad       int       `json:"bad_lines"`
	Salvaged  int       `json:"salvaged_records"`
	Torn      bool      `json:"torn"`
	TornBytes int64     `json:"torn_bytes"`
	NULBytes  int64     `json:"nul_bytes"`
	CutBytes  int64     `json:"cut_bytes"`
	CutLines  int       `json:"cut_lines"`
	FirstBad  []BadLine `json:"first_bad,omitempty"` // at most 10
	Bytes     int64     `json:"bytes"`
}

// BadLine is a line that could not be read.
type BadLine struct {
	Line   int    `json:"line"`
	Offset int64  `json:"offset_bytes"`
	Reason string `json:"reason"`
}

// Scan reads the records of a log.
func Scan(ctx context.Context, r io.Reader, o Options, decode func(*Record) error) (Counts, error) {
	return Counts{}, nil
}
