package facts

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sessctl/sessctl/pkg/secrets"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/summarize"
)

// MadeByRules is who made the facts of [Offline].
const MadeByRules = "rules"

// Options set how facts are extracted.
type Options struct {
	Client     *summarize.Client // of the model, nil for rules alone
	Once       bool              // the model is not asked again if its answer is of no use (Hermes)
	Confidence float64           // the least that a fact has
}

// Maker names who makes facts under these options: the rules, or provider and
// model.
func (o Options) Maker() string {
	if o.Client == nil {
		return MadeByRules
	}
	return o.Client.Name()
}

// Extraction is what was found in a conversation.
type Extraction struct {
	Facts   []Fact // in the order of the log, those that are known already among them
	Refused []Refusal
	MadeBy  string // [MadeByRules], or provider and model
	// Degraded is true if a model was to extract and did not; Reason says why,
	// for people.
	Degraded bool
	Reason   string
	Calls    int   // to the model
	Tokens   int64 // of these calls, in and out
}

// Extract finds facts in messages: by rules, and if there is a client by its
// model too. What the rules find is found also if the model does not answer. An
// error is returned only if ctx is done.
func Extract(ctx context.Context, messages []Message, known []Known, o Options) (Extraction, error) {
	x := Extraction{MadeBy: MadeByRules}
	x.Facts, x.Refused = Offline(messages, o.Confidence)
	if o.Client == nil || len(messages) == 0 {
		return x, ctx.Err()
	}
	calls, tokens := o.Client.Meter().Spent()
	err := x.askModel(ctx, ask(messages, known, o.Client.Window()), o)
	if ctx.Err() != nil {
		return Extraction{}, ctx.Err()
	}
	if err != nil {
		x.Degraded, x.Reason = true, err.Error()
	}
	after, used := o.Client.Meter().Spent()
	x.Calls, x.Tokens = after-calls, used-tokens
	slices.SortStableFunc(x.Facts, func(a, b Fact) int { return cmp.Compare(a.Line, b.Line) })
	return x, nil
}

// askModel adds the facts of the model that hold.
func (x *Extraction) askModel(ctx context.Context, q question, o Options) error {
	if len(q.messages) == 0 {
		return unusable("no message fits into the window")
	}
	found, err := q.answered(ctx, o)
	if err != nil && len(found) == 0 {
		return err
	}
	x.MadeBy = o.Client.Name()
	sure, _ := explicit(q.messages)
	for _, it := range found {
		f, why := q.check(it)
		switch {
		case why == "" && f.Confidence < o.Confidence:
			why = fmt.Sprintf("it is not sure enough (%.2f)", f.Confidence)
		case why == "" && slices.ContainsFunc(sure, func(s Fact) bool { return sameSource(f, s) }):
			continue // the rules have it, or had a reason not to
		}
		if why != "" {
			x.Refused = append(x.Refused, Refusal{Line: f.Line, Reason: why})
			continue
		}
		f.MadeBy = x.MadeBy
		x.Facts = append(x.Facts, f)
	}
	return err
}

// sameSource tells whether two facts are about the same words.
func sameSource(x, y Fact) bool {
	a, b := spaced(x.Quote), spaced(y.Quote)
	return x.Line == y.Line && x.Kind == y.Kind && (strings.Contains(a, b) || strings.Contains(b, a))
}

// answered asks the model, and once more if its answer is of no use.
func (q question) answered(ctx context.Context, o Options) ([]item, error) {
	var useless error
	for {
		reply, err := o.Client.Complete(ctx, q.request(useless))
		if err != nil {
			return nil, err
		}
		found, bad, err := items(reply.Text)
		switch {
		case err == nil && reply.Cut != "":
			return found, unusable(reply.Cut)
		case err == nil && bad > 0:
			return found, unusable(fmt.Sprintf("%d facts of it cannot be read", bad))
		case err == nil:
			return found, nil
		}
		if reply.Cut != "" {
			err = fmt.Errorf("%s", reply.Cut)
		}
		if useless != nil || o.Once || o.Client.Meter().Left() == 0 {
			return nil, fmt.Errorf("%s: %w", o.Client.Name(), unusable(err.Error()))
		}
		useless = err
	}
}

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
