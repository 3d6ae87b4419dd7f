package summarize

import (
	"bytes"
	"cmp"
	"maps"
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

// Bounds of what is remembered of commands and their failures.
const (
	commandRunes = 120 // of a command in the summary
	maxCommands  = 512 // when there are more, the older half goes
	maxFailures  = 48
	errorLines   = 3
	errorRunes   = 160 // of one line of an error
)

// commands are the commands that ran, and everything that failed.
type commands struct {
	byText   map[string]*command
	failures []failure
}

type command struct {
	text  string
	line  int // of the last run
	runs  int
	last  outcome
	score int
}

// failure is a call that did not work.
type failure struct {
	what    string // Markdown
	command string // "" if it was no command
	exit    string
	line    int
	text    []byte // what was printed
	lines   string // the lines of it that are told, as Markdown
	fixed   int    // line of the run that worked later, or 0
}

// ran counts a run of a command. A run that works settles the failures of the
// same command, or of one that begins with it or that it begins with.
func (c *commands) ran(text string, line int, o outcome) {
	if c.byText == nil {
		c.byText = map[string]*command{}
	}
	key := oneLine(redact(text), commandRunes)
	known := c.byText[key]
	if known == nil {
		known = &command{text: key, score: weight(key)}
		c.byText[key] = known
	}
	known.line, known.last = line, o
	known.runs++
	for i := range c.failures {
		f := &c.failures[i]
		if !o.failed && f.fixed == 0 && f.command != "" && (strings.HasPrefix(f.command, text) || strings.HasPrefix(text, f.command)) {
			f.fixed = line
		}
	}
	if len(c.byText) > maxCommands {
		for _, old := range c.sorted()[maxCommands/2:] {
			delete(c.byText, old.text)
		}
	}
}

// weight tells commands that change something from those that only look.
func weight(text string) int {
	for _, w := range []string{"commit", "push", "deploy", "install", "migrate", "restart", "publish", "merge", "release", "rm ", "mv ", "restore"} {
		if strings.Contains(text, w) {
			return 2
		}
	}
	first, _, _ := strings.Cut(text, " ")
	switch first {
	case "ls", "cat", "pwd", "cd", "echo", "head", "tail", "grep", "rg", "find", "sed", "wc", "which", "file", "stat", "tree", "sleep":
		return -3
	}
	return 0
}

// sorted returns the commands with the newest first.
func (c *commands) sorted() []*command {
	return slices.SortedFunc(maps.Values(c.byText), func(a, b *command) int {
		return cmp.Or(b.line-a.line, strings.Compare(a.text, b.text))
	})
}

// failed remembers a failure. When there are too many, one that was put right
// goes first, and the oldest of those.
func (c *commands) failed(f failure) {
	f.lines = errorText(f.text)
	f.text = nil
	if f.lines == "" && onlyLooks(f.command) || f.lines == code("Command aborted") { // by a person, who knows
		return
	}
	f.command = string(cut([]byte(f.command), argumentBytes))
	c.failures = append(c.failures, f)
	if len(c.failures) <= maxFailures {
		return
	}
	oldest := slices.IndexFunc(c.failures, func(f failure) bool { return f.fixed > 0 })
	if oldest < 0 {
		oldest = 0
	}
	c.failures = slices.Delete(c.failures, oldest, oldest+1)
}

// onlyLooks tells whether a command that failed silently has only found nothing.
func onlyLooks(command string) bool {
	last := strings.TrimSpace(command[strings.LastIndexAny(command, "|;&")+1:])
	return looks(last) || looks(command) && !strings.Contains(command, "&&") && !strings.Contains(command, ";") // grep "a\|b"
}

func looks(command string) bool {
	first, _, _ := strings.Cut(command, " ")
	switch first {
	case "grep", "egrep", "rg", "ag", "diff", "cmp", "test", "[", "pgrep", "which":
		return true
	}
	return false
}

// errorText picks the lines of an output that tell what went wrong, as they
// were printed.
func errorText(text []byte) string {
	var told, all []string
	for line := range bytes.Lines(text) {
		line = bytes.TrimSpace(line)
		if _, exit := writtenExit(line); exit || len(line) == 0 || string(line) == "(no output)" {
			continue
		}
		quoted := code(oneLine(string(cut(line, 4*errorRunes)), errorRunes))
		if len(told) < errorLines && tellsError(line) && !slices.Contains(told, quoted) {
			told = append(told, quoted)
		}
		if all = append(all, quoted); len(all) > 2 {
			all = all[1:]
		}
	}
	if len(told) == 0 {
		told = all
	}
	return strings.Join(told, " ")
}

// tellsError looks for the words that errors are told with.
func tellsError(line []byte) bool {
	return containsAny(bytes.ToLower(line), errorWords())
}

func errorWords() []string {
	return []string{
		"error", "fail", "fatal", "panic", "denied", "refused", "cannot", "can't", "could not", "couldn't", "not found", "no such", "exception", "undefined",
		"invalid", "unable", "timeout", "timed out", "conflict", "killed", "traceback", "in use", "missing", "unexpected", "violat", "exceed", "no space", "not accepted", "mismatch", "want ",
	}
}

// candidates returns the commands, most important first: what changes
// something, what was run more than once, and the newest.
func (c *commands) candidates(inFocus func([]byte) int) []candidate {
	var out []candidate
	for _, known := range c.sorted() {
		text := code(known.text) + " " + known.last.text()
		if known.runs > 1 {
			text += ", run " + strconv.Itoa(known.runs) + " times"
		}
		score := known.score + min(known.runs, 2) + 4*inFocus([]byte(known.text))
		if known.last.failed { // told as an error, with its exit code
			score -= 2
		}
		out = append(out, candidate{text: text, line: known.line, score: score})
	}
	sortByScore(out)
	return out
}

// failureCandidates returns the failures, most important first: those that
// were not put right, and the newest.
func (c *commands) failureCandidates(inFocus func([]byte) int) []candidate {
	var out []candidate
	for i := len(c.failures) - 1; i >= 0; i-- {
		f := &c.failures[i]
		text, score := f.what, 3
		if f.exit != "" && f.exit != "failed" {
			text = f.exit + " from " + text
		}
		if f.lines != "" {
			text += ": " + f.lines
		}
		if f.fixed > 0 {
			text += ", worked later at line " + strconv.Itoa(f.fixed)
			score = 1
		}
		out = append(out, candidate{text: text, line: f.line, score: score + 4*inFocus([]byte(text))})
	}
	sortByScore(out)
	return out
}

func containsAny(text []byte, words []string) bool {
	for _, w := range words {
		if bytes.Contains(text, []byte(w)) {
			return true
		}
	}
	return false
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

// patchedFiles returns the files that an apply_patch text names.
func patchedFiles(patch []byte) []string {
	var names []string
	for line := range bytes.Lines(patch) {
		for _, verb := range []string{"*** Update File: ", "*** Add File: ", "*** Delete File: ", "*** Move to: "} {
			rest, ok := bytes.CutPrefix(line, []byte(verb))
			name := string(bytes.TrimSpace(cut(rest, argumentBytes)))
			if ok && name != "" && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// maxFiles bounds the files that are remembered. When there are more, the
// half that was touched longest ago goes, read ones first.
const maxFiles = 1024

// files are the files that tools have read and changed.
type files struct{ byPath map[string]*file }

type file struct {
	path            string
	changed, read   int
	lineOfLastTouch int
}

// touch counts a call that worked. A file that was ever changed is told as
// changed only.
func (f *files) touch(c call) {
	if f.byPath == nil {
		f.byPath = map[string]*file{}
	}
	for _, path := range c.paths {
		path = oneLine(path, 200)
		if path == "" {
			continue
		}
		known := f.byPath[path]
		if known == nil {
			known = &file{path: path}
			f.byPath[path] = known
		}
		if c.action == changes {
			known.changed++
			known.lineOfLastTouch = c.line
		} else {
			known.read++
			if known.changed == 0 {
				known.lineOfLastTouch = c.line
			}
		}
	}
	if len(f.byPath) > maxFiles {
		f.forget()
	}
}

func (f *files) forget() {
	for _, old := range f.sorted()[maxFiles/2:] {
		delete(f.byPath, old.path)
	}
}

// sorted returns the files with the most important first: changed before
// read, and the newest first.
func (f *files) sorted() []*file {
	return slices.SortedFunc(maps.Values(f.byPath), func(a, b *file) int {
		if (a.changed > 0) != (b.changed > 0) {
			return cmp.Compare(b.changed, a.changed)
		}
		if a.lineOfLastTouch != b.lineOfLastTouch {
			return b.lineOfLastTouch - a.lineOfLastTouch
		}
		return strings.Compare(a.path, b.path)
	})
}

// candidates returns the changed or the read files, most important first.
func (f *files) candidates(changed bool, inFocus func([]byte) int) []candidate {
	var out []candidate
	for _, known := range f.sorted() {
		if (known.changed > 0) != changed {
			continue
		}
		text := code(known.path)
		if n := known.changed; n > 1 {
			text += " ×" + strconv.Itoa(n)
		}
		out = append(out, candidate{text: text, line: known.lineOfLastTouch, score: min(known.changed, 4) + 4*inFocus([]byte(known.path))})
	}
	sortByScore(out)
	return out
}

// sortByScore puts the highest score first and keeps the order of equals.
func sortByScore(c []candidate) {
	slices.SortStableFunc(c, func(a, b candidate) int { return b.score - a.score })
}
