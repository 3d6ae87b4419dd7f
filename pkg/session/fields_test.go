package session_test

import (
	"errors"
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

func (r *read) table() *fields.Table {
	return fields.New(
		fields.Text("type", &r.name),
		fields.Value("copy", &r.text),
		fields.ID("id", &r.id),
		fields.ID("parentId", &r.parent),
		fields.Null("parentId", &r.root),
		fields.Raw("raw", &r.raw),
		fields.Int("at", &r.at),
		fields.Flag("flag", &r.flag),
		fields.Begin("message", func(object bool) { r.object, r.began = object, r.began+1 }),
		fields.Text("message.model", &r.model),
		fields.Count("message.usage.in", &r.in),
		fields.Text("a name that is longer than both ends", &r.long),
		fields.Text("error", &r.error),
		fields.Text("error.message", &r.error),
		fields.Text("thinking", &r.deep).When(&r.wanted),
		fields.Func("content", func(c *jsonl.Cursor) {
			fields.Content(c, func(text []byte) { r.said = append(r.said, string(text)) }, func(c *jsonl.Cursor) {
				r.said = append(r.said, string(c.Raw()))
			})
		}),
	)
}

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
		if err := r.table().Read([]byte(test.line)); err != nil || !test.holds(&r) {
			t.Errorf("%s: %+v, error %v", test.line, r, err)
		}
	}
}

func TestFieldsOfBrokenText(t *testing.T) {
	var r read
	table := r.table()
	for _, line := range []string{``, `7`, `[]`, `{"type":"x"`, `{"type":"x"} {}`, `{"message":{"usage":{"in":1}}`} {
		if err := table.Read([]byte(line)); !errors.Is(err, jsonl.ErrSyntax) {
			t.Errorf("%q: %v", line, err)
		}
	}
	if table.Peek([]byte(`{"type":"first","id":`)); string(r.name) != "first" {
		t.Errorf("the beginning of an object says %q", r.name)
	}
	if table.Peek([]byte(`"type"`)) {
		t.Error("a string is an object")
	}
}

// A field that hides another one is a mistake that is seen at once.
func TestFieldsOfOneValue(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("two fields take one value")
		}
	}()
	var a, b []byte
	fields.New(fields.Text("x", &a), fields.Raw("x", &b))
}
