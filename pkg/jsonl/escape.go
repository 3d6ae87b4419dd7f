package jsonl

import (
	"unicode/utf16"
	"unicode/utf8"
)

// escapes is what the character after a backslash stands for; 0 for u and for
// what JSON does not know.
var escapes = [256]byte{
	'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t',
}

// escapedRune returns the character that the \u escape at the start of s
// stands for, and the bytes it takes: 12 for a surrogate pair, 0 if it is no
// such escape. A surrogate without its other half is U+FFFD.
func escapedRune(s []byte) (rune, int) {
	r := hexRune(s)
	if r < 0 {
		return 0, 0
	}
	if !utf16.IsSurrogate(r) {
		return r, 6
	}
	if pair := utf16.DecodeRune(r, hexRune(s[6:])); pair != utf8.RuneError {
		return pair, 12
	}
	return utf8.RuneError, 6
}

// hexRune returns XXXX of the \uXXXX at the start of s, or -1 if s does not
// begin so.
func hexRune(s []byte) rune {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return -1
	}
	r := rune(0)
	for _, d := range s[2:6] {
		switch {
		case d-'0' <= 9:
			r = r<<4 | rune(d-'0')
		case d|0x20-'a' <= 5:
			r = r<<4 | rune(d|0x20-'a'+10)
		default:
			return -1
		}
	}
	return r
}
