package state

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/secrets"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/work"
)

// Bounds of what is kept of a call, in bytes.
const (
	argumentBytes = 16 << 10 // of one argument
	bodyBytes     = 24 << 10 // of all
	purposeRunes  = 120
)

// Call is a call of a tool, or a command that a person ran.
type Call struct {
	Tool      string    // empty for a command that a person ran
	Kind      work.Kind // what the tool does; "" if it does nothing of the kinds
	Command   string    // of a command
	Directory string    // in which it runs, if the call says so
	Purpose   string    // what the agent says that it calls the tool for
	Paths     []string  // of the files that it is about
	Texts     []string  // all other texts among its arguments, each at most some kilobytes
	deleted   []string  // those of Paths that it removes
	id        string
}

// Title names what is called: the command line, the file, or the first text.
func (c *Call) Title() string {
	switch {
	case c.Command != "":
		return c.Command
	case len(c.Paths) > 0:
		return strings.Join(c.Paths[:min(len(c.Paths), 3)], " ")
	}
	for _, text := range c.Texts {
		if strings.TrimSpace(text) != "" {
			return text
		}
	}
	return ""
}

// changes reports whether the call changes files.
func (c *Call) changes() bool {
	return c.Kind == work.KindWrite || c.Kind == work.KindEdit || c.Kind == work.KindDelete
}

// callOf reads a part that calls a tool.
func callOf(cursor *jsonl.Cursor, p *session.Part) Call {
	c := Call{Tool: string(p.Name), Kind: work.Does(string(p.Name)), id: string(p.CallID)}
	changes := work.Changes(cursor, c.Tool, p.Text)
	if len(changes) > 0 && c.Kind == work.KindCommand { // a patch that a shell applies
		c.Kind, c.Tool = work.KindEdit, "apply_patch"
	}
	r := argumentReader{call: &c, left: bodyBytes}
	arguments, _ := secrets.RedactBytes(p.Text) // a name beside a value tells that it is a secret
	cursor.Reset(arguments)
	r.value("", cursor)
	if len(changes) > 0 {
		c.Paths = nil
	}
	for _, a := range changes {
		c.change(a)
	}
	return c
}

// change takes in a file that the call changes. The directory that a command goes to
// before it applies a patch is a part of the path.
func (c *Call) change(a *work.Action) {
	name := a.Path
	if a.Directory != c.Directory {
		name = path.Join(strings.TrimPrefix(a.Directory, c.Directory+"/"), name)
	}
	if a.Kind == work.KindDelete {
		c.deleted = append(c.deleted, name)
	}
	if !slices.Contains(c.Paths, name) {
		c.Paths = append(c.Paths, name)
	}
}

// argumentReader takes the texts out of the arguments of a call.
type argumentReader struct {
	call *Call
	left int // bytes of texts that may still be kept
}

func (r *argumentReader) value(key string, c *jsonl.Cursor) {
	switch c.Kind() {
	case jsonl.String:
		text, _ := c.Bytes()
		r.text(key, text)
	case jsonl.Object:
		for ok := c.EnterObject(); ok && c.NextKey(); {
			r.value(string(c.Key()), c)
		}
	case jsonl.Array:
		if key == "command" || key == "cmd" {
			r.text(key, []byte(strings.Join(words(c), " ")))
			return
		}
		for ok := c.EnterArray(); ok && c.NextElement(); {
			r.value(key, c)
		}
	default:
		c.Skip()
	}
}

func words(c *jsonl.Cursor) (all []string) {
	for ok := c.EnterArray(); ok && c.NextElement(); {
		if word, ok := c.Bytes(); ok && len(all) < 256 {
			all = append(all, string(word))
		}
	}
	return all
}

// text takes one argument. A string that holds an object is read as one.
func (r *argumentReader) text(key string, text []byte) {
	if len(text) == 0 {
		return
	}
	if key == "" && text[0] == '{' {
		var inner jsonl.Cursor
		inner.Reset(slices.Clone(text))
		r.value("", &inner)
		return
	}
	c := r.call
	text, _ = secrets.RedactBytes(text)
	kept := string(text[:min(len(text), argumentBytes, max(r.left, 0))])
	kept = strings.ToValidUTF8(kept, "")
	r.left -= len(kept)
	switch key {
	case "command", "cmd", "script":
		if c.Kind == work.KindCommand {
			c.Command = strings.TrimPrefix(kept, "bash -lc ")
			return
		}
		if kept == "view" && c.Kind == work.KindEdit { // an editor that reads as well
			c.Kind = work.KindRead
			return
		}
	case "path", "file_path", "filePath", "filename", "file", "target_file", "absolute_path", "notebook_path":
		if c.Kind != work.KindCommand {
			c.Paths = append(c.Paths, kept)
			return
		}
	case "description":
		if c.Kind == work.KindCommand {
			c.Purpose = Cut(kept, purposeRunes)
		}
		return
	case "cwd", "workdir", "working_directory":
		c.Directory = kept
		return
	case "id":
		return
	}
	if kept != "" {
		c.Texts = append(c.Texts, kept)
	}
}

// outcome is how a call ended, in a word or two.
func outcome(e work.Ending) string {
	switch {
	case e.HasExit && e.Exit != 0:
		return "exit " + strconv.Itoa(e.Exit)
	case e.Failed:
		return "failed"
	}
	return "ok"
}

// Head are the command line and the files of a call.
func (c *Call) Head() []string {
	if c.Command != "" {
		return append([]string{c.Command}, c.Paths...)
	}
	return c.Paths
}
