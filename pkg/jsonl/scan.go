package jsonl

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// Record is one JSON object of a log.
type Record struct {
	Line   int   // 1-based
	Offset int64 // of this object's first byte in the stream, in bytes
	Length int64 // bytes of this object in the stream
	// Raw is the text of the object, without white space around it, valid
	// until decode returns.
	Raw []byte
	// CutBytes is how many bytes of the object were left out of Raw because
	// its line is longer than Options.MaxLine.
	CutBytes int64
	// Salvaged says that the object did not have its line for itself.
	Salvaged bool
}

// maxFirstBad is how many bad lines Counts describes.
const maxFirstBad = 10

// Counts is what a scan saw.
type Counts struct {
	Lines     int       `json:"lines"`
	Blank     int       `json:"blank_lines"`         // nothing but white space and NULs
	Records   int       `json:"records"`             // objects that decode took
	Bad       int       `json:"bad_lines"`           // lines with a part that could not be read
	Salvaged  int       `json:"salvaged_records"`    // of Records, those that shared a line
	Torn      bool      `json:"torn"`                // the last line has no LF and does not end with a whole record
	TornBytes int64     `json:"torn_bytes"`          // the part of it that is pending
	NULBytes  int64     `json:"nul_bytes"`           // trimmed at both ends of lines
	CutBytes  int64     `json:"cut_bytes"`           // left out of over-long lines
	CutLines  int       `json:"cut_lines"`           // over-long lines
	FirstBad  []BadLine `json:"first_bad,omitempty"` // the first ten
	Bytes     int64     `json:"bytes"`               // of the stream
}

// BadLine is a line of which a part could not be read.
type BadLine struct {
	Line   int    `json:"line"`         // 1-based
	Offset int64  `json:"offset_bytes"` // of the unreadable part, in the stream
	Reason string `json:"reason"`
}

// contextEvery is after how many lines Scan looks at its context.
const contextEvery = 256

// Scan reads the records of a log from r and hands each to decode, in order.
//
// decode gets one object at a time and returns nil if it took it. If the text
// is not one JSON object, decode returns an error that wraps [ErrSyntax]; it
// must not have had any effect then, because parts of the same text may be
// offered again. Any other error of decode stops the scan and is returned as
// it is.
//
// A line that decode refuses is salvaged: writers that crash leave a fragment
// in front of the next record, and lost line feeds leave several records on a
// line. What reads as whole records is handed to decode one by one, with
// Record.Salvaged set. If anything else remains, the line counts as bad, once,
// and the scan goes on. The last line is different if it does not end with LF:
// what remains of it is not bad but pending (Torn), because its writer may be
// at work.
//
// Scan returns ctx.Err() when the context ends, [ErrUTF16] for UTF-16, and the
// error of r wrapped if reading fails; the counts are then those of the part
// that was read, and the line that was cut by the failure counts as torn.
func Scan(ctx context.Context, r io.Reader, o Options, decode func(*Record) error) (Counts, error) {
	s := scan{decode: decode}
	lines := NewReader(r, o)
	for n := 0; ; n++ {
		if n%contextEvery == 0 && ctx.Err() != nil {
			return s.counts, ctx.Err()
		}
		line, err := lines.Next()
		if err == io.EOF {
			return s.counts, nil
		}
		if err != nil {
			return s.counts, fmt.Errorf("read at byte %d: %w", s.counts.Bytes, err)
		}
		if err := s.line(&line); err != nil {
			return s.counts, err
		}
	}
}

// scan is the state of one Scan.
type scan struct {
	decode func(*Record) error
	counts Counts
	record Record
	known  openings
	cursor Cursor // for salvage
	work   int    // bytes that salvage may still look at in this line
}

// line counts a line and decodes its record.
func (s *scan) line(line *Line) error {
	s.count(line)
	text, lead := trimBlank(line.Raw)
	if len(text) == 0 {
		s.counts.Blank++
		return nil
	}
	line.lead += int64(lead)
	line.Raw = text
	if line.TooLong && line.Complete {
		s.bad(line, 0, "the line is too long even without its long strings")
		return nil
	}
	err := s.take(line, 0, len(text))
	if errors.Is(err, ErrSyntax) {
		return s.salvage(line, err)
	}
	return err
}

func (s *scan) count(line *Line) {
	s.counts.Lines++
	s.counts.Bytes += line.Length
	s.counts.NULBytes += line.NULBytes
	if line.CutBytes > 0 {
		s.counts.CutLines++
		s.counts.CutBytes += line.CutBytes
	}
}

// take hands line.Raw[from:to] to decode and counts it if decode takes it.
func (s *scan) take(line *Line, from, to int) error {
	whole := from == 0 && to == len(line.Raw)
	s.record = Record{
		Line: line.Number, Offset: line.at(from), Length: int64(to - from),
		Raw: line.Raw[from:to], Salvaged: !whole,
	}
	if whole {
		s.record.CutBytes = line.CutBytes
		s.record.Length += line.CutBytes
	}
	if err := s.decode(&s.record); err != nil {
		return err
	}
	s.counts.Records++
	if !whole {
		s.counts.Salvaged++
	}
	s.known.add(line.Raw[from:to])
	return nil
}

// at returns where byte i of Raw is in the stream. In a line that was cut only
// the start of Raw is known, and that is returned.
func (l *Line) at(i int) int64 {
	if l.CutBytes > 0 {
		i = 0
	}
	return l.Offset + l.lead + int64(i)
}

// bad counts a line whose text from byte i on could not be read.
func (s *scan) bad(line *Line, i int, reason string) {
	s.counts.Bad++
	if len(s.counts.FirstBad) < maxFirstBad {
		s.counts.FirstBad = append(s.counts.FirstBad, BadLine{Line: line.Number, Offset: line.at(i), Reason: reason})
	}
}

// trimBlank returns text without white space and NULs at both ends, and how
// many bytes that took in front.
func trimBlank(text []byte) ([]byte, int) {
	from, to := 0, len(text)
	for from < to && isBlank(text[from]) {
		from++
	}
	for to > from && isBlank(text[to-1]) {
		to--
	}
	return text[from:to], from
}

func isBlank(b byte) bool {
	return b == ' ' || b == '\t' || b == '\r' || b == '\n' || b == 0
}
