package work

import (
	"bytes"
	"slices"
	"strconv"

	"github.com/sessctl/sessctl/pkg/jsonl"
)

// Changes returns what a call does to files, as a [Reader] tells it of the call: each
// file that it writes, edits or deletes. arguments are raw JSON, which c reads.
func Changes(c *jsonl.Cursor, tool string, arguments []byte) []*Action {
	if v, _ := verbOf(tool); v == runs && !bytes.Contains(arguments, []byte(patchBegin)) {
		return nil
	}
	made, _ := readCall(c, tool, arguments)
	return slices.DeleteFunc(made.actions, func(a *Action) bool {
		return a.Kind != KindWrite && a.Kind != KindEdit && a.Kind != KindDelete
	})
}

// patchedFiles makes an action of each file operation of a patch in Codex'
// envelope. A file that is moved is removed in one place and written in another.
func patchedFiles(patch []byte) []*Action {
	var all []*Action
	add := func(kind Kind, path []byte) {
		if p := clean(path, MaxPath); p.text != "" && len(all) < maxFiles {
			all = append(all, &Action{Kind: kind, Path: p.text, Redacted: p.redacted})
		}
	}
	for line := range bytes.Lines(patch) {
		if len(line) < 4 || string(line[:4]) != "*** " {
			continue
		}
		verb, path, _ := bytes.Cut(line[4:], []byte(": "))
		switch string(verb) {
		case "Add File":
			add(KindWrite, path)
		case "Update File":
			add(KindEdit, path)
		case "Delete File":
			add(KindDelete, path)
		case "Move to":
			if len(all) > 0 {
				all[len(all)-1].Kind = KindDelete
			}
			add(KindWrite, path)
		}
	}
	return all
}

// told is what the details of a result tell, in the terms of all runtimes.
type told struct {
	exit    int
	hasExit bool
	failed  bool
	running bool
	ended   bool   // a command in the background, whether it failed or not
	task    string // the name of a command in the background
	read    Span   // the lines of a file that was read
	changed Span   // the lines of a file that was changed
	files   []changedFile
}

// changedFile is one of several files that a patch changed.
type changedFile struct {
	path string
	span Span
}

// readDetails reads [session.Message.Details].
func readDetails(c *jsonl.Cursor, raw []byte) (t told) {
	c.Reset(raw)
	if len(raw) == 0 || !c.EnterObject() {
		return t
	}
	for c.NextKey() {
		t.member(c)
	}
	return t
}

func (t *told) member(c *jsonl.Cursor) {
	switch key := c.Key(); string(key) {
	case "exitCode":
		if n, ok := c.Int64(); ok {
			t.exit, t.hasExit, t.ended = int(n), true, true
		}
	case "status":
		status, _ := c.Bytes()
		t.state(string(status))
	case "backgroundTaskId": // claude
		t.task, t.running = taskName(c), true
	case "sessionId": // openclaw
		t.task = taskName(c)
	case "file": // claude: {startLine, numLines}
		t.readLines(c)
	case "structuredPatch": // claude: hunks
		for ok := c.EnterArray(); ok && c.NextElement(); {
			t.hunk(c)
		}
	case "diff": // pi: lines with their numbers
		text, _ := c.Bytes()
		t.changed = numberedDiff(text)
	case "fileDiff": // gemini: a unified diff
		text, _ := c.Bytes()
		t.changed = unifiedDiff(text)
	default:
		if c.Kind() == jsonl.Object { // codex: {path: {unified_diff}}
			path := string(key)
			if diff := diffIn(c, 2); diff != nil && len(t.files) < maxFiles {
				t.files = append(t.files, changedFile{path, unifiedDiff(diff)})
			}
		}
	}
}

func (t *told) state(status string) {
	switch status {
	case "error", "failed":
		t.failed, t.ended = true, true
	case "running":
		t.running = true
	case "completed", "killed":
		t.ended = true
	}
}

// diffIn returns the unified_diff of an object, or of one in it.
func diffIn(c *jsonl.Cursor, depth int) (diff []byte) {
	for ok := c.EnterObject(); ok && c.NextKey(); {
		switch {
		case string(c.Key()) == "unified_diff":
			text, _ := c.Bytes()
			diff = bytes.Clone(text)
		case c.Kind() == jsonl.Object && depth > 1:
			if inner := diffIn(c, depth-1); inner != nil {
				diff = inner
			}
		}
	}
	return diff
}

func (t *told) readLines(c *jsonl.Cursor) {
	start, count := 0, 0
	for ok := c.EnterObject(); ok && c.NextKey(); {
		switch string(c.Key()) {
		case "startLine":
			start, _ = number(c)
		case "numLines":
			count, _ = number(c)
		}
	}
	if start > 0 && count > 0 {
		t.read = Span{start, start + count - 1}
	}
}

// hunk reads one hunk of Claude Code: where its lines are in the new file, and
// the lines, with those around a change.
func (t *told) hunk(c *jsonl.Cursor) {
	w := diffWalk{}
	var lines []byte
	for ok := c.EnterObject(); ok && c.NextKey(); {
		switch string(c.Key()) {
		case "newStart":
			w.line, _ = number(c)
		case "lines":
			lines = c.Raw()
		}
	}
	var inner jsonl.Cursor
	inner.Reset(lines)
	for ok := inner.EnterArray(); ok && inner.NextElement(); {
		line, _ := inner.Bytes()
		w.take(line)
	}
	t.changed = union(t.changed, w.span)
}

// diffWalk goes over the lines of a hunk.
type diffWalk struct {
	line int // in the new file, of the next line that it has
	span Span
}

// take takes in a line of a hunk, with its sign. What was removed stood where
// the next line is now.
func (w *diffWalk) take(line []byte) {
	if w.line < 1 {
		w.line = 1
	}
	sign := byte(' ')
	if len(line) > 0 {
		sign = line[0]
	}
	switch sign {
	case '+':
		w.span = union(w.span, Span{w.line, w.line})
		w.line++
	case '-':
		w.span = union(w.span, Span{w.line, w.line})
	case ' ', '\t':
		w.line++
	}
}

// union is the smallest span around two.
func union(a, b Span) Span {
	switch {
	case a.From == 0:
		return b
	case b.From == 0:
		return a
	}
	return Span{min(a.From, b.From), max(a.To, b.To)}
}

// unifiedDiff is the span of the lines that a unified diff changes.
func unifiedDiff(diff []byte) Span {
	var w diffWalk
	inHunk := false
	for line := range bytes.Lines(diff) {
		line = bytes.TrimRight(line, "\r\n")
		switch rest, header := bytes.CutPrefix(line, []byte("@@ -")); {
		case header:
			w.line, inHunk = newStart(rest), true
		case inHunk:
			w.take(line)
		}
	}
	return w.span
}

// newStart reads the line number in the new file from a hunk's header:
// "12,3 +14,5 @@".
func newStart(header []byte) int {
	_, rest, _ := bytes.Cut(header, []byte("+"))
	return leadingNumber(rest)
}

// leadingNumber is the number that a text begins with, 0 without one.
func leadingNumber(text []byte) (n int) {
	for i := 0; i < len(text) && i < 9 && text[i] >= '0' && text[i] <= '9'; i++ {
		n = 10*n + int(text[i]-'0')
	}
	return n
}

// numberedDiff is the span of the lines that a diff of pi changes: each line is
// a sign, its number and its text. Lines that were removed have the numbers
// that they had, and count only where nothing took their place.
func numberedDiff(diff []byte) Span {
	var added, removed Span
	for line := range bytes.Lines(diff) {
		if len(line) < 2 {
			continue
		}
		n := leadingNumber(bytes.TrimLeft(line[1:], " "))
		if n == 0 {
			continue
		}
		switch line[0] {
		case '+':
			added = union(added, Span{n, n})
		case '-':
			removed = union(removed, Span{n, n})
		}
	}
	if added.From == 0 {
		return removed
	}
	return added
}

// spanOf gives an action the lines that the result tells.
func (t *told) spanOf(a *Action) {
	switch {
	case a.Kind == KindRead && t.read.From > 0:
		a.Span = t.read
	case a.Kind == KindEdit && t.changed.From > 0:
		a.Span = t.changed
	case a.Kind == KindEdit:
		for _, f := range t.files {
			if samePath(f.path, a.Path) {
				a.Span = f.span
			}
		}
	}
}

// samePath reports whether two names may be of one file: one may be relative.
func samePath(x, y string) bool {
	if len(x) < len(y) {
		x, y = y, x
	}
	return x == y || len(x) > len(y) && x[len(x)-len(y):] == y && (x[len(x)-len(y)-1] == '/' || x[len(x)-len(y)-1] == '\\')
}

// writtenNumber reads a whole number and nothing else.
func writtenNumber(text []byte) (int, bool) {
	if len(text) == 0 || len(text) > 10 {
		return 0, false
	}
	n, err := strconv.Atoi(string(text))
	return n, err == nil
}
