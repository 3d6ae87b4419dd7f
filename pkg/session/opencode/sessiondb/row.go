package sessiondb

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Row is a row of a table. Its values are nil, int64, float64, string or
// []byte, in the order of its columns.
type Row struct {
	Table   string
	Columns []string
	Values  []any
}

// The types of lines in a log.
const (
	typeSession = "opencode.session"
	typeRow     = "row"
	typeMessage = "message"
	typePart    = "part"
	typeEvent   = "opencode.event"
	typeJournal = "journal"

	typeChildren = "children"
)

// logFormat is the version of the lines.
const logFormat = 1

// dataColumn is the column that holds JSON, which stands in a line as it is.
const dataColumn = "data"

// appendRow appends a row as a line.
func appendRow(to []byte, kind string, r Row) []byte {
	to = append(to, `{"type":"`...)
	to = append(to, kind...)
	to = append(to, '"')
	switch kind {
	case typeSession:
		to = append(to, `,"format":`...)
		to = strconv.AppendInt(to, logFormat, 10)
	case typeRow:
		to = append(to, `,"table":`...)
		to = appendText(to, r.Table)
	}
	to = append(to, `,"row":{`...)
	payload, first := "", true
	for i, name := range r.Columns {
		if text, ok := r.Values[i].(string); ok && name == dataColumn && kind != typeRow && embeds(text) {
			payload = text
			continue
		}
		if !first {
			to = append(to, ',')
		}
		first = false
		to = append(appendText(to, name), ':')
		to = appendValue(to, r.Values[i])
	}
	to = append(to, '}')
	if payload != "" {
		to = append(append(to, `,"payload":`...), payload...)
	}
	return append(to, '}', '\n')
}

// embeds reports whether text can stand in a line as it is: an object of JSON
// in UTF-8, on one line.
func embeds(text string) bool {
	return len(text) > 1 && text[0] == '{' && text[len(text)-1] == '}' && strings.IndexByte(text, '\n') < 0 &&
		utf8.ValidString(text) && json.Valid([]byte(text))
}

// appendValue appends a value so that it can be told from every other one: a
// number with a fraction or an exponent is a real, one without an integer, and
// what is no text in UTF-8 an object.
func appendValue(to []byte, v any) []byte {
	switch x := v.(type) {
	case int64:
		return strconv.AppendInt(to, x, 10)
	case float64:
		if math.IsInf(x, 0) || math.IsNaN(x) {
			return append(appendText(append(to, `{"real":`...), strconv.FormatFloat(x, 'g', -1, 64)), '}')
		}
		from := len(to)
		to = strconv.AppendFloat(to, x, 'g', -1, 64)
		if !bytes.ContainsAny(to[from:], ".e") {
			to = append(to, '.', '0')
		}
		return to
	case string:
		if !utf8.ValidString(x) {
			return append(appendText(append(to, `{"text":`...), base64.StdEncoding.EncodeToString([]byte(x))), '}')
		}
		return appendText(to, x)
	case []byte:
		return append(appendText(append(to, `{"blob":`...), base64.StdEncoding.EncodeToString(x)), '}')
	}
	return append(to, "null"...)
}

// appendText appends text in UTF-8 as a string of JSON.
func appendText(to []byte, text string) []byte {
	const hex = "0123456789abcdef"
	to = append(to, '"')
	for i := range len(text) {
		switch c := text[i]; {
		case c == '"' || c == '\\':
			to = append(to, '\\', c)
		case c < 0x20 || c == 0x7f:
			to = append(to, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		default:
			to = append(to, c)
		}
	}
	return append(to, '"')
}

// ErrLine is returned for a line that is none of a session's log.
var ErrLine = errors.New("not a line of a session's log")

// line is a line of a log.
type line struct {
	Type    string          `json:"type"`
	Format  int             `json:"format"`
	Table   string          `json:"table"`
	Row     json.RawMessage `json:"row"`
	Payload json.RawMessage `json:"payload"`

	Sessions []string `json:"sessions"` // that agents have begun
}

// Children are the sessions that a line of a log names as begun by its agents;
// nil for any other line.
func Children(text []byte) []string {
	var l line
	if json.Unmarshal(text, &l) != nil || l.Type != typeChildren {
		return nil
	}
	return l.Sessions
}

// ReadRow reads the row that a line holds; false for a line that holds none.
func ReadRow(text []byte) (r Row, ok bool, err error) {
	var l line
	if err := json.Unmarshal(text, &l); err != nil {
		return r, false, fmt.Errorf("%w: %w", ErrLine, err)
	}
	switch l.Type {
	case typeSession:
		if l.Format != logFormat {
			return r, false, fmt.Errorf("%w: its format is %d, this tool knows %d", ErrLine, l.Format, logFormat)
		}
		r.Table = sessionTable
	case typeMessage:
		r.Table = messageTable
	case typePart:
		r.Table = partTable
	case typeEvent:
		r.Table = eventTable
	case typeRow:
		r.Table = l.Table
	case typeJournal, typeChildren:
		return r, false, nil
	default:
		return r, false, fmt.Errorf("%w: its type is %q", ErrLine, l.Type)
	}
	if err := r.read(l.Row); err != nil {
		return r, false, fmt.Errorf("%w: %w", ErrLine, err)
	}
	if len(l.Payload) > 0 {
		r.Columns, r.Values = append(r.Columns, dataColumn), append(r.Values, string(l.Payload))
	}
	return r, true, nil
}

// read reads the columns of a row in their order.
func (r *Row) read(raw []byte) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return errors.Join(errors.New("it has no row"), err)
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		var v any
		if err := d.Decode(&v); err != nil {
			return err
		}
		value, err := readValue(v)
		if err != nil {
			return fmt.Errorf("column %v: %w", name, err)
		}
		r.Columns, r.Values = append(r.Columns, name.(string)), append(r.Values, value)
	}
	return nil
}

func readValue(v any) (any, error) {
	switch x := v.(type) {
	case nil, string:
		return x, nil
	case json.Number:
		if strings.ContainsAny(string(x), ".eE") {
			return x.Float64()
		}
		return x.Int64()
	case map[string]any:
		for kind, text := range x {
			said, ok := text.(string)
			if !ok || len(x) != 1 {
				break
			}
			return readWrapped(kind, said)
		}
	}
	return nil, fmt.Errorf("a value of the type %T", v)
}

func readWrapped(kind, text string) (any, error) {
	if kind == "real" {
		return strconv.ParseFloat(text, 64)
	}
	b, err := base64.StdEncoding.DecodeString(text)
	switch {
	case err != nil:
		return nil, err
	case kind == "text":
		return string(b), nil
	case kind == "blob":
		return b, nil
	}
	return nil, fmt.Errorf("a value of the kind %q", kind)
}

// Value is the value of a column, nil if the row lacks it.
func (r Row) Value(column string) any {
	for i, name := range r.Columns {
		if name == column {
			return r.Values[i]
		}
	}
	return nil
}
