package work

import (
	"bytes"
	"math"
	"net/url"
	"strings"

	"github.com/sessctl/sessctl/pkg/jsonl"
)

// understanding is what became of a call.
type understanding uint8

const (
	understood    understanding = iota
	notOurs                     // it does nothing of the kinds of actions
	notUnderstood               // it should, but its arguments do not say what
)

// maxFiles is how many files of one call are told.
const maxFiles = 256

// arguments are the arguments of a call that matter, whatever the runtime
// calls them.
type arguments struct {
	verb      verb
	directory cleaned
	paths     []cleaned
	to        cleaned // where a file is moved
	query     cleaned
	url       cleaned
	patch     []byte // the text of a patch
	script    []byte // the command line in full
	verbName  string // what an editor or a browser is to do
	task      string // the command in the background that is asked after
	prompt    []byte // a text with addresses in it

	offset, limit, start, end int
	hasOffset                 bool
	dryRun                    bool
	zeroBased                 bool // offset counts from 0
	broken                    bool // no JSON, or no object
}

// readCall tells what a call does from the tool's name and the raw JSON of its
// arguments.
func readCall(c *jsonl.Cursor, tool string, raw []byte) (made call, asked understanding) {
	v, foreign := verbOf(tool)
	made = call{tool: tool, verb: v}
	if v == other {
		return made, notOurs
	}
	a := arguments{verb: v, zeroBased: strings.EqualFold(tool, "read_file")}
	a.read(c, raw)
	made.task = a.task
	made.actions, asked = a.actions()
	if asked == notUnderstood && foreign && !a.broken {
		asked = notOurs // a tool of another meaning
	}
	return made, asked
}

// read takes the arguments from raw, which is an object, or a string that holds
// one. Any other string is the one argument of a tool that takes text.
func (a *arguments) read(c *jsonl.Cursor, raw []byte) {
	c.Reset(raw)
	if c.Kind() == jsonl.String {
		text, ok := c.Bytes()
		if ok = ok && c.End() == nil; !ok {
			a.broken = true
			return
		}
		text = bytes.Clone(text)
		if bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) {
			a.read(c, bytes.TrimSpace(text))
			return
		}
		a.input(text)
		return
	}
	if !c.EnterObject() {
		a.broken = true
		return
	}
	for c.NextKey() {
		a.member(c)
	}
	a.broken = a.broken || c.End() != nil
}

// input is the whole of what a tool takes that takes text.
func (a *arguments) input(text []byte) {
	switch a.verb {
	case patches:
		a.patch = text
	case runs:
		a.script = text
		a.broken = bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) // an object that was cut off
	}
}

// member reads one argument. What is not read costs nothing, such as the
// contents of a file.
func (a *arguments) member(c *jsonl.Cursor) {
	switch string(c.Key()) {
	case "command", "cmd", "CommandLine":
		a.commandLine(c)
	case "commands":
		a.commandLines(c)
	case "cwd", "Cwd", "workdir", "working_directory", "dir_path", "directory":
		a.place(c)
	case "path", "filename", "file", "target_file", "notebook_path", "file_name", "filePath":
		a.addPath(c)
	case "file_path", "absolute_path", "AbsolutePath", "TargetFile":
		a.addPath(c)
	case "paths", "include", "files":
		a.addPaths(c)
	case "source":
		a.addPath(c)
		a.zeroBased = false
	case "destination":
		a.to = textOf(c, MaxPath)
	case "pattern", "query", "search_term", "regex":
		a.ask(c)
	case "queries", "search_query":
		a.askFirst(c)
	case "url", "targetUrl":
		a.url = textOf(c, MaxURL)
	case "prompt":
		a.prompt = a.wanted(c, fetches)
	case "input", "patch":
		a.envelope(c)
	case "action":
		a.verbName = textOf(c, maxTool).text
	case "type":
		if a.verb == finds { // of Codex' searches: search, open_page, find_in_page, other
			a.verbName = textOf(c, maxTool).text
		}
	case "bash_id", "shell_id", "task_id", "sessionId", "session_id":
		a.task = taskName(c)
	case "dryRun", "dry_run":
		a.dryRun, _ = c.Bool()
	default:
		a.lines(c)
	}
}

// lines reads an argument that tells lines of a file.
func (a *arguments) lines(c *jsonl.Cursor) {
	switch string(c.Key()) {
	case "offset":
		a.offset, a.hasOffset = number(c)
	case "limit":
		a.limit, _ = number(c)
	case "start_line":
		a.start, _ = number(c)
	case "end_line":
		a.end, _ = number(c)
	case "head":
		if a.end, _ = number(c); a.end > 0 {
			a.start = 1
		}
	case "view_range":
		a.viewRange(c)
	}
}

func (a *arguments) viewRange(c *jsonl.Cursor) {
	if !c.EnterArray() {
		return
	}
	for at := 0; c.NextElement(); at++ {
		switch n, _ := number(c); at {
		case 0:
			a.start = n
		case 1:
			a.end = max(n, 0) // -1 is the end of the file
		}
	}
}

// taskName reads the name of a command in the background: a string or a number.
func taskName(c *jsonl.Cursor) string {
	if c.Kind() == jsonl.Number {
		return string(c.Raw())
	}
	return textOf(c, maxTool).text
}

// number reads a count of lines; what is none is 0.
func number(c *jsonl.Cursor) (int, bool) {
	n, ok := c.Int64()
	if !ok || n < 0 || n > math.MaxInt32 {
		return 0, false
	}
	return int(n), true
}

// textOf reads a string, and is empty for anything else.
func textOf(c *jsonl.Cursor, runes int) cleaned {
	text, _ := c.Bytes()
	return clean(text, runes)
}

// commandLine reads a command line: a string, or a list of words.
func (a *arguments) commandLine(c *jsonl.Cursor) {
	switch {
	case a.verb == editor:
		a.verbName = textOf(c, maxTool).text
	case a.verb != runs && a.verb != patches:
		c.Skip()
	case c.Kind() == jsonl.Array:
		words := stringsOf(c)
		if len(words) == 2 && isApplyPatch(words[0]) {
			a.patch = []byte(words[1])
			return
		}
		a.script = []byte(commandOf(words))
	default:
		text, _ := c.Bytes()
		a.script = bytes.Clone(text)
	}
}

// commandLines reads several command lines, which run one after the other.
func (a *arguments) commandLines(c *jsonl.Cursor) {
	if c.Kind() != jsonl.Array {
		a.commandLine(c)
		return
	}
	a.script = []byte(strings.Join(stringsOf(c), "\n"))
}

// maxWords bounds the words of a command that is a list.
const maxWords = 4096

func stringsOf(c *jsonl.Cursor) (words []string) {
	for ok := c.EnterArray(); ok && c.NextElement(); {
		if word, ok := c.Bytes(); ok && len(words) < maxWords {
			words = append(words, string(word))
		}
	}
	return words
}

// place reads a directory: where a command runs, else the path of a search.
func (a *arguments) place(c *jsonl.Cursor) {
	text := textOf(c, MaxPath)
	switch {
	case a.verb == runs || a.verb == patches:
		a.directory = text
	case (a.verb == finds || a.verb == lists) && text.text != "":
		a.paths = append(a.paths[:0], text)
	}
}

func (a *arguments) addPath(c *jsonl.Cursor) {
	if key := string(c.Key()); key == "path" {
		a.zeroBased = false // Gemini, whose lines count from 0, calls it otherwise
	}
	if text := textOf(c, MaxPath); text.text != "" && len(a.paths) < maxFiles {
		a.paths = append(a.paths, text)
	}
}

func (a *arguments) addPaths(c *jsonl.Cursor) {
	if a.verb != reads {
		c.Skip()
		return
	}
	if c.Kind() != jsonl.Array {
		a.addPath(c)
		return
	}
	for ok := c.EnterArray(); ok && c.NextElement(); {
		a.addPath(c)
	}
}

func (a *arguments) ask(c *jsonl.Cursor) {
	if text := textOf(c, MaxQuery); text.text != "" && a.query.text == "" {
		a.query = text
	}
}

// askFirst reads the first of several questions.
func (a *arguments) askFirst(c *jsonl.Cursor) {
	if c.Kind() != jsonl.Array {
		a.ask(c)
		return
	}
	for ok := c.EnterArray(); ok && c.NextElement(); {
		a.ask(c)
	}
}

// envelope reads the text of a patch, or of a shell that takes text.
func (a *arguments) envelope(c *jsonl.Cursor) {
	if text := a.wanted(c, patches, runs); text != nil {
		a.input(text)
	}
}

// wanted reads a string that only tools of some verbs take.
func (a *arguments) wanted(c *jsonl.Cursor, of ...verb) []byte {
	for _, v := range of {
		if v == a.verb {
			text, _ := c.Bytes()
			return bytes.Clone(text)
		}
	}
	c.Skip()
	return nil
}

// actions makes the actions of a call.
func (a *arguments) actions() ([]*Action, understanding) {
	if a.broken {
		return nil, notUnderstood
	}
	if a.dryRun {
		return nil, notOurs
	}
	switch a.verb {
	case runs, patches:
		return a.ran()
	case reads:
		return a.files(KindRead)
	case writes:
		return a.files(KindWrite)
	case edits:
		return a.files(KindEdit)
	case deletes:
		return a.files(KindDelete)
	case editor:
		return a.edited()
	case moves:
		return a.moved()
	case follows:
		return nil, notOurs
	}
	return a.looked()
}

// files makes an action of each file.
func (a *arguments) files(kind Kind) ([]*Action, understanding) {
	var all []*Action
	for _, p := range a.paths {
		all = append(all, &Action{Kind: kind, Path: p.text, Redacted: p.redacted})
	}
	if len(all) == 0 {
		return nil, notUnderstood
	}
	if kind == KindRead {
		all[0].Span = a.span()
	}
	return all, understood
}

// span is the lines of a file that a call asks for; none for all of it.
func (a *arguments) span() Span {
	switch {
	case a.start > 0:
		return Span{a.start, a.end}
	case !a.hasOffset && a.limit == 0:
		return Span{}
	}
	from := a.offset
	if a.zeroBased {
		from++
	}
	if from = max(from, 1); a.limit == 0 {
		return Span{From: from}
	}
	return Span{from, from + a.limit - 1}
}

// edited is what an editor of many verbs does.
func (a *arguments) edited() ([]*Action, understanding) {
	switch a.verbName {
	case "view":
		return a.files(KindRead)
	case "create":
		return a.files(KindWrite)
	case "str_replace", "insert", "undo_edit":
		return a.files(KindEdit)
	}
	return nil, notUnderstood
}

// moved is a file that is removed in one place and written in another.
func (a *arguments) moved() ([]*Action, understanding) {
	if len(a.paths) == 0 || a.to.text == "" {
		return nil, notUnderstood
	}
	from := a.paths[0]
	return []*Action{
		{Kind: KindDelete, Path: from.text, Redacted: from.redacted},
		{Kind: KindWrite, Path: a.to.text, Redacted: a.to.redacted},
	}, understood
}

// looked is a search, a list of a directory, or a page of the web.
func (a *arguments) looked() ([]*Action, understanding) {
	if a.url.text == "" {
		a.url = firstURL(a.prompt)
	}
	search := &Action{Kind: KindSearch, Query: a.query.text, URL: a.url.text, Redacted: a.query.redacted + a.url.redacted}
	if len(a.paths) > 0 {
		search.Path, search.Redacted = a.paths[0].text, search.Redacted+a.paths[0].redacted
	}
	fetch := &Action{Kind: KindFetch, URL: a.url.text, Redacted: a.url.redacted}
	switch {
	case a.verb == lists, a.verb == finds && a.query.text != "":
		return []*Action{search}, understood
	case a.url.text != "" && (a.verb != browses || a.opens()):
		return []*Action{fetch}, understood
	case a.verb == browses, a.verb == finds && a.verbName == "other":
		return nil, notOurs // a click, a picture of the screen
	}
	return nil, notUnderstood
}

// opens reports whether a browser goes to an address.
func (a *arguments) opens() bool {
	return a.verbName == "" || a.verbName == "open" || a.verbName == "navigate"
}

// firstURL is the first address of the web in a text.
func firstURL(text []byte) cleaned {
	for word := range bytes.FieldsSeq(text) {
		word = bytes.Trim(word, `"'<>()[]{},;`)
		if u, err := url.Parse(string(word)); err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" {
			return clean(word, MaxURL)
		}
	}
	return cleaned{}
}

// ran is a command line, or the files of a patch, which Codex also applies as a
// command.
func (a *arguments) ran() ([]*Action, understanding) {
	script := unwrap(string(a.script))
	patch := shellPatch{text: a.patch, alone: true}
	if patch.text == nil {
		patch = patchOf(script)
	}
	all := patchedFiles(patch.text)
	for _, x := range all {
		x.Directory = joined(a.directory.text, patch.directory)
	}
	if text := clean([]byte(script), MaxCommand); a.verb == runs && text.text != "" && (len(all) == 0 || !patch.alone) {
		all = append(all, &Action{Kind: KindCommand, Command: text.text, Directory: a.directory.text, Redacted: text.redacted})
	}
	if len(all) == 0 {
		return nil, notUnderstood
	}
	all[0].Redacted += a.directory.redacted
	return all, understood
}
