package codex

import (
	"bytes"

	"github.com/sessctl/sessctl/pkg/session"
)

// maxWaiting is how many bytes of text wait at most for an item that says
// which of the three texts the rollout is read by. In a rollout of Codex' own
// the item stands beside its first event.
const maxWaiting = 1 << 20

// waiting holds what was said before it is known by which of its texts the
// rollout is read.
type waiting struct {
	messages []waitingMessage
	bytes    int
}

// waitingMessage is a message, or a number of turns to roll back.
type waitingMessage struct {
	message session.Message
	kind    kind
	turns   int64
}

func (w *waiting) add(m *session.Message, of kind) {
	w.messages = append(w.messages, waitingMessage{message: clone(m), kind: of})
	for i := range m.Parts {
		w.bytes += len(m.Parts[i].Text)
	}
}

func (w *waiting) has(of kind) bool {
	for i := range w.messages {
		if w.messages[i].kind == of {
			return true
		}
	}
	return false
}

// clone copies a message with all that it points to.
func clone(m *session.Message) session.Message {
	c := *m
	c.ID, c.CallID, c.ToolName, c.CustomType = bytes.Clone(m.ID), bytes.Clone(m.CallID), bytes.Clone(m.ToolName), bytes.Clone(m.CustomType)
	c.Parts = make([]session.Part, len(m.Parts))
	for i, p := range m.Parts {
		p.Text, p.Name, p.CallID = bytes.Clone(p.Text), bytes.Clone(p.Name), bytes.Clone(p.CallID)
		c.Parts[i] = p
	}
	return c
}

// decisive reports whether an item says something that an event repeats.
func decisive(m *session.Message) bool {
	if m.Role != session.RoleUser && m.Role != session.RoleAssistant {
		return false
	}
	return firstText(m) != nil
}

// offer takes what a record says, if it is of the text that the rollout is
// read by.
func (s *scanner) offer(of kind) error {
	m := &s.message
	item := of != shown && of != completed
	if s.source == 0 && of == said && decisive(m) {
		if err := s.settle(said); err != nil {
			return err
		}
	}
	switch {
	case s.source != 0 && !item && of != s.source:
		return nil
	case s.source != 0 || item && len(s.waiting.messages) == 0:
		return s.say(m, of)
	}
	s.waiting.add(m, of)
	if s.waiting.bytes > maxWaiting {
		return s.decide()
	}
	return nil
}

// offerRollback leaves turns, in its turn.
func (s *scanner) offerRollback(turns int64) {
	if len(s.waiting.messages) == 0 {
		s.rollBack(turns)
		return
	}
	s.waiting.messages = append(s.waiting.messages, waitingMessage{kind: rollback, turns: turns})
}

// decide settles by which text the rollout is read, without an item that said
// anything.
func (s *scanner) decide() error {
	switch {
	case s.source != 0 || len(s.waiting.messages) == 0:
		return nil
	case s.waiting.has(completed):
		return s.settle(completed)
	}
	return s.settle(shown)
}

// settle hands out what waited and is to be taken.
func (s *scanner) settle(source kind) error {
	s.source = source
	for i := range s.waiting.messages {
		w := &s.waiting.messages[i]
		switch {
		case w.kind == rollback:
			s.rollBack(w.turns)
			continue
		case w.kind != source && (w.kind == shown || w.kind == completed):
			continue
		}
		if err := s.say(&w.message, w.kind); err != nil {
			return err
		}
	}
	s.waiting = waiting{}
	return nil
}
