package summarize

import "bytes"

// withoutPasted is what a person says without the lines that a terminal or a program
// has printed, as far as their form tells. What is nothing else is returned whole: the
// person shows it.
func withoutPasted(text []byte) []byte {
	if bytes.IndexByte(text, '\n') < 0 {
		return text
	}
	own := make([]byte, 0, len(text))
	output, fenced := false, false
	for line := range bytes.Lines(text) {
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
