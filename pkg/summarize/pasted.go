package summarize

import (
	"bytes"
	"slices"
)

// withoutPasted is what a person says without the lines that a terminal or a program
// has printed, as far as their form tells. What is nothing else is returned whole: the
// person shows it.
func withoutPasted(text []byte) []byte {
	if bytes.IndexByte(text, '\n') < 0 {
		return text
	}
	own := make([]byte, 0, len(text))
	output, fenced := false, false
	for line := range bytes.Lines(withoutTrace(text)) {
		bare := bytes.TrimSpace(line)
		if bytes.HasPrefix(bare, []byte("```")) {
			fenced = !fenced
		}
		switch {
		case fenced:
		case len(bare) == 0, bare[len(bare)-1] == '?': // what a command printed ends with its paragraph
			output = false
		case prompts(bare):
			output = true
		}
		if fenced || !output && !printed(line, bare) && !attached(bare) {
			own = append(own, line...)
		}
	}
	if own = bytes.TrimSpace(own); len(own) == 0 {
		return text
	}
	return own
}

// withoutTrace is a text without the trace of a program that broke off, from its first
// line to its last: "Error: ...", "at run (/app/main.ts:12:3)". What is indented below a
// call belongs to it.
func withoutTrace(text []byte) []byte {
	first, last, named, at := -1, 0, -1, 0
	for line := range bytes.Lines(text) {
		bare := bytes.TrimSpace(line)
		end := at + len(line)
		switch {
		case frame(bare):
			if first < 0 {
				first = at
				if named >= 0 {
					first = named
				}
			}
			last = end
		case first >= 0 && last == at && (line[0] == ' ' || line[0] == '\t' || breaksOff(bare)):
			last = end
		case named < 0 && breaksOff(bare):
			named = at
		}
		at = end
	}
	if first < 0 {
		return text
	}
	return slices.Concat(text[:first], text[last:])
}

// breaksOff tells whether a line names the failure that the trace below it is of.
func breaksOff(line []byte) bool {
	name, _, found := bytes.Cut(line, []byte(":"))
	return found && bytes.IndexByte(name, ' ') < 0 && (bytes.HasSuffix(name, []byte("Error")) || bytes.HasSuffix(name, []byte("Exception"))) ||
		bytes.HasPrefix(line, []byte("Traceback (")) || bytes.HasPrefix(line, []byte("panic: ")) || placed(line)
}

// frame tells whether a line is one call of a trace: of JavaScript and Java, of Python, or
// of Go.
func frame(line []byte) bool {
	if rest, found := bytes.CutPrefix(line, []byte("at ")); found {
		return placed(rest[bytes.IndexByte(rest, '(')+1:])
	}
	return bytes.HasPrefix(line, []byte("File \"")) && bytes.Contains(line, []byte(", line ")) || bytes.Contains(line, []byte(".go:")) && placed(line)
}

// placed tells whether a line is a place in a file and nothing else: its path without a
// space, and the number of a line.
func placed(line []byte) bool {
	place, _, _ := bytes.Cut(line, []byte(" +0x"))
	place = bytes.TrimRight(place, ")")
	colon := bytes.LastIndexByte(place, ':')
	if colon < 0 || colon+1 == len(place) || bytes.IndexByte(place, ' ') >= 0 || bytes.Contains(place, []byte("://")) {
		return false
	}
	return len(bytes.Trim(place[colon+1:], "0123456789")) == 0 && bytes.IndexByte(place, '.') > 0
}

// stamped tells whether a line begins with a day and a time, as those of logs do.
func stamped(line []byte) bool {
	line = bytes.TrimPrefix(line, []byte("["))
	return len(line) > len("2006-01-02T15:04:05") && datePattern(line[:len("2006-01-02T15:04")])
}

// datePattern tells whether a text has the form of a day with a time.
func datePattern(text []byte) bool {
	for i, c := range []byte("2006-01-02T15:04") {
		switch {
		case c >= '0' && c <= '9' && (text[i] < '0' || text[i] > '9'), c == '-' && text[i] != '-', c == ':' && text[i] != ':', c == 'T' && text[i] != 'T' && text[i] != ' ':
			return false
		}
	}
	return true
}

// attached tells whether a line is the name of a file that was put into a prompt, and
// nothing else: its path from the root on, to the end of the file's kind.
func attached(line []byte) bool {
	path := bytes.Trim(line, "'\"")
	if len(path) == 0 || path[0] != '/' {
		return false
	}
	slash, dot := bytes.LastIndexByte(path, '/'), bytes.LastIndexByte(path, '.')
	kind := path[dot+1:]
	return slash > 0 && dot > slash && len(kind) > 0 && len(kind) <= 5 && bytes.IndexByte(kind, ' ') < 0
}

// prompts tells whether a line is that of a shell: its prompt, with a command.
func prompts(line []byte) bool {
	for _, mark := range []string{"➜ ", "❯ ", "$ ", ">>> ", "PS C:"} {
		if bytes.HasPrefix(line, []byte(mark)) {
			return true
		}
	}
	at, end := bytes.IndexByte(line, '@'), bytes.IndexAny(line, "$#%")
	return at > 0 && at < end && end < promptBytes && end+1 < len(line) && line[end+1] == ' ' && bytes.IndexByte(line[:at], ' ') < 0 // lea@ada:~/app$ make
}

// promptBytes is how long a prompt is at most.
const promptBytes = 80

// printed tells whether a line is one of a log, of a table or of a diff with numbers
// ("[theme] detected", "+ 12 - a line"), or is filled with spaces as screens are.
func printed(line, bare []byte) bool {
	if len(bare) == 0 {
		return false
	}
	if bytes.HasSuffix(bytes.TrimRight(line, "\r\n"), []byte("    ")) {
		return true
	}
	if stamped(bare) {
		return true
	}
	for _, mark := range []string{"↑", "↓", "✓ ", "✗ ", "│", "├", "└", "╭", "╰", "─", "@@ ", "Traceback ("} {
		if bytes.HasPrefix(bare, []byte(mark)) {
			return true
		}
	}
	switch bare[0] {
	case '[':
		end := bytes.IndexAny(bare, "] ")
		return end > len("[x") && bare[end] == ']' && end+1 < len(bare) && bare[end+1] == ' ' // [theme] detected
	case '+', '-':
		rest := bytes.TrimLeft(bare[1:], " ")
		n := bytes.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' })
		return n > 0 && bytes.HasPrefix(rest[n:], []byte(" - ")) || n > 0 && bytes.HasPrefix(rest[n:], []byte(" #"))
	}
	return false
}
