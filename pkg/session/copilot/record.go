package copilot

import (
	"bytes"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
)

// kind is what a record means here.
type kind uint8

const (
	foreign     kind = iota // no record of this runtime, or one of a type that is not known
	bookkeeping             // a type that is known and says nothing to anybody
	header                  // session.start
	asked                   // user.message
	answered                // assistant.message
	thought                 // assistant.reasoning
	started                 // tool.execution_start
	finished                // tool.execution_complete
	counted                 // session.usage_record
	asset                   // session.binary_asset
	squeezing               // session.compaction_start
	squeezed                // session.compaction_complete
	ended                   // a turn or the program ended, whatever waited for an answer
	failure                 // session.error
)

// kinds are the types of records. What begins with "model." is not among them:
// see kindOf.
var kinds = map[string]kind{
	"session.start": header, "user.message": asked, "assistant.message": answered, "assistant.reasoning": thought,
	"tool.execution_start": started, "tool.execution_complete": finished, "session.usage_record": counted,
	"session.binary_asset": asset, "session.compaction_start": squeezing, "session.compaction_complete": squeezed,
	"abort": ended, "session.shutdown": ended, "session.error": failure,

	"session.resume": bookkeeping, "system.message": bookkeeping, "assistant.turn_start": bookkeeping, "assistant.turn_end": bookkeeping,
	"session.info": bookkeeping, "session.model_change": bookkeeping, "session.mode_changed": bookkeeping,
	"session.usage_checkpoint": bookkeeping, "session.context_changed": bookkeeping, "session.title_changed": bookkeeping,
	"session.plan_changed": bookkeeping, "session.workspace_file_changed": bookkeeping, "session.task_complete": bookkeeping,
	"permission.requested": bookkeeping, "permission.completed": bookkeeping,
	"subagent.started": bookkeeping, "subagent.selected": bookkeeping, "subagent.configured": bookkeeping,
	"subagent.completed": bookkeeping, "subagent.deselected": bookkeeping, "subagent.failed": bookkeeping,
	"hook.start": bookkeeping, "hook.end": bookkeeping,
}

// debugStart begins the types of the debug records of a compaction's own model
// call. They repeat the whole request.
const debugStart = "model."

func kindOf(name []byte) kind {
	if strings.HasPrefix(string(name), debugStart) {
		return bookkeeping
	}
	return kinds[string(name)]
}

// record is one decoded line. Its slices are valid until the next decode, those
// of data until the decoder reads other data.
type record struct {
	kind  kind
	name  []byte
	id    []byte
	time  []byte // raw JSON
	agent bool   // it is of an agent that the session's agent has begun
	data  []byte // raw JSON object
}

// decoder reads records and keeps its memory from one to the next.
type decoder struct {
	cursor, inner, deeper jsonl.Cursor
	record                record
}

// decode reads one record. It returns an error that wraps [jsonl.ErrSyntax] if
// raw is not one JSON object.
func (d *decoder) decode(raw []byte) error {
	c := &d.cursor
	d.record = record{}
	if err := c.BeginObject(raw); err != nil {
		return err
	}
	for c.NextKey() {
		switch string(c.Key()) {
		case "type":
			d.record.name, _ = c.Bytes()
		case "id":
			d.record.id, _ = c.Bytes()
		case "timestamp":
			d.record.time = c.Raw()
		case "agentId":
			id, _ := c.Bytes()
			d.record.agent = len(id) > 0
		case "data":
			d.record.data = c.Raw()
		default:
			c.Skip()
		}
	}
	if err := c.End(); err != nil {
		return err
	}
	if d.record.kind = kindOf(d.record.name); !d.whole() {
		d.record.kind = foreign
	}
	return nil
}

// whole reports whether the record has the data that every record has.
func (d *decoder) whole() bool { return len(d.record.data) > 0 && d.record.data[0] == '{' }

// members hands each member of an object to read, which may leave it alone.
func members(c *jsonl.Cursor, raw []byte, read func(key string)) {
	c.Reset(raw)
	if len(raw) == 0 || !c.EnterObject() {
		return
	}
	for c.NextKey() {
		read(string(c.Key()))
	}
}

// beginning is what a session.start says.
type beginning struct {
	id, cwd, producer string
	version           int64
}

func (d *decoder) beginning() (b beginning) {
	c := &d.inner
	members(c, d.record.data, func(key string) {
		switch key {
		case "sessionId":
			b.id = word(c)
		case "producer":
			b.producer = word(c)
		case "version":
			b.version, _ = c.Int64()
		case "context":
			inner := &d.deeper
			members(inner, c.Raw(), func(key string) {
				if key == "cwd" {
					b.cwd = word(inner)
				}
			})
		}
	})
	return b
}

// question is what a user.message says.
type question struct {
	content, transformed []byte
	attachments          []attachment
}

type attachment struct {
	asset string
	size  int64
}

func (d *decoder) question() (q question) {
	c := &d.inner
	members(c, d.record.data, func(key string) {
		switch key {
		case "content":
			q.content, _ = c.Bytes()
		case "transformedContent":
			q.transformed, _ = c.Bytes()
		case "attachments":
			q.attachments = d.attachments(c.Raw())
		}
	})
	return q
}

func (d *decoder) attachments(raw []byte) (all []attachment) {
	c := &d.deeper
	c.Reset(raw)
	if !c.EnterArray() {
		return nil
	}
	for c.NextElement() {
		var a attachment
		if !c.EnterObject() {
			continue
		}
		for c.NextKey() {
			switch string(c.Key()) {
			case "assetId":
				a.asset = word(c)
			case "byteLength":
				a.size, _ = c.Int64()
			}
		}
		all = append(all, a)
	}
	return all
}

// around is what the runtime put before and after what was typed: the time, and
// reminders. within is false if something else was sent in its place.
func (q question) around() (before, after []byte, within bool) {
	if len(q.transformed) == 0 {
		return nil, nil, true
	}
	at := bytes.Index(q.transformed, q.content)
	if at < 0 {
		return q.transformed, nil, false
	}
	return q.transformed[:at], q.transformed[at+len(q.content):], true
}

// answer is what an assistant.message says.
type answer struct {
	content, reasoning, model []byte
	calls                     []session.Part
}

func (d *decoder) answer() (a answer) {
	c := &d.inner
	members(c, d.record.data, func(key string) {
		switch key {
		case "content":
			a.content, _ = c.Bytes()
		case "reasoningText":
			a.reasoning, _ = c.Bytes()
		case "model":
			a.model, _ = c.Bytes()
		case "toolRequests":
			a.calls = d.calls(c.Raw())
		}
	})
	return a
}

func (d *decoder) calls(raw []byte) (all []session.Part) {
	c := &d.deeper
	c.Reset(raw)
	if !c.EnterArray() {
		return nil
	}
	for c.NextElement() {
		p := session.Part{Kind: session.PartToolCall}
		if !c.EnterObject() {
			continue
		}
		for c.NextKey() {
			switch string(c.Key()) {
			case "toolCallId":
				p.CallID, _ = c.Bytes()
			case "name":
				p.Name, _ = c.Bytes()
			case "arguments":
				p.Text = c.Raw()
			}
		}
		all = append(all, p)
	}
	return all
}

// toolCall is what a tool.execution_start says.
type toolCall struct{ id, name []byte }

func (d *decoder) toolCall() (t toolCall) {
	c := &d.inner
	members(c, d.record.data, func(key string) {
		switch key {
		case "toolCallId":
			t.id, _ = c.Bytes()
		case "toolName":
			t.name, _ = c.Bytes()
		}
	})
	return t
}

// output is what a tool.execution_complete says.
type output struct {
	id, content, whole, failure []byte
	exit                        int64
	hasExit, failed             bool
}

func (d *decoder) output() (o output) {
	c := &d.inner
	members(c, d.record.data, func(key string) {
		switch key {
		case "toolCallId":
			o.id, _ = c.Bytes()
		case "success":
			ok, is := c.Bool()
			o.failed = is && !ok
		case "result":
			d.result(c.Raw(), &o)
		case "error":
			o.failure = d.messageOf(c)
		case "shellExecution":
			d.execution(c.Raw(), &o)
		}
	})
	return o
}

func (d *decoder) result(raw []byte, o *output) {
	c := &d.deeper
	members(c, raw, func(key string) {
		switch key {
		case "content":
			o.content, _ = c.Bytes()
		case "detailedContent":
			o.whole, _ = c.Bytes()
		}
	})
	o.content, o.whole = slices.Clone(o.content), slices.Clone(o.whole) // the cursor is used again
}

func (d *decoder) execution(raw []byte, o *output) {
	c := &d.deeper
	members(c, raw, func(key string) {
		if key == "exitCode" {
			o.exit, o.hasExit = c.Int64()
		}
	})
}

// messageOf reads an error: a text, or an object with a message.
func (d *decoder) messageOf(c *jsonl.Cursor) (text []byte) {
	if c.Kind() == jsonl.String {
		text, _ = c.Bytes()
		return text
	}
	inner := &d.deeper
	members(inner, c.Raw(), func(key string) {
		if key == "message" {
			text, _ = inner.Bytes()
		}
	})
	return slices.Clone(text)
}

// usage is what a session.usage_record says of a model call. Input is with what
// came from the cache.
func (d *decoder) usage() (u session.Usage) {
	c, inner := &d.inner, &d.deeper
	members(c, d.record.data, func(key string) {
		if key != "usage" {
			return
		}
		members(inner, c.Raw(), func(key string) {
			switch key {
			case "inputTokens":
				u.Input, _ = inner.Int64()
			case "outputTokens":
				u.Output, _ = inner.Int64()
			case "cacheReadTokens":
				u.CacheRead, _ = inner.Int64()
			case "cacheWriteTokens":
				u.CacheWrite, _ = inner.Int64()
			}
		})
	})
	u.Total = u.Input + u.Output
	return u
}

// compaction is what the two records of a compaction say.
type compaction struct {
	attempt   string
	applied   bool // its summary is the context's
	succeeded bool
	summary   []byte
	after     int64 // tokens of the context, as the runtime estimates them
}

func (d *decoder) compaction() (x compaction) {
	outcome := "applied" // older versions do not say
	c := &d.inner
	members(c, d.record.data, func(key string) {
		switch key {
		case "compactionAttemptId":
			x.attempt = word(c)
		case "success":
			x.succeeded, _ = c.Bool()
		case "outcome":
			outcome = word(c)
		case "summaryContent":
			x.summary, _ = c.Bytes()
		case "postCompactionTokens":
			x.after, _ = c.Int64()
		}
	})
	x.applied = x.succeeded && outcome == "applied"
	return x
}

// trouble is what a session.error says.
func (d *decoder) trouble() (text []byte) {
	c := &d.inner
	members(c, d.record.data, func(key string) {
		if key == "message" {
			text, _ = c.Bytes()
		}
	})
	return text
}

// word is a short string, "" for anything else.
func word(c *jsonl.Cursor) string {
	b, _ := c.Bytes()
	return string(b)
}
