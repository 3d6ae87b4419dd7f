package agent

import (
	"fmt"

	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
)

// record is one decoded line. Its slices are valid until the next decode.
type record struct {
	kind      []byte // recordType
	seq       []byte // the digits, which are a message's id
	role      []byte
	summary   []byte
	firstKept []byte
	by        []byte // who wrote the summary
	time      []byte // raw JSON
	oddBlock  []byte
}

// decoder turns the text of a record into a message.
type decoder struct {
	cursor  jsonl.Cursor
	record  record
	message session.Message
}

// decode reads one record. It returns an error that wraps [jsonl.ErrSyntax] if
// raw is not one JSON object.
func (d *decoder) decode(raw []byte) error {
	c := &d.cursor
	c.Reset(raw)
	d.record = record{}
	d.message = session.Message{Parts: d.message.Parts[:0]}
	if !c.EnterObject() {
		if err := c.End(); err != nil {
			return err
		}
		return fmt.Errorf("%w: not an object", jsonl.ErrSyntax)
	}
	for c.NextKey() {
		d.member(c)
	}
	if err := c.End(); err != nil {
		return err
	}
	d.settle()
	return nil
}

func (d *decoder) member(c *jsonl.Cursor) {
	r, m := &d.record, &d.message
	switch string(c.Key()) {
	case "recordType":
		r.kind, _ = c.Bytes()
	case "seq":
		r.seq = number(c)
	case "role":
		r.role, _ = c.Bytes()
	case "content":
		d.content(c)
	case "toolCallId":
		m.CallID, _ = c.Bytes()
	case "isError":
		m.IsError, _ = c.Bool()
	case "summary":
		r.summary, _ = c.Bytes()
	case "summaryBy":
		r.by, _ = c.Bytes()
	case "firstKeptSeq":
		r.firstKept = number(c)
	case "readFiles":
		m.ReadFiles = session.StringList(c)
	case "modifiedFiles":
		m.ModifiedFiles = session.StringList(c)
	case "timestamp":
		r.time = c.Raw()
	default:
		c.Skip()
	}
}

// number returns the digits of a whole number.
func number(c *jsonl.Cursor) []byte {
	if c.Kind() != jsonl.Number {
		c.Skip()
		return nil
	}
	return c.Raw()
}

// content reads an array of blocks. Bare strings are not in the format (S7.12),
// but what they say is not thrown away.
func (d *decoder) content(c *jsonl.Cursor) {
	if c.Kind() == jsonl.String {
		text, _ := c.Bytes()
		d.addText(text)
		return
	}
	if !c.EnterArray() {
		return
	}
	for c.NextElement() {
		d.block(c)
	}
}

func (d *decoder) block(c *jsonl.Cursor) {
	if c.Kind() == jsonl.String {
		text, _ := c.Bytes()
		d.addText(text)
		return
	}
	if !c.EnterObject() {
		return
	}
	var kind, text []byte
	call := session.Part{Kind: session.PartToolCall}
	for c.NextKey() {
		switch string(c.Key()) {
		case "type":
			kind, _ = c.Bytes()
		case "text":
			text, _ = c.Bytes()
		case "id":
			call.CallID, _ = c.Bytes()
		case "name":
			call.Name, _ = c.Bytes()
		case "arguments":
			call.Text = c.Raw()
		default:
			c.Skip()
		}
	}
	switch string(kind) {
	case "toolCall":
		d.message.Parts = append(d.message.Parts, call)
		return
	case "text":
	default:
		d.record.oddBlock = kind
	}
	d.addText(text)
}

func (d *decoder) addText(text []byte) {
	if len(text) > 0 {
		d.message.Parts = append(d.message.Parts, session.Part{Kind: session.PartText, Text: text})
	}
}

// settle gives the message its role.
func (d *decoder) settle() {
	r, m := &d.record, &d.message
	m.ID = r.seq
	if string(r.kind) == kindCompaction {
		m.Role, m.Compaction, m.FirstKept = session.RoleSummary, true, r.firstKept
		m.Own = string(r.by) == session.SummaryBy
		d.addText(r.summary)
		return
	}
	switch string(r.role) {
	case "user":
		m.Role = session.RoleUser
	case "assistant":
		m.Role = session.RoleAssistant
	case "toolResult":
		m.Role = session.RoleToolResult
	default:
		m.Role = session.RoleInjected
		m.CustomType = append([]byte("role "), r.role...)
	}
}
