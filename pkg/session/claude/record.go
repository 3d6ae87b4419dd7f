package claude

import (
	"fmt"

	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
)

// kind is what a record is.
type kind uint8

const (
	unknown     kind = iota
	user             // what a person, a tool or the runtime said to the model
	assistant        // one block of what the model said
	queued           // what a person typed while the model was at work
	boundary         // the context starts anew from here
	link             // says nothing, but stands in the tree
	bookkeeping      // known, says nothing
)

// kindOf maps the value of "type" (research/formats.md section 10).
func kindOf(name []byte) kind {
	switch string(name) {
	case "user":
		return user
	case "assistant":
		return assistant
	case "system", "attachment", "progress":
		return link
	case "summary", "queue-operation", "file-history-snapshot", "permission-mode", "mode", "agent-name", "custom-title",
		"ai-title", "last-prompt", "frame-link", "pr-link", "started", "result", "relocated", "worktree-state", "bridge-session":
		return bookkeeping
	}
	return unknown
}

// says reports whether records of the kind are messages for the reader.
func (k kind) says() bool { return k == user || k == assistant || k == queued }

// record is one decoded line. Its slices are valid until the next decode.
type record struct {
	kind      kind
	name      []byte // the value of "type"
	id        []byte // uuid, empty if the record has none
	parent    []byte
	logical   []byte // of a boundary: the message before it
	root      bool   // parentUuid is null
	leaf      bool   // has a leafUuid
	session   []byte
	sidechain bool
	time      []byte // raw JSON

	meta    bool   // put in by the runtime, not typed
	summary bool   // what a compaction made of all before
	failed  bool   // an error of the API as a message
	origin  []byte // who a user record is of, in newer versions
	subtype []byte // of a system record
	auto    bool   // of a boundary: the runtime compacted by itself, within a turn
	head    []byte // of a boundary: the first message before it that stays
	tail    []byte // and the last one

	attachment []byte // its type
	mode       []byte // of a queued command
	prompt     []byte // the same, raw JSON

	hasMessage bool
	reply      []byte // the message's id: records of one reply have the same
	oddBlock   []byte // the type of a block that is not known
	text       class  // what the text of a user record is
}

// decoder turns the text of a record into a message. It keeps its memory from
// record to record.
type decoder struct {
	thinking bool // whether thinking parts are wanted
	cursor   jsonl.Cursor
	queue    jsonl.Cursor // of a prompt, which is read after its type is known
	record   record
	message  session.Message
	block    block
	inner    block  // inside of a tool's result
	scratch  []byte // texts that are put together
}

// decode reads one record. It returns an error that wraps [jsonl.ErrSyntax]
// if raw is not one JSON object.
func (d *decoder) decode(raw []byte) error {
	c := &d.cursor
	c.Reset(raw)
	d.record = record{}
	d.scratch = d.scratch[:0]
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
	d.classify()
	return nil
}

func (d *decoder) member(c *jsonl.Cursor) {
	r := &d.record
	switch string(c.Key()) {
	case "type":
		r.name, _ = c.Bytes()
	case "uuid":
		r.id, _ = c.Bytes()
	case "parentUuid":
		r.root = c.IsNull()
		r.parent, _ = c.Bytes()
	case "logicalParentUuid":
		r.logical, _ = c.Bytes()
	case "leafUuid":
		_, r.leaf = c.Bytes()
	case "sessionId":
		r.session, _ = c.Bytes()
	case "timestamp":
		r.time = c.Raw()
	case "isSidechain":
		r.sidechain, _ = c.Bool()
	case "isMeta":
		r.meta, _ = c.Bool()
	case "isCompactSummary":
		r.summary, _ = c.Bool()
	case "isApiErrorMessage":
		r.failed, _ = c.Bool()
	case "subtype":
		r.subtype, _ = c.Bytes()
	case "origin":
		r.origin = member(c, "kind")
	case "compactMetadata":
		d.compaction(c)
	case "attachment":
		d.attachment(c)
	case "message":
		d.decodeMessage(c)
	}
}

// member returns one string of an object.
func member(c *jsonl.Cursor, key string) (value []byte) {
	for ok := c.EnterObject(); ok && c.NextKey(); {
		if string(c.Key()) == key {
			value, _ = c.Bytes()
		}
	}
	return value
}

func (d *decoder) compaction(c *jsonl.Cursor) {
	for ok := c.EnterObject(); ok && c.NextKey(); {
		switch string(c.Key()) {
		case "trigger":
			trigger, _ := c.Bytes()
			d.record.auto = string(trigger) == "auto"
		case "preservedSegment":
			d.preserved(c)
		}
	}
}

func (d *decoder) preserved(c *jsonl.Cursor) {
	for ok := c.EnterObject(); ok && c.NextKey(); {
		switch string(c.Key()) {
		case "headUuid":
			d.record.head, _ = c.Bytes()
		case "tailUuid":
			d.record.tail, _ = c.Bytes()
		}
	}
}

func (d *decoder) attachment(c *jsonl.Cursor) {
	r := &d.record
	for ok := c.EnterObject(); ok && c.NextKey(); {
		switch string(c.Key()) {
		case "type":
			r.attachment, _ = c.Bytes()
		case "commandMode":
			r.mode, _ = c.Bytes()
		case "prompt":
			r.prompt = c.Raw()
		case "origin":
			r.origin = member(c, "kind")
		}
	}
}

// decodeMessage reads the value of "message". A second one in the same record
// replaces the first, as in JavaScript.
func (d *decoder) decodeMessage(c *jsonl.Cursor) {
	r, m := &d.record, &d.message
	*m = session.Message{Parts: m.Parts[:0]}
	r.reply = nil
	r.hasMessage = c.Kind() == jsonl.Object
	for ok := c.EnterObject(); ok && c.NextKey(); {
		switch string(c.Key()) {
		case "id":
			r.reply, _ = c.Bytes()
		case "model":
			m.Model, _ = c.Bytes()
		case "stop_reason":
			m.StopReason, _ = c.Bytes()
		case "usage":
			d.usage(c)
		case "content":
			d.content(c)
		}
	}
}

func (d *decoder) usage(c *jsonl.Cursor) {
	d.message.Usage = session.Usage{}
	u := &d.message.Usage
	for ok := c.EnterObject(); ok && c.NextKey(); {
		switch string(c.Key()) {
		case "input_tokens":
			u.Input = count(c)
		case "output_tokens":
			u.Output = count(c)
		case "cache_read_input_tokens":
			u.CacheRead = count(c)
		case "cache_creation_input_tokens":
			u.CacheWrite = count(c)
		}
	}
	d.message.HasUsage = u.Context() > 0 // what the runtime says itself counts nothing
}

// count reads a number of tokens; what is none, or below zero, is 0.
func count(c *jsonl.Cursor) int64 {
	n, _ := c.Int64()
	return max(n, 0)
}
