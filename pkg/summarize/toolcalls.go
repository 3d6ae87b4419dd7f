package summarize

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/work"
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
	whole   bool // a file is written as a whole
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

// actionOf tells what a tool does by its name.
func actionOf(tool string) action {
	switch work.Does(tool) {
	case work.KindRead:
		return reads
	case work.KindWrite, work.KindEdit, work.KindDelete:
		return changes
	case work.KindCommand:
		return runs
	}
	return other
}

// callsOf remembers the calls of an assistant's message, and tells whether it has
// any.
func (e *Extractive) callsOf(m *session.Message) (called bool) {
	for i := range m.Parts {
		p := &m.Parts[i]
		if p.Kind != session.PartToolCall {
			continue
		}
		c := call{id: string(p.CallID), line: m.Line, tool: string(cut(p.Name, 80))}
		c.action = actionOf(c.tool)
		c.whole = work.Does(c.tool) == work.KindWrite
		if c.action != other {
			eachArgument(&e.cursor, p.Text, c.argument)
		}
		e.turn.worked, called = true, true
		for _, path := range c.paths {
			if c.action == changes && e.steps.live() {
				e.turn.add(strings.ToLower(path))
			}
		}
		e.calls.add(c)
	}
	return called
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
			c.paths = append(c.paths, work.PatchedPaths(patch)...)
			c.whole = bytes.Contains(patch, []byte("*** Add File: ")) && !bytes.Contains(patch, []byte("*** Update File: "))
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
		if !o.failed {
			e.files.ran(c.command, c.line)
			if e.steps.live() {
				e.turn.add(strings.ToLower(oneLine(c.command, 2*commandRunes)))
			}
		}
	case !o.failed:
		e.files.touch(c)
		e.commands.settlesCall(c.title(), m.Line)
	}
	if o.failed {
		e.commands.failed(failure{what: c.title(), command: c.command, exit: o.text(), line: m.Line, people: e.seen.people, text: []byte(redact(string(failureText(m))))})
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
				e.commands.failed(failure{what: c.title(), command: c.command, exit: o.text(), line: m.Line, people: e.seen.people, text: []byte(redact(string(failureText(m))))})
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

func outcomeOf(m *session.Message) (o outcome) {
	o.exit, o.known = work.ExitStatus(m)
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
