package piformat

import (
	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
)

// block is one element of a message's content while it is read.
type block struct {
	kind     []byte
	text     []byte
	thinking []byte
	name     []byte
	id       []byte
	args     []byte
	data     int64 // bytes of an image's base64 text
}

// decodeContent reads content in all its shapes: a string, an array of blocks
// and strings, or one block (research/pitfalls.md 25). Anything else says
// nothing.
func (d *decoder) decodeContent(c *jsonl.Cursor) {
	if c.Kind() != jsonl.Array {
		d.decodeBlock(c)
		return
	}
	c.EnterArray()
	for c.NextElement() {
		d.decodeBlock(c)
	}
}

func (d *decoder) decodeBlock(c *jsonl.Cursor) {
	if text, ok := d.plainText(c); ok {
		d.addText(text)
		return
	}
	if !c.EnterObject() {
		return
	}
	d.block = block{}
	for c.NextKey() {
		d.blockMember(c)
	}
	d.addBlock()
}

func (d *decoder) plainText(c *jsonl.Cursor) ([]byte, bool) {
	if c.Kind() != jsonl.String {
		return nil, false
	}
	return c.Bytes()
}

func (d *decoder) blockMember(c *jsonl.Cursor) {
	b := &d.block
	switch string(c.Key()) {
	case "type":
		b.kind, _ = c.Bytes()
	case "text":
		b.text, _ = c.Bytes()
	case "thinking":
		if d.thinking {
			b.thinking, _ = c.Bytes()
		}
	case "name":
		b.name, _ = c.Bytes()
	case "id":
		b.id = name(c)
	case "arguments":
		b.args = c.Raw()
	case "data":
		b.data = int64(max(len(c.Raw())-2, 0))
	}
}

// addBlock adds the part that the block is. A block of an unknown type that
// has text is text (seed 002 takes every text).
func (d *decoder) addBlock() {
	b, m := &d.block, &d.message
	switch string(b.kind) {
	case "toolCall":
		if string(b.args) == "null" {
			b.args = nil
		}
		m.Parts = append(m.Parts, session.Part{Kind: session.PartToolCall, Name: b.name, CallID: b.id, Text: b.args})
		return
	case "image":
		m.Parts = append(m.Parts, session.Part{Kind: session.PartImage, Size: b.data})
		return
	case "thinking":
		if len(b.thinking) > 0 {
			m.Parts = append(m.Parts, session.Part{Kind: session.PartThinking, Text: b.thinking})
		}
		return
	case "text", "":
	default:
		d.entry.oddBlock = b.kind
	}
	d.addText(b.text)
}

func (d *decoder) addText(text []byte) {
	if len(text) > 0 {
		d.message.Parts = append(d.message.Parts, session.Part{Kind: session.PartText, Text: text})
	}
}
