package jsonl

import (
	"fmt"
	"math/bits"
)

// Kind is the kind of a JSON value, told by its first byte.
type Kind uint8

// The kinds of JSON values. Invalid is a byte that begins no value, or no
// value at all.
const (
	Invalid Kind = iota
	Object
	Array
	String
	Number
	True
	False
	Null
)

// kinds is the kind of the value that begins with a byte.
var kinds = [256]Kind{
	'{': Object, '[': Array, '"': String, 't': True, 'f': False, 'n': Null, '-': Number,
	'0': Number, '1': Number, '2': Number, '3': Number, '4': Number,
	'5': Number, '6': Number, '7': Number, '8': Number, '9': Number,
}

// Cursor walks one JSON text forwards, once, and decodes only what is asked
// for. It is made to be used again: Reset it to one text after the other. The
// zero value is ready for Reset. A Cursor must not be copied.
//
// A value that was not read is skipped by the next NextKey, NextElement or
// End. What is skipped is checked: brackets, commas, colons, numbers and
// literals are those of JSON. Only the inside of a skipped string may hold
// what JSON forbids (control characters, unknown escapes, bytes that are not
// UTF-8), so that an odd byte in a field that nobody reads costs no message.
//
// The first error stays; from then on every method returns its zero value, and
// Err and End return the error.
type Cursor struct {
	pos   int
	where place

	keyFrom, keyTo int  // the key is raw[keyFrom:keyTo]
	keyDecoded     bool // the key is decodedKey
	decodedKey     []byte

	scratch []byte // strings that cannot be slices of raw
	source
}

// place is where a cursor stands.
type place uint8

const (
	atNothing place = iota // new, or after an error
	atValue                // before a value that was not read yet
	atFirst                // after an opening bracket
	atNext                 // after a value
)

// Reset puts the cursor before the value in raw. Every slice that the cursor
// handed out before is invalid from here on.
func (c *Cursor) Reset(raw []byte) {
	c.begin(raw)
	c.pos, c.where = skipSpace(raw, 0), atValue
	c.keyFrom, c.keyTo, c.keyDecoded = 0, 0, false
	c.scratch = c.scratch[:0]
}

// BeginObject puts the cursor into the object in raw, before its first key. It
// returns an error that wraps [ErrSyntax] if raw is nothing that begins with an
// object; whether it is only that object [Cursor.End] tells.
func (c *Cursor) BeginObject(raw []byte) error {
	c.Reset(raw)
	if c.EnterObject() {
		return nil
	}
	if err := c.End(); err != nil {
		return err
	}
	return fmt.Errorf("%w: not an object", ErrSyntax)
}

// Kind returns the kind of the value the cursor stands before, Invalid if it
// stands before none. The cursor does not move.
func (c *Cursor) Kind() Kind {
	if c.where != atValue || uint(c.pos) >= uint(len(c.raw)) {
		return Invalid
	}
	return kinds[c.raw[c.pos]]
}

// IsNull tells whether the cursor stands before null. The cursor does not
// move.
func (c *Cursor) IsNull() bool { return c.Kind() == Null }

// EnterObject goes into the object the cursor stands before. If the value is
// not an object, it is skipped and EnterObject returns false.
func (c *Cursor) EnterObject() bool {
	if c.Kind() != Object {
		c.Skip()
		return false
	}
	return c.open(true)
}

// EnterArray goes into the array the cursor stands before. If the value is not
// an array, it is skipped and EnterArray returns false.
func (c *Cursor) EnterArray() bool {
	if c.Kind() != Array {
		c.Skip()
		return false
	}
	return c.open(false)
}

// open goes past the opening bracket the cursor stands before.
func (c *Cursor) open(object bool) bool {
	if !c.push(object, c.pos) {
		c.where = atNothing
		return false
	}
	c.pos++
	c.where = atFirst
	return true
}

// NextKey goes to the value of the next member of the object that was entered
// last. It returns false at the end of the object, which it leaves, and after
// an error.
func (c *Cursor) NextKey() bool {
	if c.where == atValue && !c.skip() {
		return false
	}
	b, i := c.raw, c.pos
	if c.where == atNext && uint(i+1) < uint(len(b)) && b[i] == ',' && b[i+1] == '"' {
		i += 2
	} else if i = c.beforeKey(); i < 0 {
		return false
	}
	// The usual key is short and without escapes, and the colon and the value
	// follow directly.
	quotes, escaped := c.index.window(i)
	n := bits.TrailingZeros64(quotes)
	if end := i + n; escaped&(1<<n-1) == 0 && n < 64 && uint(end+2) < uint(len(b)) &&
		b[end+1] == ':' && b[end+2] > ' ' && !c.index.odd {
		c.keyFrom, c.keyTo, c.keyDecoded = i, end, false
		c.pos, c.where = end+2, atValue
		return true
	}
	return c.oddKey(i)
}

// Key returns the key of the member the cursor is at, unescaped. It is valid
// until Reset.
func (c *Cursor) Key() []byte {
	if c.keyDecoded {
		return c.decodedKey
	}
	return c.raw[c.keyFrom:c.keyTo]
}

// beforeKey goes to the first byte of the next key and returns its index; -1
// at the closing bracket, which it passes, and after an error.
func (c *Cursor) beforeKey() int {
	i := c.beforeItem('}')
	if i < 0 {
		return -1
	}
	if i >= len(c.raw) || c.raw[i] != '"' {
		c.fail(i, "no key where one must be")
		return -1
	}
	return i + 1
}

// oddKey reads the key at i in all its forms and goes to its value.
func (c *Cursor) oddKey(i int) bool {
	end := c.index.stringEnd(i)
	if end < 0 {
		return c.fail(i-1, "a key that does not end")
	}
	c.keyFrom, c.keyTo, c.keyDecoded = i, end-1, false
	if !c.allowed(i, end-1) {
		return false
	}
	if !c.verbatim(i, end-1) {
		if c.decodedKey, c.keyDecoded = c.unescape(i, end-1); !c.keyDecoded {
			return false
		}
	}
	if i = skipSpace(c.raw, end); i >= len(c.raw) || c.raw[i] != ':' {
		return c.fail(i, "no colon after a key")
	}
	c.pos, c.where = skipSpace(c.raw, i+1), atValue
	return true
}

// NextElement goes to the next element of the array that was entered last. It
// returns false at the end of the array, which it leaves, and after an error.
func (c *Cursor) NextElement() bool {
	if c.where == atValue && !c.skip() {
		return false
	}
	i := c.beforeItem(']')
	if i < 0 {
		return false
	}
	c.pos, c.where = i, atValue
	return true
}

// beforeItem goes past the comma, if one is due, and returns the index of the
// next key or element; -1 at the closing bracket, which it passes, and after
// an error.
func (c *Cursor) beforeItem(closing byte) int {
	if c.where == atNothing || c.depth == 0 {
		return -1
	}
	b := c.raw
	i := skipSpace(b, c.pos)
	switch {
	case i >= len(b):
		c.fail(i, "the text ends inside a value")
	case b[i] == closing && c.inObject() == (closing == '}'):
		c.depth--
		c.pos, c.where = i+1, atNext
	case c.where == atFirst:
		return i
	case b[i] == ',':
		return skipSpace(b, i+1)
	default:
		c.fail(i, "no comma or closing bracket after a value")
	}
	return -1
}

// leave skips the rest of the container that was entered last and leaves it.
// It is for a loop that ends early; when NextKey or NextElement has returned
// false, the container was left already.
func (c *Cursor) leave() {
	switch {
	case c.depth == 0:
	case c.inObject():
		for c.NextKey() {
		}
	default:
		for c.NextElement() {
		}
	}
}

// End skips what was not read, leaves every open container, and returns an
// error that wraps [ErrSyntax] unless only white space follows.
func (c *Cursor) End() error {
	c.Skip()
	for c.depth > 0 && c.where != atNothing {
		c.leave()
	}
	if i := skipSpace(c.raw, c.pos); c.where == atNext && i < len(c.raw) {
		c.fail(i, "text after the value")
	}
	return c.Err()
}

// Skip goes past the value the cursor stands before.
func (c *Cursor) Skip() {
	if c.where == atValue {
		c.skip()
	}
}

// Raw returns the text of the value the cursor stands before, as it is in the
// source, and goes past it. It is nil without a value and after an error.
func (c *Cursor) Raw() []byte {
	from := c.pos
	if c.where != atValue || !c.skip() {
		return nil
	}
	return c.raw[from:c.pos]
}

// skip goes past the value at pos; false after an error. Bit 0x20 is the
// difference between square brackets and braces.
func (c *Cursor) skip() bool {
	i := c.pos
	if uint(i) < uint(len(c.raw)) && c.raw[i]|0x20 == '{' {
		i = c.skipContainer(i)
	} else {
		i = c.skipScalar(i)
	}
	if i < 0 {
		c.where = atNothing
		return false
	}
	c.pos, c.where = i, atNext
	return true
}

// fail keeps the first error and stops the cursor. It returns false.
func (c *Cursor) fail(at int, reason string) bool {
	c.broken(at, reason)
	c.where = atNothing
	return false
}
