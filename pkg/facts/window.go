package facts

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/sessctl/sessctl/pkg/secrets"
	"github.com/sessctl/sessctl/pkg/session"
)

// Bounds of what is held in memory, in bytes.
const (
	maxMessage = 64 << 10 // of one message; what follows is hardly a person's own
	maxWindow  = 16 << 20
)

// Message is what somebody said, redacted, without what surrounds it.
type Message struct {
	Role        session.Role // RoleUser or RoleAssistant
	Text        string
	Line        int
	Offset, End int64
	Time        int64
}

// Window keeps the last messages of a session that a person or the agent said.
// It is for one goroutine. Call [NewWindow].
type Window struct {
	most     int
	messages []Message
	bytes    int
	said     int
	last     int64
}

// NewWindow returns a window of the last most messages, of all for 0.
func NewWindow(most int) *Window { return &Window{most: most} }

// Add takes in the next message of the log. Only the active branch counts, and
// nothing but what a person or the agent said. The error is always nil; nothing
// of m is kept.
func (w *Window) Add(m *session.Message) error {
	spoken := m.Role == session.RoleUser || m.Role == session.RoleAssistant
	if !spoken || m.Branch != session.Active || m.OutOfContext || !m.Embeddable() {
		return nil
	}
	text := spokenText(m)
	if text == "" {
		return nil
	}
	w.said, w.last = w.said+1, max(w.last, m.Time)
	w.messages = append(w.messages, Message{Role: m.Role, Text: text, Line: m.Line, Offset: m.Offset, End: m.Offset + m.Length, Time: m.Time})
	w.bytes += len(text)
	for w.most > 0 && len(w.messages) > w.most || w.bytes > maxWindow {
		w.bytes -= len(w.messages[0].Text)
		w.messages = w.messages[1:]
	}
	return nil
}

// Messages returns the messages, oldest first.
func (w *Window) Messages() []Message { return w.messages }

// Said returns how many messages people and the agent have said in all.
func (w *Window) Said() int { return w.said }

// Last returns the time of the last message, in epoch milliseconds.
func (w *Window) Last() int64 { return w.last }

// spokenText is the text of a message without calls, secrets and envelopes.
func spokenText(m *session.Message) string {
	var b bytes.Buffer
	for i := range m.Parts {
		if p := &m.Parts[i]; p.Kind == session.PartText && b.Len() < maxMessage {
			said := session.WithoutRecalled(p.Text)
			b.Write(said[:min(len(said), maxMessage)])
			b.WriteByte('\n')
		}
	}
	clean, _ := session.Clean(b.Bytes())
	text := strings.ToValidUTF8(string(clean[:min(len(clean), maxMessage)]), "")
	if m.Role == session.RoleUser {
		text = personal(text)
	}
	text, _ = secrets.Redact(text)
	return strings.TrimSpace(text)
}

// longMessage is from how many code points on a message is taken for a document
// that somebody pasted: its first and last paragraph may be their own.
const longMessage = 2000

// ends returns the first and the last paragraph of a long text, and a short one
// as it is.
func ends(text string) string {
	if utf8.RuneCountInString(text) <= longMessage {
		return text
	}
	paragraphs := strings.Split(strings.TrimSpace(text), "\n\n")
	if len(paragraphs) < 2 {
		return ""
	}
	var kept []string
	for _, p := range []string{paragraphs[0], paragraphs[len(paragraphs)-1]} {
		if utf8.RuneCountInString(p) <= longMessage/2 {
			kept = append(kept, p)
		}
	}
	return strings.Join(kept, "\n\n")
}
