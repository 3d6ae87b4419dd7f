package session

import "github.com/sessctl/sessctl/pkg/speaker"

// Voices counts what agents are told by whose words it is (package speaker), in
// bytes of text: messages in people's names, and what programs put beside them.
type Voices struct {
	Messages int   // with text
	Said     int64 // by people, in words
	Pasted   int64 // logs, code, documents: shown by people, not said
	Program  int64 // put there by the program that runs the agent
}

// Add counts a message, if it is one of those.
func (v *Voices) Add(m *Message) {
	if m.Role != RoleUser && m.Role != RoleInjected {
		return
	}
	text := m.texts()
	if len(text)+m.Reminders == 0 {
		return
	}
	v.Messages++
	v.Program += int64(m.Reminders)
	if m.Role == RoleInjected {
		v.Program += int64(len(text))
		return
	}
	for _, s := range speaker.Person(text) {
		size := int64(s.To - s.From)
		switch s.Source {
		case speaker.Said:
			v.Said += size
		case speaker.Program:
			v.Program += size
		case speaker.Shown, speaker.Document:
			v.Pasted += size
		}
	}
}

// Bytes is all of it.
func (v *Voices) Bytes() int64 { return v.Said + v.Pasted + v.Program }

// merge adds what another has counted.
func (v *Voices) merge(other Voices) {
	v.Messages += other.Messages
	v.Said += other.Said
	v.Pasted += other.Pasted
	v.Program += other.Program
}
