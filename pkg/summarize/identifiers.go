package summarize

import (
	"iter"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"
)

// bareNumber is a number that says nothing without its context.
var bareNumber = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9]{1,4}$|^[0-9]+\.[0-9]+$`) })

// Lengths of a name, in code points; and of a command or a code span, in bytes.
const (
	leastNameRunes = 4
	maxNameRunes   = 160
	maxSpan        = 120
)

// identifiersOf goes over what a text has that must be repeated letter by
// letter, each as often as it stands there: code spans that name something,
// commands behind a prompt, URLs, paths, files, UUIDs, hashes, tickets, codes of
// errors, versions and numbers. What stands in a span or a command is not told
// apart. It is written out because regular expressions took three times as long
// as the rest of a summary.
func identifiersOf(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for i, more := 0, true; i < len(text) && more; {
			switch c := text[i]; {
			case c == '`':
				i, more = span(text, i, yield)
			case c == '$' && strings.HasPrefix(text[i:], "$ ") && (i == 0 || text[i-1] == '\n'):
				i, more = prompted(text, i, yield)
			case between(c):
				i++
			default:
				i, more = word(text, i, yield)
			}
		}
	}
}

// What a byte is to a word.
const (
	separating = 1 << iota // it stands between words
	telling                // a word without one of these is no name
	joining                // it stands between the pieces of a word
)

// wordMarks are what each byte is.
var wordMarks = func() (marks [256]uint8) {
	for c := range marks {
		if c <= ' ' || c >= utf8.RuneSelf {
			marks[c] = separating
		}
	}
	for mark, bytes := range map[uint8]string{separating: `"'<>()[]{},;|` + "`" + `\*`, telling: "0123456789/.", joining: ":="} {
		for _, c := range []byte(bytes) {
			marks[c] |= mark
		}
	}
	return marks
}()

// between tells whether a byte stands between words.
func between(c byte) bool { return wordMarks[c]&separating != 0 }

// word takes the word that begins at i, and returns where it ends.
func word(text string, i int, yield func(string) bool) (end int, more bool) {
	has := uint8(0)
	for end = i; end < len(text) && !between(text[end]); end++ {
		has |= wordMarks[text[end]]
	}
	w := text[i:end]
	if has&telling == 0 || len(w) < 2 {
		return end, true
	}
	if has&joining == 0 {
		w = strings.TrimRight(w, ".!?")
		return end, !isIdentifier(w) || yieldName(w, yield)
	}
	if at := strings.Index(w, "://"); at > 0 {
		return end, yieldName(strings.TrimRight(w[schemeOf(w, at):], ".:!?"), yield)
	}
	for len(w) > 0 { // main.go:12
		piece := w[:pieceEnd(w)]
		w = w[min(len(piece)+1, len(w)):]
		if piece = strings.TrimRight(piece, ".!?"); isIdentifier(piece) && !yieldName(piece, yield) {
			return end, false
		}
	}
	return end, true
}

// pieceEnd returns where the first piece of a word ends that has several.
func pieceEnd(w string) int {
	for i := range len(w) {
		if w[i] == ':' || w[i] == '=' {
			return i
		}
	}
	return len(w)
}

// schemeOf returns where the scheme of the URL begins whose "://" is at at.
func schemeOf(w string, at int) int {
	for at > 0 && wordByte(w[at-1]) {
		at--
	}
	return at
}

// yieldName hands out a name that is neither too short nor too long.
func yieldName(name string, yield func(string) bool) bool {
	n := utf8.RuneCountInString(name)
	if n < leastNameRunes && !strings.HasPrefix(name, "#") && !allDigits(name) || n > maxNameRunes {
		return true
	}
	return yield(name)
}

func allDigits(s string) bool { return strings.Trim(s, "0123456789") == "" }

// isIdentifier reports whether a word, without the marks around it, is one of
// what [identifiersOf] hands out.
func isIdentifier(w string) bool {
	x := lettersOf(w)
	switch {
	case x.strokes > 0:
		return isPath(w)
	case x.digits == len(w):
		return x.digits >= 3
	case x.dots > 0:
		return isFile(w) || isVersion(w)
	case x.marks > 0:
		return isUUID(w) || isTicket(w)
	}
	hash := x.digits+x.hex == len(w) && len(w) >= 7 && len(w) <= 64
	code := x.longest >= 3 && x.longest <= 6 && x.capitals > 0 && x.capitals <= 5 && x.capitals+x.digits == len(w) && w[0] >= 'A' // TS2305
	return x.digits > 0 && (hash || code)
}

// letters counts what the bytes of a word are.
type letters struct {
	digits, longest      int // longest is the longest row of digits
	strokes, dots, marks int // marks are # and -
	capitals, hex        int // hex are a to f
}

func lettersOf(w string) (x letters) {
	run := 0
	for i := range len(w) {
		c := w[i]
		if c >= '0' && c <= '9' {
			run++
			x.digits, x.longest = x.digits+1, max(x.longest, run)
			continue
		}
		run = 0
		switch {
		case c == '/':
			x.strokes++
		case c == '.':
			x.dots++
		case c == '#', c == '-':
			x.marks++
		case c >= 'A' && c <= 'Z':
			x.capitals++
		case c >= 'a' && c <= 'f':
			x.hex++
		}
	}
	return x
}

// isPath reports whether a word is a path of at least two names, and not an
// alternative like "and/or".
func isPath(w string) bool {
	inner := strings.Trim(strings.TrimPrefix(w, "~"), "/")
	if !strings.Contains(inner, "/") || strings.Contains(w, "//") || alternative(w) {
		return false
	}
	return !strings.ContainsFunc(inner, func(r rune) bool {
		return !strings.ContainsRune("/.-@+", r) && (r == '\'' || !wordRune(r))
	})
}

// alternative tells whether a name is two words with a slash, like "and/or".
func alternative(name string) bool {
	switch strings.ToLower(name) {
	case "and/or", "either/or", "yes/no", "true/false", "on/off", "his/her", "he/she", "s/he", "read/write", "input/output", "client/server",
		"tcp/ip", "if/else", "try/catch", "before/after", "if/when", "start/end", "up/down", "left/right", "user/assistant":
		return true
	}
	return false
}

// isFile reports whether a word is the name of a file, by its end.
func isFile(w string) bool {
	switch w[strings.LastIndexByte(w, '.')+1:] {
	case "go", "ts", "tsx", "js", "mjs", "jsx", "py", "rs", "c", "h", "cpp", "java", "kt", "rb", "php", "sh", "sql", "md", "json", "jsonl", "yaml", "yml", "toml", "txt", "csv", "html", "css", "log", "conf", "env", "lock":
		return !strings.ContainsFunc(w, func(r rune) bool { return r != '.' && r != '-' && (r == '\'' || !wordRune(r)) })
	}
	return false
}

// isVersion reports whether a word is numbers with dots between them, perhaps
// with a v before them.
func isVersion(w string) bool {
	for part := range strings.SplitSeq(strings.TrimPrefix(w, "v"), ".") {
		if part == "" || !allDigits(part) {
			return false
		}
	}
	return true
}

func isUUID(w string) bool {
	const shape = 36
	if len(w) != shape {
		return false
	}
	for i := range len(w) {
		dash := i == 8 || i == 13 || i == 18 || i == 23
		if dash != (w[i] == '-') || !dash && strings.IndexByte("0123456789abcdefABCDEF", w[i]) < 0 {
			return false
		}
	}
	return true
}

// isTicket reports whether a word is #12 or ABC-12.
func isTicket(w string) bool {
	project, number, _ := strings.Cut(w, "-")
	if w[0] == '#' {
		project, number = "AB", w[1:]
	}
	return number != "" && allDigits(number) && len(project) >= 2 && project[0] >= 'A' && project[0] <= 'Z' &&
		strings.Trim(project, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") == ""
}

// named tells the name of something from a word that is set like code: by a
// mark, a digit, or a capital within.
func named(s string) bool {
	small := false
	for _, r := range s {
		switch {
		case strings.ContainsRune("._/:(={#$-", r), r >= '0' && r <= '9', small && r >= 'A' && r <= 'Z':
			return true
		}
		small = r >= 'a' && r <= 'z'
	}
	return false
}

// span takes the code span that begins at i, if one does.
func span(text string, i int, yield func(string) bool) (end int, more bool) {
	rest := text[i+1:]
	n := strings.IndexAny(rest[:min(len(rest), maxSpan)], "`\n")
	if n < 3 || rest[n] != '`' {
		return i + 1, true
	}
	end = i + 1 + n + 1
	if name := strings.TrimSpace(rest[:n]); named(name) && !alternative(name) {
		return end, yieldName(name, yield)
	}
	return end, true
}

// prompted takes the command behind a prompt.
func prompted(text string, i int, yield func(string) bool) (end int, more bool) {
	const prompt = "$ "
	line, _, _ := strings.Cut(text[i+len(prompt):], "\n")
	if name := strings.TrimSpace(line); len(name) > 0 && len(name) <= maxSpan {
		return i + len(prompt) + len(line), yieldName(name, yield)
	}
	return i + 1, true
}
