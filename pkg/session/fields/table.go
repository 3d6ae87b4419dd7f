package fields

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/sessctl/sessctl/pkg/jsonl"
)

// Table reads objects by their fields. It must not be copied, nor be used by several
// goroutines at once.
type Table struct {
	cursor jsonl.Cursor
	root   object
}

// New makes a table of fields. It panics if two fields would take one value: the last
// one would hide the other.
func New(all ...Field) *Table {
	t := &Table{root: object{members: make([]member, 0, len(all)), keys: make([]key, 0, len(all))}}
	for i := range all {
		t.root.add(all[i].path, &all[i])
	}
	return t
}

// Read reads the object in raw. It returns an error that wraps [jsonl.ErrSyntax] if
// raw is not one JSON object.
func (t *Table) Read(raw []byte) error {
	if err := t.cursor.BeginObject(raw); err != nil {
		return err
	}
	t.root.read(&t.cursor)
	return t.cursor.End()
}

// Take reads the value that a cursor stands before, which stays the cursor's: false,
// and nothing is read, if it is no object.
func (t *Table) Take(c *jsonl.Cursor) bool {
	if !c.EnterObject() {
		return false
	}
	t.root.read(c)
	return true
}

// Peek reads what there is of an object in raw: false, and nothing is read, if raw
// begins with none. What is no JSON behind its beginning is passed over.
func (t *Table) Peek(raw []byte) bool {
	t.cursor.Reset(raw)
	return t.Take(&t.cursor)
}

// object are the members of an object that matter.
type object struct {
	members []member
	keys    []key              // their names, close together
	lengths [longest + 1]uint8 // by the length of a name: one more than the last such member, 0 for none
}

// longest is the length from which names are looked for together.
const longest = 47

// member is what is known of a member of an object.
type member struct {
	plain  bool // nothing but value matters
	null   *bool
	begin  func(object bool)
	value  Field   // of the kind nothing if no field takes the value
	inside *object // what is read of an object; nil if value takes it
}

// key is the name of a member, as it is looked for.
type key struct {
	ends
	name   string
	before uint8 // one more than the key before it whose name is as long, 0 for none
}

// add adds a field below the object.
func (o *object) add(path string, f *Field) {
	name, rest, deeper := strings.Cut(path, ".")
	m := o.member(name)
	switch {
	case deeper:
		if m.inside == nil {
			m.inside = &object{}
		}
		m.inside.add(rest, f)
	case f.kind == null:
		m.null = f.flag
	case f.kind == begin:
		m.begin = f.begin
	case m.value.kind != nothing:
		panic(fmt.Sprintf("two fields for %q", f.path))
	default:
		m.value = *f
	}
	m.plain = m.null == nil && m.begin == nil && m.inside == nil && m.value.when == nil
}

// member is the member of a name, which is added if it is new.
func (o *object) member(name string) *member {
	if m := o.find([]byte(name)); m != nil {
		return m
	}
	last := &o.lengths[min(len(name), longest)]
	o.keys = append(o.keys, key{ends: endsOf([]byte(name)), name: name, before: *last})
	o.members = append(o.members, member{})
	*last = uint8(len(o.members))
	return &o.members[len(o.members)-1]
}

// ends are the first and the last eight bytes of a name, which tell names of the same
// length apart faster than a comparison of all bytes.
type ends struct{ first, last uint64 }

// bothEnds is the length up to which a name is nothing but its ends.
const bothEnds = 16

func endsOf(name []byte) ends {
	if cap(name) < 8 {
		name = append(make([]byte, 0, 8), name...)
	}
	n := len(name)
	e := ends{first: binary.LittleEndian.Uint64(name[:8])}
	if n >= 8 {
		e.last = binary.LittleEndian.Uint64(name[n-8:])
		return e
	}
	e.first &= 1<<(8*n) - 1
	return e
}

// find is the member of a name, nil for one that does not matter. Few names are as long
// as another one.
func (o *object) find(name []byte) *member {
	i := o.lengths[min(len(name), longest)]
	if i == 0 {
		return nil
	}
	for e := endsOf(name); i != 0; {
		k := &o.keys[i-1]
		if k.first == e.first && k.last == e.last && len(k.name) == len(name) && (len(name) <= bothEnds || k.name == string(name)) {
			return &o.members[i-1]
		}
		i = k.before
	}
	return nil
}

// read reads the members of the object that the cursor is in.
func (o *object) read(c *jsonl.Cursor) {
	for c.NextKey() {
		switch m := o.find(c.Key()); {
		case m == nil:
		case m.plain:
			m.value.take(c)
		default:
			m.take(c)
		}
	}
}

// take takes the value of the member that the cursor is at.
func (m *member) take(c *jsonl.Cursor) {
	if m.null != nil {
		*m.null = c.IsNull()
	}
	if m.begin != nil {
		m.begin(c.Kind() == jsonl.Object)
	}
	switch {
	case m.inside != nil && c.Kind() == jsonl.Object:
		c.EnterObject()
		m.inside.read(c)
	case m.value.when == nil || *m.value.when:
		m.value.take(c)
	}
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
