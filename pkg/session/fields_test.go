package session_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session/fields"
)

// read is what the table of this test reads.
type read struct {
	name, id, parent, raw, model, long, text, error, deep []byte
	in, at                                                int64
	flag, root, object, wanted                            bool
	began                                                 int
	said                                                  []string
}

var reads = fields.New(func(r *read) []fields.Field {
	return []fields.Field{
		fields.Text("type", &r.name),
		fields.Value("copy", &r.text),
		fields.ID("id", &r.id),
		fields.ID("parentId", &r.parent),
		fields.Null("parentId", &r.root),
		fields.Raw("raw", &r.raw),
		fields.Int("at", &r.at),
		fields.Flag("flag", &r.flag),
		fields.Begin("message", func(r *read, object bool) { r.object, r.began = object, r.began+1 }),
		fields.Text("message.model", &r.model),
		fields.Count("message.usage.in", &r.in),
		fields.Text("a name that is longer than both ends", &r.long),
		fields.Text("error", &r.error),
		fields.Text("error.message", &r.error),
		fields.Text("thinking", &r.deep).When(&r.wanted),
		fields.Func("content", func(r *read, c *jsonl.Cursor) {
			fields.Content(c, func(text []byte) { r.said = append(r.said, string(text)) }, func(c *jsonl.Cursor) {
				r.said = append(r.said, string(c.Raw()))
			})
		}),
	}
})

func TestFields(t *testing.T) {
	long, other := "a name that is longer than both ends", "a name that is LONGER than both ends"
	for _, test := range []struct {
		line  string
		holds func(r *read) bool
	}{
		{`{"type":"x\n","copy":{"é":1},"id":"a","at":-3,"flag":true}`, func(r *read) bool {
			return string(r.name) == "x\n" && string(r.text) == `{"é":1}` && string(r.id) == "a" && r.at == -3 && r.flag
		}},
		{`{"id":12,"parentId":null}`, func(r *read) bool { return string(r.id) == "12" && r.root && r.parent == nil }},
		{`{"parentId":"p"}`, func(r *read) bool { return !r.root && string(r.parent) == "p" }},
		{`{"raw":{"a": [1]}}`, func(r *read) bool { return string(r.raw) == `{"a": [1]}` }},
		{`{"message":{"usage":{"in":5,"out":7},"model":"m"}}`, func(r *read) bool { return r.in == 5 && string(r.model) == "m" && r.object }},
		{`{"message":{"usage":{"in":-5}}}`, func(r *read) bool { return r.in == 0 }},
		{`{"message":"usage"}`, func(r *read) bool { return !r.object && r.began == 1 }},
		{`{"message":{"model":"a"},"message":{"model":"b"}}`, func(r *read) bool { return r.began == 2 && string(r.model) == "b" }},
		{`{"` + long + `":"yes"}`, func(r *read) bool { return string(r.long) == "yes" }},
		{`{"` + other + `":"no"}`, func(r *read) bool { return r.long == nil }},
		{`{"error":"plain"}`, func(r *read) bool { return string(r.error) == "plain" }},
		{`{"error":{"message":"inside"}}`, func(r *read) bool { return string(r.error) == "inside" }},
		{`{"thinking":"no"}`, func(r *read) bool { return r.deep == nil }},
		{`{"content":"one"}`, func(r *read) bool { return strings.Join(r.said, "|") == "one" }},
		{`{"content":["one",2,{"a":1},null,"two"]}`, func(r *read) bool { return strings.Join(r.said, "|") == `one|{"a":1}|two` }},
		{`{"content":{"a":1}}`, func(r *read) bool { return strings.Join(r.said, "|") == `{"a":1}` }},
		{`{"content":7,"type":"x"}`, func(r *read) bool { return r.said == nil && string(r.name) == "x" }},
		{`{"\u0074ype":"escaped"}`, func(r *read) bool { return string(r.name) == "escaped" }},
		{`{"":1,"t":2,"typ":"no","typeX":"no","atype":"no"}`, func(r *read) bool { return r.name == nil }},
		{`{"type":7,"copy":null,"id":{},"parentId":true,"at":"x","flag":1,"error":[]}`, func(r *read) bool {
			return r.name == nil && r.text == nil && r.id == nil && r.parent == nil && r.at == 0 && !r.flag && r.error == nil
		}},
	} {
		var r read
		var c jsonl.Cursor
		if err := reads.Read(&r, &c, []byte(test.line)); err != nil || !test.holds(&r) {
			t.Errorf("%s: %+v, error %v", test.line, r, err)
		}
	}
}

func TestFieldsOfBrokenText(t *testing.T) {
	var r read
	var c jsonl.Cursor
	for _, line := range []string{``, `7`, `[]`, `{"type":"x"`, `{"type":"x"} {}`, `{"message":{"usage":{"in":1}}`} {
		if err := reads.Read(&r, &c, []byte(line)); !errors.Is(err, jsonl.ErrSyntax) {
			t.Errorf("%q: %v", line, err)
		}
	}
	if reads.Peek(&r, &c, []byte(`{"type":"first","id":`)); string(r.name) != "first" {
		t.Errorf("the beginning of an object says %q", r.name)
	}
	if reads.Peek(&r, &c, []byte(`"type"`)) {
		t.Error("a string is an object")
	}
}

// A table that would lose a value, or write beside its state, is a mistake that its
// first use shows.
func TestFieldsThatCannotBe(t *testing.T) {
	var beside []byte
	for name, all := range map[string]func(*read) []fields.Field{
		"one value": func(r *read) []fields.Field { return []fields.Field{fields.Text("x", &r.name), fields.Raw("x", &r.id)} },
		"ends": func(r *read) []fields.Field {
			return []fields.Field{fields.Text("one end, 1, and the other", &r.name), fields.Text("one end, 2, and the other", &r.id)}
		},
		"beside":    func(*read) []fields.Field { return []fields.Field{fields.Text("x", &beside)} },
		"condition": func(r *read) []fields.Field { return []fields.Field{fields.Text("x", &r.name).When(new(bool))} },
		"function": func(*read) []fields.Field {
			return []fields.Field{fields.Func("x", func(s *[]byte, c *jsonl.Cursor) { *s = c.Raw() })}
		},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("the table is used")
				}
			}()
			var c jsonl.Cursor
			_ = fields.New(all).Read(&read{}, &c, []byte("{}"))
		})
	}
}

// Names that are as long and begin alike are told apart, in a table of any size.
func TestFieldsOfManyNames(t *testing.T) {
	type many struct{ values [300]int64 }
	name := func(i int) string { return fmt.Sprintf("a name of a member with the number %08d", i) }
	table := fields.New(func(m *many) (all []fields.Field) {
		for i := range m.values {
			all = append(all, fields.Int(name(i), &m.values[i]))
			all = append(all, fields.Int(fmt.Sprint(i), &m.values[i]))
		}
		return all
	})
	var c jsonl.Cursor
	for i := range 300 {
		for _, path := range []string{name(i), fmt.Sprint(i)} {
			var m many
			if err := table.Read(&m, &c, fmt.Appendf(nil, `{"%s":%d}`, path, i+1)); err != nil || m.values[i] != int64(i+1) {
				t.Errorf("%s: %d, error %v", path, m.values[i], err)
			}
		}
	}
}
