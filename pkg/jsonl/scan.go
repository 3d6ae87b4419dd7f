package jsonl

import (
	"bytes"
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

// Salvage looks for whole records in a line that is not one. It goes through
// the line from left to right: a record that stands where it looks is taken;
// else what stands there is a fragment, and the next record is looked for
// behind it.

// Limits of the work on one line: a hostile line must not cost more than a
// constant times its length.
const (
	salvagePasses = 16      // how often every byte may be looked at
	salvageFloor  = 1 << 20 // bytes of work that even a short line may cost
)

// nearBreak is how far before the byte where a fragment stops being JSON a
// record may begin that was written behind it: a fragment torn inside a string
// runs on to the first quote of the record (`"par{"type"`), one torn inside an
// escape a few bytes further.
const nearBreak = 16

// salvage reads the records of a line that decode refused with the error why.
func (s *scan) salvage(line *Line, why error) error {
	raw := line.Raw
	s.work = salvagePasses*len(raw) + salvageFloor
	badAt, reason := -1, ""
	for i := 0; i < len(raw); {
		work := s.work
		size, broken := s.object(raw[i:])
		end, err := i+size, why
		if size > 0 && !continues(raw[end:]) && (i > 0 || end < len(raw)) {
			if err = s.take(line, i, end); err == nil {
				s.work = work - size // however many records, that is one pass
				i = nextText(raw, end)
				continue
			}
			if !errors.Is(err, ErrSyntax) {
				return err
			}
		}
		if badAt < 0 {
			badAt, reason = i, reasonOf(err)
		}
		next := s.nextRecord(raw, i, max(i+broken, end))
		if next < 0 && !line.Complete {
			s.torn(line, i)
			if badAt == i {
				return nil
			}
		}
		if next < 0 {
			break
		}
		i = next
	}
	if badAt >= 0 {
		s.bad(line, badAt, reason)
	}
	return nil
}

// reasonOf says why a text was refused.
func reasonOf(err error) string {
	if err == ErrSyntax {
		return "not a JSON object"
	}
	return err.Error()
}

// torn notes that the last line is pending from byte i on.
func (s *scan) torn(line *Line, i int) {
	s.counts.Torn = true
	s.counts.TornBytes = line.Length
	if i > 0 {
		s.counts.TornBytes = line.Offset + line.Length - line.at(i)
	}
}

// firstWindow is how much of the text is searched first for an object, so that
// what follows it is not indexed for nothing.
const firstWindow = 1 << 10

// object returns the length of the JSON object at the start of text, or 0 and
// the index of the byte where it stops being JSON.
func (s *scan) object(text []byte) (size, broken int) {
	if len(text) == 0 || text[0] != '{' {
		return 0, 0
	}
	c := &s.cursor
	for n := min(firstWindow, len(text)); ; n = min(4*n, len(text)) {
		if s.work -= n; s.work < 0 {
			return 0, 0
		}
		c.Reset(text[:n])
		if c.Skip(); c.where == atNext {
			return c.pos, 0
		}
		if n == len(text) || !c.ranOut() {
			return 0, c.badAt
		}
	}
}

// nextRecord returns where a record begins behind the fragment at raw[from:],
// which stops being JSON at broken; -1 if none does.
//
// A record is an object that is followed by the end of the line or by another
// object, and that reaches beyond the break: objects that end before it are
// parts of the fragment. An object that ends exactly at the break may be
// either; it is a record if it opens like one.
func (s *scan) nextRecord(raw []byte, from, broken int) int {
	fragment, end := raw[from:], nextText(raw, broken)
	for i := from + 1; s.work > 0; i++ {
		n := bytes.Index(raw[i:], []byte(`{"`))
		if n < 0 {
			break
		}
		i += n
		opens := s.known.has(raw[i:]) || bytes.Equal(opening(raw[i:]), opening(fragment))
		if i < broken-nearBreak && !opens {
			continue
		}
		size, _ := s.object(raw[i:])
		next := nextText(raw, i+size)
		if size == 0 || next < end || next == end && !opens {
			continue
		}
		if next == len(raw) || raw[next] == '{' {
			return i
		}
	}
	return -1
}

// continues tells whether rest, which follows an object, shows that the object
// is a part of something larger.
func continues(rest []byte) bool {
	i := nextText(rest, 0)
	return i < len(rest) && (rest[i] == ',' || rest[i] == ':' || rest[i] == ']' || rest[i] == '}')
}

// nextText returns the index of the first byte at or after i that is neither
// white space nor NUL.
func nextText(b []byte, i int) int {
	for i < len(b) && isBlank(b[i]) {
		i++
	}
	return i
}
