package gemini

import (
	"bytes"
	"context"
	"io"
	"time"

	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
)

// Tail reads the end of a JSON Lines chat; modTime is when the file was last
// written.
//
// The context is what the last model call counted and an estimate of what came
// after, if that call lies after the last compression. Else it is an estimate
// of the history that the compression left and of what follows, or of
// everything.
func Tail(ctx context.Context, r io.ReaderAt, size int64, modTime time.Time) (session.Tail, error) {
	t := &tailReader{TailWalk: session.TailWalk{Runtime: "Gemini", Size: size}, seen: newSeen()}
	if err := t.Walk(ctx, jsonl.NewBackwardReader(r, size, jsonl.Options{}), t); err != nil {
		return session.Tail{}, err
	}
	return t.finish(modTime), nil
}

// tailReader is the state of one walk from the end of a chat to its start.
type tailReader struct {
	session.TailWalk
	decoder

	seen     *seen  // what was said after here
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

// Decode implements [session.TailReader].
func (t *tailReader) Decode(raw []byte) error { return t.decode(raw) }

// Take implements [session.TailReader].
func (t *tailReader) Take(raw []byte) (settled bool, err error) {
	if err := t.decode(raw); err != nil {
		return false, err
	}
	t.take()
	return t.sized && t.turn && t.role != 0 && t.LastTime != 0, nil
}

// take takes in one record, from the end.
func (t *tailReader) take() {
	if t.record.kind == foreign {
		return
	}
	t.Known++
	if t.LastTime == 0 && t.record.kind != metadata {
		t.LastTime, _, _ = session.ParseTime(t.record.time)
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
			t.Messages++
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
		LastRole: t.role, Answered: t.answer || !t.turn,
	}
	if t.used > 0 {
		tail.TokenSource = session.TokensFromUsage
	}
	t.Complete(&tail, modTime)
	tail.MessagesExact = false // a message may be written several times: see count
	return tail
}
