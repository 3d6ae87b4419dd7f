package fields

import (
	"fmt"
	"reflect"
	"strings"
	"sync"
	"unsafe"

	"github.com/sessctl/sessctl/pkg/jsonl"
)

// Table reads objects into a State by their fields. Any number of goroutines may use
// it at once, each with its own State and its own cursor.
type Table[State any] struct {
	fields func(*State) []Field
	once   sync.Once
	root   object
}

// New makes a table of fields. The function is called once, when the table is used
// first, with a State that is only a pattern: a destination must lie in the State
// itself, not behind a pointer in it. The first use panics if one does not, if a
// function is for another State, if two fields would take one value, where the last one
// would hide the other, or if two members of an object have names of the same length
// that differ only between their first and their last eight bytes.
func New[State any](fields func(*State) []Field) *Table[State] {
	return &Table[State]{fields: fields}
}

func (t *Table[State]) build() {
	pattern := new(State)
	b := builder{
		pattern: uintptr(unsafe.Pointer(pattern)), size: unsafe.Sizeof(*pattern),
		state: reflect.TypeFor[State](),
	}
	for _, f := range t.fields(pattern) {
		b.add(&t.root, f.path, f)
	}
	t.root.place()
}

// Read reads the object in raw, with a cursor that it resets. It returns an error that
// wraps [jsonl.ErrSyntax] if raw is not one JSON object.
func (t *Table[State]) Read(s *State, c *jsonl.Cursor, raw []byte) error {
	t.once.Do(t.build)
	if err := c.BeginObject(raw); err != nil {
		return err
	}
	t.root.read(unsafe.Pointer(s), c)
	return c.End()
}

// Take reads the value that a cursor stands before: false, and nothing is read, if it
// is no object.
func (t *Table[State]) Take(s *State, c *jsonl.Cursor) bool {
	t.once.Do(t.build)
	if !c.EnterObject() {
		return false
	}
	t.root.read(unsafe.Pointer(s), c)
	return true
}

// Peek reads what there is of an object in raw, with a cursor that it resets: false,
// and nothing is read, if raw begins with none. What is no JSON behind its beginning
// is passed over.
func (t *Table[State]) Peek(s *State, c *jsonl.Cursor, raw []byte) bool {
	c.Reset(raw)
	return t.Take(s, c)
}

// object are the members of an object that matter.
type object struct {
	members []member // while the table is made
	places  []member // each where its name says
	seed    uint64   // with which each name has a place of its own
	shift   uint8
}

// member is what is known of a member of an object. Its first lines are all that most
// members need.
type member struct {
	key
	kind kind
	at   uintptr // where in the state the value goes
	more *more   // of a member of the kind code or several
}

// more is what few members have.
type more struct {
	read   func(unsafe.Pointer, *jsonl.Cursor)
	begin  func(state unsafe.Pointer, object bool)
	null   offset
	when   offset
	inside *object // what is read of an object; nil if value takes it
	value  member  // of the kind nothing if no field takes the value
}

// offset is where in the state something lies, one more than its distance; 0 for
// nowhere.
type offset uintptr

func (o offset) bool(state unsafe.Pointer) *bool { return (*bool)(unsafe.Add(state, o-1)) }

// read reads the members of the object that the cursor is in.
func (o *object) read(state unsafe.Pointer, c *jsonl.Cursor) {
	for c.NextKey() {
		if m := o.find(c.Key()); m != nil {
			m.take(state, c)
		}
	}
}

// take takes the value of the member that the cursor is at.
func (m *member) take(state unsafe.Pointer, c *jsonl.Cursor) {
	to := unsafe.Add(state, m.at)
	switch m.kind {
	case text:
		*(*[]byte)(to), _ = c.Bytes()
	case id:
		*(*[]byte)(to) = name(c)
	case raw:
		*(*[]byte)(to) = c.Raw()
	case value:
		*(*[]byte)(to) = notNull(c)
	case number:
		*(*int64)(to), _ = c.Int64()
	case count:
		n, _ := c.Int64()
		*(*int64)(to) = max(n, 0)
	case flag:
		*(*bool)(to), _ = c.Bool()
	case code:
		m.more.read(state, c)
	case several:
		m.more.take(state, c)
	}
}

// take takes the value of a member that has several fields.
func (m *more) take(state unsafe.Pointer, c *jsonl.Cursor) {
	if m.null != 0 {
		*m.null.bool(state) = c.IsNull()
	}
	if m.begin != nil {
		m.begin(state, c.Kind() == jsonl.Object)
	}
	switch {
	case m.inside != nil && c.Kind() == jsonl.Object:
		c.EnterObject()
		m.inside.read(state, c)
	case m.when == 0 || *m.when.bool(state):
		m.value.take(state, c)
	}
}

// builder adds fields to a table.
type builder struct {
	pattern, size uintptr
	state         reflect.Type
}

// add adds a field below the object.
func (b *builder) add(o *object, path string, f Field) {
	name, rest, deeper := strings.Cut(path, ".")
	m := o.member(name)
	switch {
	case deeper:
		if m.more.inside == nil {
			m.more.inside = &object{}
		}
		b.add(m.more.inside, rest, f)
	case f.kind == null:
		m.more.null = b.offset(f.path, f.to, f.size)
	case f.kind == begin:
		b.check(&f)
		m.more.begin = f.begin
	case m.more.value.kind != nothing:
		panic(fmt.Sprintf("two fields for %q", f.path))
	default:
		b.value(m, &f)
	}
	m.settle()
}

// value gives a member the field that takes its value.
func (b *builder) value(m *member, f *Field) {
	m.more.value.kind = f.kind
	if f.kind == code {
		b.check(f)
		m.more.read = f.read
		m.more.value.more = m.more
	} else {
		m.more.value.at = uintptr(b.offset(f.path, f.to, f.size) - 1)
	}
	if f.when != nil {
		m.more.when = b.offset(f.path, unsafe.Pointer(f.when), unsafe.Sizeof(*f.when))
	}
}

// offset is where a destination lies in the state.
func (b *builder) offset(path string, to unsafe.Pointer, size uintptr) offset {
	distance := uintptr(to) - b.pattern
	if distance >= b.size || size > b.size-distance {
		panic(fmt.Sprintf("the field %q does not lie in %v", path, b.state))
	}
	return offset(distance + 1)
}

func (b *builder) check(f *Field) {
	if f.state != b.state {
		panic(fmt.Sprintf("the field %q is of %v, the table of %v", f.path, f.state, b.state))
	}
}

// settle makes the member what its fields say.
func (m *member) settle() {
	if x := m.more; x.null != 0 || x.begin != nil || x.inside != nil || x.when != 0 {
		m.kind = several
		return
	}
	m.kind, m.at = m.more.value.kind, m.more.value.at
}

// Content reads the content of a message in all its shapes: a string, a block, or a
// list of both. text takes a string, and block an object; anything else says nothing.
func Content(c *jsonl.Cursor, text func([]byte), block func(*jsonl.Cursor)) {
	if c.Kind() != jsonl.Array {
		one(c, text, block)
		return
	}
	for ok := c.EnterArray(); ok && c.NextElement(); {
		one(c, text, block)
	}
}

func one(c *jsonl.Cursor, text func([]byte), block func(*jsonl.Cursor)) {
	switch c.Kind() {
	case jsonl.String:
		said, _ := c.Bytes()
		text(said)
	case jsonl.Object:
		block(c)
	}
}
