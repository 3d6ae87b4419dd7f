package jsonl

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func cursorOn(text string) *Cursor {
	c := new(Cursor)
	c.Reset([]byte(text))
	return c
}

func TestCursorKinds(t *testing.T) {
	for text, want := range map[string]Kind{
		`{}`: Object, `[]`: Array, `""`: String, `-1`: Number, `0`: Number, `9`: Number,
		`true`: True, `false`: False, `null`: Null, ``: Invalid, `  `: Invalid, `NaN`: Invalid, `+1`: Invalid,
		" \t\r\n {}": Object,
	} {
		if got := cursorOn(text).Kind(); got != want {
			t.Errorf("%q is of kind %d, want %d", text, got, want)
		}
	}
	if !cursorOn(`null`).IsNull() || cursorOn(`0`).IsNull() {
		t.Error("IsNull is wrong")
	}
}

func TestCursorValidity(t *testing.T) {
	valid := []string{
		`{}`, `[]`, `0`, `-0`, `-0.0e-0`, `1.5E+3`, `""`, `"\u0041"`, `null`, " [ 1 , { \"a\" : [ ] } ]\r\n",
		`{"":0}`, `{"a":{"b":[[],{}]}}`, `[true,false,null]`, `{"a":1,"a":2}`, `"\ud800"`,
	}
	// A string that is only skipped may hold what JSON forbids.
	tolerated := []string{"\"a\tb\"", `"\x"`, `"\u12"`, "\"\x00\"", `{"a":"\q"}`}
	invalid := []string{
		``, ` `, `{`, `[`, `"`, `"\"`, `"a`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1,`, `{"a":1,}`, `{,}`, `{"a"1}`, `{a:1}`, `{1:2}`,
		`[1`, `[1,`, `[1,]`, `[,]`, `[1 2]`, `]`, `}`, `[}`, `{]`, `[[1]`, `{"a":[}`, `{"a":1]`, `[1}`,
		`01`, `-`, `1.`, `.5`, `1e`, `1e+`, `+1`, `0x1`, `1_0`, `NaN`, `Infinity`, `-Infinity`, `nul`, `nulL`, `truee`, `fals`, `True`,
		`{} {}`, `{}x`, `1 2`, `"a""b"`, `'a'`, "\xef\xbb\xbf{}", "{}\x00", `{"a":1,,"b":2}`, `[1,,2]`, `//`, `[/**/]`, `{"a"::1}`,
	}
	for _, text := range append(valid, tolerated...) {
		if err := cursorOn(text).End(); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
	for _, text := range invalid {
		if err := cursorOn(text).End(); !errors.Is(err, ErrSyntax) {
			t.Errorf("%q gave %v when skipped", text, err)
		}
	}
	for _, text := range append(invalid, tolerated...) {
		c := cursorOn(text)
		if _, err := value(c); !errors.Is(err, ErrSyntax) {
			t.Errorf("%q gave %v when read", text, err)
		}
	}
}

func TestCursorErrorsSayWhere(t *testing.T) {
	for text, want := range map[string]int{
		`{"a":NaN}`: 5, `{"a":1} x`: 8, `{"a" 1}`: 5, `[1,2`: 4, `{"a":"b`: 5, `{"a":1,]`: 7, `[1;2]`: 2,
		`[[[[`: 4, `{"a":tru}`: 5, `{"a":-}`: 5,
	} {
		err := cursorOn(text).End()
		var syntax *syntaxError
		if !errors.As(err, &syntax) || syntax.Offset != want {
			t.Errorf("%s: %v, want byte %d", text, err, want)
		}
	}
	c := cursorOn(`{"key":"a` + "\x01" + `"}`)
	c.EnterObject()
	c.NextKey()
	c.Bytes()
	var syntax *syntaxError
	if !errors.As(c.Err(), &syntax) || syntax.Offset != 9 {
		t.Errorf("the control character was found by %v", c.Err())
	}
}

func TestCursorErrorsStay(t *testing.T) {
	c := cursorOn(`{"a":1,"b":NaN,"c":"text"}`)
	for ok := c.EnterObject(); ok && c.NextKey(); {
		c.Skip()
	}
	first := c.Err()
	if first == nil {
		t.Fatal("NaN was skipped without an error")
	}
	if c.NextKey() || c.NextElement() || c.EnterObject() || c.EnterArray() || c.Kind() != Invalid || c.Raw() != nil {
		t.Error("the cursor moved after an error")
	}
	if _, ok := c.Bytes(); ok {
		t.Error("a string was read after an error")
	}
	c.Skip()
	c.leave()
	if diff := cmp.Diff(first.Error(), c.End().Error()); diff != "" {
		t.Error(diff)
	}
	c.Reset([]byte(`{}`))
	if err := c.End(); err != nil {
		t.Errorf("the error outlived Reset: %v", err)
	}
}

func TestCursorOddKeys(t *testing.T) {
	long := strings.Repeat("k", 200)
	for _, key := range []string{``, `a`, `\u0072ole`, `r\u00f4le`, `\"`, `\\`, `naïve`, "\xff", `:`, `,"`[:1], long, long + `\n`, `0123456789012345678901234567890123456789012345678901234567890\n`} {
		for _, space := range []string{"", " ", "\t\n "} {
			text := fmt.Sprintf(`{%s"%s"%s:%s1%s,"next":2}`, space, key, space, space, space)
			c := cursorOn(text)
			var keys []string
			for ok := c.EnterObject(); ok && c.NextKey(); {
				keys = append(keys, string(c.Key()))
			}
			if want := []string{jsonString(t, `"`+key+`"`), "next"}; c.End() != nil || cmp.Diff(want, keys) != "" {
				t.Errorf("%q: keys %q, error %v", text, keys, c.Err())
			}
		}
	}
	for _, text := range []string{`{"\q":1}`, "{\"a\tb\":1}", `{"\u12":1}`} {
		if c := cursorOn(text); !c.EnterObject() || c.NextKey() || !errors.Is(c.Err(), ErrSyntax) {
			t.Errorf("%q: a key that JSON forbids was read: %v", text, c.Err())
		}
	}
}

func TestCursorSkipsWhatWasNotRead(t *testing.T) {
	c := cursorOn(`{"a":{"x":[1,{"y":2}]},"b":[[],[{}]],"c":"s","d":3,"e":{"f":{"g":1,"h":[1,2,3]},"i":0},"last":true}`)
	var keys []string
	for ok := c.EnterObject(); ok && c.NextKey(); {
		keys = append(keys, string(c.Key()))
		if string(c.Key()) == "e" {
			// Stop in the middle of two levels.
			c.EnterObject()
			c.NextKey()
			c.EnterObject()
			c.NextKey()
			c.leave()
			c.leave()
		}
	}
	if diff := cmp.Diff([]string{"a", "b", "c", "d", "e", "last"}, keys); diff != "" || c.End() != nil {
		t.Error(diff, c.Err())
	}
}

func TestCursorEndLeavesOpenContainers(t *testing.T) {
	for text, whole := range map[string]bool{
		`{"a":[1,[2,{"b":3}]],"c":4}`: true, `{"a":[1,[2,{"b":3}]],"c":4} x`: false, `{"a":[1,[2,{"b":3}]`: false,
	} {
		c := cursorOn(text)
		c.EnterObject()
		c.NextKey()
		c.EnterArray()
		c.NextElement()
		c.NextElement()
		c.EnterArray()
		if err := c.End(); (err == nil) != whole {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestCursorValueOfAnotherKindIsSkipped(t *testing.T) {
	for _, text := range []string{`{"a":1}`, `[1,2]`, `"s"`, `1`, `true`, `null`} {
		kind := cursorOn(text).Kind()
		for name, read := range map[string]func(*Cursor) bool{
			"EnterObject": func(c *Cursor) bool { return kind == Object || c.EnterObject() },
			"EnterArray":  func(c *Cursor) bool { return kind == Array || c.EnterArray() },
			"Bytes":       func(c *Cursor) bool { _, ok := c.Bytes(); return ok && kind != String },
			"AppendString": func(c *Cursor) bool {
				_, ok := c.AppendString(nil)
				return ok && kind != String
			},
			"Int64":   func(c *Cursor) bool { _, ok := c.Int64(); return ok && kind != Number },
			"Float64": func(c *Cursor) bool { _, ok := c.Float64(); return ok && kind != Number },
			"Bool":    func(c *Cursor) bool { _, ok := c.Bool(); return ok && kind != True && kind != False },
		} {
			c := cursorOn(`[` + text + `,"next"]`)
			c.EnterArray()
			c.NextElement()
			if read(c) && kind != Object && kind != Array {
				t.Errorf("%s took %s", name, text)
			}
			c.NextElement()
			if next, _ := c.Bytes(); string(next) != "next" || c.Err() != nil {
				t.Errorf("%s did not skip %s: %v", name, text, c.Err())
			}
		}
	}
}

func TestCursorRaw(t *testing.T) {
	for _, text := range []string{`{"a": [1, 2]}`, `[ ]`, `"a\"b"`, `-1.5e3`, `true`, `null`} {
		c := cursorOn(`[ ` + text + ` , 1]`)
		c.EnterArray()
		c.NextElement()
		if got := string(c.Raw()); got != text {
			t.Errorf("the text of %s is %s", text, got)
		}
		if c.Raw() != nil {
			t.Errorf("%s was returned twice", text)
		}
		c.NextElement()
		if n, ok := c.Int64(); !ok || n != 1 || c.NextElement() || c.End() != nil {
			t.Errorf("after %s the cursor is lost: %v", text, c.Err())
		}
	}
}
