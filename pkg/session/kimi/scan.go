package kimi

import (
	"bytes"
	"context"
	"io"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/fields"
	"github.com/sessctl/sessctl/pkg/session/readonly"
)

// record is one line of a log.
type record struct {
	kind, time, cwd           []byte
	protocol                  []byte // of the first record
	role, id, origin, content []byte // of a message; of kimi-cli too
	calls, answers            []byte // of kimi-cli, and of messages that were taken over
	event, part               []byte // of an event of the loop, and what it says
	call, name, input, output []byte // of a call and its result
	failed                    bool
	usage                     session.Usage
	scope                     []byte // of usage: turn or session
	summary                   []byte // of a compaction
	kept                      int64  // messages of the user that it keeps
}

// records is what is read of a record (docs/dev/formats.md, "kimi").
var records = fields.New(func(x *record) []fields.Field {
	return []fields.Field{
		fields.Text("type", &x.kind),
		fields.Raw("time", &x.time),
		fields.Text("protocol_version", &x.protocol),
		fields.Text("environmentDisclosure.cwd", &x.cwd),
		fields.Text("message.role", &x.role),
		fields.Text("message.id", &x.id),
		fields.Text("message.origin.kind", &x.origin),
		fields.Raw("message.content", &x.content),
		fields.Raw("message.toolCalls", &x.calls),
		fields.ID("message.toolCallId", &x.answers),
		fields.Text("event.type", &x.event),
		fields.Raw("event.part", &x.part),
		fields.ID("event.toolCallId", &x.call),
		fields.Text("event.name", &x.name),
		fields.Value("event.args", &x.input),
		fields.Raw("event.result.output", &x.output),
		fields.Flag("event.result.isError", &x.failed),
		fields.Count("usage.inputOther", &x.usage.Input),
		fields.Count("usage.output", &x.usage.Output),
		fields.Count("usage.inputCacheRead", &x.usage.CacheRead),
		fields.Count("usage.inputCacheCreation", &x.usage.CacheWrite),
		fields.Text("usageScope", &x.scope),
		fields.Text("summary", &x.summary),
		fields.Count("keptUserMessageCount", &x.kept),
		fields.Text("role", &x.role),
		fields.Raw("content", &x.content),
		fields.Raw("tool_calls", &x.calls),
		fields.ID("tool_call_id", &x.answers),
	}
})

// call is a call of a tool inside a message.
type call struct{ id, name, input []byte }

var calls = fields.New(func(x *call) []fields.Field {
	return []fields.Field{
		fields.ID("id", &x.id),
		fields.Text("name", &x.name),
		fields.Text("function.name", &x.name),
		fields.Text("function.arguments", &x.input),
		fields.Value("args", &x.input),
	}
})

// maxTyped bounds how much of what was typed is kept for a compaction, in bytes.
const maxTyped = 1 << 20

// scanner is the state of one scan.
type scanner struct {
	readonly.Lines
	record record
	cwd    []byte
	usage  session.Usage     // of the call whose answer comes next
	typed  []session.Message // by a person, which a compaction keeps
	size   int               // of typed, in bytes
}

func newScanner(o session.ScanOptions) readonly.Scanner {
	return &scanner{Lines: readonly.Lines{Runtime: session.RuntimeKimi, Thinking: o.Thinking}}
}

// Scan implements [readonly.Scanner].
func (s *scanner) Scan(ctx context.Context, r io.Reader, emit func(*session.Message) error) (session.Scan, error) {
	return s.Run(ctx, r, emit, s.read)
}

func (s *scanner) read(raw []byte) (readonly.Record, error) {
	x := &s.record
	*x = record{}
	if err := records.Read(x, &s.Cursor, raw); err != nil {
		return readonly.Record{}, err
	}
	is := readonly.Record{Known: true, Type: x.kind}
	is.Time, _, _ = session.ParseTime(x.time)
	switch kind := string(x.kind); kind {
	case "context.append_message":
		s.said(x)
	case "context.append_loop_event":
		is.Known, is.Type, is.Sent = s.looped(x), x.event, true
	case "context.apply_compaction":
		s.compacted(x)
	case "context.undo", "context.clear":
		s.Doubt(x.kind)
	case "usage.record":
		if string(x.scope) != "session" {
			s.usage = x.usage
		}
	case "turn.ended", "turn.cancel":
		s.Finished = true
	case "metadata":
		is.Known = len(x.protocol) > 0
	case "profile.bind":
		s.cwd = bytes.Clone(x.cwd)
	case "":
		is.Known = s.before(x)
	default:
		is.Known, is.Sent = bookkeeping(kind), strings.HasPrefix(kind, "context.")
	}
	return is, nil
}

// bookkeeping reports whether a record of a type says nothing that the context does not.
func bookkeeping(kind string) bool {
	of, _, dotted := strings.Cut(kind, ".")
	return dotted && slices.Contains([]string{
		"agent", "full_compaction", "llm", "permission", "plugin", "profile", "prompt", "runtime", "subagent", "token_counting", "turn",
	}, of)
}

// said adds a message. Only what has the origin "user" was typed by a person.
func (s *scanner) said(x *record) {
	m := session.Message{Role: session.RoleAssistant}
	switch role := string(x.role); {
	case role == "user" && (string(x.origin) == "user" || len(x.origin) == 0):
		m = readonly.Said("")
	case role == "user" && string(x.origin) == "system_trigger": // the task of a sub-agent
		m = readonly.Said("task")
	case role == "user":
		m = readonly.Said("kimi." + string(x.origin))
	case role == "tool":
		m = readonly.Result(x.answers, x.content, false)
		m.ID, m.Directory = x.id, s.cwd
		s.Add(m)
		return
	case role != "assistant":
		m = readonly.Odd(x.role)
	}
	m.ID, m.Directory = x.id, s.cwd
	s.Content(s.calling(m, x.calls), x.content)
	if m.Role == session.RoleUser {
		s.keep()
	}
}

// calling is a message with the calls of tools that it makes.
func (s *scanner) calling(m session.Message, list []byte) session.Message {
	c := new(jsonl.Cursor)
	c.Reset(list)
	for ok := len(list) > 0 && c.EnterArray(); ok && c.NextElement(); {
		x := call{}
		if calls.Take(&x, c) {
			m.Parts = append(m.Parts, session.Part{Kind: session.PartToolCall, Name: x.name, CallID: x.id, Text: x.input})
		}
	}
	return m
}

// keep notes what a person has typed, as a copy.
func (s *scanner) keep() {
	m := s.Last()
	kept := session.Message{Role: m.Role, ID: bytes.Clone(m.ID), Directory: m.Directory, Parts: slices.Clone(m.Parts)}
	for i := range kept.Parts {
		kept.Parts[i].Text = bytes.Clone(kept.Parts[i].Text)
		s.size += len(kept.Parts[i].Text)
	}
	s.typed = append(s.typed, kept)
	for ; s.size > maxTyped && len(s.typed) > 1; s.typed = s.typed[1:] {
		for _, p := range s.typed[0].Parts {
			s.size -= len(p.Text)
		}
	}
}

// looped adds what an event of the loop says: a part of an answer, a call, or its result.
func (s *scanner) looped(x *record) (known bool) {
	answer := session.Message{Role: session.RoleAssistant, Directory: s.cwd}
	switch string(x.event) {
	case "content.part":
		s.Content(answer, x.part)
		s.counted(s.Last())
	case "tool.call":
		answer.Parts = []session.Part{{Kind: session.PartToolCall, Name: x.name, CallID: x.call, Text: x.input}}
		s.counted(s.Add(answer))
	case "tool.result":
		m := readonly.Result(x.call, x.output, x.failed)
		m.Directory = s.cwd
		s.Add(m)
	case "step.begin", "step.end":
	default:
		return false
	}
	return true
}

// counted gives what the call counted to the first part of its answer that is no thought.
func (s *scanner) counted(m *session.Message) {
	if s.usage.Context() == 0 || len(m.Parts) == 0 || m.Parts[0].Kind == session.PartThinking {
		return
	}
	m.Usage, m.HasUsage, s.usage = s.usage, true, session.Usage{}
}

// compacted adds the summary of a compaction, which keeps what was typed.
func (s *scanner) compacted(x *record) {
	m := s.Add(session.Message{Role: session.RoleSummary, Compaction: true, Directory: s.cwd})
	m.AddText(x.summary)
	m.Kept = s.typed[max(0, len(s.typed)-int(min(x.kept, int64(len(s.typed))))):]
}

// before reads a record of kimi-cli, which has a role and no type.
func (s *scanner) before(x *record) (known bool) {
	switch string(x.role) {
	case "":
		return false
	case "_checkpoint", "_usage", "_system_prompt":
	default:
		s.said(x)
	}
	return true
}
