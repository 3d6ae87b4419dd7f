package jsonl

// Kind is the kind of a JSON value, told by its first byte.
type Kind uint8

// The kinds of JSON values. Invalid is a byte that begins no value, or no
// value at all.
const (
	Invalid Kind = iota
	Object
	Array
	String
	Number
	True
	False
	Null
)

// kinds is the kind of the value that begins with a byte.
var kinds = [256]Kind{
	'{': Object, '[': Array, '"': String, 't': True, 'f': False, 'n': Null, '-': Number,
	'0': Number, '1': Number, '2': Number, '3': Number, '4': Number,
	'5': Number, '6': Number, '7': Number, '8': Number, '9': Number,
}

// skipSpace returns the index of the first byte at or after i that is not
// white space.
func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\r' || b[i] == '\t') {
		i++
	}
	return i
}

// literalEnd returns the index after literal if it stands at i, else -1.
func literalEnd(b []byte, i int, literal string) int {
	end := i + len(literal)
	if end <= len(b) && string(b[i:end]) == literal {
		return end
	}
	return -1
}

// numberEnd returns the index after the number at i, or -1 if the text there
// is not a number as JSON writes it.
func numberEnd(b []byte, i int) int {
	if i < len(b) && b[i] == '-' {
		i++
	}
	if i < len(b) && b[i] == '0' {
		i++
	} else if i = digitsEnd(b, i); i < 0 {
		return -1
	}
	if i < len(b) && b[i] == '.' {
		if i = digitsEnd(b, i+1); i < 0 {
			return -1
		}
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		return digitsEnd(b, i)
	}
	return i
}

// digitsEnd returns the index after the digits at i, or -1 if there are none.
func digitsEnd(b []byte, i int) int {
	start := i
	for i < len(b) && b[i]-'0' <= 9 {
		i++
	}
	if i == start {
		return -1
	}
	return i
}
