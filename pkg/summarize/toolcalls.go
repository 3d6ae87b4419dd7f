package summarize

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
)

// action is what a tool does, as far as it matters to a summary.
type action uint8

const (
	other action = iota
	reads
	changes
	runs
)

// call is a tool call whose result has not been seen yet.
type call struct {
	id      string
	line    int
	tool    string
	action  action
	paths   []string
	command string
}

// maxCalls bounds the calls that wait for a result.
const maxCalls = 256

// calls are the open calls, oldest first.
type calls struct{ open []call }

func (c *calls) add(n call) {
	if len(c.open) == maxCalls {
		c.open = slices.Delete(c.open, 0, 1)
	}
	c.open = append(c.open, n)
}

// take returns the newest open call with the id and forgets it.
func (c *calls) take(id []byte) call {
	for i := len(c.open) - 1; i >= 0; i-- {
		if c.open[i].id == string(id) {
			found := c.open[i]
			c.open = slices.Delete(c.open, i, i+1)
			return found
		}
	}
	return call{}
}

// since returns the newest open calls that were made after a line. Older ones
// were given up: somebody has spoken since.
func (c *calls) since(line int) []call {
	i := len(c.open)
	for i > 0 && c.open[i-1].line > line && len(c.open)-i < 4 {
		i--
	}
	return c.open[i:]
}

// actionOf maps the names that runtimes give to their tools.
func actionOf(tool string) action {
	if i := strings.LastIndex(tool, "__"); i >= 0 { // mcp__server__tool
		tool = tool[i+2:]
	}
	switch strings.ToLower(tool) {
	case "read", "read_file", "readfile", "view", "open_file", "notebookread":
		return reads
	case "write", "write_file", "writefile", "create", "create_file", "edit", "edit_file", "multiedit", "multi_edit",
		"apply_patch", "applypatch", "patch", "replace", "str_replace", "str_replace_editor", "str_replace_based_edit_tool", "notebookedit":
		return changes
	case "exec", "bash", "shell", "run", "run_command", "run_shell_command", "run_terminal_cmd", "shell_command", "exec_command", "local_shell", "terminal":
		return runs
	}
	return other
}

// callsOf remembers the calls of an assistant's message.
func (e *Extractive) callsOf(m *session.Message) {
	for i := range m.Parts {
		p := &m.Parts[i]
		if p.Kind != session.PartToolCall {
			continue
		}
		c := call{id: string(p.CallID), line: m.Line, tool: string(cut(p.Name, 80))}
		c.action = actionOf(c.tool)
		if c.action != other {
			eachArgument(&e.cursor, p.Text, c.argument)
		}
		e.calls.add(c)
	}
}

// argument takes what matters of one argument.
func (c *call) argument(key string, value *jsonl.Cursor) {
	switch key {
	case "path", "file_path", "filePath", "filename", "file", "target_file", "absolute_path", "notebook_path":
		if path := argumentText(value); c.action != runs && path != "" {
			c.paths = append(c.paths, path)
		}
	case "command", "cmd":
		if text := argumentText(value); c.action == runs {
			c.command = text
		} else if text == "view" { // an editor that reads as well
			c.action = reads
		}
	case "input", "patch":
		if c.action == changes {
			patch, _ := value.Bytes()
			c.paths = append(c.paths, patchedFiles(patch)...)
		}
	}
}

// result takes in what came of a call.
func (e *Extractive) result(m *session.Message) {
	c := e.calls.take(m.CallID)
	if c.tool == "" {
		c.tool, c.line = string(cut(m.ToolName, 80)), m.Line
	}
	o := outcomeOf(m)
	switch {
	case c.action == runs && c.command != "":
		e.commands.ran(c.command, c.line, o)
	case !o.failed:
		e.files.touch(c)
	}
	if o.failed {
		e.commands.failed(failure{what: c.title(), command: c.command, exit: o.text(), line: m.Line, text: []byte(redact(string(failureText(m))))})
	}
}

// title names a call that failed.
func (c *call) title() string {
	switch {
	case c.command != "":
		return code(oneLine(redact(c.command), commandRunes))
	case len(c.paths) > 0:
		return c.tool + " " + code(oneLine(c.paths[0], commandRunes))
	}
	return c.tool
}

// shell takes in a command that a person ran by hand.
func (e *Extractive) shell(m *session.Message) {
	for i := range m.Parts {
		if p := &m.Parts[i]; p.Kind == session.PartCommand && len(p.Text) > 0 {
			c := call{line: m.Line, tool: "shell", action: runs, command: string(cut(p.Text, argumentBytes))}
			o := outcomeOf(m)
			e.commands.ran(c.command, c.line, o)
			if o.failed {
				e.commands.failed(failure{what: c.title(), command: c.command, exit: o.text(), line: m.Line, text: []byte(redact(string(failureText(m))))})
			}
		}
	}
}

// outcome is how a call ended.
type outcome struct {
	exit   int
	known  bool // whether there was an exit code
	failed bool
}

// text returns "exit 1", "ok" or "failed".
func (o outcome) text() string {
	switch {
	case o.known:
		return "exit " + strconv.Itoa(o.exit)
	case o.failed:
		return "failed"
	}
	return "ok"
}

// outcomeOf reads the exit code where the runtime keeps it, else from the
// line that runtimes end the output of a failed command with.
func outcomeOf(m *session.Message) outcome {
	o := outcome{exit: m.ExitCode, known: m.HasExit}
	if !o.known {
		o.exit, o.known = writtenExit(lastText(m))
	}
	o.failed = m.IsError || o.known && o.exit != 0
	return o
}

func lastText(m *session.Message) []byte {
	for i := len(m.Parts) - 1; i >= 0; i-- {
		if m.Parts[i].Kind == session.PartText {
			return m.Parts[i].Text
		}
	}
	return nil
}

// exitMarks stand before the exit code in the last line of a result.
func exitMarks() []string {
	return []string{"ommand exited with code ", "rocess exited with code ", "xit code: ", "xit code ", "xited with code "}
}

func writtenExit(text []byte) (exit int, found bool) {
	text = bytes.TrimSpace(text)
	last := text[bytes.LastIndexByte(text, '\n')+1:]
	for _, mark := range exitMarks() {
		if i := bytes.LastIndex(last, []byte(mark)); i >= 0 && i < 12 {
			number := strings.TrimRight(string(last[i+len(mark):]), ")]. ")
			if n, err := strconv.Atoi(number); err == nil {
				return n, true
			}
		}
	}
	return 0, false
}

// failureText returns the beginning and the end of what a failed call
// printed: that is where errors stand.
func failureText(m *session.Message) []byte {
	text := lastText(m)
	const head, tail = 2 << 10, 8 << 10
	if len(text) <= head+tail {
		return text
	}
	return append(append(bytes.Clone(text[:head]), '\n'), bytes.ToValidUTF8(text[len(text)-tail:], nil)...)
}

// argumentBytes is the most of a path or a command that is kept.
const argumentBytes = 4 << 10

// eachArgument goes over the members of the arguments of a tool call. Only
// what yield reads is decoded, so a call with a file in it costs little.
func eachArgument(c *jsonl.Cursor, object []byte, yield func(key string, value *jsonl.Cursor)) {
	c.Reset(object)
	if !c.EnterObject() {
		return
	}
	for c.NextKey() {
		yield(string(c.Key()), c)
	}
}

// argumentText returns a string, or the strings of a list in a row, as
// commands are given to some tools.
func argumentText(c *jsonl.Cursor) string {
	if c.Kind() != jsonl.Array {
		text, _ := c.Bytes()
		return string(cut(text, argumentBytes))
	}
	var words []string
	c.EnterArray()
	for c.NextElement() {
		if word, ok := c.Bytes(); ok && len(words) < 256 {
			words = append(words, string(cut(word, argumentBytes)))
		}
	}
	return string(cut([]byte(strings.Join(words, " ")), argumentBytes))
}
