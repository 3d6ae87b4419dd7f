package jsonl

import (
	"bytes"
	"errors"
	"fmt"
	"unicode/utf8"
)

// ErrSyntax is returned, wrapped, for text that is not JSON where JSON is
// read. The decode function of [Scan] returns it for a line that is not one
// JSON object.
var ErrSyntax = errors.New("invalid JSON")

// syntaxError says where a text stopped being JSON. It unwraps to [ErrSyntax].
type syntaxError struct {
	Offset int // bytes from the start of the text
	Reason string
}

// Error implements error.
func (e *syntaxError) Error() string {
	return fmt.Sprintf("%v at byte %d: %s", ErrSyntax, e.Offset, e.Reason)
}

// Unwrap returns [ErrSyntax].
func (e *syntaxError) Unwrap() error { return ErrSyntax }

// source is the text that a cursor walks, its index, the containers that are
// open where the cursor stands, and the first error. It checks values without
// reading them and does not know where the cursor stands: its methods are told
// the index of a value and return the one after it.
type source struct {
	raw   []byte
	index index
	depth int // open containers

	reason string // of the first error, "" without one
	badAt  int

	objects [maxDepth/64 + 1]uint64 // a bit for each open container: set for an object
}

// maxDepth is how deep arrays and objects may nest, as in encoding/json.
const maxDepth = 10000

// begin takes the next text.
func (s *source) begin(raw []byte) {
	s.raw = raw
	s.index.build(raw)
	s.depth, s.reason = 0, ""
}

// skipScalar returns the index after the string, number or literal at i, or -1
// after an error.
func (s *source) skipScalar(i int) int {
	b := s.raw
	end := -1
	switch {
	case i >= len(b):
	case b[i] == '"':
		end = s.index.stringEnd(i + 1)
	case b[i] <= '9':
		end = numberEnd(b, i)
	case b[i] == 't':
		end = literalEnd(b, i, "true")
	case b[i] == 'f':
		end = literalEnd(b, i, "false")
	case b[i] == 'n':
		end = literalEnd(b, i, "null")
	}
	if end < 0 {
		return s.broken(i, "no whole value where one must be")
	}
	return end
}

// skipContainer returns the index after the object or array at i, or -1 after
// an error. It does not recurse: each turn takes a scalar or an opening
// bracket, and what follows it up to the next value.
func (s *source) skipContainer(i int) int {
	b, floor := s.raw, s.depth
	for {
		if i >= len(b) || b[i]|0x20 != '{' {
			i = s.skipScalar(i)
		} else {
			object := b[i] == '{'
			if !s.push(object, i) {
				return -1
			}
			i = skipSpace(b, i+1)
			if i >= len(b) || b[i]|0x20 != '}' { // not empty
				if object {
					i = s.skipKey(i)
				}
				if i < 0 {
					return -1
				}
				continue
			}
		}
		if i < 0 {
			return -1
		}
		if i = s.afterValue(i, floor); i < 0 || s.depth == floor {
			return i
		}
	}
}

// afterValue goes past closing brackets, then past the comma and the key if
// there is one. It returns the index of the next value, or the index after the
// bracket that brought the depth down to floor, or -1 after an error.
func (s *source) afterValue(i, floor int) int {
	b := s.raw
	for {
		i = skipSpace(b, i)
		if i >= len(b) {
			return s.broken(i, "the text ends inside a value")
		}
		object := s.inObject()
		switch {
		case b[i] == ',' && object:
			return s.skipKey(skipSpace(b, i+1))
		case b[i] == ',':
			return skipSpace(b, i+1)
		case b[i] == '}' && object || b[i] == ']' && !object:
			i++
			if s.depth--; s.depth == floor {
				return i
			}
		default:
			return s.broken(i, "no comma or closing bracket after a value")
		}
	}
}

// skipKey returns the index of the value of the key at i, or -1 after an
// error.
func (s *source) skipKey(i int) int {
	b := s.raw
	if i >= len(b) || b[i] != '"' {
		return s.broken(i, "no key where one must be")
	}
	end := s.index.stringEnd(i + 1)
	if end < 0 {
		return s.broken(i, "a key that does not end")
	}
	if i = skipSpace(b, end); i >= len(b) || b[i] != ':' {
		return s.broken(i, "no colon after a key")
	}
	return skipSpace(b, i+1)
}

// verbatim tells whether raw[from:to] is its own unescaped text.
func (s *source) verbatim(from, to int) bool {
	return !s.index.anyEscape(from, to) && (!s.index.high || utf8.Valid(s.raw[from:to]))
}

// push notes that the container that begins at byte at is open.
func (s *source) push(object bool, at int) bool {
	if s.depth >= maxDepth {
		s.broken(at, "nested deeper than 10000")
		return false
	}
	word, bit := &s.objects[s.depth>>6], uint64(1)<<(s.depth&63)
	*word &^= bit
	if object {
		*word |= bit
	}
	s.depth++
	return true
}

// inObject tells whether the innermost open container is an object. There must
// be one.
func (s *source) inObject() bool {
	d := s.depth - 1
	return s.objects[d>>6]>>(d&63)&1 != 0
}

// Err returns the first error, which wraps [ErrSyntax], or nil.
func (s *source) Err() error {
	if s.reason == "" {
		return nil
	}
	return &syntaxError{Offset: s.badAt, Reason: s.reason}
}

// broken keeps the first error. It returns -1, the index of nothing.
func (s *source) broken(at int, reason string) int {
	if s.reason == "" {
		s.reason, s.badAt = reason, at
	}
	return -1
}

// ranOut tells whether the error may be gone if the text went on: it is in the
// string, number or literal that the text ends in, or at the very end.
func (s *source) ranOut() bool {
	switch rest := s.raw[s.badAt:]; {
	case len(rest) < len("false"):
		return true
	case rest[0] == '"':
		return s.index.stringEnd(s.badAt+1) < 0
	default:
		return len(bytes.Trim(rest, "+-.0123456789eE")) == 0
	}
}

// skipSpace returns the index of the first byte at or after i that is not
// white space.
func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\r' || b[i] == '\t') {
		i++
	}
	return i
}

// literalEnd returns the index after literal if it stands at i, else -1.
func literalEnd(b []byte, i int, literal string) int {
	end := i + len(literal)
	if end <= len(b) && string(b[i:end]) == literal {
		return end
	}
	return -1
}

// numberEnd returns the index after the number at i, or -1 if the text there
// is not a number as JSON writes it.
func numberEnd(b []byte, i int) int {
	if i < len(b) && b[i] == '-' {
		i++
	}
	if i < len(b) && b[i] == '0' {
		i++
	} else if i = digitsEnd(b, i); i < 0 {
		return -1
	}
	if i < len(b) && b[i] == '.' {
		if i = digitsEnd(b, i+1); i < 0 {
			return -1
		}
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		return digitsEnd(b, i)
	}
	return i
}

// digitsEnd returns the index after the digits at i, or -1 if there are none.
func digitsEnd(b []byte, i int) int {
	start := i
	for i < len(b) && b[i]-'0' <= 9 {
		i++
	}
	if i == start {
		return -1
	}
	return i
}
