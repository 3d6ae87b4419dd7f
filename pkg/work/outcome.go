package work

import (
	"bytes"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/pkg/session"
)

// outcome is how a call ended.
type outcome struct {
	exit     int
	hasExit  bool
	failed   bool
	errors   []string
	redacted int
}

// outcomeOf tells how a call ended, from the fields of its result, from its
// details, and from what the runtime writes into the output.
func outcomeOf(m *session.Message, c *call, t *told) (o outcome) {
	o.failed = m.IsError || t.failed
	text := printed(m, session.PartText)
	switch {
	case m.HasExit:
		o.exit, o.hasExit = m.ExitCode, true
	case t.hasExit:
		o.exit, o.hasExit = t.exit, true
	case c.verb == runs || c.verb == byHand: // a file that is read may end in such a line
		o.exit, o.hasExit = writtenExit(text, o.failed || c.task != "")
	}
	o.failed = o.failed || o.hasExit && o.exit != 0 || refused(text)
	if o.failed {
		o.errors, o.redacted = errorsOf(m, text)
	}
	return o
}

// ExitStatus returns the exit status of the command that a result is of: the
// runtime's own field, else what the runtime writes into the output.
func ExitStatus(m *session.Message) (exit int, known bool) {
	if m.HasExit {
		return m.ExitCode, true
	}
	return writtenExit(printed(m, session.PartText), m.IsError)
}

// errorsOf picks the error lines of what the model was sent. Where that tells no
// error, as of a long output that was cut, they are in the rest.
func errorsOf(m *session.Message, sent []byte) (lines []string, redacted int) {
	lines, redacted, tell := errorLines(sent)
	rest := printed(m, session.PartUnsent)
	if tell || len(rest) == 0 {
		return lines, redacted
	}
	more, n, tell := errorLines(rest)
	if tell || len(lines) == 0 {
		return more, n
	}
	return lines, redacted
}

// Of a long output its beginning and its end are looked at: that is where
// errors stand.
const (
	headBytes = 16 << 10
	tailBytes = 16 << 10
)

// printed is what the parts of a kind say in a result, of a long one both ends.
// It is the message's own memory if that is one text that is not long.
func printed(m *session.Message, kind session.PartKind) []byte {
	var parts [][]byte
	for i := range m.Parts {
		if p := &m.Parts[i]; p.Kind == kind && len(p.Text) > 0 {
			parts = append(parts, ends(p.Text))
		}
	}
	if len(parts) == 1 {
		return parts[0]
	}
	return ends(bytes.Join(parts, []byte("\n")))
}

func ends(text []byte) []byte {
	if len(text) <= headBytes+tailBytes {
		return text
	}
	head := bytes.ToValidUTF8(text[:headBytes], nil)
	tail := bytes.ToValidUTF8(text[len(text)-tailBytes:], nil)
	return slices.Concat(head, []byte("\n"), tail)
}

// writtenExit reads the exit status that a runtime writes into the output of a
// command: as its first line, or as its last. Of a command that did not fail
// only the form is believed that no program has of itself.
func writtenExit(text []byte, believed bool) (exit int, ok bool) {
	text = bytes.TrimSpace(text)
	first, _, _ := bytes.Cut(text, []byte("\n"))
	last := text[bytes.LastIndexByte(text, '\n')+1:]
	if inside, found := bytes.CutPrefix(last, []byte("(")); found {
		if inside, found = bytes.CutSuffix(inside, []byte(")")); found {
			return exitIn(inside)
		}
	}
	if !believed {
		return 0, false
	}
	if exit, ok = exitIn(last); !ok {
		exit, ok = exitIn(first)
	}
	if !ok {
		exit, ok = writtenNumber(between(text, "<exit_code>", "</exit_code>"))
	}
	return exit, ok
}

// between returns what stands between two marks, nil without them.
func between(text []byte, from, to string) []byte {
	_, rest, _ := bytes.Cut(text, []byte(from))
	inside, _, closed := bytes.Cut(rest, []byte(to))
	if !closed {
		return nil
	}
	return bytes.TrimSpace(inside)
}

// TellsExit reports whether a line of an output says the exit status and nothing
// else.
func TellsExit(line []byte) bool {
	_, tells := exitIn(bytes.Trim(bytes.TrimSpace(line), "()"))
	return tells
}

// exitIn reads the exit status from a line that says nothing else.
func exitIn(line []byte) (int, bool) {
	line = bytes.TrimRight(bytes.TrimSpace(line), ".")
	for _, mark := range []string{"Command exited with code ", "Process exited with code ", "Exit code: ", "Exit Code: ", "Exit code "} {
		if rest, ok := bytes.CutPrefix(line, []byte(mark)); ok {
			return writtenNumber(rest)
		}
	}
	return 0, false
}

// refused reports whether Codex says that a call was not done: its log has no
// other mark of that.
func refused(text []byte) bool {
	for _, start := range []string{"apply_patch verification failed", "exec_command failed", "failed to parse function arguments", "unsupported call: ", "execution error: "} {
		if bytes.HasPrefix(text, []byte(start)) {
			return true
		}
	}
	return false
}

// errorLines picks the lines of an output that tell what went wrong: those
// that begin as errors do, else those with a word of failure in them; if there
// are none, tell is false and they are the first lines.
func errorLines(text []byte) (picked []string, redacted int, tell bool) {
	safe, redacted := readable(text)
	var lines []string
	for line := range bytes.Lines(safe) {
		if text, ok := ofOutput(string(line)); ok {
			lines = append(lines, text)
		}
	}
	if picked = pick(lines, beginsError); len(picked) == 0 {
		picked = pick(lines, mentionsError)
	}
	if tell = len(picked) > 0; !tell {
		picked = lines[:min(len(lines), MaxErrorLines)]
	}
	for i := range picked {
		picked[i] = cutRunes(strings.TrimSpace(picked[i]), MaxErrorLine)
	}
	return picked, redacted, tell
}

// ofOutput returns a line without what runtimes write around an output; false
// for one that is nothing else.
func ofOutput(line string) (string, bool) {
	line = strings.TrimRight(line, " \t\r\n")
	line = strings.TrimSuffix(strings.TrimPrefix(line, "<tool_use_error>"), "</tool_use_error>")
	for _, label := range []string{"Output: ", "Stdout: ", "Stderr: "} {
		line = strings.TrimPrefix(line, label)
	}
	switch strings.TrimSpace(line) {
	case "", "(no output)", "(empty)", "(none)", "Output:", "Error: (none)", "Error", "FAIL":
		return "", false
	}
	if TellsExit([]byte(line)) {
		return "", false
	}
	for _, label := range []string{
		"Chunk ID: ", "Wall time: ", "Original token count: ", "Total output lines: ", "Process exited with ", // Codex
		"Command: ", "Directory: ", "Signal: ", "Background PIDs: ", "Process Group PGID: ", // Gemini
	} {
		if strings.HasPrefix(line, label) {
			return "", false
		}
	}
	return line, true
}

// pick returns the first lines that tell an error, without repeats. What
// follows a line that only announces one is taken too.
func pick(lines []string, tells func(string) bool) (picked []string) {
	add := func(line string) {
		if len(picked) < MaxErrorLines && !slices.Contains(picked, line) {
			picked = append(picked, line)
		}
	}
	for i, line := range lines {
		if !tells(line) {
			continue
		}
		add(line)
		if next := announced(lines[i:]); next != "" {
			add(next)
		}
	}
	return picked
}

// announced is the line that tells what the first of some lines announces: of
// a traceback of Python its last line, of a failed test of Go the next one.
func announced(lines []string) string {
	switch first := strings.TrimSpace(lines[0]); {
	case strings.HasPrefix(first, "Traceback (most recent call last)"):
		for _, line := range lines[1:] {
			if line[0] != ' ' && line[0] != '\t' {
				return line
			}
		}
	case len(lines) > 1 && (strings.HasPrefix(first, "--- FAIL") || strings.HasPrefix(first, "error[")):
		return lines[1]
	}
	return ""
}

// beginsError reports whether a line is the beginning of an error, as compilers,
// shells and test runners print it.
func beginsError(line string) bool {
	line = strings.TrimSpace(line)
	for _, start := range []string{
		"panic:", "fatal", "FATAL", "Fatal", "error", "Error", "ERROR", "--- FAIL", "FAIL", "FAILED", "Traceback (most recent call last)",
		"E   ", "npm error", "npm ERR!", "Exception", "Uncaught", "Unhandled", "make: ***", "ld: ", "✗", "✖", "×",
	} {
		if strings.HasPrefix(line, start) {
			return !harmless(line)
		}
	}
	for _, part := range []string{": error", ": fatal", "Error: ", "Exception: ", "ERROR ", " error TS", "not found", "No such file", "ermission denied", ": cannot ", "undefined: ", "undefined reference"} {
		if strings.Contains(line, part) {
			return !harmless(line)
		}
	}
	return false
}

// mentionsError looks for the words that errors are told with.
func mentionsError(line string) bool {
	line = strings.ToLower(line)
	for _, word := range []string{
		"error", "fail", "fatal", "panic", "denied", "refused", "cannot", "can't", "could not", "couldn't", "no such", "exception", "undefined",
		"invalid", "unable", "timeout", "timed out", "conflict", "killed", "in use", "missing", "unexpected", "violat", "exceed", "no space", "mismatch",
	} {
		if strings.Contains(line, word) {
			return !harmless(line)
		}
	}
	return false
}

// harmless reports whether a line counts errors and finds none.
func harmless(line string) bool {
	line = strings.ToLower(line)
	for _, none := range []string{"0 error", "no error", "0 fail", "0 warning", "errors: 0", "failures: 0"} {
		if at := strings.Index(line, none); at >= 0 && (at == 0 || line[at-1] < '0' || line[at-1] > '9') {
			return true
		}
	}
	return false
}

// Ending is how a call of a tool ended.
type Ending struct {
	Exit    int // the exit status of a command, if HasExit
	HasExit bool
	Failed  bool
	Errors  []string // the lines that tell what went wrong, without secrets; empty unless Failed
}

// EndingOf tells how the call of a tool ended whose result m is: by the fields of the
// message, and by what the runtime writes into the output.
func EndingOf(m *session.Message, tool string) Ending {
	v, _ := verbOf(tool)
	o := outcomeOf(m, &call{verb: v}, &told{})
	return Ending{o.exit, o.hasExit, o.failed, o.errors}
}
