package copilot

import (
	"bytes"
	"strings"

	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/fields"
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
	other []byte // the agent that the session's agent has begun, and that it is of
	agent bool   // there is one
	data  []byte // raw JSON object
}

// decoder reads records and keeps its memory from one to the next.
type decoder struct {
	cursor, inner, deeper jsonl.Cursor
	record                record
}

var records = fields.New(func(d *decoder) []fields.Field {
	r := &d.record
	return []fields.Field{
		fields.Text("type", &r.name), fields.Text("id", &r.id), fields.Raw("timestamp", &r.time), fields.Text("agentId", &r.other), fields.Raw("data", &r.data),
	}
})

// decode reads one record. It returns an error that wraps [jsonl.ErrSyntax] if
// raw is not one JSON object.
func (d *decoder) decode(raw []byte) error {
	d.record = record{}
	if err := records.Read(d, &d.cursor, raw); err != nil {
		return err
	}
	d.record.agent = len(d.record.other) > 0
	if d.record.kind = kindOf(d.record.name); !d.whole() {
		d.record.kind = foreign
	}
	return nil
}

// whole reports whether the record has the data that every record has.
func (d *decoder) whole() bool { return len(d.record.data) > 0 && d.record.data[0] == '{' }

// beginning is what a session.start says.
type beginning struct {
	id, cwd, producer string
	version           int64
}

// start is a beginning as it is read.
type start struct {
	id, cwd, producer []byte
	version           int64
}

var starts = fields.New(func(s *start) []fields.Field {
	return []fields.Field{fields.Text("sessionId", &s.id), fields.Text("producer", &s.producer), fields.Int("version", &s.version), fields.Text("context.cwd", &s.cwd)}
})

func (d *decoder) beginning() beginning {
	var s start
	starts.Peek(&s, &d.inner, d.record.data)
	return beginning{string(s.id), string(s.cwd), string(s.producer), s.version}
}

// question is what a user.message says.
type question struct {
	content, transformed, list []byte
	attachments                []attachment
}

type attachment struct {
	asset []byte
	size  int64
}

var (
	questions = fields.New(func(q *question) []fields.Field {
		return []fields.Field{fields.Text("content", &q.content), fields.Text("transformedContent", &q.transformed), fields.Raw("attachments", &q.list)}
	})
	attachments = fields.New(func(a *attachment) []fields.Field {
		return []fields.Field{fields.Text("assetId", &a.asset), fields.Int("byteLength", &a.size)}
	})
)

func (d *decoder) question() (q question) {
	questions.Peek(&q, &d.inner, d.record.data)
	d.deeper.Reset(q.list)
	for in := d.deeper.EnterArray(); in && d.deeper.NextElement(); {
		var a attachment
		if attachments.Take(&a, &d.deeper) {
			q.attachments = append(q.attachments, a)
		}
	}
	return q
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
	content, reasoning, model, requests []byte
	calls                               []session.Part
}

var (
	answers = fields.New(func(a *answer) []fields.Field {
		return []fields.Field{fields.Text("content", &a.content), fields.Text("reasoningText", &a.reasoning), fields.Text("model", &a.model), fields.Raw("toolRequests", &a.requests)}
	})
	requests = fields.New(func(p *session.Part) []fields.Field {
		return []fields.Field{fields.Text("toolCallId", &p.CallID), fields.Text("name", &p.Name), fields.Raw("arguments", &p.Text)}
	})
)

func (d *decoder) answer() (a answer) {
	answers.Peek(&a, &d.inner, d.record.data)
	d.deeper.Reset(a.requests)
	for in := d.deeper.EnterArray(); in && d.deeper.NextElement(); {
		p := session.Part{Kind: session.PartToolCall}
		if requests.Take(&p, &d.deeper) {
			a.calls = append(a.calls, p)
		}
	}
	return a
}

// toolCall is what a tool.execution_start says.
type toolCall struct{ id, name []byte }

var toolCalls = fields.New(func(t *toolCall) []fields.Field {
	return []fields.Field{fields.Text("toolCallId", &t.id), fields.Text("toolName", &t.name)}
})

func (d *decoder) toolCall() (t toolCall) {
	toolCalls.Peek(&t, &d.inner, d.record.data)
	return t
}

// output is what a tool.execution_complete says.
type output struct {
	id, content, whole, failure []byte
	exit                        int64
	hasExit, failed             bool
}

var outputs = fields.New(func(o *output) []fields.Field {
	return []fields.Field{
		fields.Text("toolCallId", &o.id), fields.Text("result.content", &o.content), fields.Text("result.detailedContent", &o.whole),
		fields.Text("error", &o.failure), fields.Text("error.message", &o.failure),
		fields.Func("success", func(o *output, c *jsonl.Cursor) {
			succeeded, known := c.Bool()
			o.failed = known && !succeeded
		}),
		fields.Func("shellExecution.exitCode", func(o *output, c *jsonl.Cursor) { o.exit, o.hasExit = c.Int64() }),
	}
})

func (d *decoder) output() (o output) {
	outputs.Peek(&o, &d.inner, d.record.data)
	return o
}

var usages = fields.New(func(u *session.Usage) []fields.Field {
	return []fields.Field{
		fields.Int("usage.inputTokens", &u.Input), fields.Int("usage.outputTokens", &u.Output),
		fields.Int("usage.cacheReadTokens", &u.CacheRead), fields.Int("usage.cacheWriteTokens", &u.CacheWrite),
	}
})

// usage is what a session.usage_record says of a model call. Input is with what
// came from the cache.
func (d *decoder) usage() (u session.Usage) {
	usages.Peek(&u, &d.inner, d.record.data)
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

	id, outcome []byte
}

var compactions = fields.New(func(x *compaction) []fields.Field {
	return []fields.Field{
		fields.Text("compactionAttemptId", &x.id), fields.Flag("success", &x.succeeded), fields.Text("outcome", &x.outcome),
		fields.Text("summaryContent", &x.summary), fields.Int("postCompactionTokens", &x.after),
	}
})

func (d *decoder) compaction() compaction {
	x := compaction{outcome: []byte("applied")} // older versions do not say
	compactions.Peek(&x, &d.inner, d.record.data)
	x.attempt, x.applied = string(x.id), x.succeeded && string(x.outcome) == "applied"
	return x
}

// trouble is what a session.error says.
func (d *decoder) trouble() []byte { return d.said("message") }

// said is a text that the data of a record says, nil if it says none.
func (d *decoder) said(name string) (text []byte) {
	c := &d.inner
	c.Reset(d.record.data)
	for in := c.EnterObject(); in && c.NextKey(); {
		if string(c.Key()) == name {
			text, _ = c.Bytes()
		}
	}
	return text
}
