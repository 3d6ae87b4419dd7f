package jsonl

import (
	"encoding/binary"
	"math/bits"
	"slices"
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

// verbatim tells whether raw[from:to] is its own unescaped text.
func (c *Cursor) verbatim(from, to int) bool {
	return !c.index.anyEscape(from, to) && (!c.index.high || utf8.Valid(c.raw[from:to]))
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
