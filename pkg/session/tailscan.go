package session

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"
)

// TailScan is a [Tail] by reading the whole log, for runtimes whose logs are
// short or cannot be read backwards. scan is the store's own. Memory grows by
// a few bytes a message.
//
// The context is what the last model call counted plus an estimate of what
// follows, if that call lies after the last compaction; else an estimate of
// the compaction's summary, what it kept and what follows, or of everything.
func TailScan(ctx context.Context, r io.Reader, modTime time.Time, scan func(context.Context, io.Reader, ScanOptions, func(*Message) error) (Scan, error)) (Tail, error) {
	var t tailScan
	result, err := scan(ctx, r, ScanOptions{Thinking: true}, t.add)
	if err != nil {
		return Tail{}, fmt.Errorf("read the log: %w", err)
	}
	tail := Tail{
		Tokens: t.tokens(), TokenSource: TokensFromEstimate, Messages: result.Records, MessagesExact: true,
		LastRole: t.last, Answered: t.answered && len(t.open) == 0, Torn: result.Counts.Torn,
	}
	if t.counted {
		tail.TokenSource = TokensFromUsage
	}
	tail.SetLast(max(result.Last, 0), modTime)
	return tail, nil
}

type tailScan struct {
	messages []tailMessage // of the context
	base     int64         // tokens before them: of a summary, or as the model counted
	counted  bool          // base is the model's count
	open     []string      // ids of calls of the last turn that have no result
	last     Role
	answered bool
}

type tailMessage struct {
	id     string
	tokens int64
}

func (t *tailScan) add(m *Message) error {
	if m.OutOfContext {
		return nil
	}
	if m.Compaction {
		t.compacted(m)
		return nil
	}
	t.turn(m)
	if m.HasUsage && m.Usage.Context() > 0 {
		t.base, t.counted = m.Usage.Context(), true
		t.messages = t.messages[:0]
		return nil
	}
	t.messages = append(t.messages, tailMessage{string(m.ID), m.EstimateTokens()})
	return nil
}

// compacted keeps what the compaction kept. What a count of the model covers
// cannot be told apart any more, and is estimated away with it.
func (t *tailScan) compacted(m *Message) {
	kept := len(t.messages)
	if i := slices.IndexFunc(t.messages, func(x tailMessage) bool { return x.id != "" && x.id == string(m.FirstKept) }); i >= 0 {
		kept = i
	}
	t.messages = append(t.messages[:0], t.messages[kept:]...)
	t.base, t.counted = m.EstimateTokens(), false
	if t.last == 0 {
		t.answered = true // nobody waits: nothing was said since
	}
}

// turn follows whether the last turn is answered.
func (t *tailScan) turn(m *Message) {
	t.last = m.Role
	switch m.Role {
	case RoleAssistant:
		t.answered, t.open = true, t.open[:0]
		for i := range m.Parts {
			if p := &m.Parts[i]; p.Kind == PartToolCall {
				t.open = append(t.open, string(p.CallID))
			}
		}
	case RoleToolResult:
		t.open = slices.DeleteFunc(t.open, func(id string) bool { return id == string(m.CallID) })
		t.answered = false
	case RoleUser:
		t.answered, t.open = false, t.open[:0]
	}
}

func (t *tailScan) tokens() int64 {
	sum := t.base
	for _, m := range t.messages {
		sum += m.tokens
	}
	return sum
}
