package fields

import (
	"reflect"
	"unsafe"

	"github.com/sessctl/sessctl/pkg/jsonl"
)

// Field is one line of a table: a path, the names of members with dots between them,
// and where the value goes. Paths may begin alike, and one path may have several
// fields of which one takes the value: the others are [Null] and [Begin].
type Field struct {
	path  string
	kind  kind
	to    unsafe.Pointer // into the pattern that New gives
	size  uintptr        // of what is there
	when  *bool          // the same; nil for a field that always takes its value
	state reflect.Type   // what read and begin expect
	read  func(unsafe.Pointer, *jsonl.Cursor)
	begin func(state unsafe.Pointer, object bool)
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
	several // of a member: it has more than one field, members of its own or a condition
)

func to[T any](path string, k kind, at *T) Field {
	return Field{path: path, kind: k, to: unsafe.Pointer(at), size: unsafe.Sizeof(*at)}
}

// Text is a string; nil for a value of any other type.
func Text(path string, at *[]byte) Field { return to(path, text, at) }

// ID is a string, or the digits of a number; nil for a value of any other type.
func ID(path string, at *[]byte) Field { return to(path, id, at) }

// Raw is the JSON of a value of any type.
func Raw(path string, at *[]byte) Field { return to(path, raw, at) }

// Value is the JSON of a value of any type, nil for null: the arguments of a call.
func Value(path string, at *[]byte) Field { return to(path, value, at) }

// Int is a whole number; 0 for what is none.
func Int(path string, at *int64) Field { return to(path, number, at) }

// Count is a number of things; 0 for what is none, or below zero.
func Count(path string, at *int64) Field { return to(path, count, at) }

// Flag is true or false; false for a value of any other type.
func Flag(path string, at *bool) Field { return to(path, flag, at) }

// Null tells whether the value is null. Another field of the same path may take it.
func Null(path string, at *bool) Field { return to(path, null, at) }

// Begin calls do before the value is read: with true before the members of an object,
// with false before anything else.
func Begin[State any](path string, do func(s *State, object bool)) Field {
	return Field{path: path, kind: begin, state: reflect.TypeFor[State](), begin: func(s unsafe.Pointer, object bool) {
		do((*State)(s), object)
	}}
}

// Func has read take the value. It may leave it to be passed over.
func Func[State any](path string, read func(*State, *jsonl.Cursor)) Field {
	return Field{path: path, kind: code, state: reflect.TypeFor[State](), read: func(s unsafe.Pointer, c *jsonl.Cursor) {
		read((*State)(s), c)
	}}
}

// When is the field while wanted is set; else its value is passed over.
func (f Field) When(wanted *bool) Field {
	f.when = wanted
	return f
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

func notNull(c *jsonl.Cursor) []byte {
	if c.IsNull() {
		return nil
	}
	return c.Raw()
}
