package secrets

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// What newAssigned looks for, read by hand: an expression takes twenty times as
// long. Each function takes of several ways to read a text the one that the
// expression takes, which is the first of its alternatives that leads to a value.
// The tests hold them to the expressions.

// matchAssigned reads a value that is assigned to the name that begins at a place.
func matchAssigned(text []byte, begin int) []int {
	end := begin
	for end < len(text) && (isWord(text[end]) || text[end] == '-') {
		end++
	}
	kind, after := kindOfName(text, begin, end)
	if kind < 0 {
		return nil
	}
	name := after
	for name < len(text) && text[name] == '\\' {
		name++
	}
	if name < len(text) && (text[name] == '"' || text[name] == '\'') {
		name++
	}
	from, to := assignedValue(text, name)
	if to < 0 {
		return nil
	}
	return []int{begin, to, begin, name, kind, after, name, from, from, to}
}

// kindOfName returns where the last part of a name stands, by which it is one of
// those that are looked for; -1 if it is none. A part that is not of ASCII stands
// behind the letters of ASCII, any other at their end.
func kindOfName(text []byte, begin, end int) (kind, after int) {
	if n := foreignKind(text[end:]); n > 0 {
		return end, end + n
	}
	if n := kindAtEnd(text[begin:end], true); n > 0 {
		return end - n, end
	}
	return -1, 0
}

// kindAtEnd returns the length of the shortest last part of a name of ASCII by which
// it is one that is looked for, 0 if there is none.
func kindAtEnd(name []byte, short bool) int {
	if len(name) < 3 {
		return 0
	}
	switch name[len(name)-1] | 0x20 {
	case 'd', 't', 'e', 'n', 'y':
	default:
		return 0
	}
	for _, end := range [...]string{"token", "secret", "passwd", "password", "passwort", "passcode", "kennwort", "passphrase"} {
		if endsWith(name, end) {
			return len(end)
		}
	}
	if short && endsWith(name, "pwd") {
		return len("pwd")
	}
	if !endsWith(name, "key") {
		return 0
	}
	stem := name[:len(name)-len("key")]
	if n := len(stem); n > 0 && (stem[n-1] == '_' || stem[n-1] == '-') {
		stem = stem[:n-1]
	}
	for _, end := range [...]string{"api", "access", "secret", "master", "private", "signing", "encryption"} {
		if endsWith(stem, end) {
			return len(name) - len(stem) + len(end)
		}
	}
	return 0
}

// endsWith reports whether a name ends in a word of lower case, in any case.
func endsWith(name []byte, word string) bool {
	return len(name) >= len(word) && beginsWith(name[len(name)-len(word):], word)
}

// foreignKind returns how long the word for a password is that a text begins with,
// of those that are not of ASCII; 0 if it begins with none.
func foreignKind(text []byte) int {
	if len(text) == 0 || text[0] < utf8.RuneSelf {
		return 0
	}
	for _, word := range [...]string{"密码", "密碼", "パスワード", "비밀번호", "пароль"} {
		if n := beginsFolded(text, word); n > 0 {
			return n
		}
	}
	return 0
}

// beginsFolded returns how many bytes of a text are a word in any case, 0 if it
// begins with another.
func beginsFolded(text []byte, word string) (n int) {
	for _, want := range word {
		r, size := utf8.DecodeRune(text[n:])
		if r != want && !strings.EqualFold(string(r), string(want)) {
			return 0
		}
		n += size
	}
	return n
}

// assignedValue returns where the value stands that is assigned behind a name; to
// is -1 if there is none. Of the signs, one that is part of a longer one is tried
// when no value follows the longer one.
func assignedValue(text []byte, name int) (from, to int) {
	sign := skipBlanks(text, name, 2)
	rest := text[sign:]
	for _, s := range [...]string{"=>", ":=", "===", "==", "=", ":", "：", "＝"} {
		if len(rest) < len(s) || string(rest[:len(s)]) != s {
			continue
		}
		from = skipLineEnd(text, skipBlanks(text, sign+len(s), 4))
		if to = valueEnd(text, from); to >= 0 {
			return from, to
		}
	}
	return 0, -1
}

// skipBlanks returns where the blanks end that begin at a place, so many at most.
func skipBlanks(text []byte, at, most int) int {
	for end := at + most; at < end && at < len(text) && text[at] == ' '; {
		at++
	}
	return at
}

// skipLineEnd returns what follows the end of a line, also one that is written as
// in a string.
func skipLineEnd(text []byte, at int) int {
	rest := text[at:]
	switch {
	case len(rest) > 0 && rest[0] == '\n':
		return at + 1
	case len(rest) > 1 && (rest[0] == '\r' && rest[1] == '\n' || rest[0] == '\\' && rest[1]|0x20 == 'n'):
		return at + 2
	}
	return at
}

// valueEnd returns where the value ends that begins at a place, -1 if there is
// none: what stands in quotes, which may be escaped, or what has none of the marks
// that end a value.
func valueEnd(text []byte, at int) int {
	if at >= len(text) {
		return -1
	}
	switch text[at] {
	case '"', '\'':
		if n := bytes.IndexByte(text[at+1:], text[at]); n > 0 {
			return at + 1 + n + 1
		}
		return -1
	case '\\':
		if end := escapedValueEnd(text, at); end >= 0 {
			return end
		}
	}
	return bareValueEnd(text, at)
}

// escapedValueEnd is valueEnd of a value in escaped quotes.
func escapedValueEnd(text []byte, at int) int {
	open := skipBackslashes(text, at)
	if open >= len(text) || text[open] != '"' && text[open] != '\'' {
		return -1
	}
	inside := text[open+1:]
	n := bytes.IndexByte(inside, '\\')
	if n <= 0 || bytes.IndexByte(inside[:n], text[open]) >= 0 {
		return -1
	}
	end := skipBackslashes(text, open+1+n)
	if end >= len(text) || text[end] != text[open] {
		return -1
	}
	return end + 1
}

func skipBackslashes(text []byte, at int) int {
	for at < len(text) && text[at] == '\\' {
		at++
	}
	return at
}

// bareValueEnd is valueEnd of a value without quotes.
func bareValueEnd(text []byte, at int) int {
	end := at
	for end < len(text) && !endsValue(text[end]) {
		if text[end] != '\\' {
			end++
			continue
		}
		if end+1 == len(text) || endsEscape(text[end+1]) {
			break
		}
		end += 2
	}
	if end == at {
		return -1
	}
	return end
}

// endsValue tells whether a value without quotes ends before a byte.
func endsValue(c byte) bool {
	switch c {
	case ' ', '\t', '\n', '\f', '\r', '"', '\'', '&', ';', ',':
		return true
	}
	return false
}

// endsEscape tells whether a value without quotes ends before a backslash that
// stands before this byte.
func endsEscape(c byte) bool {
	switch c {
	case '"', '\'', '\\', 'n', 'r', 't', 'N', 'R', 'T':
		return true
	}
	return false
}

// matchOption reads the argument of the option that begins at a place.
func matchOption(text []byte, begin int) []int {
	name := begin + len("--")
	if name > len(text) || string(text[begin:name]) != "--" {
		return nil
	}
	letters := name
	for letters < len(text) && isOptionByte(text[letters]) {
		letters++
	}
	kind, after := optionKind(text, name, letters)
	if kind < 0 {
		return nil
	}
	from := skipBlanks(text, after, len(text))
	to := valueEnd(text, from)
	if from == after || to < 0 {
		return nil
	}
	return []int{begin, to, begin, after, kind, after, after, from, from, to}
}

// optionKind is kindOfName for an option: before its last part stand letters and
// dashes alone.
func optionKind(text []byte, name, letters int) (kind, after int) {
	if n := foreignKind(text[letters:]); n > 0 {
		return letters, letters + n
	}
	end := letters
	for end < len(text) && (isOptionByte(text[end]) || text[end] == '_') {
		end++
	}
	if n := kindAtEnd(text[name:end], false); n > 0 && end-n <= letters {
		return end - n, end
	}
	return -1, 0
}

// matchTold reads what a sentence that begins at a place says of a password.
func matchTold(text []byte, begin int) []int {
	name := begin + toldKind(text[begin:])
	if name == begin {
		return nil
	}
	for _, verb := range [...]string{" is", " was", " ist", " lautet"} {
		if !beginsWith(text[name:], verb) {
			continue
		}
		for _, now := range [...]string{" now", ""} {
			if m := toldAfter(text, begin, name, name+len(verb), now); m != nil {
				return m
			}
		}
	}
	return nil
}

// toldAfter is matchTold behind the verb, with or without a word behind that.
func toldAfter(text []byte, begin, name, at int, now string) []int {
	if !beginsWith(text[at:], now) {
		return nil
	}
	if at += len(now); at < len(text) && text[at] == ':' {
		at++
	}
	if at >= len(text) || text[at] != ' ' {
		return nil
	}
	from := at + 1
	to := valueEnd(text, from)
	if to < 0 {
		return nil
	}
	return []int{begin, to, begin, name, begin, name, name, from, from, to}
}

// toldKind returns how long the word is that a text begins with, of those that a
// sentence tells a password with; 0 if it begins with none.
func toldKind(text []byte) int {
	for _, word := range [...]string{"password", "passwort", "passwd", "passphrase", "passcode", "kennwort", "secret", "token", "api key", "access key"} {
		if beginsWith(text, word) {
			return len(word)
		}
	}
	return foreignKind(text)
}
