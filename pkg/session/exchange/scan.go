package exchange

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"

	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
)

// Scan implements [session.Store]: the messages in the order of the file. Those of all
// conversations of it but the last are not in the context.
func (s *Store) Scan(ctx context.Context, r io.Reader, o session.ScanOptions, emit func(*session.Message) error) (session.Scan, error) {
	in := bufio.NewReaderSize(r, session.HeadSize)
	head, err := in.Peek(session.HeadSize)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, bufio.ErrBufferFull) {
		return session.Scan{}, err
	}
	x := &scanner{head: headOf(head), thinking: o.Thinking}
	x.lines.Result.SessionID = x.head.id()
	x.emit = func(m *session.Message) error {
		if err := emit(m); err != nil {
			x.failed = err
		}
		return x.failed
	}
	if err = x.run(ctx, in, head); x.failed != nil {
		return x.lines.Result, x.failed
	}
	return x.lines.Result, err
}

// scanner is the state of one scan.
type scanner struct {
	lines    session.LineScan
	head     head
	thinking bool
	emit     func(*session.Message) error
	failed   error // of emit
	previous int64 // time of the message before

	// held is a conversation of which it is not known whether another one follows.
	held []session.Message
	at   jsonl.Record // where it stands
	read int          // conversations
	name map[string][]byte
}

// run reads a file that begins with head.
func (x *scanner) run(ctx context.Context, in *bufio.Reader, head []byte) error {
	format := session.Detect("", head)
	decode := map[session.Format]func(*jsonl.Record) (bool, error){
		session.FormatATIF: x.step, session.FormatChat: x.chat, session.FormatResponses: x.responses,
		session.FormatShareGPT: x.shareGPT, session.FormatTrace: x.trace, session.FormatGenericChat: x.flat,
	}[format]
	if decode == nil {
		decode = func(*jsonl.Record) (bool, error) { return false, nil }
	}
	err := error(nil)
	switch whole := oneDocument(head); {
	case isList(head):
		err = x.lines.RunArray(ctx, in, x.emit, decode)
	case whole && format == session.FormatATIF:
		err = x.lines.RunList(ctx, in, []string{"steps", "subagent_trajectories"}, x.emit, decode)
	case whole && format == session.FormatChat:
		err = x.lines.RunDocument(ctx, in, x.emit, x.flat)
	case format == session.FormatATIF:
		_, err = x.lines.Run(ctx, in, x.emit, x.trajectory)
	default:
		_, err = x.lines.Run(ctx, in, x.emit, decode)
	}
	if id := x.head.id(); id != "" {
		x.lines.Result.SessionID = id
	}
	if x.read > 0 {
		x.lines.Result.Headers = x.read
	}
	if err != nil {
		return err
	}
	return x.release(false)
}

// isList reports whether a file is one JSON array.
func isList(head []byte) bool { return bytes.HasPrefix(blankless(head), []byte("[")) }

func blankless(head []byte) []byte { return bytes.TrimLeft(head, " \t\r\n\x00\xEF\xBB\xBF") }

// oneDocument reports whether a file is one JSON object over several lines.
func oneDocument(head []byte) bool {
	head = blankless(head)
	line, _, more := bytes.Cut(head, []byte("\n"))
	return more && bytes.HasPrefix(line, []byte("{")) && !json.Valid(line)
}

// say hands out the messages of a record.
func (x *scanner) say(r *jsonl.Record, messages []session.Message) error {
	if len(messages) > 0 {
		x.lines.Result.Records++
	}
	for i := range messages {
		m := &messages[i]
		if m.Time == 0 {
			m.Time, m.TimeInferred = x.previous, true
		}
		x.previous, m.CutBytes = m.Time, r.CutBytes
		if !x.thinking {
			m.Parts = without(m.Parts)
		}
		if err := x.lines.Say(r, m); err != nil {
			return err
		}
	}
	return nil
}

// without leaves out what a model thought.
func without(parts []session.Part) (kept []session.Part) {
	for _, p := range parts {
		if p.Kind != session.PartThinking {
			kept = append(kept, p)
		}
	}
	return kept
}

// hold takes a whole conversation of a file that may have several.
func (x *scanner) hold(r *jsonl.Record, messages []session.Message) error {
	if err := x.release(true); err != nil {
		return err
	}
	x.held, x.at, x.read = messages, jsonl.Record{Line: r.Line, Offset: r.Offset, Length: r.Length, CutBytes: r.CutBytes}, x.read+1
	return nil
}

// release hands out the conversation that was held: one behind which another came is
// not in the context.
func (x *scanner) release(older bool) error {
	for i := range x.held {
		x.held[i].OutOfContext = x.held[i].OutOfContext || older
	}
	held := x.held
	x.held = nil
	return x.say(&x.at, held)
}

// decoded reads a value. A member of another type than is expected is passed over.
func decoded(raw []byte, into any) error {
	err := json.Unmarshal(raw, into)
	if odd := (*json.UnmarshalTypeError)(nil); errors.As(err, &odd) {
		return nil
	}
	if err != nil {
		return errors.Join(jsonl.ErrSyntax, err)
	}
	return nil
}
