package jsonl

import (
	"encoding/json"
	"math"
	"math/big"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestInt64(t *testing.T) {
	for _, test := range []struct {
		text string
		want int64
		ok   bool
	}{
		{`0`, 0, true}, {`-0`, 0, true}, {`0.0`, 0, true}, {`0e99`, 0, true}, {`-0.000e-7`, 0, true},
		{`12`, 12, true}, {`12.0`, 12, true}, {`1.2e1`, 12, true}, {`1e3`, 1000, true}, {`1E+3`, 1000, true}, {`1200e-2`, 12, true}, {`"12"`, 12, true},
		{`"1e3"`, 1000, true}, {`"\u0031"`, 1, true}, {`-12.000`, -12, true}, {`"-5"`, -5, true},
		{`9007199254740993`, 1<<53 + 1, true}, {`9007199254740993.0`, 1<<53 + 1, true}, {`"9007199254740993"`, 1<<53 + 1, true},
		{`900719925474099.3e1`, 1<<53 + 1, true},
		{`999999999999999999`, 999999999999999999, true}, {`1000000000000000000`, 1e18, true},
		{`9223372036854775807`, math.MaxInt64, true}, {`9223372036854775808`, 0, false}, {`9223372036854775807.0`, math.MaxInt64, true},
		{`-9223372036854775808`, math.MinInt64, true}, {`-9223372036854775809`, 0, false}, {`-9223372036854775808e0`, math.MinInt64, true},
		{`18446744073709551615`, 0, false}, {`18446744073709551616`, 0, false}, {`123456789012345678901234567890`, 0, false},
		{`1e18`, 1e18, true}, {`1e19`, 0, false}, {`1e21`, 0, false}, {`1e999999999999999999999`, 0, false}, {`1e-999999999999999999999`, 0, false},
		{`0.` + strings.Repeat("0", 5000) + `1e5001`, 1, true}, {`1` + strings.Repeat("0", 5000) + `e-5000`, 1, true},
		{`12.5`, 0, false}, {`1e-1`, 0, false}, {`0.1`, 0, false}, {`-1.5e0`, 0, false}, {`"12.5"`, 0, false},
		{`""`, 0, false}, {`" 12"`, 0, false}, {`"12 "`, 0, false}, {`"+1"`, 0, false}, {`"0x10"`, 0, false}, {`"012"`, 0, false}, {`"1_000"`, 0, false}, {`"-"`, 0, false},
		{`"NaN"`, 0, false}, {`null`, 0, false}, {`true`, 0, false}, {`{}`, 0, false}, {`[12]`, 0, false}, {`"twelve"`, 0, false},
	} {
		c := cursorOn(test.text)
		if got, ok := c.Int64(); got != test.want || ok != test.ok || c.End() != nil {
			t.Errorf("%.40s is %d %v, want %d %v (%v)", test.text, got, ok, test.want, test.ok, c.Err())
		}
	}
	for _, text := range []string{`01`, `1.`, `--1`, `1e`, `NaN`, `-`} {
		c := cursorOn(text)
		if got, ok := c.Int64(); got != 0 || ok && c.End() == nil || c.End() == nil {
			t.Errorf("%s was read as %d %v", text, got, ok)
		}
	}
}

func TestFloat64(t *testing.T) {
	for _, test := range []struct {
		text string
		want float64
		ok   bool
	}{
		{`0.009189`, 0.009189, true}, {`"0.25"`, 0.25, true}, {`-1e-7`, -1e-7, true}, {`12`, 12, true}, {`1e308`, 1e308, true},
		{`1e309`, 0, false}, {`"1e999"`, 0, false}, {`null`, 0, false}, {`"abc"`, 0, false}, {`"Infinity"`, 0, false}, {`"0x1p-2"`, 0, false}, {`[1]`, 0, false}, {`""`, 0, false},
	} {
		c := cursorOn(test.text)
		if got, ok := c.Float64(); got != test.want || ok != test.ok || c.End() != nil {
			t.Errorf("%s is %v %v, want %v %v", test.text, got, ok, test.want, test.ok)
		}
	}
}

func TestBool(t *testing.T) {
	for text, want := range map[string][2]bool{
		`true`: {true, true}, `false`: {false, true}, `null`: {false, false}, `"true"`: {false, false}, `1`: {false, false}, `tru`: {false, false},
	} {
		if got, ok := cursorOn(text).Bool(); got != want[0] || ok != want[1] {
			t.Errorf("%s is %v %v", text, got, ok)
		}
	}
}

// TestNumbersAreExact compares with arbitrary precision, and with
// encoding/json for floats.
func TestNumbersAreExact(t *testing.T) {
	number := rapid.StringMatching(`-?(0|[1-9][0-9]{0,22})(\.[0-9]{1,8})?([eE][+-]?[0-9]{1,2})?`)
	rapid.Check(t, func(t *rapid.T) {
		text := number.Draw(t, "number")
		exact, ok := new(big.Rat).SetString(text)
		if !ok {
			t.Fatalf("%s is not a number to math/big", text)
		}
		want, isInt := int64(0), exact.IsInt() && exact.Num().IsInt64()
		if isInt {
			want = exact.Num().Int64()
		}
		for _, form := range []string{text, `"` + text + `"`} {
			if got, ok := cursorOn(form).Int64(); ok != isInt || got != want {
				t.Fatalf("%s is %d %v, want %d %v", form, got, ok, want, isInt)
			}
		}
		var float float64
		if err := json.Unmarshal([]byte(text), &float); err != nil {
			t.Fatal(err)
		}
		if got, ok := cursorOn(text).Float64(); !ok || got != float {
			t.Fatalf("%s is %v, want %v", text, got, float)
		}
	})
}

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
