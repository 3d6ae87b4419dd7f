package jsonl

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// Bytes returns the string the cursor stands before, unescaped, and goes past
// it. The result is a slice of the source if the string has no escape and is
// valid UTF-8, else of memory of the cursor; either way it stays what it is
// until Reset, so several strings of one text can be held side by side. If the
// value is not a string, it is skipped and Bytes returns false.
//
// Unescaping is that of encoding/json: a lone surrogate and every byte that is
// not UTF-8 become U+FFFD; control characters and unknown escapes are errors.
func (c *Cursor) Bytes() ([]byte, bool) {
	from, to, ok := c.text()
	if !ok {
		return nil, false
	}
	if c.verbatim(from, to) {
		return c.raw[from:to:to], true
	}
	return c.unescape(from, to)
}

// AppendString appends the string the cursor stands before to dst, unescaped
// as by Bytes, and goes past it. If the value is not a string, it is skipped
// and AppendString returns dst and false.
func (c *Cursor) AppendString(dst []byte) ([]byte, bool) {
	from, to, ok := c.text()
	if !ok {
		return dst, false
	}
	if c.verbatim(from, to) {
		return append(dst, c.raw[from:to]...), true
	}
	return c.appendUnescaped(slices.Grow(dst, to-from+stride), from, to)
}

// text goes past a string and returns where its text is; false if the value is
// not a string or holds a control character.
func (c *Cursor) text() (from, to int, ok bool) {
	i := c.pos
	if c.where != atValue || uint(i) >= uint(len(c.raw)) || c.raw[i] != '"' {
		c.Skip()
		return 0, 0, false
	}
	end := c.index.stringEnd(i + 1)
	if end < 0 {
		return 0, 0, c.fail(i, "a string that does not end")
	}
	c.pos, c.where = end, atNext
	return i + 1, end - 1, c.allowed(i+1, end-1)
}

// allowed fails if raw[from:to] holds a control character: in strings that are
// read, JSON allows them only as escapes.
func (c *Cursor) allowed(from, to int) bool {
	if c.index.control {
		for i, b := range c.raw[from:to] {
			if b < ' ' {
				return c.fail(from+i, "a control character in a string")
			}
		}
	}
	return true
}

// unescape returns raw[from:to] unescaped, in scratch; false after an error.
// When scratch is full a new one is made, and the strings handed out before
// stay in the old one.
func (c *Cursor) unescape(from, to int) ([]byte, bool) {
	if need := to - from + stride; cap(c.scratch)-len(c.scratch) < need {
		c.scratch = make([]byte, 0, max(need+need/2, 4096))
	}
	start := len(c.scratch)
	out, ok := c.appendUnescaped(c.scratch, from, to)
	if !ok {
		return nil, false
	}
	c.scratch = out
	return out[start:len(out):len(out)], true
}

// stride is how many bytes are copied in one step between two escapes. Most
// escapes are nearer to each other than that, and a copy of constant length
// costs a third of one whose length must be looked at.
const stride = 32

// appendUnescaped appends raw[from:to], unescaped, to dst, which has room for
// that and stride bytes more. After an error it returns dst and false.
func (c *Cursor) appendUnescaped(dst []byte, from, to int) ([]byte, bool) {
	b, out := c.raw, dst[:cap(dst)]
	w, i := len(dst), from // written to out, read from b
	last, room := to>>6, len(b)-stride
	marks := c.index.blocks[from>>6].escaped &^ (1<<(from&63) - 1)
	for k := from >> 6; ; marks = c.index.blocks[k].escaped {
		if k == last {
			marks &= 1<<(to&63) - 1
		}
		for ; marks != 0; marks &= marks - 1 {
			at := k<<6 + bits.TrailingZeros64(marks)
			n := at - 1 - i
			if n < 0 {
				continue // the second half of a surrogate pair
			}
			if n <= stride && i <= room {
				copyStride((*[stride]byte)(out[w:]), (*[stride]byte)(b[i:]))
			} else {
				copy(out[w:], b[i:at-1])
			}
			w += n
			i = at + 1
			if plain := escapes[b[at]]; plain != 0 {
				out[w] = plain
				w++
				continue
			}
			r, size := escapedRune(b[at-1 : to])
			if size == 0 {
				return dst, c.fail(at-1, "an unknown escape in a string")
			}
			w += utf8.EncodeRune(out[w:], r)
			i = at - 1 + size
		}
		if k++; k > last {
			break
		}
	}
	w += copy(out[w:], b[i:to])
	if c.index.high && !utf8.Valid(out[len(dst):w]) {
		return appendRepaired(dst, slices.Clone(out[len(dst):w])), true
	}
	return out[:w], true
}

// copyStride copies through registers; assigning the array would be a call.
func copyStride(dst, src *[stride]byte) {
	word := binary.LittleEndian
	w0, w1, w2, w3 := word.Uint64(src[:]), word.Uint64(src[8:]), word.Uint64(src[16:]), word.Uint64(src[24:])
	word.PutUint64(dst[:], w0)
	word.PutUint64(dst[8:], w1)
	word.PutUint64(dst[16:], w2)
	word.PutUint64(dst[24:], w3)
}

// appendRepaired appends text to dst with U+FFFD for each byte that is not
// UTF-8. Unescaping before repairing is right: what an escape stands for is
// whole characters, so it neither completes nor splits a broken one.
func appendRepaired(dst, text []byte) []byte {
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		dst = utf8.AppendRune(dst, r)
		text = text[size:]
	}
	return dst
}

// escapes is what the character after a backslash stands for; 0 for u and for
// what JSON does not know.
var escapes = [256]byte{
	'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t',
}

// escapedRune returns the character that the \u escape at the start of s
// stands for, and the bytes it takes: 12 for a surrogate pair, 0 if it is no
// such escape. A surrogate without its other half is U+FFFD.
func escapedRune(s []byte) (rune, int) {
	r := hexRune(s)
	if r < 0 {
		return 0, 0
	}
	if !utf16.IsSurrogate(r) {
		return r, 6
	}
	if pair := utf16.DecodeRune(r, hexRune(s[6:])); pair != utf8.RuneError {
		return pair, 12
	}
	return utf8.RuneError, 6
}

// hexRune returns XXXX of the \uXXXX at the start of s, or -1 if s does not
// begin so.
func hexRune(s []byte) rune {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return -1
	}
	r := rune(0)
	for _, d := range s[2:6] {
		switch {
		case d-'0' <= 9:
			r = r<<4 | rune(d-'0')
		case d|0x20-'a' <= 5:
			r = r<<4 | rune(d|0x20-'a'+10)
		default:
			return -1
		}
	}
	return r
}

// Int64 returns the integer the cursor stands before and goes past it. Writers
// disagree about the form of a number, so 12, 12.0, 1.2e1 and "12" are all
// twelve. The value is exact: it never passes through a float64. If the value
// is not an integer in the range of int64, it is skipped and Int64 returns
// false.
func (c *Cursor) Int64() (int64, bool) {
	text := c.numberText()
	if n, ok := shortInt(text); ok {
		return n, true
	}
	return exactInt(text)
}

// Float64 returns the number the cursor stands before, or the number written
// in a string, and goes past it. If the value is not a number in the range of
// float64, it is skipped and Float64 returns false.
func (c *Cursor) Float64() (float64, bool) {
	f, err := strconv.ParseFloat(string(c.numberText()), 64)
	if err != nil {
		return 0, false
	}
	return f, true
}

// Bool returns the boolean the cursor stands before and goes past it. If the
// value is not true or false, it is skipped and the second result is false.
func (c *Cursor) Bool() (value, ok bool) {
	kind := c.Kind()
	c.Skip()
	isBool := (kind == True || kind == False) && c.where == atNext
	return isBool && kind == True, isBool
}

// numberText goes past the value and returns the text of the number it is, or
// of the number in the string it is; nil if it is neither.
func (c *Cursor) numberText() []byte {
	switch c.Kind() {
	case Number:
		return c.Raw()
	case String:
		if text, _ := c.Bytes(); numberEnd(text, 0) == len(text) {
			return text
		}
	default:
		c.Skip()
	}
	return nil
}

// shortInt returns the value of text if it is at most 18 digits with or
// without a minus.
func shortInt(text []byte) (int64, bool) {
	digits := text
	if len(digits) > 0 && digits[0] == '-' {
		digits = digits[1:]
	}
	if len(digits) == 0 || len(digits) > 18 {
		return 0, false
	}
	n := int64(0)
	for _, d := range digits {
		if d-'0' > 9 {
			return 0, false
		}
		n = n*10 + int64(d-'0')
	}
	if len(digits) < len(text) {
		n = -n
	}
	return n, true
}

// exactInt returns the value of a JSON number in any form; false if it is not
// an integer that fits.
func exactInt(text []byte) (int64, bool) {
	if len(text) == 0 {
		return 0, false
	}
	negative := text[0] == '-'
	if negative {
		text = text[1:]
	}
	mantissa, exponent, ok := decimal(text)
	for ; ok && mantissa != 0 && exponent > 0; exponent-- {
		mantissa, ok = timesTen(mantissa, 0)
	}
	switch {
	case !ok || mantissa != 0 && exponent < 0:
		return 0, false
	case negative && mantissa <= 1<<63:
		return -int64(mantissa), true
	case !negative && mantissa <= math.MaxInt64:
		return int64(mantissa), true
	}
	return 0, false
}

// decimal returns a number without sign as mantissa * 10^exponent with a
// mantissa that does not end in zero; false if the mantissa does not fit.
func decimal(text []byte) (mantissa uint64, exponent int64, ok bool) {
	ok = true
	point, zeros := int64(0), int64(0)
	for i, d := range text {
		switch {
		case d == '.':
			point = 1
		case d|0x20 == 'e':
			return mantissa, exponentOf(text[i+1:]) + exponent + zeros, ok
		case d == '0':
			zeros++
			exponent -= point
		default:
			for ; zeros > 0 && ok; zeros-- {
				mantissa, ok = timesTen(mantissa, 0)
			}
			if ok {
				mantissa, ok = timesTen(mantissa, uint64(d-'0'))
			}
			exponent -= point
		}
	}
	return mantissa, exponent + zeros, ok
}

// exponentOf returns the exponent of a number, at most a billion either way.
func exponentOf(text []byte) int64 {
	negative := text[0] == '-'
	if negative || text[0] == '+' {
		text = text[1:]
	}
	n := int64(0)
	for _, d := range text {
		n = min(n*10+int64(d-'0'), 1e9)
	}
	if negative {
		return -n
	}
	return n
}

// timesTen returns 10n + digit; false if that does not fit.
func timesTen(n, digit uint64) (uint64, bool) {
	if n > (math.MaxUint64-9)/10 {
		return 0, false
	}
	return n*10 + digit, true
}

// AppendQuoted appends s as a JSON string, in the form of JSON.stringify: only
// quotes, backslashes and control characters are escaped; <, >, &, U+2028 and
// all other characters stay as they are, unlike in encoding/json. Bytes that
// are not UTF-8 become U+FFFD.
func AppendQuoted(dst []byte, s string) []byte {
	dst = append(dst, '"')
	from := 0
	for i := 0; i < len(s); {
		if b := s[i]; b < utf8.RuneSelf {
			if b < ' ' || b == '"' || b == '\\' {
				dst = appendEscape(append(dst, s[from:i]...), b)
				from = i + 1
			}
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 {
			dst = utf8.AppendRune(append(dst, s[from:i]...), r)
			from = i + 1
		}
		i += size
	}
	return append(append(dst, s[from:]...), '"')
}

// appendEscape appends the shortest escape of b.
func appendEscape(dst []byte, b byte) []byte {
	switch b {
	case '"', '\\':
		return append(dst, '\\', b)
	case '\b':
		return append(dst, `\b`...)
	case '\f':
		return append(dst, `\f`...)
	case '\n':
		return append(dst, `\n`...)
	case '\r':
		return append(dst, `\r`...)
	case '\t':
		return append(dst, `\t`...)
	}
	const hex = "0123456789abcdef"
	return append(dst, '\\', 'u', '0', '0', hex[b>>4], hex[b&15])
}
