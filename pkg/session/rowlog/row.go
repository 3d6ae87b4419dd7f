package rowlog

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
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

// Format says which lines the log of a session is made of.
type Format struct {
	Session string            // the type of the first line, which holds the row of the session
	Version int               // of the lines; it stands in the first one
	Tables  map[string]string // by the type of a line: the table of its row
	Silent  []string          // types of lines that hold no row
	Data    string            // the column that holds JSON, which stands in a line as it is; "" for none
}

// The types of lines that every log has.
const (
	TypeRow      = "row"      // of any table, which the line names
	TypeChildren = "children" // the sessions that belong to this one
)

// append appends a row as a line of a type.
func (f Format) append(to []byte, kind string, r Row) []byte {
	to = append(to, `{"type":"`...)
	to = append(to, kind...)
	to = append(to, '"')
	switch kind {
	case f.Session:
		to = append(to, `,"format":`...)
		to = strconv.AppendInt(to, int64(f.Version), 10)
	case TypeRow:
		to = append(to, `,"table":`...)
		to = AppendText(to, r.Table)
	}
	to = append(to, `,"row":{`...)
	payload, first := "", true
	for i, name := range r.Columns {
		if text, ok := r.Values[i].(string); ok && f.Data != "" && name == f.Data && kind != TypeRow && embeds(text) {
			payload = text
			continue
		}
		if !first {
			to = append(to, ',')
		}
		first = false
		to = append(AppendText(to, name), ':')
		to = appendValue(to, r.Values[i])
	}
	to = append(to, '}')
	if payload != "" {
		to = append(append(to, `,"payload":`...), payload...)
	}
	return append(to, '}', '\n')
}

// AppendRowless appends the first line of the log of a session whose row is gone, or lies on a
// damaged page: its id is all that is known. Nothing is put back from such a log.
func (f Format) AppendRowless(to []byte, id string, gone bool) []byte {
	why := "damaged"
	if gone {
		why = "gone"
	}
	to = append(to, `{"type":"`+f.Session+`","format":`...)
	to = strconv.AppendInt(to, int64(f.Version), 10)
	to = AppendText(append(to, `,"`+why+`":true,"row":{"id":`...), id)
	return append(to, '}', '}', '\n')
}

// typeLost is the type of a line that says of a table that rows of the session may be
// missing.
const typeLost = "lost"

// AppendLost appends a line for each table of which rows of the session may lie on damaged
// pages.
func AppendLost(to []byte, tables []string) []byte {
	for _, name := range tables {
		to = append(AppendText(append(to, `{"type":"`+typeLost+`","table":`...), name), '}', '\n')
	}
	return to
}

// ErrRowless is returned for a log whose session had no row that could be read.
var ErrRowless = errors.New("when it was archived the session's own row lay on a damaged page of the database: without it the messages cannot be put back")

// ErrOrphan is returned for a log whose session had no row any more.
var ErrOrphan = errors.New("when it was archived the session's own row was gone from the database: without it the messages cannot be put back")

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
			return append(AppendText(append(to, `{"real":`...), strconv.FormatFloat(x, 'g', -1, 64)), '}')
		}
		from := len(to)
		to = strconv.AppendFloat(to, x, 'g', -1, 64)
		if !bytes.ContainsAny(to[from:], ".e") {
			to = append(to, '.', '0')
		}
		return to
	case string:
		if !utf8.ValidString(x) {
			return append(AppendText(append(to, `{"text":`...), base64.StdEncoding.EncodeToString([]byte(x))), '}')
		}
		return AppendText(to, x)
	case []byte:
		return append(AppendText(append(to, `{"blob":`...), base64.StdEncoding.EncodeToString(x)), '}')
	}
	return append(to, "null"...)
}

// AppendText appends text in UTF-8 as a string of JSON: the same bytes for the
// same text, whatever the version of a library.
func AppendText(to []byte, text string) []byte {
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

// errLine is returned for a line that is none of a session's log.
var errLine = errors.New("not a line of a session's log")

// line is a line of a log.
type line struct {
	Type    string          `json:"type"`
	Format  int             `json:"format"`
	Damaged bool            `json:"damaged"` // the row could not be read
	Gone    bool            `json:"gone"`    // there was no row
	Table   string          `json:"table"`
	Row     json.RawMessage `json:"row"`
	Payload json.RawMessage `json:"payload"`

	Sessions []string `json:"sessions"`
}

// Children are the sessions that a line of a log names as belonging to it; nil
// for any other line.
func Children(text []byte) []string {
	var l line
	if !IsType(text, TypeChildren) || json.Unmarshal(text, &l) != nil {
		return nil
	}
	return l.Sessions
}

// IsType reports, by its beginning, whether a line of a log is of a type.
func IsType(text []byte, kind string) bool {
	return bytes.HasPrefix(text, []byte(`{"type":"`+kind+`"`))
}

// Read reads the row that a line holds; false for a line that holds none. An
// error wraps errLine.
func (f Format) Read(text []byte) (r Row, ok bool, err error) {
	var l line
	if err := json.Unmarshal(text, &l); err != nil {
		return r, false, fmt.Errorf("%w: %w", errLine, err)
	}
	switch {
	case l.Type == f.Session && l.Format != f.Version:
		return r, false, fmt.Errorf("%w: its format is %d, this tool knows %d", errLine, l.Format, f.Version)
	case l.Damaged:
		return r, false, ErrRowless
	case l.Gone:
		return r, false, ErrOrphan
	case l.Type == TypeRow:
		r.Table = l.Table
	case l.Type == TypeChildren || l.Type == typeLost || slices.Contains(f.Silent, l.Type):
		return r, false, nil
	case f.Tables[l.Type] != "":
		r.Table = f.Tables[l.Type]
	default:
		return r, false, fmt.Errorf("%w: its type is %q", errLine, l.Type)
	}
	if err := r.read(l.Row); err != nil {
		return r, false, fmt.Errorf("%w: %w", errLine, err)
	}
	if len(l.Payload) > 0 {
		r.Columns, r.Values = append(r.Columns, f.Data), append(r.Values, string(l.Payload))
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
