package hooks

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// settings is a file of settings in JSON, with comments and trailing commas
// where it has them. What is not changed keeps its bytes.
type settings struct {
	value   hujson.Value
	indent  string // of one level; "" where everything stands on one line
	created []string
}

// readSettings reads a file of settings. No file, or an empty one, is an object
// without members; what nests deeper than [mostNested] is refused.
func readSettings(text []byte) (*settings, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		text = []byte("{}\n")
	}
	if nestedTooDeep(text) {
		return nil, fmt.Errorf("read settings: %w", errNested)
	}
	value, err := hujson.Parse(slices.Clone(text))
	if err != nil {
		return nil, fmt.Errorf("read settings: %w", err)
	}
	root, ok := value.Value.(*hujson.Object)
	if !ok {
		return nil, fmt.Errorf("read settings: they are %c, not an object", value.Value.Kind())
	}
	return &settings{value: value, indent: indentOf(root)}, nil
}

// saySame reports whether two files of settings have the same members and values, in
// whatever order and form.
func saySame(a, b []byte) bool {
	values := [2]any{}
	for i, text := range [][]byte{a, b} {
		if len(text) == 0 || nestedTooDeep(text) {
			return false
		}
		plain, err := hujson.Standardize(slices.Clone(text))
		if err != nil || json.Unmarshal(plain, &values[i]) != nil {
			return false
		}
	}
	return reflect.DeepEqual(values[0], values[1])
}

// indentOf is what the first member of an object is indented by: two spaces
// where there is none.
func indentOf(o *hujson.Object) string {
	if len(o.Members) == 0 {
		return "  "
	}
	before := string(o.Members[0].Name.BeforeExtra)
	line := strings.LastIndexByte(before, '\n')
	if line < 0 {
		return ""
	}
	if indent := before[line+1:]; strings.TrimLeft(indent, " \t") == "" && indent != "" {
		return indent
	}
	return "  "
}

func (s *settings) bytes() []byte { return s.value.Pack() }

// find returns the value below a path of names, or nil.
func (s *settings) find(path ...string) *hujson.Value { return s.value.Find(pointer(path)) }

// pointer is a path as RFC 6901 writes it.
func pointer(path []string) string {
	var b strings.Builder
	for _, name := range path {
		b.WriteString("/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name))
	}
	return b.String()
}

// set gives the member at a path a value, and makes the objects above it.
func (s *settings) set(value any, path ...string) error {
	name, above := path[len(path)-1], path[:len(path)-1]
	o, err := s.object(above)
	if err != nil {
		return err
	}
	made, err := s.make(value, len(path))
	if err != nil {
		return err
	}
	for i := range o.Members {
		if o.Members[i].Name.Value.(hujson.Literal).String() == name {
			o.Members[i].Value.Value = made
			return nil
		}
	}
	s.created = append(s.created, pointer(path))
	s.append(o, name, made, len(path))
	return nil
}

// add puts an element at the end of the list at a path.
func (s *settings) add(value any, path ...string) error {
	found := s.find(path...)
	if found == nil {
		if err := s.set([]any{}, path...); err != nil {
			return err
		}
		found = s.find(path...)
	}
	list, ok := found.Value.(*hujson.Array)
	if !ok {
		return fmt.Errorf("%s is no list", pointer(path))
	}
	made, err := s.make(value, len(path)+1)
	if err != nil {
		return err
	}
	element := hujson.Value{BeforeExtra: s.line(len(path) + 1), Value: made}
	if n := len(list.Elements); n > 0 {
		element.AfterExtra, list.Elements[n-1].AfterExtra = trailing(list.Elements[n-1].AfterExtra)
	} else {
		list.AfterExtra = s.line(len(path))
	}
	list.Elements = append(list.Elements, element)
	return nil
}

// trailing moves what stands between the last value and its comma, if it has
// one: the next value is the last one then.
func trailing(after hujson.Extra) (next, last hujson.Extra) {
	if after == nil {
		return nil, nil
	}
	return hujson.Extra{}, after
}

// object returns the object at a path, and makes what is missing of it.
func (s *settings) object(path []string) (*hujson.Object, error) {
	at := s.value.Value.(*hujson.Object)
	for i, name := range path {
		found := s.find(path[:i+1]...)
		if found == nil {
			made := &hujson.Object{}
			s.created = append(s.created, pointer(path[:i+1]))
			s.append(at, name, made, i+1)
			at = made
			continue
		}
		o, ok := found.Value.(*hujson.Object)
		if !ok {
			return nil, fmt.Errorf("%s is no object", pointer(path[:i+1]))
		}
		at = o
	}
	return at, nil
}

// append puts a member at the end of an object that is so many levels deep.
func (s *settings) append(o *hujson.Object, name string, value hujson.ValueTrimmed, depth int) {
	member := hujson.ObjectMember{
		Name:  hujson.Value{BeforeExtra: s.line(depth), Value: hujson.String(name)},
		Value: hujson.Value{BeforeExtra: s.space(), Value: value},
	}
	if n := len(o.Members); n > 0 {
		member.Value.AfterExtra, o.Members[n-1].Value.AfterExtra = trailing(o.Members[n-1].Value.AfterExtra)
	} else if len(o.AfterExtra) == 0 {
		o.AfterExtra = s.line(depth - 1)
	}
	o.Members = append(o.Members, member)
}

// line is the beginning of a line that is so many levels deep.
func (s *settings) line(depth int) hujson.Extra {
	if s.indent == "" {
		return nil
	}
	return hujson.Extra("\n" + strings.Repeat(s.indent, depth))
}

func (s *settings) space() hujson.Extra {
	if s.indent == "" {
		return nil
	}
	return hujson.Extra(" ")
}

// make is a value as it stands in the file, so many levels deep.
func (s *settings) make(value any, depth int) (hujson.ValueTrimmed, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if s.indent != "" {
		e.SetIndent(strings.Repeat(s.indent, depth), s.indent)
	}
	if err := e.Encode(value); err != nil {
		return nil, fmt.Errorf("write settings: %w", err)
	}
	made, err := hujson.Parse(b.Bytes())
	if err != nil {
		return nil, fmt.Errorf("write settings: %w", err)
	}
	return made.Value, nil
}

// drop takes a member away, if it is there.
func (s *settings) drop(path ...string) {
	above := s.find(path[:len(path)-1]...)
	if above == nil {
		return
	}
	o, ok := above.Value.(*hujson.Object)
	if !ok {
		return
	}
	i := slices.IndexFunc(o.Members, func(m hujson.ObjectMember) bool { return m.Name.Value.(hujson.Literal).String() == path[len(path)-1] })
	if i < 0 {
		return
	}
	if i == len(o.Members)-1 && i > 0 && o.Members[i].Value.AfterExtra == nil {
		o.Members[i-1].Value.AfterExtra = nil // what is last now has no comma
	}
	if o.Members = slices.Delete(o.Members, i, i+1); len(o.Members) == 0 && len(bytes.TrimSpace(o.AfterExtra)) == 0 {
		o.AfterExtra = nil
	}
}

// removeCalls takes the hooks of a list of groups away whose command is ours, and
// a group that has no other.
func (s *settings) removeCalls(ours func(line string) bool, path ...string) {
	groups, ok := s.list(path)
	if !ok {
		return
	}
	removeFrom(groups, func(group hujson.Value) bool {
		calls, ok := listOf(group.Find("/hooks"))
		if !ok {
			return false
		}
		before := len(calls.Elements)
		removeFrom(calls, func(call hujson.Value) bool {
			line := call.Find("/command")
			if line == nil {
				return false
			}
			literal, ok := line.Value.(hujson.Literal)
			return ok && literal.Kind() == '"' && ours(literal.String())
		})
		return before > 0 && len(calls.Elements) == 0
	})
}

func (s *settings) list(path []string) (*hujson.Array, bool) { return listOf(s.find(path...)) }

func listOf(v *hujson.Value) (*hujson.Array, bool) {
	if v == nil {
		return nil, false
	}
	list, ok := v.Value.(*hujson.Array)
	return list, ok
}

// removeFrom takes elements of a list away; the last that stays has a comma if
// the last one had.
func removeFrom(list *hujson.Array, which func(hujson.Value) bool) {
	comma := len(list.Elements) > 0 && list.Elements[len(list.Elements)-1].AfterExtra != nil
	list.Elements = slices.DeleteFunc(list.Elements, which)
	if n := len(list.Elements); n == 0 && len(bytes.TrimSpace(list.AfterExtra)) == 0 {
		list.AfterExtra = nil
	} else if n > 0 && !comma {
		list.Elements[n-1].AfterExtra = nil
	}
}

// prune takes members away that were made for ours and hold nothing any more:
// the deepest first.
func (s *settings) prune(created []string) {
	for _, at := range slices.Backward(created) {
		if v := s.value.Find(at); v != nil && holdsNothing(v.Value) {
			s.drop(names(at)...)
		}
	}
}

func holdsNothing(v hujson.ValueTrimmed) bool {
	switch v := v.(type) {
	case *hujson.Object:
		return len(v.Members) == 0 && len(bytes.TrimSpace(v.AfterExtra)) == 0
	case *hujson.Array:
		return len(v.Elements) == 0 && len(bytes.TrimSpace(v.AfterExtra)) == 0
	}
	return false
}

// names is the path of a pointer.
func names(at string) []string {
	path := strings.Split(at, "/")[1:]
	for i := range path {
		path[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(path[i])
	}
	return path
}
