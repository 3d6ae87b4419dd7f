package facts

import (
	"context"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sessctl/sessctl/pkg/secrets"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/speaker"
)

// Read returns the last most messages of a log (all for 0) and what the scan of
// it saw, as [session.ScanActive] does.
func Read(ctx context.Context, scanner session.Scanner, most int, open func() (io.ReadCloser, error)) (w *Window, scan session.Scan, err error) {
	scan, err = session.ScanActive(ctx, scanner, open, func() func(*session.Message) error {
		w = NewWindow(most)
		return w.Add
	})
	return w, scan, err
}

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
	// Proved is what calls of tools proved between this message and the next,
	// those before the first message among them.
	Proved []Fact
}

// Window keeps the last messages of a session that a person or the agent said.
// It is for one goroutine. Call [NewWindow].
type Window struct {
	most     int
	messages []Message
	bytes    int
	said     int
	last     int64
	prover   *prover
	early    []Fact // proved before anybody said anything
}

// NewWindow returns a window of the last most messages, of all for 0.
func NewWindow(most int) *Window { return &Window{most: most, prover: newProver()} }

// Add takes in the next message of the log. Only the active branch counts, and
// nothing but what a person or the agent said. The error is always nil; nothing
// of m is kept.
func (w *Window) Add(m *session.Message) error {
	if m.Branch != session.Active || m.OutOfContext {
		return nil
	}
	if found, n := w.prover.take(m), len(w.messages); n > 0 {
		w.messages[n-1].Proved = append(w.messages[n-1].Proved, found...)
	} else {
		w.early = append(w.early, found...)
	}
	if m.Role != session.RoleUser && m.Role != session.RoleAssistant || !m.Embeddable() {
		return nil
	}
	text := Spoken(m)
	if text == "" {
		return nil
	}
	w.said, w.last = w.said+1, max(w.last, m.Time)
	w.messages = append(w.messages, Message{Role: m.Role, Text: text, Line: m.Line, Offset: m.Offset, End: m.Offset + m.Length, Time: m.Time, Proved: w.early})
	w.early = nil
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

// Spoken is what a message says, without secrets; of a user's what a person says in
// words: without what programs put around it, code, quotations and what was pasted. It
// is "" if nothing is left.
func Spoken(m *session.Message) string {
	said, _ := session.Clean(m.Said())
	said = said[:min(len(said), maxMessage)]
	if m.Role == session.RoleUser {
		said = []byte(ends(string(speaker.Words(said))))
	}
	text, _ := secrets.Redact(strings.ToValidUTF8(string(said), ""))
	return strings.TrimSpace(text)
}

// ends returns the first and the last paragraph of a long text, which somebody pasted,
// as far as they are short themselves; a short text as it is.
func ends(text string) string {
	const long = 2000 // code points
	if utf8.RuneCountInString(text) <= long {
		return text
	}
	paragraphs := strings.Split(strings.TrimSpace(text), "\n\n")
	last := len(paragraphs) - 1
	kept := slices.DeleteFunc([]string{paragraphs[0], paragraphs[last]}, func(p string) bool { return last == 0 || utf8.RuneCountInString(p) > long/2 })
	return strings.Join(kept, "\n\n")
}
