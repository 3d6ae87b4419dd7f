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

// Retold is what was told to an agent of another runtime first.
type Retold struct {
	Origin
	Voices
}

// Once takes in what was carried, where the session that it is from is not there: the
// most that one of its copies has, once. It returns how many messages are copies.
func (v *Voices) Once(carried []Retold, there func(Origin) bool) (copies int) {
	most := map[[2]string]Voices{}
	for _, r := range carried {
		copies += r.Messages
		if key := [2]string{r.Runtime, r.Session}; !there(r.Origin) && r.Messages > most[key].Messages {
			most[key] = r.Voices
		}
	}
	for _, m := range most {
		copies -= m.Messages
		v.merge(m)
	}
	return copies
}
