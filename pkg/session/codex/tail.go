package codex

import (
	"bytes"
	"context"
	"io"
	"time"

	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/fields"
)

// Tail reads the end of a rollout; base is how many bytes of it stand before r,
// and modTime is when the file was last written.
//
// The context is what the last model call counted (token_count or
// token_usage_record) and an estimate of what came after, if that call lies
// after the last compaction. Else it is an estimate of what the compaction
// kept and what follows, or of everything.
func Tail(ctx context.Context, r io.ReaderAt, size, base int64, modTime time.Time) (session.Tail, error) {
	t := &tailReader{TailWalk: session.TailWalk{Runtime: "Codex", Size: base + size, Base: base, Exact: session.ExactTail}}
	if err := t.Walk(ctx, jsonl.NewBackwardReader(r, size, jsonl.Options{}), t); err != nil {
		return session.Tail{}, err
	}
	return t.finish(modTime), nil
}

// tailReader is the state of one walk from the end of a rollout to its start.
type tailReader struct {
	session.TailWalk
	decoder

	items   int                // calls, results and injected texts
	texts   [completed + 1]sum // what is said, by where it stands: said, shown, completed
	other   int64              // tokens of what has only one place
	window  int64              // of the model, in tokens; 0 if no call told
	used    int64              // the last model call's own count
	sized   bool               // nothing further back belongs to the context
	skip    int64              // turns that were rolled back and are still to be passed over
	turn    bool               // whether the last turn is answered is known
	answer  bool
	role    session.Role // of the last message
	roleSet bool
}

// sum is what one of the texts of a rollout holds.
type sum struct {
	messages int
	tokens   int64
}

// Decode implements [session.TailReader].
func (t *tailReader) Decode(raw []byte) error { return t.decode(raw) }

// Take implements [session.TailReader].
func (t *tailReader) Take(raw []byte) (settled bool, err error) {
	if err := t.decode(raw); err != nil {
		return false, err
	}
	t.take()
	return t.sized && t.turn && t.roleSet && t.LastTime != 0, nil
}

// take takes in one record, from the end.
func (t *tailReader) take() {
	k := t.record.kind
	if k == foreign {
		return
	}
	t.Known++
	if t.LastTime == 0 {
		t.LastTime = t.settleTime(0)
	}
	t.count(k)
	t.follow(k)
	switch {
	case k == rollback:
		t.skip += max(t.record.item.turns, 0)
	case t.skip > 0:
		if k == said && t.message.Role == session.RoleUser {
			t.skip--
		}
	case !t.sized:
		t.measure(k)
	}
}

// finish makes the result.
func (t *tailReader) finish(modTime time.Time) session.Tail {
	text := t.texts[said]
	for _, source := range [...]kind{completed, shown} {
		if text.messages == 0 {
			text = t.texts[source]
		}
	}
	tail := session.Tail{
		Tokens: t.used + t.other + text.tokens, TokenSource: session.TokensFromEstimate,
		LastRole: t.role, Answered: t.answer || !t.turn, ContextWindow: int(t.window),
	}
	if t.used > 0 {
		tail.TokenSource = session.TokensFromUsage
	}
	t.Messages = t.items + text.messages
	t.Complete(&tail, modTime)
	return tail
}

// count takes a record into the number of messages.
func (t *tailReader) count(k kind) {
	switch k {
	case said:
		if !decisive(&t.message) {
			t.items++
			return
		}
		fallthrough
	case shown, completed:
		t.texts[k].messages++
	}
}

// follow finds out who spoke last and whether the last turn is answered.
func (t *tailReader) follow(k kind) {
	m := &t.message
	switch k {
	case said, shown, completed:
		if !t.roleSet {
			t.role, t.roleSet = m.Role, true
		}
	case compaction, bareCompaction:
		if !t.roleSet {
			t.role, t.roleSet = m.Role, true
		}
		return
	}
	if t.turn {
		return
	}
	switch k {
	case turnEnd, rollback:
		t.turn, t.answer = true, true
	case turnStart, reasoning:
		t.turn, t.answer = true, false
	case said, shown, completed:
		if m.Role == session.RoleInjected {
			return
		}
		t.turn, t.answer = true, t.answers(m)
	}
}

// answers reports whether a message ends its turn. A comment on the way
// (phase) does not.
func (t *tailReader) answers(m *session.Message) bool {
	if m.Role == session.RoleShell {
		return true
	}
	return m.Role == session.RoleAssistant && m.FirstText() != nil && !bytes.Equal(t.record.item.phase, []byte("commentary"))
}

// measure adds a record to the context, from its end. What a model call
// counted covers its own answer and everything before it: results that came
// since stand between the answer and the event that tells the count.
func (t *tailReader) measure(k kind) {
	m := &t.message
	switch k {
	case tokenCount, callCount:
		if t.used == 0 {
			t.used = t.counted()
		}
		t.sized = t.used > 0 && k == callCount
	case compaction, bareCompaction:
		if t.sized = true; t.used == 0 {
			t.other += t.kept()
		}
	case reasoning:
		t.add(m, &t.other)
	case said:
		if decisive(m) {
			t.add(m, &t.texts[said].tokens)
		} else {
			t.add(m, &t.other)
		}
	case shown, completed:
		t.add(m, &t.texts[k].tokens)
	}
}

// add adds a message, unless a model call has counted it.
func (t *tailReader) add(m *session.Message, to *int64) {
	if m.Role == session.RoleAssistant && t.used > 0 {
		t.sized = true
		return
	}
	*to += m.EstimateTokens()
}

// counted is the size of the context after a model call, in tokens; 0 if the
// record does not say.
func (t *tailReader) counted() int64 {
	last := lastUsage(&t.inner, t.record.item.info)
	if t.window == 0 {
		t.window = last.window
	}
	return last.context()
}

// kept estimates what a compaction left: the messages that it repeats, the
// summary among them, or the summary alone.
func (t *tailReader) kept() int64 {
	alone := t.message.EstimateTokens()
	var sum int64
	var c jsonl.Cursor
	c.Reset(t.record.item.history)
	var one kept
	for ok := c.EnterArray(); ok && c.NextElement(); {
		one = kept{}
		if history.Take(&one, &c); one.content != nil {
			t.message = session.Message{Parts: t.message.Parts[:0]}
			t.content(one.content)
			sum += t.message.EstimateTokens()
		}
	}
	return max(sum, alone)
}

// kept is a message that a compaction repeats.
type kept struct{ content []byte } // raw JSON

var history = fields.New(func(k *kept) []fields.Field {
	return []fields.Field{fields.Raw("content", &k.content)}
})
