package session

import (
	"bytes"

	"github.com/sessctl/sessctl/pkg/speaker"
)

// Said is what a message says: its texts, one below the other, without what programs
// put into a person's name (package speaker), and without what a memory put there,
// which was said in another session. It is empty for what is no word of anybody: a
// heartbeat, a mark for silence, the runtime's own bookkeeping.
func (m *Message) Said() []byte {
	if !m.Embeddable() {
		return nil
	}
	text, _ := CutRecalled(m.texts())
	if m.Role == RoleUser {
		return speaker.Message(text)
	}
	return bytes.TrimSpace(text)
}

// texts are the texts of a message, one below the other, as a copy.
func (m *Message) texts() []byte {
	var texts [][]byte
	for i := range m.Parts {
		if p := &m.Parts[i]; p.Kind == PartText && len(p.Text) > 0 {
			texts = append(texts, p.Text)
		}
	}
	return bytes.Join(texts, []byte("\n"))
}

// Program names what put a message into a person's name in which that person says
// nothing: "openclaw.heartbeat". It is empty for any other message.
func (m *Message) Program() string {
	if m.Role != RoleUser {
		return ""
	}
	for i := range m.Parts {
		if m.Parts[i].Kind != PartText {
			return ""
		}
	}
	if by := speaker.Whole(m.texts()); by != nil {
		return by.Program + "." + by.Name
	}
	return ""
}
