package summarize

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// class is what kind of thing a term is.
type class uint8

const (
	plainWord class = iota
	pathTerm        // a file or a directory
	address
	command  // a program and what it is to do
	value    // a number that says something, a version, a hash
	codeTerm // an identifier of a program: snake_case, camelCase, dotted
	name     // of somebody or something, with a capital
	opening  // a plain word with a capital because a sentence begins
)

// term is something in a text that may be needed again, in lower case: of a path its
// last part, of an address what is behind the scheme.
type term struct {
	key   string
	class class
}

// termReader goes over the terms of a text. yield gets each as often as it stands
// there; key is valid until it returns.
type termReader struct {
	yield func(key []byte, of class)
	key   []byte
	start bool // a sentence begins: a capital says nothing
}

// read goes over one text. A token ends where white space, a quotation mark or a
// bracket stands.
func (r *termReader) read(text string) {
	r.start = true
	for i := 0; i < len(text); {
		c := text[i]
		if tokenMarks[c]&parting != 0 {
			if c == '\n' {
				r.start = true
			} else if c != ' ' && c != '\t' {
				r.start = r.start || c == '(' || c == '[' || c == '"'
			}
			i++
			continue
		}
		end, has := i, uint8(0)
		for end < len(text) && tokenMarks[text[end]]&parting == 0 {
			has |= tokenMarks[text[end]]
			end++
		}
		r.token(text[i:end], has)
		i = end
	}
}

// What a byte is to a token.
const (
	parting = 1 << iota // it stands between tokens
	digit
	letterMark // _ . - @ / \ : = and other signs that names have within
	capital
	wide // part of a rune beyond ASCII
)

var tokenMarks = func() (marks [256]uint8) {
	for c := range marks {
		switch {
		case c <= ' ' || strings.IndexByte("\"'<>()[]{},;|`*", byte(c)) >= 0:
			marks[c] = parting
		case c >= '0' && c <= '9':
			marks[c] = digit
		case c >= 'A' && c <= 'Z':
			marks[c] = capital
		case c >= utf8.RuneSelf:
			marks[c] = wide
		case c < 'a' || c > 'z':
			marks[c] = letterMark
		}
	}
	return marks
}()

// token takes one token, which may be several terms: key=value, main.go:12.
func (r *termReader) token(t string, has uint8) {
	start := r.start
	last := t[len(t)-1]
	r.start = last == '.' || last == '!' || last == '?' || last == ':' || t == "-" || t == "#"
	if tokenMarks[last] == letterMark {
		t = strings.TrimRight(t, ".:!?-#")
	}
	if t == "" {
		return
	}
	switch {
	case has&letterMark == 0:
		r.plain(t, has, start)
	case strings.Contains(t, "://"):
		r.put(strings.TrimRight(t[strings.Index(t, "://")+3:], "/"), address)
	case strings.ContainsAny(t, "=:") && !strings.Contains(t, ":\\"):
		for _, piece := range strings.FieldsFunc(t, func(c rune) bool { return c == '=' || c == ':' }) {
			r.piece(piece, start)
			start = false
		}
	default:
		r.piece(t, start)
	}
}

// piece takes a token without : and =.
func (r *termReader) piece(t string, start bool) {
	t = strings.TrimLeft(strings.TrimRight(t, ".!?-#&%+"), "#&%+!?")
	has := uint8(0)
	for i := range len(t) {
		has |= tokenMarks[t[i]]
	}
	switch {
	case t == "":
	case has&letterMark == 0:
		r.plain(t, has, start)
	case strings.ContainsAny(t, "/\\"):
		r.path(t)
	case strings.HasPrefix(t, "--") && len(t) > 4:
		r.put(t, command)
	case strings.HasPrefix(t, "-"):
		r.piece(strings.TrimLeft(t, "-"), start)
	case strings.IndexByte(t, '@') > 0:
		r.put(t, name)
	case strings.Trim(t, "v0123456789.-_") == "" || len(t) < 8 && t[0] >= '0' && t[0] <= '9' && !strings.ContainsAny(t, "-_") && !isFileName(t):
		if len(t) > 2 && has&digit != 0 {
			r.put(t, value)
		}
	case isFileName(t):
		r.put(t, pathTerm)
	case has&wide != 0:
		r.words(t)
	case strings.ContainsAny(t, "_.@$") || strings.Count(t, "-") > 1 || strings.Contains(t, "-") && has&digit != 0:
		if len(t) > 3 {
			r.put(strings.TrimLeft(t, "_.$"), codeTerm)
		}
	case strings.Contains(t, "-"):
		r.put(t, plainWord)
	}
}

// plain takes a token of letters and digits.
func (r *termReader) plain(t string, has uint8, start bool) {
	switch {
	case has&wide != 0:
		r.words(t)
	case has == digit:
		if len(t) > 2 && strings.Trim(t, "0") != "" {
			r.put(t, value)
		}
	case has&digit != 0 && t[0] >= '0' && t[0] <= '9', has&digit != 0 && len(t) >= 7 && strings.Trim(t, "0123456789abcdef") == "":
		r.put(t, value)
	case has&digit != 0 && len(t) > 2:
		r.put(t, codeTerm)
	case has&capital == 0:
		if len(t) > 3 {
			r.put(t, plainWord)
		}
	case strings.ToUpper(t) == t:
		if len(t) > 1 && len(t) < 9 {
			r.put(t, name)
		}
	case hasCapitalWithin(t):
		r.put(t, codeTerm)
	case len(t) > 2 && !start:
		r.put(t, name)
	case len(t) > 3:
		r.put(t, opening)
	}
}

func hasCapitalWithin(t string) bool {
	for i := 1; i < len(t); i++ {
		if t[i] >= 'A' && t[i] <= 'Z' {
			return true
		}
	}
	return false
}

// path takes a path: its last part, or its last two if that is no file.
func (r *termReader) path(t string) {
	t = strings.ReplaceAll(t, "\\", "/")
	rooted := strings.IndexByte("/.~", t[0]) >= 0
	t = strings.Trim(t, "/.~")
	parts := strings.FieldsFunc(t, func(c rune) bool { return c == '/' })
	switch n := len(parts); {
	case n == 0:
	case n == 1:
		r.piece(parts[0], false)
	case !rooted && !slices.ContainsFunc(parts, func(s string) bool { return !isPlain(s) }) && (n == 2 || strings.ToLower(t) != t): // and/or, Python/Node/Go
		for _, part := range parts {
			r.piece(part, true)
		}
	case isFileName(parts[n-1]):
		r.put(parts[n-1], pathTerm)
	default:
		r.put(parts[n-2]+"/"+parts[n-1], pathTerm)
	}
}

func isPlain(s string) bool {
	return len(s) < 13 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
}

// isFileName reports whether a token ends as files do: a point and up to five letters.
func isFileName(t string) bool {
	dot := strings.LastIndexByte(t, '.')
	kind := t[dot+1:]
	if dot == 0 { // of a pattern such as *.crt
		return kind == "env"
	}
	if dot < 0 || len(kind) == 0 || len(kind) > 5 {
		return false
	}
	switch strings.ToLower(kind) {
	case "py", "pyi", "js", "mjs", "cjs", "ts", "tsx", "jsx", "go", "rs", "rb", "java", "kt", "c", "h", "cc", "cpp", "hpp", "cs", "php", "swift",
		"sh", "bash", "ps1", "bat", "sql", "html", "htm", "css", "scss", "xml", "json", "jsonl", "yaml", "yml", "toml", "ini", "cfg", "conf", "md",
		"mdx", "txt", "csv", "tsv", "log", "pdf", "docx", "xlsx", "pptx", "png", "jpg", "jpeg", "svg", "gif", "webp", "ipynb", "zip", "gz", "tar",
		"po", "vue", "plist", "pem", "crt", "tf", "proto", "exe", "dll", "lock", "env", "mod", "sum", "db":
		return true
	}
	return false
}

// words takes a text with letters beyond ASCII. Where words are not set apart, as in
// Chinese and Japanese, every two signs are one.
func (r *termReader) words(t string) {
	for _, w := range strings.FieldsFunc(t, func(c rune) bool { return !unicode.IsLetter(c) && !unicode.IsMark(c) }) {
		first, _ := utf8.DecodeRuneInString(w)
		if !unicode.In(first, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai) {
			if utf8.RuneCountInString(w) > 3 {
				r.put(strings.ToLower(w), plainWord)
			}
			continue
		}
		before := 0
		for i := range w {
			if i > before {
				_, size := utf8.DecodeRuneInString(w[i:])
				r.put(w[before:i+size], plainWord)
				before = i
			}
		}
	}
}

// maxTermBytes is how long a term is at most.
const maxTermBytes = 100

func (r *termReader) put(t string, of class) {
	if len(t) < 2 || len(t) > maxTermBytes {
		return
	}
	r.key = r.key[:0]
	for i := range len(t) {
		c := t[i]
		if c >= 'A' && c <= 'Z' {
			c |= 0x20
		}
		r.key = append(r.key, c)
	}
	r.yield(r.key, of)
}
