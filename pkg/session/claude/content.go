package claude

import (
	"bytes"
	"strings"

	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
)

// block is one element of a message's content while it is read.
type block struct {
	kind, text, thinking []byte
	name, id, input      []byte // of a tool's call; input is raw JSON
	call                 []byte // of a tool's result: the call's id
	inside               int    // the same: parts that its content made
	failed               bool
	source               source
}

// source is where the data of an image or a document is.
type source struct {
	kind []byte
	data []byte // raw JSON
}

// content reads content in all its shapes: a string, an array of blocks and
// strings, or one block (research/pitfalls.md 25).
func (d *decoder) content(c *jsonl.Cursor) {
	m := &d.message
	m.Parts, m.Role, m.CallID, m.IsError, m.HasExit = m.Parts[:0], 0, nil, false, false
	if c.Kind() != jsonl.Array {
		d.oneBlock(c)
		return
	}
	c.EnterArray()
	for c.NextElement() {
		d.oneBlock(c)
	}
}

func (d *decoder) oneBlock(c *jsonl.Cursor) {
	if d.plainText(c) || !c.EnterObject() {
		return
	}
	b := &d.block
	*b = block{}
	for c.NextKey() {
		if string(c.Key()) == "content" {
			d.message.Parts = d.message.Parts[:len(d.message.Parts)-b.inside] // of one before it
			b.inside = d.inside(c)
			continue
		}
		b.member(c, d.thinking)
	}
	d.addBlock(b)
}

func (d *decoder) plainText(c *jsonl.Cursor) bool {
	if c.Kind() != jsonl.String {
		return false
	}
	text, _ := c.Bytes()
	d.addText(text)
	return true
}

// inside reads what is in a tool's result, a string or blocks, and returns how
// many parts it made. What a block is may stand behind its content.
func (d *decoder) inside(c *jsonl.Cursor) (parts int) {
	before := len(d.message.Parts)
	if d.plainText(c) {
		return len(d.message.Parts) - before
	}
	for ok := c.EnterArray(); ok && c.NextElement(); {
		d.insideBlock(c)
	}
	return len(d.message.Parts) - before
}

func (d *decoder) insideBlock(c *jsonl.Cursor) {
	if d.plainText(c) || !c.EnterObject() {
		return
	}
	b := &d.inner
	*b = block{}
	for c.NextKey() {
		b.member(c, false)
	}
	switch string(b.kind) {
	case "image", "document":
		d.data(b.source)
	case "text":
		d.addText(b.text)
	}
}

func (b *block) member(c *jsonl.Cursor, thinking bool) {
	switch string(c.Key()) {
	case "type":
		b.kind, _ = c.Bytes()
	case "text":
		b.text, _ = c.Bytes()
	case "thinking":
		if thinking {
			b.thinking, _ = c.Bytes()
		}
	case "name":
		b.name, _ = c.Bytes()
	case "id":
		b.id, _ = c.Bytes()
	case "input":
		b.input = c.Raw()
	case "tool_use_id":
		b.call, _ = c.Bytes()
	case "is_error":
		b.failed, _ = c.Bool()
	case "source":
		b.source = readSource(c)
	}
}

func readSource(c *jsonl.Cursor) (s source) {
	for ok := c.EnterObject(); ok && c.NextKey(); {
		switch string(c.Key()) {
		case "type":
			s.kind, _ = c.Bytes()
		case "data":
			s.data = c.Raw()
		}
	}
	return s
}

// addBlock adds the part that the block is. A block of an unknown type that
// has text is text.
func (d *decoder) addBlock(b *block) {
	m := &d.message
	switch kind := string(b.kind); {
	case kind == "tool_result":
		d.toolResult(b)
		return
	case strings.HasSuffix(kind, "_tool_result"):
		return
	}
	m.Parts = m.Parts[:len(m.Parts)-b.inside]
	switch string(b.kind) {
	case "tool_use", "server_tool_use", "mcp_tool_use":
		if string(b.input) == "null" {
			b.input = nil
		}
		m.Parts = append(m.Parts, session.Part{Kind: session.PartToolCall, Name: b.name, CallID: b.id, Text: b.input})
	case "image", "document":
		d.data(b.source)
	case "thinking":
		if len(b.thinking) > 0 {
			m.Parts = append(m.Parts, session.Part{Kind: session.PartThinking, Text: b.thinking})
		}
	case "redacted_thinking", "fallback", "tool_reference":
	case "text", "":
		d.addText(b.text)
	default:
		d.record.oddBlock = b.kind
		d.addText(b.text)
	}
}

// toolResult makes the message one of a tool. A record holds one result; of
// several ones the first gives its call's id.
func (d *decoder) toolResult(b *block) {
	m := &d.message
	if m.Role != session.RoleToolResult {
		m.Role, m.CallID = session.RoleToolResult, b.call
	}
	m.IsError = m.IsError || b.failed
	if b.failed && b.inside > 0 {
		d.exitCode(m.Parts[len(m.Parts)-b.inside].Text)
	}
}

// data adds an image or a document. Only a document of plain text is read.
func (d *decoder) data(s source) {
	if string(s.kind) == "text" {
		var c jsonl.Cursor
		c.Reset(s.data)
		text, _ := c.Bytes()
		d.addText(bytes.Clone(text))
		return
	}
	d.message.Parts = append(d.message.Parts, session.Part{Kind: session.PartImage, Size: int64(max(len(s.data)-2, 0))})
}

// exitCode reads "Exit code 1", with which a shell's output begins that failed.
func (d *decoder) exitCode(text []byte) {
	rest, ok := bytes.CutPrefix(text, []byte("Exit code "))
	if !ok {
		return
	}
	code, digits := 0, 0
	for digits < len(rest) && digits < 4 && rest[digits]-'0' <= 9 {
		code = 10*code + int(rest[digits]-'0')
		digits++
	}
	if digits > 0 {
		d.message.ExitCode, d.message.HasExit = code, true
	}
}

func (d *decoder) addText(text []byte) {
	if len(text) > 0 {
		d.message.Parts = append(d.message.Parts, session.Part{Kind: session.PartText, Text: text})
	}
}
