package fields

import (
	"github.com/sessctl/sessctl/pkg/jsonl"
)

// Field is one line of a table: a path, the names of members with dots between them,
// and where the value goes. Paths may begin alike, and one path may have several
// fields of which one takes the value: the others are [Null] and [Begin].
type Field struct {
	path   string
	kind   kind
	bytes  *[]byte
	number *int64
	flag   *bool
	when   *bool
	read   func(*jsonl.Cursor)
	begin  func(object bool)
}

// kind is what a field takes of a value.
type kind uint8

const (
	nothing kind = iota
	text
	id
	raw
	value
	number
	count
	flag
	code
	null
	begin
)

// Text is a string; nil for a value of any other type.
func Text(path string, to *[]byte) Field { return Field{path: path, kind: text, bytes: to} }

// ID is a string, or the digits of a number; nil for a value of any other type.
func ID(path string, to *[]byte) Field { return Field{path: path, kind: id, bytes: to} }

// Raw is the JSON of a value of any type.
func Raw(path string, to *[]byte) Field { return Field{path: path, kind: raw, bytes: to} }

// Value is the JSON of a value of any type, nil for null: the arguments of a call.
func Value(path string, to *[]byte) Field { return Field{path: path, kind: value, bytes: to} }

// Int is a whole number; 0 for what is none.
func Int(path string, to *int64) Field { return Field{path: path, kind: number, number: to} }

// Count is a number of things; 0 for what is none, or below zero.
func Count(path string, to *int64) Field { return Field{path: path, kind: count, number: to} }

// Flag is true or false; false for a value of any other type.
func Flag(path string, to *bool) Field { return Field{path: path, kind: flag, flag: to} }

// Null tells whether the value is null. Another field of the same path may take it.
func Null(path string, to *bool) Field { return Field{path: path, kind: null, flag: to} }

// Begin calls do before the value is read: with true before the members of an object,
// with false before anything else.
func Begin(path string, do func(object bool)) Field {
	return Field{path: path, kind: begin, begin: do}
}

// Func has read take the value. It may leave it to be passed over.
func Func(path string, read func(*jsonl.Cursor)) Field {
	return Field{path: path, kind: code, read: read}
}

// When is the field while wanted is set; else its value is passed over.
func (f Field) When(wanted *bool) Field {
	f.when = wanted
	return f
}

// take takes the value that the cursor stands before.
func (f *Field) take(c *jsonl.Cursor) {
	switch f.kind {
	case text:
		*f.bytes, _ = c.Bytes()
	case id:
		*f.bytes = name(c)
	case raw:
		*f.bytes = c.Raw()
	case value:
		if *f.bytes = nil; !c.IsNull() {
			*f.bytes = c.Raw()
		}
	case number:
		*f.number, _ = c.Int64()
	case count:
		n, _ := c.Int64()
		*f.number = max(n, 0)
	case flag:
		*f.flag, _ = c.Bool()
	case code:
		f.read(c)
	}
}

func name(c *jsonl.Cursor) []byte {
	switch c.Kind() {
	case jsonl.String:
		id, _ := c.Bytes()
		return id
	case jsonl.Number:
		return c.Raw()
	}
	return nil
}
