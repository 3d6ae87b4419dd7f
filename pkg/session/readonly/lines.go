package readonly

import (
	"context"
	"io"
	"slices"

	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/fields"
)

// Lines is the state of a scan of records, one a line. A runtime's [Scanner] embeds it.
type Lines struct {
	Runtime  string
	Thinking bool // see [session.ScanOptions]
	Cursor   jsonl.Cursor

	Line     int  // of the record that is read, 1-based
	Finished bool // set by a record that says that a turn has ended, and cleared by any message
	scan     session.LineScan
	messages []session.Message
	previous int64 // the last time that a record had
}

// Record is what a record says of itself, beside the messages that [Lines.Add] has made.
type Record struct {
	Known bool   // it is of a type that is known
	Type  []byte // as it says
	Time  int64  // epoch milliseconds, 0 for none
	Sent  bool   // of a record that is not known: it stands where only what is sent stands
}

// Ended implements [Scanner].
func (l *Lines) Ended() bool { return l.Finished }

// Run reads all lines. read reads one record; its error, which wraps
// [jsonl.ErrSyntax], makes a bad line of it.
func (l *Lines) Run(ctx context.Context, r io.Reader, emit func(*session.Message) error, read func(raw []byte) (Record, error)) (session.Scan, error) {
	return l.scan.Run(ctx, r, emit, func(r *jsonl.Record) (bool, error) { return l.record(r, read) })
}

// record reads one record.
func (l *Lines) record(r *jsonl.Record, read func(raw []byte) (Record, error)) (known bool, err error) {
	l.messages, l.Line = l.messages[:0], r.Line
	x, err := read(r.Raw)
	switch {
	case err != nil:
		return false, err
	case !x.Known:
		l.scan.Result.Meet(session.Strange{Runtime: l.Runtime, Type: x.Type, Line: r.Line, Raw: r.Raw, Sent: x.Sent})
		return false, nil
	}
	return true, l.say(r, x.Time)
}

// silent reports whether a message has nothing that anybody could want of it.
func silent(m session.Message) bool {
	return len(m.Parts) == 0 && m.Role != session.RoleToolResult && !m.Compaction && !m.IsError && !m.HasUsage
}

// say hands out the messages of a record that say anything.
func (l *Lines) say(r *jsonl.Record, at int64) error {
	if len(l.messages) > 0 {
		l.scan.Result.Records++
		l.Finished = false
	}
	l.messages = slices.DeleteFunc(l.messages, silent)
	for i := range l.messages {
		m := &l.messages[i]
		if at == 0 {
			m.Time, m.TimeInferred = l.previous, true
		} else {
			m.Time, l.previous = at, at
		}
		m.CutBytes = r.CutBytes
		if err := l.scan.Say(r, m); err != nil {
			return err
		}
	}
	return nil
}

// Add adds a message that the record says. It is valid until the next Add.
func (l *Lines) Add(m session.Message) *session.Message {
	l.messages = append(l.messages, m)
	return &l.messages[len(l.messages)-1]
}

// Session notes the id that the log gives its session.
func (l *Lines) Session(id []byte) { l.scan.Result.SessionID = string(id) }

// Strange counts a part of a record that is not known.
func (l *Lines) Strange(what string, name []byte) { l.scan.Result.CountUnknown(what, name) }

// Doubt notes that the record may change the context, and that nothing here follows it.
func (l *Lines) Doubt(what []byte) {
	l.scan.Result.NoteDoubt(session.Doubt{Type: string(what), Line: l.Line})
}

// Said is a person's message, or what a program has put there if by says so: the part of
// the program, "" for a person.
func Said(by string) session.Message {
	if by == "" {
		return session.Message{Role: session.RoleUser}
	}
	return session.Message{Role: session.RoleInjected, CustomType: []byte(by)}
}

// Odd is a message of a role that is not known.
func Odd(role []byte) session.Message {
	return session.Message{Role: session.RoleInjected, CustomType: append([]byte("role "), role...), OddRole: role}
}

// block is one block of content in the shapes that runtimes share.
type block struct {
	kind, text, name, id, call, input, content []byte
	image                                      []byte // raw JSON
	failed                                     bool
}

// blocks is what is read of a block: a text, a thought, an image, a call, or the result
// of one.
var blocks = fields.New(func(b *block) []fields.Field {
	return []fields.Field{
		fields.Text("type", &b.kind),
		fields.Text("text", &b.text),
		fields.Text("thinking", &b.text),
		fields.Text("think", &b.text),
		fields.Text("name", &b.name),
		fields.ID("id", &b.id),
		fields.ID("tool_use_id", &b.call),
		fields.Value("input", &b.input),
		fields.Value("content", &b.content),
		fields.Flag("is_error", &b.failed),
		fields.Raw("source", &b.image),
		fields.Raw("image_url", &b.image),
		fields.Raw("data", &b.image),
	}
})

// Content adds what content says to a message of the record, which is added if it says
// anything, after the results of tools that are in it. Content is raw JSON: a string, a
// block, or a list of both.
func (l *Lines) Content(m session.Message, content []byte) {
	c := new(jsonl.Cursor) // what it decodes must stay until the message is said
	c.Reset(content)
	results := len(l.messages)
	fields.Content(c, m.AddText, func(c *jsonl.Cursor) {
		b := block{}
		blocks.Take(&b, c)
		l.block(&m, &b)
	})
	if len(m.Parts) > 0 || len(l.messages) == results {
		l.Add(m)
	}
}

func (l *Lines) block(m *session.Message, b *block) {
	switch string(b.kind) {
	case "text", "":
		m.AddText(b.text)
	case "thinking", "think":
		if l.Thinking && len(b.text) > 0 {
			m.Parts = append(m.Parts, session.Part{Kind: session.PartThinking, Text: b.text})
		}
	case "redacted_thinking":
	case "tool_use":
		m.Parts = append(m.Parts, session.Part{Kind: session.PartToolCall, Name: b.name, CallID: b.id, Text: b.input})
	case "tool_result":
		l.Add(Result(b.call, b.content, b.failed))
	case "image", "image_url":
		m.Parts = append(m.Parts, session.Part{Kind: session.PartImage, Size: int64(len(b.image))})
	default:
		l.Strange("block ", b.kind)
		m.AddText(b.text)
	}
}

// Result is the result of a call: of content that is a string, a block or blocks the
// texts, of anything else the JSON.
func Result(call, content []byte, failed bool) session.Message {
	r := session.Message{Role: session.RoleToolResult, CallID: call, IsError: failed}
	c := new(jsonl.Cursor)
	c.Reset(content)
	if k := c.Kind(); len(content) == 0 {
		return r
	} else if k != jsonl.String && k != jsonl.Array && k != jsonl.Object {
		r.AddText(content)
		return r
	}
	fields.Content(c, r.AddText, func(c *jsonl.Cursor) {
		b, raw := block{}, c.Raw()
		switch blocks.Peek(&b, new(jsonl.Cursor), raw); {
		case len(b.text) > 0:
			r.AddText(b.text)
		case len(b.content) > 0: // an envelope, as the Agent Client Protocol has it
			r.Parts = append(r.Parts, Result(nil, b.content, false).Parts...)
		default:
			r.AddText(raw)
		}
	})
	return r
}

// Last is the last message of the record that was added.
func (l *Lines) Last() *session.Message { return &l.messages[len(l.messages)-1] }
