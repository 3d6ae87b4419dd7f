package claude

import (
	"bytes"

	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
)

// outputs reads what a tool printed from the field toolUseResult, which the
// runtime keeps for its screen. It may be more than the model was sent: of a
// long output the model sees the beginning (docs/dev/formats.md, "claude").
func (d *decoder) outputs() {
	c := &d.printed
	c.Reset(d.record.printed)
	if c.Kind() != jsonl.Object {
		d.output(c, "")
		return
	}
	var content []byte
	var size, stdout int64 // of an output in a file of its own, and what is here of it
	edit := false
	c.EnterObject()
	for c.NextKey() {
		switch key := string(c.Key()); key {
		case "filePath":
			edit = true
			c.Skip()
		case "content":
			content = c.Raw()
		case "persistedOutputSize":
			size, _ = c.Int64()
		case "stdout":
			text, _ := c.Bytes()
			stdout = int64(len(text))
			d.message.AddUnsent(d.keep(text))
		default:
			d.output(c, key)
		}
	}
	d.message.LeftOut += max(0, size-stdout)
	if content == nil || edit { // what was written to a file stands in the call
		return
	}
	c.Reset(content)
	d.output(c, "content")
}

// shortest is how many bytes a text has at least that is no name, no id and no
// state, in a field of which we do not know what it holds.
const shortest = 32

// output takes in one value of the result.
func (d *decoder) output(c *jsonl.Cursor, key string) {
	switch fateOf(key) {
	case repeats:
		c.Skip()
		return
	case leftOut:
		d.message.LeftOut += int64(len(c.Raw()))
		return
	}
	switch c.Kind() {
	case jsonl.String:
		text, _ := c.Bytes()
		if len(text) >= shortest || fateOf(key) == printed {
			d.message.AddUnsent(d.keep(text))
		}
	case jsonl.Array:
		for ok := c.EnterArray(); ok && c.NextElement(); {
			d.output(c, key)
		}
	case jsonl.Object:
		for ok := c.EnterObject(); ok && c.NextKey(); {
			d.output(c, string(c.Key()))
		}
	default:
		c.Skip()
	}
}

// keep copies a text that was unescaped, whose memory the cursor uses again,
// without the runtime's reminders.
func (d *decoder) keep(text []byte) []byte {
	text = bytes.TrimSpace(text)
	if len(text) == 0 || bytes.Contains(d.sentText(), text) {
		return nil
	}
	text = bytes.Clone(text)
	for from, to := reminder(text); from < to; from, to = reminder(text) {
		text = append(text[:from], text[to:]...)
	}
	return text
}

// sentText is the text of a result with one part, the usual case.
func (d *decoder) sentText() []byte {
	if parts := d.message.Parts; len(parts) > 0 && parts[0].Kind == session.PartText {
		return parts[0].Text
	}
	return nil
}

// fate is what becomes of a field of a tool's result.
type fate uint8

const (
	unnamed fate = iota // output, if it is long enough
	printed             // output
	repeats             // stands in the call too, or is bookkeeping
	leftOut             // is not printed: a file before it was changed, an image
)

func fateOf(key string) fate {
	switch key {
	case "", "stdout", "stderr", "content", "text", "output", "result", "results", "error", "message", "summary":
		return printed
	case "oldString", "newString", "edits", "prompt", "oldTodos", "newTodos", "todos", "questions", "answers",
		"filePath", "filenames", "type", "status", "usage", "toolStats", "resolvedModel", "agentId", "agentType", "shellId", "shell_id", "backgroundTaskId",
		"task_id", "timestamp", "command", "url", "query", "persistedOutputPath":
		return repeats
	case "originalFile", "originalFileContents", "structuredPatch", "gitDiff", "base64", "data", "source":
		return leftOut
	}
	return unnamed
}
