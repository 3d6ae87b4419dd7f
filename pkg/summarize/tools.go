package summarize

import (
	"strconv"
	"strings"

	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
)

// tool says what a tool does to files.
type tool int

const (
	toolOther tool = iota
	toolRead
	toolWrite
)

// toolKind knows the names that runtimes give to reading and writing files
// (seed 001, section 7.5; Claude Code's are capitalised).
func toolKind(name string) tool {
	switch strings.ToLower(name) {
	case "read", "read_file", "readfile", "view", "open_file":
		return toolRead
	case "write", "write_file", "edit", "edit_file", "multiedit", "apply_patch", "str_replace", "create_file", "notebookedit":
		return toolWrite
	}
	return toolOther
}

// arguments are the parts of a tool call that a summary uses.
type arguments struct {
	path    string
	command string
}

// readArguments takes the few fields it knows from a call's JSON arguments.
func readArguments(raw []byte) arguments {
	var a arguments
	var c jsonl.Cursor
	c.Reset(raw)
	if !c.EnterObject() {
		return a
	}
	for c.NextKey() {
		switch string(c.Key()) {
		case "path", "file_path", "filePath", "filename":
			a.path = stringValue(&c)
		case "command", "cmd", "script":
			a.command = stringValue(&c)
		}
	}
	return a
}

func stringValue(c *jsonl.Cursor) string {
	b, _ := c.Bytes()
	return string(b)
}

// exitCode finds how a command ended: as the runtime recorded it, else as its
// output says in its last line.
func exitCode(m *session.Message, text string) (code int, known bool) {
	if m.HasExit {
		return m.ExitCode, true
	}
	tail := strings.ToLower(text[max(0, len(text)-200):])
	for _, phrase := range []string{"exited with code ", "exit code: ", "exit code ", "exit status "} {
		i := strings.LastIndex(tail, phrase)
		if i < 0 {
			continue
		}
		digits := tail[i+len(phrase):]
		end := strings.IndexFunc(digits, func(r rune) bool { return r < '0' || r > '9' })
		if end < 0 {
			end = len(digits)
		}
		if n, err := strconv.Atoi(digits[:end]); err == nil {
			return n, true
		}
	}
	return 0, false
}

// errorLine picks the line of an output that says what went wrong: one that
// names an error, else one that says that something failed, else the first.
func errorLine(text string) string {
	first, failed := "", ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		lower := strings.ToLower(line)
		switch {
		case line == "":
			continue
		case containsAny(lower, "error", "fatal", "panic", "exception", "cannot", "no such", "denied", "not found", "refused", "timeout") > 0:
			return line
		case failed == "" && containsAny(lower, "failed", "fail", "failure") > 0:
			failed = line
		case first == "":
			first = line
		}
	}
	if failed != "" {
		return failed
	}
	return first
}
