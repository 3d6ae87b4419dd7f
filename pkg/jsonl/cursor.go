package jsonl

// Kind is the kind of a JSON value.
type Kind uint8

// The kinds of JSON values. Invalid is the end of the text or no value.
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

// Cursor walks one JSON text forwards.
type Cursor struct{}

// Reset puts the cursor before the value in raw.
func (c *Cursor) Reset(raw []byte) {}

// Kind returns the kind of the value the cursor stands before.
func (c *Cursor) Kind() Kind { return Invalid }

// EnterObject enters an object; false (and the value skipped) if it is not one.
func (c *Cursor) EnterObject() bool { return false }

// NextKey positions at the next member's value; false at the end of the object.
func (c *Cursor) NextKey() bool { return false }

// Key returns the current key, unescaped.
func (c *Cursor) Key() []byte { return nil }

// EnterArray enters an array; false (and the value skipped) if it is not one.
func (c *Cursor) EnterArray() bool { return false }

// NextElement positions at the next element; false at the end of the array.
func (c *Cursor) NextElement() bool { return false }

// Skip skips the current value.
func (c *Cursor) Skip() {}

// Raw returns the current value's text and advances.
func (c *Cursor) Raw() []byte { return nil }

// Bytes returns a string value, valid until Reset; false when not a string.
func (c *Cursor) Bytes() ([]byte, bool) { return nil, false }

// AppendString appends a string value, unescaped, to dst.
func (c *Cursor) AppendString(dst []byte) ([]byte, bool) { return dst, false }

// Int64 returns a number value leniently; false and skipped otherwise.
func (c *Cursor) Int64() (int64, bool) { return 0, false }

// Float64 returns a number value; false and skipped otherwise.
func (c *Cursor) Float64() (float64, bool) { return 0, false }

// Bool returns a boolean value; false and skipped otherwise.
func (c *Cursor) Bool() (value, ok bool) { return false, false }

// IsNull tells whether the cursor stands before null.
func (c *Cursor) IsNull() bool { return false }

// Err returns the first error; it wraps ErrSyntax.
func (c *Cursor) Err() error { return nil }

// End returns ErrSyntax unless only white space follows the value.
func (c *Cursor) End() error { return nil }
