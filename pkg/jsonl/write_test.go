package jsonl

import (
	"encoding/json"
	"testing"
	"unicode/utf8"
)

func TestAppendQuoted(t *testing.T) {
	for text, want := range map[string]string{
		"":                         `""`,
		"plain":                    `"plain"`,
		`a"b\c`:                    `"a\"b\\c"`,
		"\b\f\n\r\t":               `"\b\f\n\r\t"`,
		"\x00\x01\x1f\x7f":         "\"\\u0000\\u0001\\u001f\x7f\"",
		"<a href='x'>&amp;</a>/":   `"<a href='x'>&amp;</a>/"`,
		"\u2028\u2029é😀":           "\"\u2028\u2029é😀\"",
		"\xff":                     "\"\ufffd\"",
		"a\xe2\x82z\xf0\x9f\n\xc3": "\"a\ufffd\ufffdz\ufffd\ufffd\\n\ufffd\"",
		"\ufffd":                   "\"\ufffd\"",
	} {
		if got := string(AppendQuoted(nil, text)); got != want {
			t.Errorf("%q became %s, want %s", text, got, want)
		}
	}
	if got := string(AppendQuoted([]byte("x:"), "y")); got != `x:"y"` {
		t.Errorf("appending gave %s", got)
	}
}

// FuzzAppendQuoted reads what was written with encoding/json and with the
// cursor: both give the text back, with U+FFFD for bytes that are not UTF-8.
func FuzzAppendQuoted(f *testing.F) {
	f.Add("a\"\\\b\f\n\r\t\x00\x1f\x7f<>&\u2028é😀\xff\xe2\x82")
	f.Fuzz(func(t *testing.T, text string) {
		quoted := AppendQuoted(nil, text)
		want := string([]rune(text))
		var std string
		if err := json.Unmarshal(quoted, &std); err != nil || std != want {
			t.Fatalf("%q became %s: encoding/json reads %q, %v", text, quoted, std, err)
		}
		c := cursorOn(string(quoted))
		if own, ok := c.Bytes(); !ok || string(own) != want || c.End() != nil {
			t.Fatalf("%q became %s: the cursor reads %q, %v", text, quoted, own, c.Err())
		}
		if !utf8.Valid(quoted) {
			t.Fatalf("%q became %q, which is not UTF-8", text, quoted)
		}
	})
}
