package jsonl

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// value reads everything the cursor stands before, as encoding/json decodes
// into an any with UseNumber.
func value(c *Cursor) (any, error) {
	v := anyValue(c)
	return v, c.End()
}

func anyValue(c *Cursor) any {
	switch c.Kind() {
	case Object:
		object := map[string]any{}
		for c.EnterObject(); c.NextKey(); {
			key := string(c.Key())
			object[key] = anyValue(c)
		}
		return object
	case Array:
		array := []any{}
		for c.EnterArray(); c.NextElement(); {
			array = append(array, anyValue(c))
		}
		return array
	case String:
		b, _ := c.Bytes()
		return string(b)
	case Number:
		return json.Number(c.Raw())
	case True, False:
		b, _ := c.Bool()
		return b
	}
	c.Skip()
	return nil
}

// jsonValue is the same by encoding/json.
func jsonValue(text []byte) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	err = d.Decode(&v)
	return v, err
}

func jsonString(t *testing.T, text string) string {
	t.Helper()
	var s string
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return s
}

// failer is what testing.T and rapid.T share.
type failer interface {
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// checkCursor holds the cursor to encoding/json on any text.
func checkCursor(t failer, text []byte) {
	valid := json.Valid(text)
	var c Cursor

	// Reading everything accepts and yields exactly what encoding/json does.
	c.Reset(text)
	got, err := value(&c)
	if valid != (err == nil) || err != nil && !errors.Is(err, ErrSyntax) {
		t.Fatalf("%q: valid is %v, but reading gave %v", text, valid, err)
	}
	if valid {
		want, err := jsonValue(text)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%q: %s", text, diff)
		}
	}

	// Skipping accepts that too, and besides only odd bytes inside strings.
	readErr := c.reason
	c.Reset(text)
	err = c.End()
	if valid && err != nil {
		t.Fatalf("%q: skipping gave %v", text, err)
	}
	if !valid && err == nil && !strings.HasSuffix(readErr, "in a string") {
		t.Fatalf("%q was skipped, but is wrong outside of strings: %s", text, readErr)
	}
	if valid {
		checkPartial(t, &c, text)
	}
}

// checkPartial reads an object or array with some values skipped, some left
// half read, some taken raw, and compares what was read.
func checkPartial(t failer, c *Cursor, text []byte) {
	var members []string
	var elements []json.RawMessage
	for k := range 4 {
		c.Reset(text)
		n := k
		switch c.Kind() {
		case Object:
			members = members[:0]
			for c.EnterObject(); c.NextKey(); n++ {
				members = append(members, string(c.Key()))
				partly(c, n)
			}
			if want := objectKeys(t, text); cmp.Diff(want, append([]string{}, members...)) != "" {
				t.Fatalf("%q: keys %q, want %q", text, members, want)
			}
		case Array:
			if err := json.Unmarshal(text, &elements); err != nil {
				t.Fatal(err)
			}
			for c.EnterArray(); c.NextElement(); n++ {
				want := elements[n-k]
				if n%4 == 0 {
					if got := c.Raw(); !bytes.Equal(got, want) {
						t.Fatalf("%q: element %d is %q, want %q", text, n-k, got, want)
					}
				}
				partly(c, n)
			}
			if n-k != len(elements) {
				t.Fatalf("%q: %d elements, want %d", text, n-k, len(elements))
			}
		}
		if err := c.End(); err != nil {
			t.Fatalf("%q read in part: %v", text, err)
		}
	}
}

// partly does one of several things with the value, by the number n.
func partly(c *Cursor, n int) {
	switch n % 4 {
	case 1:
		if c.EnterObject() && c.NextKey() {
			c.leave()
		}
	case 2:
		c.AppendString(nil)
	case 3:
		if c.EnterArray() {
			for c.NextElement() {
				c.Int64()
			}
		}
	}
}

// objectKeys returns the keys of an object in order, duplicates too.
func objectKeys(t failer, text []byte) []string {
	keys := []string{}
	d := json.NewDecoder(bytes.NewReader(text))
	if _, err := d.Token(); err != nil {
		t.Fatal(err)
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, key.(string))
		var skip json.RawMessage
		if err := d.Decode(&skip); err != nil {
			t.Fatal(err)
		}
	}
	return keys
}

func FuzzCursor(f *testing.F) {
	for _, seed := range []string{
		`{"type":"message","message":{"role":"user","content":[{"type":"text","text":"a\n\"b\" \u00e4\ud83d\ude00"}],"n":-1.5e+3}}`,
		`{"a":"\ud83d","b":"\ude00","c":"\ud83d\ud83d\ude00","d":"\u0000"}`, "{\"a\":\"\xe9\xff\xe4\\n\xb8\"}", "\"a\tb\"", `{"\u0061":1,"a":2}`,
		`[0,-0,1e5,01,1.,NaN,true,fals]`, ` { "a" : [ ] , "b" : { } } `, `{"a":1}{"b":2}`, `[[[[`, `"\\\\\\\""`, `{"a":"\q"}`, "{}\x00",
		strings.Repeat(`"`+strings.Repeat(`\\`, 31)+`\"",`, 3), `["` + strings.Repeat("0123456789abcdef", 8) + `"]`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) { checkCursor(t, text) })
}

// jsonText draws text that is JSON or nearly so: fuzzing finds odd bytes, this
// finds long and deep texts, with every length around the 64 bytes of a block.
func jsonText() *rapid.Generator[[]byte] {
	piece := rapid.SampledFrom([]string{
		`{`, `}`, `[`, `]`, `"`, `,`, `:`, `\`, `\\`, `\"`, `\n`, `\u00e4`, `\ud83d`, `\ude00`, ` `, "\n", `a`, `type`, `é`, `😀`, "\xff", "\x1f",
		`1`, `-`, `.`, `e`, `0`, `true`, `false`, `null`, `"key":`, `"text"`, `{"a":1}`, `[1,2]`, strings.Repeat("x", 30), strings.Repeat("y", 61),
	})
	broken := rapid.Custom(func(t *rapid.T) []byte {
		return []byte(strings.Join(rapid.SliceOfN(piece, 0, 40).Draw(t, "pieces"), ""))
	})
	whole := rapid.Custom(func(t *rapid.T) []byte {
		return appendValue(nil, t, rapid.IntRange(0, 4).Draw(t, "depth"))
	})
	return rapid.OneOf(broken, whole, whole)
}

// appendValue draws a JSON value, with white space and odd escapes.
func appendValue(dst []byte, t *rapid.T, depth int) []byte {
	space := rapid.SampledFrom([]string{"", "", "", " ", "\t", "\r\n"})
	list := func(open, shut string, item func([]byte) []byte) []byte {
		dst = append(dst, open...)
		for i := range rapid.IntRange(0, 4).Draw(t, "length") {
			if i > 0 {
				dst = append(dst, ","...)
			}
			dst = append(dst, space.Draw(t, "space")...)
			dst = item(dst)
			dst = append(dst, space.Draw(t, "space")...)
		}
		return append(dst, shut...)
	}
	kind := rapid.IntRange(0, 6).Draw(t, "kind")
	switch {
	case kind <= 1 && depth > 0:
		return list("{", "}", func(dst []byte) []byte {
			dst = appendText(dst, t)
			dst = append(dst, space.Draw(t, "space")+":"+space.Draw(t, "space")...)
			return appendValue(dst, t, depth-1)
		})
	case kind <= 3 && depth > 0:
		return list("[", "]", func(dst []byte) []byte { return appendValue(dst, t, depth-1) })
	case kind == 4:
		return append(dst, rapid.SampledFrom([]string{"true", "false", "null", "0", "-0.5", "12", "1e9", "123456789012345678901", "1.0"}).Draw(t, "scalar")...)
	}
	return appendText(dst, t)
}

func appendText(dst []byte, t *rapid.T) []byte {
	piece := rapid.SampledFrom([]string{
		`a`, ` `, `\n`, `\"`, `\\`, `\/`, `\b`, `\u0000`, `\u00E4`, `\u20ac`, `\ud83d\ude00`, `\ud83d`, `\ude00`, `é`, `€`, `😀`, "\xff", "\xe2\x82", "\x7f",
		"0123456789abcdef", strings.Repeat("long ", 13), `{\"`, `,`, `:`, `]`,
	})
	dst = append(dst, '"')
	for _, p := range rapid.SliceOfN(piece, 0, 8).Draw(t, "text") {
		dst = append(dst, p...)
	}
	return append(dst, '"')
}

func TestCursorIsEncodingJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { checkCursor(t, jsonText().Draw(t, "json")) })
}

func TestCursorStringsOfEveryLength(t *testing.T) {
	for n := range 200 {
		for _, unit := range []string{"x", `\n`, `\u00e9`, "é", `\\`, `x\"`} {
			text := []byte(`{"k":"` + strings.Repeat(unit, n) + `"}`)
			checkCursor(t, text)
			checkCursor(t, text[:len(text)-1])
		}
	}
}
