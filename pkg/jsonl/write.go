package jsonl

import "unicode/utf8"

// AppendQuoted appends s as a JSON string, in the form of JSON.stringify: only
// quotes, backslashes and control characters are escaped; <, >, &, U+2028 and
// all other characters stay as they are, unlike in encoding/json. Bytes that
// are not UTF-8 become U+FFFD.
func AppendQuoted(dst []byte, s string) []byte {
	dst = append(dst, '"')
	from := 0
	for i := 0; i < len(s); {
		if b := s[i]; b < utf8.RuneSelf {
			if b < ' ' || b == '"' || b == '\\' {
				dst = appendEscape(append(dst, s[from:i]...), b)
				from = i + 1
			}
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 {
			dst = utf8.AppendRune(append(dst, s[from:i]...), r)
			from = i + 1
		}
		i += size
	}
	return append(append(dst, s[from:]...), '"')
}

// appendEscape appends the shortest escape of b.
func appendEscape(dst []byte, b byte) []byte {
	switch b {
	case '"', '\\':
		return append(dst, '\\', b)
	case '\b':
		return append(dst, `\b`...)
	case '\f':
		return append(dst, `\f`...)
	case '\n':
		return append(dst, `\n`...)
	case '\r':
		return append(dst, `\r`...)
	case '\t':
		return append(dst, `\t`...)
	}
	const hex = "0123456789abcdef"
	return append(dst, '\\', 'u', '0', '0', hex[b>>4], hex[b&15])
}
