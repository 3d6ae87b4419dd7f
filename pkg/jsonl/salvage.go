package jsonl

import (
	"bytes"
	"errors"
)

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

// firstWindow is how much of the text is looked at first for an object. The
// index of what follows it would be made for nothing.
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

// ranOut tells whether the error may be gone if the text went on: it is in the
// string, number or literal that the text ends in, or at the very end.
func (c *Cursor) ranOut() bool {
	switch rest := c.raw[c.badAt:]; {
	case len(rest) < len("false"):
		return true
	case rest[0] == '"':
		return c.index.stringEnd(c.badAt+1) < 0
	default:
		return len(bytes.Trim(rest, "+-.0123456789eE")) == 0
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
