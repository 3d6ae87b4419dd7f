package codex

import (
	"bytes"

	"github.com/sessctl/sessctl/pkg/session"
)

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
