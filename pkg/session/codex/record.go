package codex

import (
	"fmt"

	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
)

// kind is what a record is for the reader.
type kind uint8

const (
	foreign     kind = iota // nothing of Codex
	bookkeeping             // Codex' own, says nothing
	meta                    // names the thread
	said                    // an item of the context: a message, a call or a result
	reasoning               // an item of the context that is only thinking
	shown                   // an event that repeats a message for the screen
	completed               // an item_completed event that repeats a message
	repeated                // a summary that the compaction after it holds too
	compaction
	tokenCount // what a model call counted, told at the end of a step
	callCount  // the same, told right after the call
	turnStart
	turnEnd
	rollback
)

// item is the payload of a record, or a record that is its own payload. What
// is not a name is kept as raw JSON until it is known what it means.
type item struct {
	kind, role, name, id, callID, phase []byte

	content, arguments, output, summary, action, function []byte
	message, inner, history, info, origin                 []byte
	turns                                                 int64 // num_turns of a rollback
	cwd, fork                                             []byte
}

// record is one decoded line. Its slices are valid until the next decode.
type record struct {
	kind   kind
	name   []byte // the value of "type"
	time   []byte // raw JSON
	item   item
	summed bool // metadata.compaction_output is set: the model's answer is a summary

	bareHeader, bareState bool
	payload               []byte
	unknown               string // what is not known: a type, a role, a block
	unknownName           []byte
}

// decoder turns the text of a line into a record and a message. It keeps its
// memory from line to line.
type decoder struct {
	cursor  jsonl.Cursor // of the line
	payload jsonl.Cursor
	inner   jsonl.Cursor // of what the payload keeps raw
	deep    jsonl.Cursor // of JSON inside a string
	record  record
	message session.Message
	wrapped []byte // arguments made an object
}

// decode reads one line. It returns an error that wraps [jsonl.ErrSyntax] if
// raw is not one JSON object.
func (d *decoder) decode(raw []byte) error {
	d.record = record{}
	d.message = session.Message{Parts: d.message.Parts[:0]}
	c := &d.cursor
	c.Reset(raw)
	if c.Kind() != jsonl.Object {
		if err := c.End(); err != nil {
			return err
		}
		return fmt.Errorf("%w: not an object", jsonl.ErrSyntax)
	}
	c.EnterObject()
	for c.NextKey() {
		d.member(c)
	}
	if err := c.End(); err != nil {
		return err
	}
	d.classify()
	return nil
}

// member reads a member of the line. What an envelope does not have may be a
// member of a bare item.
func (d *decoder) member(c *jsonl.Cursor) {
	r := &d.record
	switch string(c.Key()) {
	case "type":
		r.name, _ = c.Bytes()
	case "timestamp", "created_at":
		r.time = c.Raw()
	case "payload":
		if c.Kind() == jsonl.Object {
			r.payload = c.Raw()
		}
	case "metadata":
		r.summed = d.compactionOutput(c)
	case "record_type":
		r.bareState = true
	case "instructions":
		r.bareHeader = true
	default:
		r.item.member(c)
	}
}

func (d *decoder) compactionOutput(c *jsonl.Cursor) (is bool) {
	if !c.EnterObject() {
		return false
	}
	for c.NextKey() {
		if string(c.Key()) == "compaction_output" {
			is, _ = c.Bool()
		}
	}
	return is
}

// member reads a member of an item.
func (i *item) member(c *jsonl.Cursor) {
	switch string(c.Key()) {
	case "type":
		i.kind, _ = c.Bytes()
	case "role":
		i.role, _ = c.Bytes()
	case "name":
		i.name, _ = c.Bytes()
	case "phase":
		i.phase, _ = c.Bytes()
	case "id":
		i.id = name(c)
	case "session_id":
		if id := name(c); len(i.id) == 0 {
			i.id = id
		}
	case "call_id":
		i.callID = name(c)
	case "cwd":
		i.cwd, _ = c.Bytes()
	case "forked_from_id":
		i.fork = name(c)
	case "num_turns":
		i.turns, _ = c.Int64()
	default:
		if raw := i.raw(c.Key()); raw != nil {
			*raw = c.Raw()
		}
	}
}

// raw returns where the raw value of a member goes, nil for one that does not
// matter.
func (i *item) raw(key []byte) *[]byte {
	switch string(key) {
	case "content":
		return &i.content
	case "arguments", "input":
		return &i.arguments
	case "output", "result", "tools":
		return &i.output
	case "summary":
		return &i.summary
	case "action":
		return &i.action
	case "function":
		return &i.function
	case "message":
		return &i.message
	case "item":
		return &i.inner
	case "replacement_history":
		return &i.history
	case "info", "usage":
		return &i.info
	case "internal_chat_message_metadata_passthrough":
		return &i.origin
	}
	return nil
}

// name reads an id: a string, or the digits of a number.
func name(c *jsonl.Cursor) []byte {
	switch c.Kind() {
	case jsonl.String:
		id, _ := c.Bytes()
		return id
	case jsonl.Number:
		return c.Raw()
	}
	c.Skip()
	return nil
}

// classify settles what the record is and makes its message.
func (d *decoder) classify() {
	r := &d.record
	if r.payload == nil {
		r.kind = d.bare()
		return
	}
	r.item = item{}
	d.payload.Reset(r.payload)
	d.payload.EnterObject()
	for d.payload.NextKey() {
		r.item.member(&d.payload)
	}
	switch string(r.name) {
	case "session_meta":
		r.kind = meta
	case "response_item":
		r.kind = d.contextItem()
	case "event_msg":
		r.kind = d.event()
	case "compacted":
		r.kind = d.compacted()
	case "token_usage_record":
		r.kind = callCount
	case "turn_context", "world_state", "inter_agent_communication", "inter_agent_communication_metadata":
		r.kind = bookkeeping
	default:
		r.unknown, r.unknownName = "type ", r.name
	}
}

// bare settles what a line without a payload is: until September 2025 items
// stood in the log as they are.
func (d *decoder) bare() kind {
	r := &d.record
	r.item.kind = r.name
	switch {
	case r.bareState:
		return bookkeeping
	case len(r.name) == 0 && r.bareHeader && len(r.item.id) > 0:
		return meta
	case len(r.name) == 0 && len(r.item.role) == 0:
		return foreign
	case string(r.name) == "message" && (len(r.item.role) == 0 || r.item.content == nil):
		return foreign // others have records of this name too
	}
	return d.contextItem()
}

// settleTime gives the message its time, or that of the record before it. It
// returns the time for the record after it.
func (d *decoder) settleTime(previous int64) int64 {
	m := &d.message
	var ok bool
	if m.Time, m.TimeInferred, ok = session.ParseTime(d.record.time); !ok {
		m.Time, m.TimeInferred = previous, true
	}
	return m.Time
}
