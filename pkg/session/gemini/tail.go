package gemini

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
)

const (
	// sampleSize is how much of the end of a chat is looked at at least, in
	// bytes, to estimate its messages.
	sampleSize = 28 << 10
	// A file of which so many lines and bytes at the end are no records of
	// Gemini is not a chat.
	strangeLines = 16
	strangeBytes = 1 << 20
)

// tail reads the end of a JSON Lines chat.
//
// The context is what the last model call counted and an estimate of what came
// after, if that call lies after the last compression. Else it is an estimate
// of the history that the compression left and of what follows, or of
// everything.
func tail(ctx context.Context, r io.ReaderAt, size int64, modTime time.Time) (session.Tail, error) {
	t := &tailReader{size: size, offset: size, seen: newSeen()}
	lines := jsonl.NewBackwardReader(r, size, jsonl.Options{})
	for !t.enough() {
		if err := ctx.Err(); err != nil {
			return session.Tail{}, err
		}
		line, err := lines.Prev()
		if errors.Is(err, io.EOF) {
			t.offset = 0
			break
		}
		if err == nil {
			t.offset = line.Offset
			err = t.line(ctx, line)
		}
		if errors.Is(err, jsonl.ErrUTF16) {
			return session.Tail{}, fmt.Errorf("%w: %w", session.ErrUnknownFormat, err)
		}
		if err != nil {
			return session.Tail{}, fmt.Errorf("read the end of the log: %w", err)
		}
	}
	if t.known == 0 && t.lines > 0 && !(t.lines == 1 && t.pending) {
		return session.Tail{}, fmt.Errorf("%w: none of the last %d lines is a record of Gemini", session.ErrUnknownFormat, t.lines)
	}
	return t.finish(modTime), nil
}

// tailReader is the state of one walk from the end of a chat to its start.
type tailReader struct {
	decoder
	size, offset int64

	lines    int  // with text, so far
	known    int  // records of Gemini
	pending  bool // the last line looks like a record that is still being written
	torn     bool
	lastTime int64 // epoch milliseconds, 0 before it is known

	seen     *seen  // what was said after here
	messages int    // each thing once
	tokens   int64  // of what follows the last call
	used     int64  // the last model call's own count
	sized    bool   // nothing further back belongs to the context
	skipping bool   // what was taken back is passed over
	target   []byte // where that begins; nothing for everything
	turn     bool   // whether the last turn is answered is known
	answer   bool
	role     session.Role // of the last message
	listed   listed
}

// listed is what the last history that was set says, for a chat in which
// nothing else does.
type listed struct {
	tokens int64 // its own, and of what follows it
	last   session.Role
	open   bool // its last message calls a tool
}

func (t *tailReader) enough() bool {
	seen := t.size - t.offset
	settled := t.sized && t.turn && t.role != 0 && t.lastTime != 0
	return settled && seen >= sampleSize || t.known == 0 && t.lines >= strangeLines && seen >= strangeBytes
}

// line reads one line. Of a line that is not one record, what a scan would
// save counts.
func (t *tailReader) line(ctx context.Context, line jsonl.Line) error {
	if len(bytes.TrimSpace(line.Raw)) == 0 {
		return nil
	}
	t.lines++
	if t.decode(line.Raw) == nil {
		t.take()
		return nil
	}
	var records [][]byte
	counts, err := jsonl.Scan(ctx, bytes.NewReader(line.Raw), jsonl.Options{}, func(r *jsonl.Record) error {
		err := t.decode(r.Raw)
		if err == nil {
			records = append(records, bytes.Clone(r.Raw))
		}
		return err
	})
	if err != nil && !errors.Is(err, jsonl.ErrUTF16) {
		return err
	}
	if t.lines == 1 && !line.Complete && counts.Torn {
		t.torn = true
		t.pending = bytes.HasPrefix(bytes.TrimLeft(line.Raw, "\x00\t\r "), []byte("{"))
	}
	for i := len(records) - 1; i >= 0; i-- {
		if err := t.decode(records[i]); err != nil {
			return err
		}
		t.take()
	}
	return nil
}

// take takes in one record, from the end.
func (t *tailReader) take() {
	if t.record.kind == foreign {
		return
	}
	t.known++
	if t.lastTime == 0 && t.record.kind != metadata {
		t.lastTime, _, _ = session.ParseTime(t.record.time)
	}
	switch t.record.kind {
	case message:
		t.said()
	case rewind:
		if !t.skipping {
			t.skipping, t.target = true, bytes.Clone(t.record.target)
			t.turn, t.answer = true, t.answer || !t.turn
		}
	case history:
		t.history(t.record.messages)
	case metadata:
		if t.record.messages != nil {
			t.history(t.record.messages)
		}
	}
}

// said takes in a message and the results of its tools. An earlier form of a
// message that was seen says nothing new.
func (t *tailReader) said() {
	id := t.seen.hash(t.group.id)
	_, again := t.seen.ids[id]
	t.seen.ids[id] = 0
	if again && len(t.group.id) > 0 {
		return
	}
	t.seen.strip(&t.group, false)
	if !t.skipping {
		for i := len(t.group.messages) - 1; i >= 0; i-- {
			t.follow(&t.group.messages[i])
		}
		t.measure()
	}
	for i := range t.group.messages {
		if m := &t.group.messages[i]; !m.Compaction {
			t.messages++
		}
		t.seen.add(&t.group.messages[i], 0)
	}
	if t.skipping && bytes.Equal(t.group.id, t.target) {
		t.skipping = false
	}
}

// follow finds out who spoke last and whether the last turn is answered.
func (t *tailReader) follow(m *session.Message) {
	if t.role == 0 {
		t.role = m.Role
	}
	if t.turn {
		return
	}
	switch m.Role {
	case session.RoleInjected: // an error, or that the turn was cancelled, ends it
		name := string(m.CustomType)
		t.answer = name == ownPrefix+"error" || name == ownPrefix+"info"
		t.turn = t.answer
	case session.RoleAssistant:
		t.turn, t.answer = true, !calls(m)
	default:
		t.turn = true
	}
}

func calls(m *session.Message) bool {
	for i := range m.Parts {
		if m.Parts[i].Kind == session.PartToolCall {
			return true
		}
	}
	return false
}

// measure adds the group to the context, from its end. The results of a
// message's tools came after the call that it counted.
func (t *tailReader) measure() {
	if t.sized {
		return
	}
	for i := range t.group.messages {
		m := &t.group.messages[i]
		if m.HasUsage && m.Usage.Context() > 0 {
			t.used, t.sized = m.Usage.Context(), true
			continue
		}
		if string(m.CustomType) != ownPrefix+"info" && string(m.CustomType) != ownPrefix+"warning" {
			t.tokens += m.EstimateTokens()
		}
	}
}

// history takes in a history that was set anew. One that a compression left is
// the context; one that a resume wrote repeats what stands before it.
func (t *tailReader) history(raw []byte) {
	if t.sized || t.skipping {
		return
	}
	var sum int64
	compressed := false
	var l listed
	_ = t.eachMessage(raw, func(int, int) error { // it has no error of its own
		for i := range t.group.messages {
			m := &t.group.messages[i]
			compressed = compressed || m.Compaction
			sum += m.EstimateTokens()
			l.last, l.open = m.Role, calls(m)
		}
		return nil
	})
	if t.listed.last == 0 {
		l.tokens = t.tokens + sum
		t.listed = l
	}
	if compressed {
		t.tokens += sum
		t.sized = true
	}
}

func (t *tailReader) finish(modTime time.Time) session.Tail {
	l := &t.listed
	if t.used == 0 {
		t.tokens = max(t.tokens, l.tokens)
	}
	if t.role == 0 {
		t.role = l.last
	}
	if !t.turn && l.last != 0 {
		t.turn, t.answer = true, l.last == session.RoleAssistant && !l.open
	}
	tail := session.Tail{
		Tokens: t.used + t.tokens, TokenSource: session.TokensFromEstimate,
		Messages: t.messages, MessagesExact: false,
		LastRole: t.role, Answered: t.answer || !t.turn, Torn: t.torn,
	}
	if t.used > 0 {
		tail.TokenSource = session.TokensFromUsage
	}
	if seen := t.size - t.offset; t.offset > 0 && seen > 0 {
		tail.Messages = int(float64(t.messages) * float64(t.size) / float64(seen))
	}
	tail.SetLast(t.lastTime, modTime)
	return tail
}
