package codex

import (
	"bytes"

	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/fields"
)

// content reads content in all its shapes: a string, a block, or a list of
// both. Anything else says nothing.
func (d *decoder) content(raw []byte) {
	d.inner.Reset(raw)
	fields.Content(&d.inner, d.message.AddText, d.block)
}

// block reads one part of content. A block of an unknown type that has text is
// text.
func (d *decoder) block(c *jsonl.Cursor) {
	c.EnterObject()
	var kind, text []byte
	var image []byte
	for c.NextKey() {
		switch string(c.Key()) {
		case "type":
			kind, _ = c.Bytes()
		case "text", "refusal":
			text, _ = c.Bytes()
		case "image_url":
			if c.Kind() == jsonl.String {
				image = c.Raw()
			}
		}
	}
	switch string(kind) {
	case "input_image":
		if len(image) > 2 {
			d.message.Parts = append(d.message.Parts, session.Part{Kind: session.PartImage, Size: int64(len(image) - 2), Image: image})
		}
		return
	case "input_text", "output_text", "text", "Text", "summary_text", "reasoning_text", "refusal", "encrypted_content", "":
	default:
		d.record.unknown, d.record.unknownName = "block ", kind
	}
	d.message.AddText(text)
}

// thinking reads the texts of one list of a reasoning item.
func (d *decoder) thinking(c *jsonl.Cursor, raw []byte) {
	c.Reset(raw)
	if !c.EnterArray() {
		return
	}
	for c.NextElement() {
		for ok := c.EnterObject(); ok && c.NextKey(); {
			if string(c.Key()) != "text" {
				continue
			}
			if text, _ := c.Bytes(); len(text) > 0 {
				d.message.Parts = append(d.message.Parts, session.Part{Kind: session.PartThinking, Text: text})
			}
		}
	}
}

// output reads what a tool returned: a string, blocks, an object with content,
// or, in older rollouts, a string that holds {"output","metadata":{"exit_code"}}.
func (d *decoder) output(raw []byte) {
	c := &d.inner
	c.Reset(raw)
	if c.Kind() != jsonl.String {
		d.structured(raw)
		return
	}
	text, _ := c.Bytes()
	if bytes.HasPrefix(text, []byte("{")) && d.wrappedOutput(text) {
		return
	}
	d.message.ExitCode, d.message.HasExit = exitOf(text)
	d.message.AddText(text)
}

// structured reads an output that is not text: blocks, or an object with
// content. Any other object is kept as it is.
func (d *decoder) structured(raw []byte) {
	var content []byte
	c := &d.inner
	c.Reset(raw)
	object := c.Kind() == jsonl.Object
	for ok := c.EnterObject(); ok && c.NextKey(); {
		switch string(c.Key()) {
		case "content", "text":
			content = c.Raw()
		case "exitCode", "exit_code":
			d.exit(c)
		}
	}
	switch {
	case !object:
		d.content(raw)
	case content != nil:
		d.content(content)
	default:
		d.message.AddText(raw)
	}
}

func (d *decoder) exit(c *jsonl.Cursor) {
	if code, ok := c.Int64(); ok {
		d.message.ExitCode, d.message.HasExit = int(code), true
	}
}

// wrappedOutput reads {"output":"...","metadata":{"exit_code":1}}; false if
// text is anything else.
func (d *decoder) wrappedOutput(text []byte) bool {
	c := &d.deep
	c.Reset(text)
	var output []byte
	var is bool
	c.EnterObject()
	for c.NextKey() {
		switch string(c.Key()) {
		case "output":
			output, is = c.Bytes()
		case "metadata":
			for ok := c.EnterObject(); ok && c.NextKey(); {
				if string(c.Key()) == "exit_code" {
					d.exit(c)
				}
			}
		}
	}
	if c.End() != nil || !is {
		d.message.HasExit, d.message.ExitCode = false, 0
		return false
	}
	d.message.AddText(output)
	return true
}

// exitHead is how far into an output its exit code is looked for, in lines.
const exitHead = 6

// exitOf reads the exit code from the lines that Codex writes above "Output:".
func exitOf(text []byte) (code int, ok bool) {
	for range exitHead {
		line, rest, more := bytes.Cut(text, []byte("\n"))
		for _, label := range []string{"Exit code: ", "Process exited with code "} {
			if digits, is := bytes.CutPrefix(line, []byte(label)); is {
				return session.ExitNumber(bytes.TrimSpace(digits))
			}
		}
		if !more || bytes.HasPrefix(line, []byte("Output:")) {
			return 0, false
		}
		text = rest
	}
	return 0, false
}
