package gemini

import (
	"bytes"

	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
)

// toolCalls adds the calls of a model's message, and returns the results of
// those that have run.
func (d *decoder) toolCalls(m *session.Message) (results []session.Message) {
	c := &d.calls
	c.Reset(d.record.calls)
	if !c.EnterArray() {
		return nil
	}
	for c.NextElement() {
		if result, ok := d.toolCall(c, m); ok {
			results = append(results, result...)
		}
	}
	return results
}

// call is one element of toolCalls while it is read.
type call struct {
	session.Part
	status  []byte
	result  []byte // raw
	display []byte
	shown   bool // display is a string
}

func (d *decoder) toolCall(c *jsonl.Cursor, m *session.Message) ([]session.Message, bool) {
	var t call
	t.Kind = session.PartToolCall
	if !c.EnterObject() {
		return nil, false
	}
	for c.NextKey() {
		switch string(c.Key()) {
		case "id":
			t.CallID, _ = c.Bytes()
		case "name":
			t.Name, _ = c.Bytes()
		case "args":
			t.Text = arguments(c)
		case "status":
			t.status, _ = c.Bytes()
		case "result":
			t.result = arguments(c)
		case "resultDisplay":
			t.display, t.shown = c.Bytes()
		}
	}
	m.Parts = append(m.Parts, t.Part)
	return d.resultOf(&t)
}

// resultOf makes the messages of a call's result: usually one. A call that is
// still running has none.
func (d *decoder) resultOf(t *call) ([]session.Message, bool) {
	whole := session.Message{ID: d.record.id, Role: session.RoleToolResult}
	var results []session.Message
	switch {
	case t.result != nil:
		var c jsonl.Cursor // a message may hold many results, and all must stay
		results = d.parts(&c, t.result, &whole)
	case t.shown && finished(t.status):
		addText(&whole, t.display)
	}
	if len(whole.Parts) > 0 && len(results) > 0 {
		results[0].Parts = append(results[0].Parts, whole.Parts...)
	} else if len(whole.Parts) > 0 {
		results = append(results, whole)
	}
	for i := range results {
		r := &results[i]
		r.CallID, r.ToolName = t.CallID, t.Name
		r.IsError = r.IsError || string(t.status) == "error" || string(t.status) == "cancelled"
		if code, ok := exitOf(firstText(r)); ok {
			r.ExitCode, r.HasExit = code, true
			r.IsError = r.IsError || code != 0
		}
	}
	return results, true
}

func finished(status []byte) bool {
	switch string(status) {
	case "success", "error", "cancelled":
		return true
	}
	return false
}

// exitOf reads the exit code from the line that Gemini writes below a
// command's output. It stands in the last lines.
func exitOf(text []byte) (code int, ok bool) {
	const near = 512
	text = text[max(0, len(text)-near):]
	_, rest, found := bytes.Cut(text, []byte("\nExit Code: "))
	if !found {
		return 0, false
	}
	digits, _, _ := bytes.Cut(rest, []byte("\n"))
	digits, minus := bytes.CutPrefix(bytes.TrimSpace(digits), []byte("-"))
	if len(digits) == 0 || len(digits) > 9 {
		return 0, false
	}
	for _, b := range digits {
		if b < '0' || b > '9' {
			return 0, false
		}
		code = 10*code + int(b-'0')
	}
	if minus {
		code = -code
	}
	return code, true
}

// thinking adds the thoughts of a model's message.
func (d *decoder) thinking(m *session.Message) {
	c := &d.thoughts
	c.Reset(d.record.thoughts)
	if !c.EnterArray() {
		return
	}
	for c.NextElement() {
		for ok := c.EnterObject(); ok && c.NextKey(); {
			if key := string(c.Key()); key != "subject" && key != "description" {
				continue
			}
			if text, _ := c.Bytes(); len(text) > 0 {
				m.Parts = append(m.Parts, session.Part{Kind: session.PartThinking, Text: text})
			}
		}
	}
}

// usage reads what the model call behind a message counted. Cached tokens are
// part of Gemini's input.
func (d *decoder) usage(m *session.Message) {
	c := &d.tokens
	c.Reset(d.record.tokens)
	if m.HasUsage = c.EnterObject(); !m.HasUsage {
		return
	}
	u := &m.Usage
	for c.NextKey() {
		key := string(c.Key())
		n, _ := c.Int64()
		n = max(n, 0)
		switch key {
		case "input":
			u.Input += n
		case "output", "thoughts":
			u.Output += n
		case "cached":
			u.CacheRead = n
			u.Input -= n
		case "total":
			u.Total = n
		}
	}
	u.Input = max(u.Input, 0)
}
