package gemini

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/sessctl/sessctl/pkg/session"
)

// splitAll returns the objects that the splitter finds in the messages.
func splitAll(text []byte) (found []string, p splitter) {
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
func FuzzSplitter(f *testing.F) {
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
			t.Errorf("messages (-json +splitter):\n%s", diff)
		}
		if p.broken || !p.closed {
			t.Errorf("broken %v, closed %v", p.broken, p.closed)
		}
	})
}

func TestIsDocument(t *testing.T) {
	for text, want := range map[string]bool{
		`{"sessionId":"a","projectHash":"b","messages":[`:                        true,
		"\xEF\xBB\xBF{\n  \"sessionId\": \"a\",\n  \"messages\": [\n":            true,
		`{"sessionId":"a","projectHash":"b"}` + "\n" + `{"messages":[]}`:         false,
		`{"sessionId":"a","projectHash":"b","kind":"main"}`:                      false,
		`{"$set":{"messages":[]}}`:                                               false,
		`{"messages":[{"role":"user"}]}`:                                         false,
		`{"sessionId":"a","projectHa` + "\n" + `{"sessionId":"a","messages":[]}`: false,
		`[{"sessionId":"a","messages":[]}]`:                                      false,
		"":                                                                       false,
	} {
		if got := isDocument([]byte(text)); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// A document that was cut off is read as far as it goes, and is torn.
func TestTornDocument(t *testing.T) {
	text := readSample(t, "gemini-cli/jazzyalex/large.json")
	whole, lines := scanned(t, text)
	for cut := 300; cut < len(text)-3; cut += 97 {
		scan, part := scanned(t, text[:cut])
		if !scan.Counts.Torn || len(part) > len(lines) || scan.Messages > whole.Messages {
			t.Fatalf("cut at %d: torn %v, %d messages", cut, scan.Counts.Torn, scan.Messages)
		}
		if diff := cmp.Diff(slices.Clone(lines[:len(part)]), part, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("cut at %d:\n%s", cut, diff)
		}
	}
}

func TestEmitErrorStopsTheScan(t *testing.T) {
	for _, log := range []string{
		`{"sessionId":"s","projectHash":"h"}` + "\n" + `{"id":"a","timestamp":"t","type":"user","content":"x"}` + "\n" + `{"id":"b","timestamp":"t","type":"user","content":"y"}` + "\n",
		`{"sessionId":"s","projectHash":"h","messages":[{"id":"a","timestamp":"t","type":"user","content":"x"},{"id":"b","timestamp":"t","type":"user","content":"y"}]}`,
	} {
		calls := 0
		_, err := new(Store).Scan(context.Background(), strings.NewReader(log), session.ScanOptions{}, func(*session.Message) error {
			calls++
			return context.DeadlineExceeded
		})
		if err != context.DeadlineExceeded || calls != 1 { //nolint:errorlint // it must be the very error
			t.Errorf("%v after %d calls", err, calls)
		}
	}
}
