package copilot

import (
	"context"
	"os"
	"time"

	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
)

// readTail reads a log from its end.
//
// The context is what the last model call counted, with what came from the cache,
// and an estimate of what followed; after a compaction what the runtime itself
// estimates that it left, and of what followed. A log that says neither is
// estimated as a whole.
func readTail(ctx context.Context, log *os.File, info os.FileInfo, _ session.Ref) (session.Tail, error) {
	t := &tailReader{TailWalk: session.TailWalk{Runtime: "Copilot CLI", Size: info.Size(), Exact: session.ExactTail}}
	if err := t.Walk(ctx, jsonl.NewBackwardReader(log, info.Size(), jsonl.Options{}), t); err != nil {
		return session.Tail{}, err
	}
	return t.finish(info.ModTime()), nil
}

// tailReader is the state of one walk from the end of a log to its start.
type tailReader struct {
	session.TailWalk
	decoder

	follows int64 // tokens of what follows the call that is looked for
	answer  int64 // of the answer that was read last: its call has counted it
	base    int64 // what the call has counted, or a compaction left
	source  string
	role    session.Role // of the last message
	turn    bool         // whether the last turn is answered is known
	done    bool         // it is
}

// Decode implements [session.TailReader].
func (t *tailReader) Decode(raw []byte) error { return t.decode(raw) }

// Take implements [session.TailReader].
func (t *tailReader) Take(raw []byte) (settled bool, err error) {
	if err := t.decode(raw); err != nil {
		return false, err
	}
	t.take()
	return t.source != "" && t.turn && t.role != 0 && t.LastTime != 0, nil
}

// take takes in one record, from the end.
func (t *tailReader) take() {
	if t.record.kind == foreign {
		return
	}
	t.Known++
	if t.LastTime == 0 {
		t.LastTime, _, _ = session.ParseTime(t.record.time)
	}
	switch t.record.kind {
	case asked, answered, finished:
		t.Messages++
	}
	if t.record.agent {
		return
	}
	t.follow()
	if t.source == "" {
		t.measure()
	}
}

// follow finds out who spoke last and whether the last turn is answered. A turn
// that was broken off, or whose program ended, waits for nothing.
func (t *tailReader) follow() {
	switch t.record.kind {
	case ended, failure:
		t.settle(0, true)
	case asked:
		t.settle(session.RoleUser, false)
	case finished:
		t.settle(session.RoleToolResult, false)
	case answered:
		t.settle(session.RoleAssistant, len(t.decoder.answer().calls) == 0)
	case squeezed:
		if t.compaction().applied {
			t.settle(session.RoleSummary, true)
		}
	}
}

func (t *tailReader) settle(role session.Role, done bool) {
	if !t.turn {
		t.turn, t.done = true, done
	}
	if t.role == 0 {
		t.role = role
	}
}

// measure adds the record to the context.
func (t *tailReader) measure() {
	switch t.record.kind {
	case counted:
		if u := t.usage(); u.Total > 0 {
			t.base, t.source = u.Total, session.TokensFromUsage
			return
		}
	case squeezed:
		if x := t.compaction(); x.applied && x.after > 0 {
			t.base, t.source = x.after, session.TokensFromEstimate
			t.follows, t.answer = t.follows+t.answer, 0
			return
		}
	}
	t.follows += t.answer // it was no answer of the call before this record
	t.answer = 0
	switch t.record.kind {
	case asked:
		q := t.question()
		t.follows += session.EstimateTokens(q.transformed)
		if len(q.transformed) == 0 {
			t.follows += session.EstimateTokens(q.content)
		}
		m := session.Message{Parts: make([]session.Part, len(q.attachments))}
		for i := range m.Parts {
			m.Parts[i].Kind = session.PartImage
		}
		t.follows += m.EstimateTokens()
	case answered:
		a := t.decoder.answer()
		m := session.Message{Parts: a.calls}
		t.answer = session.EstimateTokens(a.content) + m.EstimateTokens()
	case finished:
		o := t.output()
		t.follows += session.EstimateTokens(o.content) + session.EstimateTokens(o.failure)
	}
}

func (t *tailReader) finish(modTime time.Time) session.Tail {
	tail := session.Tail{Tokens: t.base + t.follows, TokenSource: t.source, LastRole: t.role, Answered: t.done || !t.turn}
	if t.source == "" {
		tail.TokenSource = session.TokensFromEstimate
		tail.Tokens += t.answer
	}
	t.Complete(&tail, modTime)
	return tail
}
