package cline

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/sessctl/sessctl/pkg/jsonl"
)

// errJSON is returned for what is not one JSON value.
var errJSON = errors.New("no JSON")

// stringify appends a JSON value in the form in which JSON.stringify writes it again
// after JSON.parse has read it: without spaces, names that are indexes first and
// every name once, numbers of 64 bits, the shortest escapes.
func stringify(dst, raw []byte) ([]byte, error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return nil, errJSON
	}
	switch raw[0] {
	case '{':
		o, err := objectOf(raw)
		if err != nil {
			return nil, err
		}
		return o.stringify(dst)
	case '[':
		elements, err := elementsOf(raw)
		if err != nil {
			return nil, err
		}
		return stringifyArray(dst, elements)
	case '"':
		return appendText(dst, unquoted(raw)), nil
	case 't', 'f', 'n':
		return append(dst, raw...), nil
	}
	return appendNumber(dst, raw), nil
}

// object is a JSON object as JavaScript has it.
type object struct {
	names  []string // raw JSON, in the order in which they are written
	values map[string]json.RawMessage
}

// objectOf reads an object.
func objectOf(raw []byte) (o object, err error) {
	var c jsonl.Cursor
	if err := c.BeginObject(raw); err != nil {
		return o, err
	}
	o.values = map[string]json.RawMessage{}
	for c.NextKey() {
		o.set(string(c.Key()), c.Raw())
	}
	return o, c.End()
}

// set gives a name its value. One that is there already keeps its place.
func (o *object) set(name string, value json.RawMessage) {
	if _, there := o.values[name]; !there {
		o.names = append(o.names, name)
	}
	o.values[name] = value
}

// text is a string of the object, and whether it has one of that name.
func (o object) text(name string) (string, bool) {
	raw, ok := o.values[name]
	if !ok || len(raw) == 0 || raw[0] != '"' {
		return "", false
	}
	return unquoted(raw), true
}

func (o object) stringify(dst []byte) (_ []byte, err error) {
	names := slices.Clone(o.names)
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(indexOf(a), indexOf(b)) })
	dst = append(dst, '{')
	for i, name := range names {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(jsonl.AppendQuoted(dst, name), ':')
		if dst, err = stringify(dst, o.values[name]); err != nil {
			return nil, err
		}
	}
	return append(dst, '}'), nil
}

// indexOf is the number that a name is, one beyond the largest for any other name.
func indexOf(name string) uint32 {
	n, err := strconv.ParseUint(name, 10, 32)
	if err != nil || n == math.MaxUint32 || strconv.FormatUint(n, 10) != name {
		return math.MaxUint32
	}
	return uint32(n)
}

// elementsOf reads an array.
func elementsOf(raw []byte) (elements []json.RawMessage, err error) {
	if err := json.Unmarshal(raw, &elements); err != nil {
		return nil, errJSON
	}
	return elements, nil
}

func stringifyArray(dst []byte, elements []json.RawMessage) (_ []byte, err error) {
	dst = append(dst, '[')
	for i, element := range elements {
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst, err = stringify(dst, element); err != nil {
			return nil, err
		}
	}
	return append(dst, ']'), nil
}

// appendNumber appends a number as JavaScript does.
func appendNumber(dst, raw []byte) []byte {
	f, err := strconv.ParseFloat(string(raw), 64)
	switch {
	case math.IsInf(f, 0) || err != nil && !errors.Is(err, strconv.ErrRange):
		return append(dst, "null"...)
	case f == 0:
		return append(dst, '0') // minus nothing too
	}
	text, _ := json.Marshal(f) // its form is that of ECMAScript
	return append(dst, text...)
}

// unquoted is the text of a JSON string. A surrogate without its other half, which
// JavaScript keeps, is three bytes as if it were a character.
func unquoted(quoted []byte) string {
	body := quoted[1 : len(quoted)-1]
	text := make([]byte, 0, len(body))
	for i := 0; i < len(body); i++ {
		if body[i] != '\\' || i+1 == len(body) {
			text = append(text, body[i])
			continue
		}
		i++
		if body[i] != 'u' {
			text = append(text, unescaped(body[i]))
			continue
		}
		unit := unitAt(body, i-1)
		i += 4
		if next := unitAt(body, i+1); utf16.IsSurrogate(unit) && utf16.DecodeRune(unit, next) != utf8.RuneError {
			unit = utf16.DecodeRune(unit, next)
			i += 6
		}
		text = appendUnit(text, unit)
	}
	return string(text)
}

func unescaped(c byte) byte {
	switch c {
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	}
	return c
}

// unitAt is the unit of UTF-16 that is escaped at a place, 0 if there is none.
func unitAt(body []byte, at int) rune {
	if at+6 > len(body) || body[at] != '\\' || body[at+1] != 'u' {
		return 0
	}
	unit, err := strconv.ParseUint(string(body[at+2:at+6]), 16, 16)
	if err != nil {
		return 0
	}
	return rune(unit)
}

func appendUnit(dst []byte, unit rune) []byte {
	if utf16.IsSurrogate(unit) {
		return append(dst, 0xE0|byte(unit>>12), 0x80|byte(unit>>6)&0xBF, 0x80|byte(unit)&0xBF)
	}
	return utf8.AppendRune(dst, unit)
}

// surrogateIn is the surrogate without its other half that a text of unquoted has at
// a place.
func surrogateIn(text string, at int) (unit rune, ok bool) {
	if at+3 > len(text) || text[at] != 0xED || text[at+1] < 0xA0 {
		return 0, false
	}
	return rune(text[at]&0x0F)<<12 | rune(text[at+1]&0x3F)<<6 | rune(text[at+2]&0x3F), true
}

// appendText appends a text of unquoted as a JSON string.
func appendText(dst []byte, text string) []byte {
	dst = append(dst, '"')
	from := 0
	for i := 0; i < len(text); i++ {
		unit, ok := surrogateIn(text, i)
		if !ok {
			continue
		}
		dst = appendInner(dst, text[from:i])
		dst = append(dst, `\u`...)
		dst = strconv.AppendInt(dst, int64(unit), 16)
		i += 2
		from = i + 1
	}
	return append(appendInner(dst, text[from:]), '"')
}

// appendInner appends what stands between the quotes.
func appendInner(dst []byte, text string) []byte {
	at := len(dst)
	dst = jsonl.AppendQuoted(dst, text)
	return append(dst[:at], dst[at+1:len(dst)-1]...)
}
