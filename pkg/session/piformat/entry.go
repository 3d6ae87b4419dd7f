package piformat

import (
	"fmt"

	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
)

// kind is what a record is.
type kind uint8

const (
	unknown       kind = iota
	header             // a session starts
	message            // somebody said something
	compaction         // a summary of what came before
	branchSummary      // a summary of a branch that was left
	customMessage      // an extension said something to the model
	reset              // the context starts empty from here
	bookkeeping        // known, says nothing
)

// kindOf maps the value of "type" (research/formats.md section 3;
// "reset" is OpenClaw's since 2026.9, research/real-runtimes.md section 4).
func kindOf(name []byte) kind {
	switch string(name) {
	case "session":
		return header
	case "message":
		return message
	case "compaction":
		return compaction
	case "branch_summary":
		return branchSummary
	case "custom_message":
		return customMessage
	case "reset":
		return reset
	case "model_change", "thinking_level_change", "label", "session_info", "custom":
		return bookkeeping
	}
	return unknown
}

// says reports whether records of the kind are messages for the reader.
func (k kind) says() bool {
	return k == message || k == compaction || k == branchSummary || k == customMessage
}

// ours reports whether the record tells that the file is of this format. Other
// runtimes, too, have records named "compaction".
func (e *entry) ours() bool {
	return e.kind == header || e.kind == message || (e.kind != unknown && len(e.id) > 0)
}

// entry is one decoded record. Its slices are valid until the next decode.
type entry struct {
	kind       kind
	name       []byte // the value of "type"
	id         []byte // empty if the record has none
	parent     []byte
	root       bool   // parentId is null
	time       []byte // raw JSON
	firstKept  []byte // of a compaction: the id of the first entry that stays
	keptIndex  int64  // of a compaction in version 1: the same as an index, header first
	hasKept    bool   // keptIndex is set
	version    int64  // of a header
	cwd        []byte
	parentFile []byte

	oddRole  bool   // the message's role is not known
	oddBlock []byte // the type of a block that is not known

	hasMessage bool
	summary    []byte
	content    []byte // raw JSON of a custom_message
	details    []byte // raw JSON, of a compaction: its lists of files
	fromHook   bool   // an extension made the compaction: its details are its own
}

// decoder turns the text of a record into an entry and a message. It keeps
// its memory from record to record.
type decoder struct {
	thinking bool // whether thinking parts are wanted
	cursor   jsonl.Cursor
	inner    jsonl.Cursor // of content that is read after the type is known
	entry    entry
	message  session.Message

	messageTime []byte // raw JSON
	role        []byte
	block       block
}

// decode reads one record. It returns an error that wraps [jsonl.ErrSyntax]
// if raw is not one JSON object.
func (d *decoder) decode(raw []byte) error {
	c := &d.cursor
	c.Reset(raw)
	d.entry = entry{}
	d.clearMessage()
	if c.Kind() != jsonl.Object {
		return notObject(c)
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

// notObject returns why the text that c stands before is not an object.
func notObject(c *jsonl.Cursor) error {
	if err := c.End(); err != nil {
		return err
	}
	return fmt.Errorf("%w: not an object", jsonl.ErrSyntax)
}

func (d *decoder) member(c *jsonl.Cursor) {
	e := &d.entry
	switch string(c.Key()) {
	case "type":
		e.name, _ = c.Bytes()
	case "id":
		e.id = name(c)
	case "parentId":
		e.root = c.IsNull()
		e.parent = name(c)
	case "timestamp":
		e.time = c.Raw()
	case "message":
		d.decodeMessage(c)
	case "customType":
		d.message.CustomType, _ = c.Bytes()
	case "content":
		e.content = c.Raw()
	case "summary":
		e.summary, _ = c.Bytes()
	case "details":
		e.details = c.Raw()
	case "fromHook":
		e.fromHook, _ = c.Bool()
	case "firstKeptEntryId":
		e.firstKept = name(c)
	case "firstKeptEntryIndex":
		e.keptIndex, e.hasKept = c.Int64()
	case "version":
		e.version, _ = c.Int64()
	case "cwd":
		e.cwd, _ = c.Bytes()
	case "parentSession":
		e.parentFile, _ = c.Bytes()
	}
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

// classify settles what the record is, now that all of it was read.
func (d *decoder) classify() {
	e := &d.entry
	e.kind = kindOf(e.name)
	switch e.kind {
	case header:
		if len(e.id) == 0 {
			e.kind = unknown
		}
	case message:
		if !e.hasMessage {
			e.kind = unknown
		}
	case compaction, branchSummary:
		d.clearMessage()
		d.message.Role = session.RoleSummary
		d.message.Compaction, d.message.FirstKept = e.kind == compaction, e.firstKept
		d.addText(e.summary)
		d.fileLists()
	case customMessage:
		d.customMessage()
	}
	d.message.ID = e.id
}

// settleTime gives the message its time: its own, else its entry's, else that
// of the record before it (research/formats.md section 3, "Two clocks"). It
// returns the time for the record after it.
func (d *decoder) settleTime(previous int64) int64 {
	m := &d.message
	for _, raw := range [...][]byte{d.messageTime, d.entry.time} {
		if ms, naive, ok := session.ParseTime(raw); ok {
			m.Time, m.TimeInferred = ms, naive
			return ms
		}
	}
	m.Time, m.TimeInferred = previous, true
	return previous
}

// fileLists reads the lists of files of a summary that the runtime itself made
// (research/behaviours.md section 2, "File ops").
func (d *decoder) fileLists() {
	c := &d.inner
	c.Reset(d.entry.details)
	if len(d.entry.details) == 0 || d.entry.fromHook || !c.EnterObject() {
		return
	}
	for c.NextKey() {
		switch string(c.Key()) {
		case "readFiles":
			d.message.ReadFiles = session.StringList(c)
		case "modifiedFiles":
			d.message.ModifiedFiles = session.StringList(c)
		case "summaryBy":
			by, _ := c.Bytes()
			d.message.Own = d.message.Compaction && string(by) == session.SummaryBy
		}
	}
}

func (d *decoder) customMessage() {
	customType := d.message.CustomType
	d.clearMessage()
	d.message.Role = session.RoleInjected
	d.message.CustomType = customType
	d.inner.Reset(d.entry.content)
	d.decodeContent(&d.inner)
}
