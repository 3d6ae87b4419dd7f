package session

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// splitAll returns the objects that the splitter finds in the messages.
func splitAll(text []byte) (found []string, p documentSplitter) {
	start := 0
	for i, b := range text {
		begins, ends := p.step(b)
		if begins {
			start = i
		}
		if ends {
			found = append(found, string(text[start:i+1]))
		}
	}
	return found, p
}

// The splitter finds the objects that encoding/json finds.
func FuzzDocumentSplitter(f *testing.F) {
	for _, seed := range []string{
		`{"sessionId":"s","messages":[{"id":"a"},{"b":{"c":[1,{"d":"]}"}]}},7,"x",[{"no":1}]]}`,
		`{"messages":[],"x":{"messages":[{"deep":1}]},"y":[{"messages":[{}]}]}`,
		"{\n \"a\\\"b\": \"messages\",\n \"messages\" : [ {\"\\u0022\": \"\\\\\"} ]\n}",
		`{"messages":{"messages":[{"no":1}]}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if !json.Valid(text) || bytes.Contains(text, []byte(`\u006d`)) {
			t.Skip("not JSON, or its keys are escaped")
		}
		d := json.NewDecoder(bytes.NewReader(text))
		if token, err := d.Token(); err != nil || token != json.Delim('{') {
			t.Skip("not an object")
		}
		var want []string
		for d.More() {
			key, err := d.Token()
			if err != nil {
				t.Fatal(err)
			}
			var value json.RawMessage
			if err := d.Decode(&value); err != nil {
				t.Fatal(err)
			}
			var list []json.RawMessage
			if key == "messages" && json.Unmarshal(value, &list) == nil {
				for _, one := range list {
					if one[0] == '{' {
						want = append(want, string(one))
					}
				}
			} else if strings.Contains(key.(string), "messages") && key != "messages" {
				t.Skip("a key that decodes differently")
			}
		}
		got, p := splitAll(text)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("messages (-json +documentSplitter):\n%s", diff)
		}
		if p.broken || !p.closed {
			t.Errorf("broken %v, closed %v", p.broken, p.closed)
		}
	})
}
