package embed

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
)

// errReply is returned when a reply is not what the protocol says: no JSON, a
// missing field, null where a number belongs.
var errReply = errors.New("reply not understood")

// errOrder is returned when a reply does not say which vector is of which text:
// an index is missing, there twice or out of range.
var errOrder = errors.New("vectors without order")

// reply is what a server answered.
type reply struct {
	model   string
	vectors [][]float32
}

// decodeOllama reads {"model": ..., "embeddings": [[...], ...]}.
func decodeOllama(data []byte, dim int) (reply, error) {
	var out reply
	found := false
	r := replyReader{data: data}
	r.object(func(key string) {
		switch key {
		case "embeddings":
			found, out.vectors = true, nil
			r.array(func() { out.vectors = append(out.vectors, r.vector(dim)) })
		case "model":
			out.model = r.optionalText()
		default:
			r.skip(0)
		}
	})
	if err := r.end(); err != nil {
		return reply{}, err
	}
	if !found {
		return reply{}, fmt.Errorf("%w: no embeddings", errReply)
	}
	return out, nil
}

// decodeOpenAI reads {"model": ..., "data": [{"index": 0, "embedding": [...]}, ...]}
// and puts the vectors in the order of their index.
func decodeOpenAI(data []byte, dim int) (reply, error) {
	var out reply
	var found bool
	var rows []indexed
	r := replyReader{data: data}
	r.object(func(key string) {
		switch key {
		case "data":
			found, rows = true, nil
			r.array(func() { rows = append(rows, r.indexed(dim)) })
		case "model":
			out.model = r.optionalText()
		default:
			r.skip(0)
		}
	})
	if err := r.end(); err != nil {
		return reply{}, err
	}
	if !found {
		return reply{}, fmt.Errorf("%w: no data", errReply)
	}
	var err error
	out.vectors, err = inOrder(rows)
	return out, err
}

// indexed is an element of OpenAI's data.
type indexed struct {
	index  int // -1 if there is none
	vector []float32
}

func inOrder(rows []indexed) ([][]float32, error) {
	vectors := make([][]float32, len(rows))
	for i, row := range rows {
		if row.index < 0 || row.index >= len(rows) || vectors[row.index] != nil {
			return nil, fmt.Errorf("%w: index %d of element %d", errOrder, row.index, i)
		}
		if row.vector == nil {
			return nil, fmt.Errorf("%w: element %d has no embedding", errReply, i)
		}
		vectors[row.index] = row.vector
	}
	return vectors, nil
}

// maxDepth of what a reply nests, as in encoding/json.
const maxDepth = 10_000

// A replyReader reads a reply in one pass, without tokens: nearly all of it is
// digits. Keys are compared exactly, and of duplicate keys the last counts.
type replyReader struct {
	data []byte
	pos  int
	err  error
}

func (r *replyReader) fail(what string) bool {
	if r.err == nil {
		r.err = fmt.Errorf("%w: %s at byte %d", errReply, what, r.pos)
	}
	return false
}

// next returns the first byte that is no white space, 0 at the end.
func (r *replyReader) next() byte {
	for ; r.pos < len(r.data); r.pos++ {
		switch c := r.data[r.pos]; c {
		case ' ', '\n', '\r', '\t':
		default:
			return c
		}
	}
	return 0
}

func (r *replyReader) expect(c byte) bool {
	if r.err != nil {
		return false
	}
	if r.next() != c {
		return r.fail(fmt.Sprintf("no %q", c))
	}
	r.pos++
	return true
}

// object calls field for every key of an object; field reads the value.
func (r *replyReader) object(field func(key string)) {
	if !r.expect('{') || r.closed('}') {
		return
	}
	for {
		key := r.text()
		if !r.expect(':') {
			return
		}
		field(key)
		if !r.more('}') {
			return
		}
	}
}

// array calls element for every element of an array; element reads it.
func (r *replyReader) array(element func()) {
	if !r.expect('[') || r.closed(']') {
		return
	}
	for {
		element()
		if !r.more(']') {
			return
		}
	}
}

// closed reads end, if that is next.
func (r *replyReader) closed(end byte) bool {
	if r.next() != end {
		return false
	}
	r.pos++
	return true
}

// more reads a comma, or end and says that there is no more.
func (r *replyReader) more(end byte) bool {
	if r.err != nil || r.closed(end) {
		return false
	}
	return r.expect(',')
}

// text reads a string.
func (r *replyReader) text() string {
	if !r.expect('"') {
		return ""
	}
	start, escaped := r.pos, false
	for ; r.pos < len(r.data); r.pos++ {
		switch c := r.data[r.pos]; {
		case c == '"':
			r.pos++
			return r.unquote(r.data[start-1:r.pos], escaped)
		case c == '\\':
			escaped = true
			r.pos++
		case c < ' ':
			r.fail("control character in a string")
			return ""
		}
	}
	r.fail("string without end")
	return ""
}

func (r *replyReader) unquote(quoted []byte, escaped bool) string {
	if !escaped {
		return string(quoted[1 : len(quoted)-1])
	}
	var s string
	if json.Unmarshal(quoted, &s) != nil {
		r.fail("bad escape in a string")
	}
	return s
}

// vector reads an array of numbers. What a float32 cannot hold is an infinity.
func (r *replyReader) vector(capacity int) []float32 {
	if !r.expect('[') {
		return nil
	}
	v := make([]float32, 0, capacity)
	if r.closed(']') {
		return v
	}
	for {
		r.next()
		x, size := parseFloat(r.data[r.pos:])
		if size == 0 {
			r.fail("no number")
			return nil
		}
		v = append(v, x)
		r.pos += size
		if r.pos < len(r.data) && r.data[r.pos] == ',' {
			r.pos++
			continue
		}
		if !r.more(']') {
			return v
		}
	}
}

// integer reads a whole number that is not negative.
func (r *replyReader) integer() int {
	r.next()
	_, size := scanNumber(r.data[r.pos:])
	n, err := strconv.Atoi(string(r.data[r.pos : r.pos+size]))
	if err != nil || n < 0 {
		r.fail("no whole number")
		return 0
	}
	r.pos += size
	return n
}

// skip reads any value.
func (r *replyReader) skip(depth int) {
	if depth > maxDepth {
		r.fail("nested too deep")
		return
	}
	switch c := r.next(); {
	case r.err != nil:
	case c == '{':
		r.object(func(string) { r.skip(depth + 1) })
	case c == '[':
		r.array(func() { r.skip(depth + 1) })
	case c == '"':
		r.text()
	case c == '-' || isDigit(c):
		_, size := scanNumber(r.data[r.pos:])
		if size == 0 {
			r.fail("bad number")
		}
		r.pos += size
	default:
		r.word()
	}
}

func (r *replyReader) word() {
	for _, word := range []string{"true", "false", "null"} {
		if rest := r.data[r.pos:]; len(rest) >= len(word) && string(rest[:len(word)]) == word {
			r.pos += len(word)
			return
		}
	}
	r.fail("no value")
}

// end says that nothing may follow.
func (r *replyReader) end() error {
	if r.err == nil && (r.next() != 0 || r.pos < len(r.data)) {
		r.fail("more after the end")
	}
	return r.err
}

func (r *replyReader) indexed(dim int) indexed {
	row := indexed{index: -1}
	r.object(func(key string) {
		switch key {
		case "index":
			row.index = r.integer()
		case "embedding":
			row.vector = r.vector(dim)
		default:
			r.skip(0)
		}
	})
	return row
}

// optionalText reads a string; another value is skipped and is "".
func (r *replyReader) optionalText() string {
	if r.next() == '"' {
		return r.text()
	}
	r.skip(0)
	return ""
}
