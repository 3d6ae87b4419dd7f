package gemini

import (
	"bytes"

	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
)

// ownPrefix begins the names of what Gemini itself says.
const ownPrefix = "gemini."

// build makes the messages of a record.
func (d *decoder) build() {
	r := &d.record
	d.group.id = r.id
	m := session.Message{ID: r.id, Model: r.model}
	switch name := string(r.name); name {
	case "user":
		m.Role = session.RoleUser
	case "gemini", "model", "assistant":
		m.Role = session.RoleAssistant
		d.group.growing = true
	case "info", "warning", "error":
		m.Role, m.CustomType = session.RoleInjected, []byte(ownPrefix+name)
		m.IsError = name == "error"
	default:
		m.Role, m.CustomType = session.RoleInjected, append([]byte("type "), r.name...)
	}
	d.thinking(&m)
	results := d.parts(&d.content, r.content, &m)
	results = append(results, d.toolCalls(&m)...)
	d.usage(&m)
	if m.Role == session.RoleUser {
		d.typed(&m)
	}
	if m.IsError {
		m.ErrorText = firstText(&m)
	}
	if len(m.Parts) > 0 || len(results) == 0 {
		d.group.messages = append(d.group.messages, m)
	}
	d.group.messages = append(d.group.messages, results...)
}

// typed tells what a person typed from what Gemini says in the person's name:
// the summary of a compression, and the description of the workspace that opens
// a chat, which has a hash for an id.
func (d *decoder) typed(m *session.Message) {
	text := bytes.TrimSpace(firstText(m))
	switch {
	case bytes.HasPrefix(text, []byte("<state_snapshot>")):
		m.Role, m.Compaction = session.RoleSummary, true
	case bytes.HasPrefix(text, []byte("<session_context>")),
		bytes.HasPrefix(text, []byte("This is the Gemini CLI. We are setting up the context")),
		len(m.ID) == 32 && bytes.IndexByte(m.ID, '-') < 0:
		m.Role, m.CustomType = session.RoleInjected, []byte(ownPrefix+"session_context")
	}
}

func firstText(m *session.Message) []byte {
	for i := range m.Parts {
		if m.Parts[i].Kind == session.PartText {
			return m.Parts[i].Text
		}
	}
	return nil
}

func addText(m *session.Message, text []byte) {
	if len(text) > 0 {
		m.Parts = append(m.Parts, session.Part{Kind: session.PartText, Text: text})
	}
}

// parts reads content: a string, a part, or a list of both. The results of
// tools among them are messages of their own.
func (d *decoder) parts(c *jsonl.Cursor, raw []byte, m *session.Message) (results []session.Message) {
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

func (d *decoder) part(c *jsonl.Cursor, m *session.Message, results []session.Message) []session.Message {
	if c.Kind() == jsonl.String {
		text, _ := c.Bytes()
		addText(m, text)
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
			m.Parts = append(m.Parts, session.Part{Kind: session.PartImage, Size: dataSize(c)})
		}
	}
	if thought && len(text) > 0 {
		m.Parts = append(m.Parts, session.Part{Kind: session.PartThinking, Text: text})
	} else {
		addText(m, text)
	}
	return results
}

// dataSize is the size of an inlineData's base64 text, in bytes.
func dataSize(c *jsonl.Cursor) (size int64) {
	for ok := c.EnterObject(); ok && c.NextKey(); {
		if string(c.Key()) == "data" {
			size = int64(max(len(c.Raw())-2, 0))
		}
	}
	return size
}

func (d *decoder) functionCall(c *jsonl.Cursor, m *session.Message) {
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

func arguments(c *jsonl.Cursor) []byte {
	if c.IsNull() {
		c.Skip()
		return nil
	}
	return c.Raw()
}

// functionResponse makes the message of a tool's result.
func (d *decoder) functionResponse(c *jsonl.Cursor) session.Message {
	m := session.Message{ID: d.record.id, Role: session.RoleToolResult}
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
func (d *decoder) response(m *session.Message, raw []byte) {
	c := &d.deep
	c.Reset(raw)
	if c.Kind() == jsonl.String {
		text, _ := c.Bytes()
		addText(m, bytes.Clone(text)) // the cursor is used again for the next result
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
			addText(m, bytes.Clone(text))
			m.IsError = m.IsError || key == "error"
		}
	}
	if !found && len(raw) > 0 && string(raw) != "null" {
		addText(m, raw)
	}
}
