package antigravity

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"strconv"
	"strings"

	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/fields"
	"github.com/sessctl/sessctl/pkg/session/readonly"
	"github.com/sessctl/sessctl/pkg/speaker"
)

// record is one line of a transcript: a step.
type record struct {
	index, time                          []byte
	source, kind, status, said, thinking []byte
	calls                                []byte
}

// records is what is read of a record (docs/dev/formats.md, "antigravity").
var records = fields.New(func(x *record) []fields.Field {
	return []fields.Field{
		fields.Raw("step_index", &x.index),
		fields.Raw("created_at", &x.time),
		fields.Text("source", &x.source),
		fields.Text("type", &x.kind),
		fields.Text("status", &x.status),
		fields.Text("content", &x.said),
		fields.Text("thinking", &x.thinking),
		fields.Raw("tool_calls", &x.calls),
	}
})

// call is a call of a tool in a step.
type call struct{ name, input []byte }

var calls = fields.New(func(x *call) []fields.Field {
	return []fields.Field{fields.Text("name", &x.name), fields.Value("args", &x.input)}
})

// scanner is the state of one scan.
type scanner struct {
	readonly.Lines
	record record
}

func newScanner(o session.ScanOptions) readonly.Scanner {
	return &scanner{Lines: readonly.Lines{Runtime: session.RuntimeAntigravity, Thinking: o.Thinking}}
}

// Scan implements [readonly.Scanner]: the steps in their order, which the lines may not
// have.
func (s *scanner) Scan(ctx context.Context, r io.Reader, emit func(*session.Message) error) (session.Scan, error) {
	return s.RunInOrder(ctx, r, emit, s.step, s.read)
}

// step is the number of a record's step, -1 for what is none.
func (s *scanner) step(raw []byte) (int64, error) {
	x := record{}
	if err := records.Read(&x, &s.Cursor, raw); err != nil {
		return -1, err
	}
	if n, err := strconv.ParseInt(string(x.index), 10, 64); err == nil && len(x.kind) > 0 && len(x.source) > 0 {
		return n, nil
	}
	return -1, nil
}

func (s *scanner) read(raw []byte) (readonly.Record, error) {
	x := &s.record
	*x = record{}
	if err := records.Read(x, &s.Cursor, raw); err != nil {
		return readonly.Record{}, err
	}
	is := readonly.Record{Known: len(x.index) > 0 && len(x.kind) > 0, Type: x.kind}
	is.Time, _, _ = session.ParseTime(x.time)
	if !is.Known {
		return is, nil
	}
	switch source := string(x.source); {
	case source == "USER_EXPLICIT":
		s.asked(x)
	case source == "MODEL" && string(x.kind) == "PLANNER_RESPONSE":
		s.planned(x)
	case source == "MODEL":
		m := session.Message{Role: session.RoleToolResult, ID: x.index, CallID: x.index, IsError: string(x.status) == "ERROR"}
		m.AddText(x.said)
		s.Add(m)
	case strings.HasPrefix(source, "SYSTEM"):
		s.noted(x)
	default:
		is.Known, is.Type, is.Sent = false, x.source, len(x.said) > 0
	}
	return is, nil
}

// asked adds what a person has typed, after what the program has put around it.
func (s *scanner) asked(x *record) {
	typed, around := x.said, []byte(nil)
	if before, request, after, whole := speaker.Named("antigravity", "request").Cut(x.said); whole {
		typed, around = bytes.TrimSpace(request), bytes.TrimSpace(append(bytes.Clone(before), after...))
	}
	if len(around) > 0 {
		m := readonly.Said("antigravity.context")
		m.AddText(around)
		s.Add(m)
	}
	m := readonly.Said("")
	m.ID = x.index
	m.AddText(typed)
	s.Add(m)
}

// planned adds what the model said, and the calls that it made. The results of a step's
// calls are the steps that follow it, so that a call is called by the number of its
// result.
func (s *scanner) planned(x *record) {
	m := session.Message{Role: session.RoleAssistant, ID: x.index}
	if s.Thinking && len(x.thinking) > 0 {
		m.Parts = append(m.Parts, session.Part{Kind: session.PartThinking, Text: x.thinking})
	}
	m.AddText(x.said)
	step, _ := strconv.ParseInt(string(x.index), 10, 64)
	c := new(jsonl.Cursor)
	c.Reset(x.calls)
	for ok := len(x.calls) > 0 && c.EnterArray(); ok && c.NextElement(); {
		y := call{}
		if step++; calls.Take(&y, c) {
			m.Parts = append(m.Parts, session.Part{Kind: session.PartToolCall, Name: y.name, CallID: strconv.AppendInt(nil, step, 10), Text: plain(y.input)})
		}
	}
	s.Add(m)
}

// plain are arguments of which each value was written as JSON once more: what was
// written so is written once.
func plain(args []byte) []byte {
	c, all := new(jsonl.Cursor), []byte("{")
	if c.BeginObject(args) != nil {
		return args
	}
	for c.NextKey() {
		if len(all) > 1 {
			all = append(all, ',')
		}
		key, _ := json.Marshal(string(c.Key())) // a string always can be written
		all = append(append(all, key...), ':')
		value := c.Raw()
		if again := new(jsonl.Cursor); len(value) > 0 && value[0] == '"' {
			again.Reset(value)
			inner, _ := again.Bytes()
			if checked := new(jsonl.Cursor); whole(checked, inner) {
				value = bytes.Clone(inner)
			}
		}
		all = append(all, value...)
	}
	if c.End() != nil {
		return args
	}
	return append(all, '}')
}

// whole reports whether a text is one value of JSON.
func whole(c *jsonl.Cursor, text []byte) bool {
	c.Reset(text)
	return len(c.Raw()) > 0 && c.End() == nil
}

// noted adds what the program itself says: a summary, in the place of what was before, or
// anything else.
func (s *scanner) noted(x *record) {
	m := readonly.Said("antigravity." + strings.ToLower(string(x.kind)))
	switch string(x.kind) {
	case "CHECKPOINT":
		m = session.Message{Role: session.RoleSummary, Compaction: true}
	case "ERROR_MESSAGE":
		m.IsError = true
	}
	m.ID = x.index
	m.AddText(x.said)
	s.Add(m)
}
