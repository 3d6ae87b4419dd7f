package embed

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
)

// ErrReply is returned when a reply is not what the protocol says: no JSON, a
// missing field, null where a number belongs.
var ErrReply = errors.New("reply not understood")

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
		r.err = fmt.Errorf("%w: %s at byte %d", ErrReply, what, r.pos)
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

// ErrOrder is returned when a reply does not say which vector is of which text:
// an index is missing, there twice or out of range.
var ErrOrder = errors.New("vectors without order")

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
		return reply{}, fmt.Errorf("%w: no embeddings", ErrReply)
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
		return reply{}, fmt.Errorf("%w: no data", ErrReply)
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

func inOrder(rows []indexed) ([][]float32, error) {
	vectors := make([][]float32, len(rows))
	for i, row := range rows {
		if row.index < 0 || row.index >= len(rows) || vectors[row.index] != nil {
			return nil, fmt.Errorf("%w: index %d of element %d", ErrOrder, row.index, i)
		}
		if row.vector == nil {
			return nil, fmt.Errorf("%w: element %d has no embedding", ErrReply, i)
		}
		vectors[row.index] = row.vector
	}
	return vectors, nil
}

// A float64 has 29 bits more than a float32. If they are not within roundingSlack
// of halfway, a float64 that is off by less than that rounds to the same float32
// as the number that was written.
const (
	extraBits     = 29
	halfway       = 1 << (extraBits - 1)
	roundingSlack = 4
	// smallestQuick bounds the quick way from below: beneath it float32 has
	// fewer bits, and the middles lie elsewhere.
	smallestQuick = 1e-37
)

// maxMantissa is how many decimal digits always fit into a uint64.
const maxMantissa = 19

// number is a JSON number while it is read.
type number struct {
	negative bool
	mantissa uint64 // of the first maxMantissa digits that count
	digits   int    // that count, leading zeros do not
	exponent int    // of ten
}

// scanNumber reads the JSON number at the start of data and returns its length,
// 0 if there is none.
func scanNumber(data []byte) (number, int) {
	var n number
	i := 0
	if i < len(data) && data[i] == '-' {
		n.negative = true
		i++
	}
	whole := n.take(data[i:])
	if whole == 0 || whole > 1 && data[i] == '0' {
		return n, 0
	}
	i += whole
	if i < len(data) && data[i] == '.' {
		fraction := n.take(data[i+1:])
		if fraction == 0 {
			return n, 0
		}
		n.exponent -= fraction
		i += 1 + fraction
	}
	if i < len(data) && data[i]|0x20 == 'e' {
		size := n.takeExponent(data[i+1:])
		if size == 0 {
			return n, 0
		}
		i += 1 + size
	}
	return n, i
}

// take reads decimal digits onto the mantissa and returns how many.
func (n *number) take(data []byte) int {
	i := 0
	for n.mantissa == 0 && i < len(data) && data[i] == '0' {
		i++
	}
	for n.digits+8 <= maxMantissa && i+8 <= len(data) {
		eight, ok := eightDigits(binary.LittleEndian.Uint64(data[i:]))
		if !ok {
			break
		}
		n.mantissa = n.mantissa*100_000_000 + eight
		n.digits += 8
		i += 8
	}
	for ; i < len(data) && isDigit(data[i]); i++ {
		n.digits++
		if n.digits <= maxMantissa {
			n.mantissa = n.mantissa*10 + uint64(data[i]-'0')
		}
	}
	return i
}

// eightDigits reads eight decimal digits at once, the first in the lowest byte:
// neighbours are joined to pairs, pairs to fours, fours to eight.
func eightDigits(word uint64) (uint64, bool) {
	const zeros = 0x3030303030303030
	if (word&0xF0F0F0F0F0F0F0F0)|((word+0x0606060606060606)&0xF0F0F0F0F0F0F0F0)>>4 != zeros|zeros>>4 {
		return 0, false
	}
	word -= zeros
	word = word*10 + word>>8
	const every = 0x000000FF000000FF
	low := (word & every) * (100 + 1_000_000<<32)
	high := (word >> 16 & every) * (1 + 10_000<<32)
	return (low + high) >> 32, true
}

// takeExponent reads what follows an e and returns its length. What is out of
// every range stays so.
func (n *number) takeExponent(data []byte) int {
	i, sign := 0, 1
	if len(data) > 0 && (data[0] == '+' || data[0] == '-') {
		if data[0] == '-' {
			sign = -1
		}
		i = 1
	}
	start, value := i, 0
	for ; i < len(data) && isDigit(data[i]); i++ {
		value = min(value*10+int(data[i]-'0'), 1_000_000)
	}
	if i == start {
		return 0
	}
	n.exponent += sign * value
	return i
}

// quick returns the float32 nearest to the number, if that can be told without
// long arithmetic.
func (n *number) quick() (float32, bool) {
	if n.digits > maxMantissa || n.exponent > 22 || n.exponent < -22 {
		return 0, false
	}
	value := float64(n.mantissa)
	if n.exponent < 0 {
		value /= powerOfTen(-n.exponent)
	} else {
		value *= powerOfTen(n.exponent)
	}
	if n.mantissa != 0 && (value < smallestQuick || value > math.MaxFloat32/2) {
		return 0, false
	}
	extra := int(math.Float64bits(value) & (1<<extraBits - 1))
	if extra > halfway-roundingSlack && extra < halfway+roundingSlack {
		return 0, false
	}
	if n.negative {
		value = -value
	}
	return float32(value), true
}

// parseFloat reads the JSON number at the start of data as the nearest float32
// and returns its length, 0 if there is none. What a float32 cannot hold is an
// infinity.
func parseFloat(data []byte) (float32, int) {
	n, size := scanNumber(data)
	if size == 0 {
		return 0, 0
	}
	if value, ok := n.quick(); ok {
		return value, size
	}
	value, _ := strconv.ParseFloat(string(data[:size]), 32) // the only error left is the range
	return float32(value), size
}

// powerOfTen is 10^n for 0 <= n <= 22: all that a float64 holds exactly.
func powerOfTen(n int) float64 {
	powers := [...]float64{
		1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11,
		1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
	}
	return powers[n]
}
