package hooks

import (
	"bytes"
	"errors"
)

// mostNested is how deep settings may nest. It is what the readers of JSON, TOML
// and YAML allow too; the one of settings with comments has no limit of its own
// and calls itself for each level, until the stack ends the program.
const mostNested = 10_000

var errNested = errors.New("arrays and objects are nested more than 10000 deep")

// nestedTooDeep reports whether arrays and objects are nested deeper than
// [mostNested]. What is in strings and comments does not count.
func nestedTooDeep(text []byte) bool {
	depth := 0
	for at := 0; at < len(text); at++ {
		switch text[at] {
		case '"':
			at = endOfString(text, at)
		case '/':
			at = endOfComment(text, at)
		case '[', '{':
			depth++
		case ']', '}':
			depth--
		}
		if depth > mostNested {
			return true
		}
	}
	return false
}

// endOfString is where the string ends that begins at a quotation mark.
func endOfString(text []byte, at int) int {
	for at++; at < len(text) && text[at] != '"'; at++ {
		if text[at] == '\\' {
			at++
		}
	}
	return at
}

// endOfComment is where the comment ends that begins at a stroke, or the stroke.
func endOfComment(text []byte, at int) int {
	end := ""
	switch rest := text[at:]; {
	case bytes.HasPrefix(rest, []byte("//")):
		end = "\n"
	case bytes.HasPrefix(rest, []byte("/*")):
		end = "*/"
	default:
		return at
	}
	size := bytes.Index(text[at+2:], []byte(end))
	if size < 0 {
		return len(text)
	}
	return at + 2 + size + len(end) - 1
}
