package facts

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/sessctl/sessctl/pkg/secrets"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/speaker"
)

// Scanner reads a log: a [session.Store].
type Scanner interface {
	Scan(ctx context.Context, r io.Reader, o session.ScanOptions, emit func(*session.Message) error) (session.Scan, error)
}

// Read returns the last most messages of a log (all for 0) and what the scan of
// it saw. open is called twice if the log has forks: only the active branch is
// read. An error that wraps [session.ErrUnknownFormat] is returned for a log of
// another format.
func Read(ctx context.Context, scanner Scanner, most int, open func() (io.ReadCloser, error)) (*Window, session.Scan, error) {
	w, scan, err := readPass(ctx, scanner, session.ScanOptions{}, NewWindow(most), open)
	if err == nil && scan.Tree != nil && scan.Tree.Forked() {
		w, scan, err = readPass(ctx, scanner, session.ScanOptions{Tree: scan.Tree}, NewWindow(most), open)
	}
	if err != nil {
		return nil, scan, fmt.Errorf("read the log: %w", err)
	}
	return w, scan, nil
}

func readPass(ctx context.Context, scanner Scanner, o session.ScanOptions, w *Window, open func() (io.ReadCloser, error)) (*Window, session.Scan, error) {
	log, err := open()
	if err != nil {
		return w, session.Scan{}, err
	}
	scan, err := scanner.Scan(ctx, log, o, w.Add)
	return w, scan, errors.Join(err, log.Close())
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
	if m.Branch == session.Active && !m.OutOfContext {
		w.see(m)
	}
	spoken := m.Role == session.RoleUser || m.Role == session.RoleAssistant
	if !spoken || m.Branch != session.Active || m.OutOfContext || !m.Embeddable() {
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

// see keeps what a call proves with what was said last.
func (w *Window) see(m *session.Message) {
	found := w.prover.take(m)
	if len(found) == 0 {
		return
	}
	if len(w.messages) == 0 {
		w.early = append(w.early, found...)
		return
	}
	last := &w.messages[len(w.messages)-1]
	last.Proved = append(last.Proved, found...)
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
