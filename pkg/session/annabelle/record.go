package annabelle

import (
	"fmt"

	"github.com/sessctl/sessctl/pkg/jsonl"
)

// The record types.
const (
	kindHeader     = "header"
	kindTurn       = "turn"
	kindCompaction = "compaction"
)

// record is one decoded line. Its slices are valid until the next decode.
type record struct {
	kind               []byte
	chat, agent        []byte // of a header
	version            int64
	user, assistant    []byte
	messages           []byte // raw JSON array, or empty
	time               []byte // raw JSON
	prompt, completion int64
	summary            []byte
	by                 []byte  // who wrote the summary
	compacted          float64 // turns that a compaction replaced: may end in .5
}

// decoder reads records and keeps its memory from one to the next.
type decoder struct {
	cursor jsonl.Cursor
	record record
}

// decode reads one record. It returns an error that wraps [jsonl.ErrSyntax] if
// raw is not one JSON object.
func (d *decoder) decode(raw []byte) error {
	c := &d.cursor
	c.Reset(raw)
	d.record = record{}
	if !c.EnterObject() {
		if err := c.End(); err != nil {
			return err
		}
		return fmt.Errorf("%w: not an object", jsonl.ErrSyntax)
	}
	for c.NextKey() {
		d.member(c)
	}
	return c.End()
}

func (d *decoder) member(c *jsonl.Cursor) {
	r := &d.record
	switch string(c.Key()) {
	case "type":
		r.kind, _ = c.Bytes()
	case "chatId":
		r.chat = text(c)
	case "agentId":
		r.agent = text(c)
	case "version":
		r.version, _ = c.Int64()
	case "user":
		r.user = text(c)
	case "assistant":
		r.assistant = text(c)
	case "messages":
		r.messages = c.Raw()
	case "timestamp":
		r.time = c.Raw()
	case "tokens":
		d.tokens(c)
	case "summary":
		r.summary = text(c)
	case "summaryBy":
		r.by = text(c)
	case "compactedTurns":
		r.compacted, _ = c.Float64()
	default:
		c.Skip()
	}
}

// text reads a string, and the digits of a number; null is nothing.
func text(c *jsonl.Cursor) []byte {
	switch c.Kind() {
	case jsonl.String:
		b, _ := c.Bytes()
		return b
	case jsonl.Number:
		return c.Raw()
	}
	c.Skip()
	return nil
}

func (d *decoder) tokens(c *jsonl.Cursor) {
	if !c.EnterObject() {
		return
	}
	for c.NextKey() {
		switch string(c.Key()) {
		case "prompt":
			d.record.prompt, _ = c.Int64()
		case "completion":
			d.record.completion, _ = c.Int64()
		default:
			c.Skip()
		}
	}
}
