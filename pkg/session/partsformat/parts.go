package partsformat

import (
	"bytes"

	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
)

// Reader reads the content of the messages of one record. It keeps its memory.
type Reader struct {
	ID   []byte // of the record: the results of tools get it
	deep jsonl.Cursor
}

// Parts reads content, raw JSON by c: a string, a part, or a list of both. The results of
// tools among them are messages of their own.
func (d *Reader) Parts(c *jsonl.Cursor, raw []byte, m *session.Message) (results []session.Message) {
	c.Reset(raw)
	if c.Kind() != jsonl.Array {
		return d.part(c, m, nil)
	}
	c.EnterArray()
	for c.NextElement() {
		results = d.part(c, m, results)
	}
	return results
}

func (d *Reader) part(c *jsonl.Cursor, m *session.Message, results []session.Message) []session.Message {
	if c.Kind() == jsonl.String {
		text, _ := c.Bytes()
		m.AddText(text)
		return results
	}
	thought := false
	var text []byte
	for ok := c.EnterObject(); ok && c.NextKey(); {
		switch string(c.Key()) {
		case "text":
			text, _ = c.Bytes()
		case "thought":
			thought, _ = c.Bool()
		case "functionCall":
			d.functionCall(c, m)
		case "functionResponse":
			results = append(results, d.functionResponse(c))
		case "inlineData":
			data := inlineData(c)
			m.Parts = append(m.Parts, session.Part{Kind: session.PartImage, Size: int64(max(len(data)-2, 0)), Image: data})
		}
	}
	if thought && len(text) > 0 {
		m.Parts = append(m.Parts, session.Part{Kind: session.PartThinking, Text: text})
	} else {
		m.AddText(text)
	}
	return results
}

// inlineData is an inlineData's base64 text, as raw JSON.
func inlineData(c *jsonl.Cursor) (data []byte) {
	for ok := c.EnterObject(); ok && c.NextKey(); {
		if string(c.Key()) == "data" {
			data = c.Raw()
		}
	}
	return data
}

func (d *Reader) functionCall(c *jsonl.Cursor, m *session.Message) {
	p := session.Part{Kind: session.PartToolCall}
	for ok := c.EnterObject(); ok && c.NextKey(); {
		switch string(c.Key()) {
		case "id":
			p.CallID, _ = c.Bytes()
		case "name":
			p.Name, _ = c.Bytes()
		case "args":
			p.Text = arguments(c)
		}
	}
	m.Parts = append(m.Parts, p)
}

// arguments are the arguments of a call as raw JSON, nil for null.
func arguments(c *jsonl.Cursor) []byte {
	if c.IsNull() {
		c.Skip()
		return nil
	}
	return c.Raw()
}

// functionResponse makes the message of a tool's result.
func (d *Reader) functionResponse(c *jsonl.Cursor) session.Message {
	m := session.Message{ID: d.ID, Role: session.RoleToolResult}
	var response []byte
	for ok := c.EnterObject(); ok && c.NextKey(); {
		switch string(c.Key()) {
		case "id":
			m.CallID, _ = c.Bytes()
		case "name":
			m.ToolName, _ = c.Bytes()
		case "response":
			response = c.Raw()
		}
	}
	d.response(&m, response)
	return m
}

// response reads {"output":…} or {"error":…}; any other answer is kept as it is.
func (d *Reader) response(m *session.Message, raw []byte) {
	c := &d.deep
	c.Reset(raw)
	if c.Kind() == jsonl.String {
		text, _ := c.Bytes()
		m.AddText(bytes.Clone(text)) // the cursor is used again for the next result
		return
	}
	found := false
	for ok := c.EnterObject(); ok && c.NextKey(); {
		key := string(c.Key())
		if key != "output" && key != "error" {
			continue
		}
		if text, ok := c.Bytes(); ok {
			found = true
			m.AddText(bytes.Clone(text))
			m.IsError = m.IsError || key == "error"
		}
	}
	if !found && len(raw) > 0 && string(raw) != "null" {
		m.AddText(raw)
	}
}

// ExitOf reads the exit code from the line that Gemini and Qwen write below a
// command's output. It stands in the last lines.
func ExitOf(text []byte) (code int, ok bool) {
	const near = 512
	text = text[max(0, len(text)-near):]
	_, rest, found := bytes.Cut(text, []byte("\nExit Code: "))
	if !found {
		return 0, false
	}
	digits, _, _ := bytes.Cut(rest, []byte("\n"))
	return session.ExitNumber(bytes.TrimSpace(digits))
}
