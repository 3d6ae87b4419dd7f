package codex

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
	// exactSize is the size up to which a rollout's messages are counted
	// exactly, in bytes.
	exactSize = 64 << 10
	// sampleSize is how much of the end of a larger rollout is looked at to
	// estimate them.
	sampleSize = 28 << 10
	// A file of which so many lines and bytes at the end are no records of
	// Codex is not a rollout.
	strangeLines = 16
	strangeBytes = 1 << 20
)

// tail reads the end of a rollout; base is how many bytes stand before r.
//
// The context is what the last model call counted (token_count or
// token_usage_record) and an estimate of what came after, if that call lies
// after the last compaction. Else it is an estimate of what the compaction
// kept and what follows, or of everything.
func tail(ctx context.Context, r io.ReaderAt, size, base int64, modTime time.Time) (session.Tail, error) {
	t := &tailReader{size: base + size, base: base, offset: base + size}
	lines := jsonl.NewBackwardReader(r, size, jsonl.Options{})
	for !t.enough() {
		if err := ctx.Err(); err != nil {
			return session.Tail{}, err
		}
		line, err := lines.Prev()
		if errors.Is(err, io.EOF) {
			t.offset = base
			break
		}
		if err == nil {
			t.offset = base + line.Offset
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
		return session.Tail{}, fmt.Errorf("%w: none of the last %d lines is a record of Codex", session.ErrUnknownFormat, t.lines)
	}
	return t.finish(modTime), nil
}

// tailReader is the state of one walk from the end of a rollout to its start.
type tailReader struct {
	decoder
	size, base, offset int64

	lines    int  // with text, so far
	known    int  // records of Codex
	pending  bool // the last line looks like a record that is still being written
	torn     bool
	lastTime int64 // epoch milliseconds, 0 before it is known

	items   int                // calls, results and injected texts
	texts   [completed + 1]sum // what is said, by where it stands: said, shown, completed
	other   int64              // tokens of what has only one place
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

func (t *tailReader) enough() bool {
	seen := t.size - t.offset
	settled := t.sized && t.turn && t.roleSet && t.lastTime != 0
	return settled && t.size > exactSize && seen >= sampleSize ||
		t.known == 0 && t.lines >= strangeLines && seen >= strangeBytes
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
	k := t.record.kind
	if k == foreign {
		return
	}
	t.known++
	if t.lastTime == 0 {
		t.lastTime = t.settleTime(0)
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
		Messages: t.items + text.messages, MessagesExact: t.offset == 0,
		LastRole: t.role, Answered: t.answer || !t.turn, Torn: t.torn,
	}
	if t.used > 0 {
		tail.TokenSource = session.TokensFromUsage
	}
	if seen := t.size - t.offset; !tail.MessagesExact && seen > 0 {
		tail.Messages = int(float64(tail.Messages) * float64(t.size) / float64(seen))
	}
	tail.SetLast(t.lastTime, modTime)
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
	case compaction:
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
	return m.Role == session.RoleAssistant && firstText(m) != nil && !bytes.Equal(t.record.item.phase, []byte("commentary"))
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
	case compaction:
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
	last, _ := readUsage(&t.inner, t.record.item.info)
	return last.Context()
}

// kept estimates what a compaction left: the messages that it repeats, the
// summary among them, or the summary alone.
func (t *tailReader) kept() int64 {
	alone := t.message.EstimateTokens()
	var sum int64
	c := &t.payload
	c.Reset(t.record.item.history)
	for ok := c.EnterArray(); ok && c.NextElement(); {
		var i item
		if !c.EnterObject() {
			continue
		}
		for c.NextKey() {
			i.member(c)
		}
		if i.content != nil {
			t.message = session.Message{Parts: t.message.Parts[:0]}
			t.content(i.content)
			sum += t.message.EstimateTokens()
		}
	}
	return max(sum, alone)
}
