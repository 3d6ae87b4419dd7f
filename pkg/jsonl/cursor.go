package jsonl

import (
	"errors"
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

// ErrSyntax is returned, wrapped, for text that is not JSON where JSON is
// read. The decode function of [Scan] returns it for a line that is not one
// JSON object.
var ErrSyntax = errors.New("invalid JSON")

// SyntaxError says where a text stopped being JSON. It unwraps to [ErrSyntax].
type SyntaxError struct {
	Offset int // bytes from the start of the text
	Reason string
}

// Error implements error.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("%v at byte %d: %s", ErrSyntax, e.Offset, e.Reason)
}

// Unwrap returns [ErrSyntax].
func (e *SyntaxError) Unwrap() error { return ErrSyntax }

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
	raw   []byte
	index index
	pos   int
	where place
	depth int // open containers

	keyFrom, keyTo int  // the key is raw[keyFrom:keyTo]
	keyDecoded     bool // the key is decodedKey
	decodedKey     []byte

	reason string // of the first error, "" without one
	badAt  int

	scratch []byte                  // strings that cannot be slices of raw
	objects [maxDepth/64 + 1]uint64 // a bit for each open container: set for an object
}

// place is where a cursor stands.
type place uint8

const (
	atNothing place = iota // new, or after an error
	atValue                // before a value that was not read yet
	atFirst                // after an opening bracket
	atNext                 // after a value
)

// maxDepth is how deep arrays and objects may nest, as in encoding/json.
const maxDepth = 10000

// Reset puts the cursor before the value in raw. Every slice that the cursor
// handed out before is invalid from here on.
func (c *Cursor) Reset(raw []byte) {
	c.raw = raw
	c.index.build(raw)
	c.pos, c.where, c.depth = skipSpace(raw, 0), atValue, 0
	c.keyFrom, c.keyTo, c.keyDecoded = 0, 0, false
	c.reason = ""
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

// Leave skips the rest of the container that was entered last and leaves it.
// It is for a loop that ends early; when NextKey or NextElement has returned
// false, the container was left already.
func (c *Cursor) Leave() {
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
		c.Leave()
	}
	if i := skipSpace(c.raw, c.pos); c.where == atNext && i < len(c.raw) {
		c.fail(i, "text after the value")
	}
	return c.Err()
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
		return false
	}
	c.pos, c.where = i, atNext
	return true
}

// skipScalar returns the index after the string, number or literal at i, or -1
// after an error.
func (c *Cursor) skipScalar(i int) int {
	b := c.raw
	end := -1
	switch {
	case i >= len(b):
	case b[i] == '"':
		end = c.index.stringEnd(i + 1)
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
		c.fail(i, "no whole value where one must be")
	}
	return end
}

// skipContainer returns the index after the object or array at i, or -1 after
// an error. It does not recurse: each turn takes a scalar or an opening
// bracket, and what follows it up to the next value.
func (c *Cursor) skipContainer(i int) int {
	b, floor := c.raw, c.depth
	for {
		if i >= len(b) || b[i]|0x20 != '{' {
			i = c.skipScalar(i)
		} else {
			object := b[i] == '{'
			if !c.push(object, i) {
				return -1
			}
			i = skipSpace(b, i+1)
			if i >= len(b) || b[i]|0x20 != '}' { // not empty
				if object {
					i = c.skipKey(i)
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
		if i = c.afterValue(i, floor); i < 0 || c.depth == floor {
			return i
		}
	}
}

// afterValue goes past closing brackets, then past the comma and the key if
// there is one. It returns the index of the next value, or the index after the
// bracket that brought the depth down to floor, or -1 after an error.
func (c *Cursor) afterValue(i, floor int) int {
	b := c.raw
	for {
		i = skipSpace(b, i)
		if i >= len(b) {
			c.fail(i, "the text ends inside a value")
			return -1
		}
		object := c.inObject()
		switch {
		case b[i] == ',' && object:
			return c.skipKey(skipSpace(b, i+1))
		case b[i] == ',':
			return skipSpace(b, i+1)
		case b[i] == '}' && object || b[i] == ']' && !object:
			i++
			if c.depth--; c.depth == floor {
				return i
			}
		default:
			c.fail(i, "no comma or closing bracket after a value")
			return -1
		}
	}
}

// skipKey returns the index of the value of the key at i, or -1 after an
// error.
func (c *Cursor) skipKey(i int) int {
	b := c.raw
	if i >= len(b) || b[i] != '"' {
		c.fail(i, "no key where one must be")
		return -1
	}
	end := c.index.stringEnd(i + 1)
	if end < 0 {
		c.fail(i, "a key that does not end")
		return -1
	}
	if i = skipSpace(b, end); i >= len(b) || b[i] != ':' {
		c.fail(i, "no colon after a key")
		return -1
	}
	return skipSpace(b, i+1)
}

// push notes that the container that begins at byte at is open.
func (c *Cursor) push(object bool, at int) bool {
	if c.depth >= maxDepth {
		return c.fail(at, "nested deeper than 10000")
	}
	word, bit := &c.objects[c.depth>>6], uint64(1)<<(c.depth&63)
	*word &^= bit
	if object {
		*word |= bit
	}
	c.depth++
	return true
}

// inObject tells whether the innermost open container is an object. There must
// be one.
func (c *Cursor) inObject() bool {
	d := c.depth - 1
	return c.objects[d>>6]>>(d&63)&1 != 0
}

// Err returns the first error, a [*SyntaxError], or nil.
func (c *Cursor) Err() error {
	if c.reason == "" {
		return nil
	}
	return &SyntaxError{Offset: c.badAt, Reason: c.reason}
}

// fail keeps the first error and stops the cursor. It returns false.
func (c *Cursor) fail(at int, reason string) bool {
	if c.reason == "" {
		c.reason, c.badAt = reason, at
	}
	c.where = atNothing
	return false
}
