package speaker

import (
	"bytes"
	"unicode"
	"unicode/utf8"
)

// shape is one form that a line may have.
type shape struct {
	name   string
	weight int // above 0 for what is shown, below for words
	is     func(l *seen) bool
}

// shapes are all of them. A line may have several.
var shapes = []shape{
	{"clock", 5, func(l *seen) bool { return find(l.full[:min(len(l.full), 60)], "··:··:··") >= 0 }},
	{"day first", 4, func(l *seen) bool { return dayFirst(l.full) }},
	{"bracketed time", 5, func(l *seen) bool { return bracketedTime(l.full) }},
	{"mail", 5, func(l *seen) bool { return mailHead(l.full) }},
	{"chat", 9, func(l *seen) bool { return chat(l.full) }},
	{"level", 6, func(l *seen) bool { return level(l.full) }},
	{"part", 11, func(l *seen) bool { return part(l.full) }},
	{"piped", 5, func(l *seen) bool { return piped(l.full) }},
	{"frame", 6, func(l *seen) bool { return frame(l.full) }},
	{"failure", 6, func(l *seen) bool { return breaksOff(l.full) }},
	{"diff", 10, diff},
	{"rule", 6, func(l *seen) bool { return rule(l.full) }},
	{"table row", 6, func(l *seen) bool {
		return len(l.full) > 2 && l.full[0] == '|' && l.full[len(l.full)-1] == '|' || bytes.Contains(l.full, []byte(" | ")) && l.gaps > 0
	}},
	{"columns", 4, func(l *seen) bool { return l.gaps > 1 || l.tabs > 1 }},
	{"column", 2, func(l *seen) bool { return l.gaps == 1 || l.tabs == 1 }},
	{"filled", 6, func(l *seen) bool { return l.filled }},
	{"prompt", 7, func(l *seen) bool { return prompts(l.full) }},
	{"quote", 10, func(l *seen) bool {
		return l.full[0] == '>' || bytes.HasPrefix(l.full, []byte("// ")) || bytes.HasPrefix(l.full, []byte("/*"))
	}},
	{"screen", 9, func(l *seen) bool { return screen(l.full) }},
	{"tag", 6, func(l *seen) bool { return tag(l.full) }},
	{"code end", 5, func(l *seen) bool { return codeEnd(l.full) }},
	{"call", 2, func(l *seen) bool { return call(l.bare) }},
	{"dense", 4, func(l *seen) bool { return 10*l.marks > 3*(l.marks+l.letters+l.digits) }},
	{"marked", 2, func(l *seen) bool { return 10*l.marks > (l.marks+l.letters+l.digits)+5 }},
	{"indented", 2, func(l *seen) bool { return l.indent > 1 && (len(l.full) == len(l.bare) || l.indent > 3) }},
	{"set in", 3, func(l *seen) bool { return l.indent > 3 && len(l.full) == len(l.bare) }},
	{"tabbed", 2, func(l *seen) bool { return l.tabbed }},
	{"key", 2, func(l *seen) bool { return key(l.bare) > 0 }},
	{"string key", 5, func(l *seen) bool { return stringKey(l.bare) }},
	{"set", 4, func(l *seen) bool { n := key(l.bare); return n > 0 && l.bare[n] == '=' }},
	{"some odd", 2, func(l *seen) bool { return l.odd > 0 && 2*l.odd >= l.words }},
	{"odd", 2, func(l *seen) bool { return l.odd > 1 && l.odd >= l.words }},
	{"numbers", 1, func(l *seen) bool { return l.digits > l.letters && l.words > 0 }},
	{"hash", 2, func(l *seen) bool { return hash(l.full) }},
	{"commit", 7, func(l *seen) bool { n := bytes.IndexByte(l.full, ' '); return n > 6 && hash(l.full[:n]) }},
	{"complaint", 6, func(l *seen) bool { return complains(l.full) }},
	{"long", 3, func(l *seen) bool { return long(l.full) }},
	{"file", 9, func(l *seen) bool { return file(l.full) }},
	{"path", 3, func(l *seen) bool { return path(l.full) }},
	{"no words", 2, func(l *seen) bool { return l.words == 0 && l.wide == 0 && l.marks > 0 }},
	{"heading", 4, func(l *seen) bool { return l.by == asPerson && heading(l.full) }},
	{"bold", 2, func(l *seen) bool { return l.by == asPerson && bytes.Contains(l.full, []byte("**")) }},

	{"prose", -4, prose},
	{"long prose", -2, func(l *seen) bool { return prose(l) && l.words > 8 }},
	{"few words", -2, func(l *seen) bool { return l.words > 0 && l.words < 4 && l.marks == 0 && l.digits == 0 && l.gaps == 0 }},
	{"command", -6, func(l *seen) bool { return l.full[0] == '/' && bytes.Count(l.full, []byte("/")) == 1 && l.indent == 0 }},
	{"mention", -3, func(l *seen) bool { return l.full[0] == '@' && l.words > 1 }},
	{"asks", -4, func(l *seen) bool { return ends(l.full, "?", "？", "。", "！") && l.words+l.wide > 1 }},
	{"ends", -2, func(l *seen) bool { return ends(l.full, ".", "!", ":", "...", "…") && (l.words > 2 || l.wide > 2) }},
	{"wide", -4, func(l *seen) bool { return 2*l.wide > l.letters && l.letters > 2 }},
	{"markdown", -3, func(l *seen) bool { return l.by == asAgent && (len(l.bare) < len(l.full) || heading(l.full)) }},
}

func ends(line []byte, with ...string) bool {
	for _, w := range with {
		if bytes.HasSuffix(line, []byte(w)) {
			return true
		}
	}
	return false
}

// prose tells whether a line is mostly words with single spaces between them.
func prose(l *seen) bool {
	return l.words > 3 && l.words >= 2*l.odd && l.gaps == 0 && l.tabs == 0 && l.letters > 4*(l.marks+l.digits)
}

// dayFirst tells whether a line begins with a date: 2026-01-31, 31/01/2026, 31.01.26,
// Jan 31.
func dayFirst(line []byte) bool {
	line = bytes.TrimLeft(line, "[(")
	for _, day := range []string{"····-··-··", "····/··/··", "··/··/··", "··.··.··", "¤¤¤ ·· ··:··", "¤¤¤  · ··:··", "¤···· ··:··", "··:·· ", "·:·· "} {
		if fits(line, day) >= 0 {
			return true
		}
	}
	return false
}

// chat tells whether a line begins with a role, as those of talks with models do.
func chat(line []byte) bool {
	line = bytes.TrimPrefix(line, []byte("["))
	for _, role := range []string{"User", "Human", "Assistant", "Agent", "AI"} {
		if rest, found := bytes.CutPrefix(line, []byte(role)); found && bytes.HasPrefix(bytes.TrimPrefix(rest, []byte("]")), []byte(":")) {
			return true
		}
	}
	return false
}

// file tells whether a line is the name of a file and nothing else: its path from the
// root on, to the end of the file's kind.
func file(line []byte) bool {
	path := bytes.Trim(line, "'\"")
	if len(path) == 0 || path[0] != '/' {
		return false
	}
	slash, dot := bytes.LastIndexByte(path, '/'), bytes.LastIndexByte(path, '.')
	kind := path[dot+1:]
	return slash > 0 && dot > slash && len(kind) > 0 && len(kind) <= 5 && bytes.IndexByte(kind, ' ') < 0
}

// mailHead tells whether a line is one of those above a letter.
func mailHead(line []byte) bool {
	for _, name := range []string{"From: ", "To: ", "Cc: ", "Subject: ", "Date: "} {
		if bytes.HasPrefix(line, []byte(name)) {
			return true
		}
	}
	return false
}

// bracketedTime tells whether a time stands in brackets at the beginning or behind a
// name.
func bracketedTime(line []byte) bool {
	at := bytes.IndexByte(line[:min(len(line), 40)], '[')
	return at >= 0 && (fits(line[at:], "[··:··") >= 0 || fits(line[at:], "[·:··") >= 0 || fits(line[at:], "[··/¤¤¤/····") >= 0)
}

// level tells whether a line begins with the level of a log, in capitals: "ERROR: ".
func level(line []byte) bool {
	n := 0
	for n < len(line) && (line[n] >= 'A' && line[n] <= 'Z') {
		n++
	}
	return n > 3 && n < len(line) && (line[n] == ':' || line[n] == ' ')
}

// part tells whether a line begins with the name of a part of a program in brackets:
// "[theme] ".
func part(line []byte) bool {
	if len(line) < 4 || line[0] != '[' || !unicode.IsLower(rune(line[1])) {
		return false
	}
	end := bytes.IndexAny(line, "] ")
	return line[max(end, 0)] == ']' && end+1 < len(line) && line[end+1] == ' '
}

// piped tells whether a line begins with the name of what wrote it: "web-1  | ".
func piped(line []byte) bool {
	at := bytes.Index(line[:min(len(line), 40)], []byte("| "))
	return at > 0 && line[at-1] == ' ' && bytes.IndexByte(bytes.TrimSpace(line[:at]), ' ') < 0
}

// breaksOff tells whether a line names a failure as programs do: "TypeError: ...",
// "error[E0425]: ", "panic: ".
func breaksOff(line []byte) bool {
	name, _, found := bytes.Cut(line, []byte(":"))
	if bytes.HasPrefix(line, []byte("Traceback (")) || bytes.HasPrefix(line, []byte("Caused by: ")) || placed(line) {
		return true
	}
	if !found || len(name) == 0 || bytes.IndexByte(name, ' ') >= 0 {
		return false
	}
	return len(name) > len("Error") && (bytes.HasSuffix(name, []byte("Error")) || bytes.HasSuffix(name, []byte("Exception"))) || name[len(name)-1] == ']' || string(name) == "panic" || string(name) == "error"
}

// frame tells whether a line is one call of a trace, or has a place in a file:
// "at run (/app/main.ts:12:3)", "File "x.py", line 3", "x.go:12: ".
func frame(line []byte) bool {
	if rest, found := bytes.CutPrefix(line, []byte("at ")); found && (bytes.IndexByte(rest, '(') > 0 || placed(rest)) {
		return true
	}
	if bytes.HasPrefix(line, []byte("File \"")) && bytes.Contains(line, []byte(", line ")) {
		return true
	}
	word := line
	if n := bytes.IndexByte(line, ' '); n > 0 {
		word = line[:n]
	}
	return placed(bytes.TrimRight(word, ":"))
}

// placed tells whether a line is a place in a file and nothing else: its path without a
// space, and the number of a line.
func placed(line []byte) bool {
	place, _, _ := bytes.Cut(line, []byte(" +0x"))
	place = bytes.TrimRight(place, ")")
	colon := bytes.LastIndexAny(place, ":(")
	if colon < 0 || colon+1 == len(place) || bytes.IndexByte(place, ' ') >= 0 || bytes.Contains(place, []byte("://")) {
		return false
	}
	return len(bytes.Trim(place[colon+1:], "0123456789,")) == 0 && bytes.IndexByte(place, '.') > 0
}

func diff(l *seen) bool {
	for _, mark := range []string{"diff --git ", "@@ ", "--- a/", "+++ b/", "<<<<<<<", ">>>>>>>", "=======", "*** "} {
		if bytes.HasPrefix(l.full, []byte(mark)) {
			return true
		}
	}
	if len(l.full) < 2 || l.full[0] != '+' && l.full[0] != '-' {
		return false
	}
	rest := l.full[1:]
	return rest[0] == '\t' || rest[0] == ' ' && len(rest) > 1 && (rest[1] == ' ' || rest[1] >= '0' && rest[1] <= '9') || letter(rest[0]) && rest[0] != l.full[0] && l.marks+l.odd > 1
}

// rule tells whether a line is drawn: of dashes, equals signs, stars.
func rule(line []byte) bool {
	return len(line) > 7 && bytes.HasPrefix(line, []byte("---")) && bytes.HasSuffix(line, []byte("---")) || len(line) > 3 && len(bytes.Trim(line, "-=*_+|~# ─═")) == 0 || bytes.Contains(line, []byte("======")) || bytes.Contains(line, []byte("*****")) || bytes.Contains(line, []byte("_____"))
}

// promptBytes is how long a prompt is at most.
const promptBytes = 80

// prompts tells whether a line is that of a shell: its prompt, with a command.
func prompts(line []byte) bool {
	for _, mark := range []string{"➜ ", "❯ ", "$ ", ">>> ", "... ", "PS C:", "# "} {
		if bytes.HasPrefix(line, []byte(mark)) && mark != "# " {
			return true
		}
	}
	at, end := bytes.IndexByte(line, '@'), bytes.IndexAny(line, "$#%")
	return at > 0 && at < end && end < promptBytes && (end+1 == len(line) || line[end+1] == ' ') && bytes.IndexByte(line[:at], ' ') < 0 // lea@ada:~/app$ make
}

// screen tells whether a line begins with a mark that programs draw and nobody types.
func screen(line []byte) bool {
	r, _ := utf8.DecodeRune(line)
	switch {
	case r >= 0x2190 && r < 0x2600: // arrows, technical marks, frames
		return true
	case r >= 0x2700 && r < 0x27C0:
		return true
	}
	return bytes.HasPrefix(line, []byte("=> ")) || bytes.HasPrefix(line, []byte("#·"))
}

// tag tells whether a line is one of HTML or XML.
func tag(line []byte) bool {
	if len(line) < 3 || line[0] != '<' {
		return false
	}
	c := line[1]
	return (letter(c) || c == '/' || c == '!' || c == '?') && bytes.IndexByte(line, '>') > 0 && !bytes.Contains(line[:min(len(line), 12)], []byte("://"))
}

// codeEnd tells whether a line ends as lines of code do.
func codeEnd(line []byte) bool {
	if len(line) == 0 {
		return false
	}
	switch line[len(line)-1] {
	case '{', '}', ';', '[', '(', '\\', ']':
		return true
	}
	return ends(line, "),", "=>", "},", "],", "\",", "&&", "||", "):", ") {", "|")
}

// call tells whether a name stands before an opening bracket.
func call(line []byte) bool {
	for i := 1; i < len(line); i++ {
		if line[i] == '(' && (letter(line[i-1]) || line[i-1] >= '0' && line[i-1] <= '9' || line[i-1] == '_') {
			return true
		}
	}
	return false
}

// key is where the sign stands behind the name with which a line begins: "port: 80",
// "PORT=80", 0 if there is none.
func key(line []byte) int {
	n := 0
	for n < len(line) && (letter(line[n]) || line[n] >= '0' && line[n] <= '9' || line[n] == '_' || line[n] == '-' || line[n] == '.') {
		n++
	}
	if n == 0 || n+1 >= len(line) {
		return 0
	}
	if line[n] == ' ' && line[n+1] == '=' {
		n++
	}
	if line[n] == '=' || line[n] == ':' && (line[n+1] == ' ' || line[n+1] == '/') {
		return n
	}
	return 0
}

// stringKey tells whether a line begins with a key of JSON.
func stringKey(line []byte) bool {
	line = bytes.TrimLeft(line, "[{ ")
	if len(line) == 0 || line[0] != '"' {
		return false
	}
	end := bytes.IndexByte(line[1:], '"') + 2
	return end > 1 && end < len(line) && line[end] == ':'
}

// complains tells whether a line begins like a program that names itself, what it was
// given, and what is wrong with that: "cat: /x: No such file".
func complains(line []byte) bool {
	name, rest, _ := bytes.Cut(line, []byte(": "))
	given, what, found := bytes.Cut(rest, []byte(": "))
	if !found || len(name) == 0 || len(name) > 24 || bytes.IndexByte(name, ' ') >= 0 || name[0] < 'a' || name[0] > 'z' || len(what) == 0 {
		return false
	}
	return bytes.HasPrefix(given, []byte("line ")) || bytes.ContainsAny(given, "/'\"")
}

// hash tells whether a word is a number of seven or more hexadecimal digits, with
// letters in it.
func hash(line []byte) bool {
	digits, letters := 0, 0
	for i := 0; i <= len(line); i++ {
		c := byte(' ')
		if i < len(line) {
			c = line[i]
		}
		switch {
		case c >= '0' && c <= '9':
			digits++
			continue
		case c >= 'a' && c <= 'f':
			letters++
			continue
		case !letter(c) && digits > 1 && letters > 0 && digits+letters >= 7:
			return true
		}
		digits, letters = 0, 0
		for letter(c) && i+1 < len(line) && letter(line[i+1]) {
			i++
		}
	}
	return false
}

// long tells whether a line is one long word.
func long(line []byte) bool {
	return len(line) > 39 && bytes.IndexByte(line, ' ') < 0 && utf8.RuneCount(line) == len(line)
}

// path tells whether a line is the name of a file or an address and nothing else.
func path(line []byte) bool {
	if bytes.IndexByte(line, ' ') >= 0 || bytes.Count(line, []byte("/")) < 2 {
		return false
	}
	return line[0] == '/' || line[0] == '.' || unicode.IsLetter(rune(line[0]))
}

func heading(line []byte) bool {
	n := len(line) - len(bytes.TrimLeft(line, "#"))
	return n > 0 && n < 7 && n < len(line) && line[n] == ' '
}
