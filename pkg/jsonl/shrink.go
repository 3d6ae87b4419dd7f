package jsonl

import (
	"bytes"
	"unicode/utf8"
)

// shrinker cuts the long strings out of a line that comes in pieces, and keeps
// everything else. What it keeps is at the start of buf; the pieces lie behind
// it in the same buffer.
//
// How much of a string is kept is decided by the whole line: when more than
// MaxLine is kept, the limit is halved and applied to what is there already.
// So one image of 600 MB leaves a mebibyte, forty of them leave 64 KiB each,
// and the result does not depend on the pieces.
type shrinker struct {
	buf     []byte
	kept    int // the result so far is buf[:kept]
	options Options
	limit   int // bytes kept of one string

	inString bool
	escaped  bool // the next byte is escaped
	from     int  // where the text of the string begins in buf
	dropping bool // the string reached its limit

	cut  int64 // bytes left out
	nuls int64 // NULs left out at the start
	held int64 // NULs left out after the last byte kept: trimmed if none follows
	over bool  // the line is too long even so
	last byte  // of what was fed
}

// tooLongHead is how many bytes of a line are kept that does not fit.
const tooLongHead = 1 << 10

// feed takes the next piece of the line, a part of buf behind what is kept.
func (s *shrinker) feed(piece []byte) {
	if len(piece) > 0 {
		s.last = piece[len(piece)-1]
	}
	if s.over {
		s.cut += int64(len(piece))
		return
	}
	for len(piece) > 0 {
		if s.inString {
			piece = s.feedString(piece)
		} else {
			piece = s.feedStructure(piece)
		}
	}
}

// feedString takes string text up to and with the closing quote, and returns
// the rest of piece.
func (s *shrinker) feedString(piece []byte) []byte {
	for i := 0; ; {
		n := bytes.IndexByte(piece[i:], '"')
		if n < 0 {
			s.escaped = s.escapedAfter(piece[i:])
			s.keepText(piece)
			return nil
		}
		escaped := s.escapedAfter(piece[i : i+n])
		s.escaped = false
		i += n + 1
		if !escaped {
			s.keepText(piece[:i-1])
			s.keep('"')
			s.inString, s.dropping = false, false
			return piece[i:]
		}
	}
}

// escapedAfter tells whether the byte after text is escaped.
func (s *shrinker) escapedAfter(text []byte) bool {
	n := len(text)
	for n > 0 && text[n-1] == '\\' {
		n--
	}
	odd := (len(text)-n)&1 == 1
	return odd != (n == 0 && s.escaped)
}

// keepText keeps the next part of a string as far as its limit allows.
func (s *shrinker) keepText(text []byte) {
	if s.dropping {
		s.cut += int64(len(text))
		return
	}
	s.kept += copy(s.buf[s.kept:], text)
	if s.kept-s.from > s.limit {
		end := s.from + cutPoint(s.buf[s.from:s.from+s.limit])
		s.cut += int64(s.kept - end)
		s.kept = end
		s.dropping = true
	}
}

func (s *shrinker) keep(b byte) {
	s.buf[s.kept] = b
	s.kept++
}

// feedStructure takes what is outside of strings up to and with the next
// opening quote, and returns the rest of piece. Of a run of the same white
// space, or of NULs, one byte is kept.
func (s *shrinker) feedStructure(piece []byte) []byte {
	for i, b := range piece {
		if b <= ' ' && !s.keepBlank(b) {
			continue
		}
		s.cut += s.held
		s.held = 0
		s.keep(b)
		if b == '"' {
			s.inString, s.escaped, s.from = true, false, s.kept
			return piece[i+1:]
		}
	}
	return nil
}

// keepBlank tells whether b, white space or a NUL, is to be kept, and counts
// it if not.
func (s *shrinker) keepBlank(b byte) bool {
	switch {
	case s.kept == 0 && b == 0:
		s.nuls++
	case s.kept == 0 || s.buf[s.kept-1] != b:
		return true
	case b == 0:
		s.held++
	default:
		s.cut++
	}
	return false
}

// fit halves the limit until what is kept is no longer than a line may be.
func (s *shrinker) fit() {
	least := min(s.options.MaxString, minString)
	for s.kept > s.options.MaxLine && s.limit > least {
		s.limit = max(s.limit/2, least)
		s.again()
	}
	if s.kept > s.options.MaxLine+lineSlack {
		s.cut += int64(s.kept - tooLongHead)
		s.kept = tooLongHead
		s.over = true
	}
}

// again applies the limit to what is kept already.
func (s *shrinker) again() {
	old := *s
	s.kept, s.held, s.inString, s.escaped, s.dropping = 0, 0, false, false, false
	s.feed(s.buf[:old.kept])
	s.escaped, s.held, s.last = old.escaped, old.held, old.last
	s.dropping = s.dropping || old.dropping
}

// finish fills in what the line is after the last piece.
func (s *shrinker) finish(line *Line) {
	text := s.buf[:s.kept]
	if s.last == '\r' {
		if text = withoutCR(text); len(text) == s.kept {
			s.cut-- // it was left out, but as a part of the line ending
		}
	}
	line.lead = s.nuls
	line.CutBytes, line.NULBytes, line.TooLong = s.cut, s.nuls+s.held, s.over
	line.trim(text)
}

// cutPoint returns the length of the longest prefix of raw string text that
// does not end inside an escape, a surrogate pair or a UTF-8 sequence.
func cutPoint(text []byte) int {
	n := beforeOpenEscape(text)
	if n >= 6 && isHighSurrogate(text[n-6:n]) && beforeOpenEscape(text[:n-5]) == n-6 {
		n -= 6
	}
	for i := 1; i < utf8.UTFMax && i <= n; i++ {
		if utf8.RuneStart(text[n-i]) {
			if !utf8.FullRune(text[n-i : n]) {
				return n - i
			}
			break
		}
	}
	return n
}

// beforeOpenEscape returns where the escape begins that text ends inside of,
// or len(text).
func beforeOpenEscape(text []byte) int {
	for i := len(text) - 1; i >= 0 && i >= len(text)-5; i-- {
		if text[i] != '\\' {
			continue
		}
		run := 1
		for run <= i && text[i-run] == '\\' {
			run++
		}
		need := 2
		if i+1 < len(text) && text[i+1] == 'u' {
			need = 6
		}
		if run&1 == 1 && i+need > len(text) {
			return i
		}
	}
	return len(text)
}

// isHighSurrogate tells whether s is the first half of a surrogate pair.
func isHighSurrogate(s []byte) bool {
	r := hexRune(s)
	return r >= 0xd800 && r < 0xdc00
}
