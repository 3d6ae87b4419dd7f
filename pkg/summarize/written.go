package summarize

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/sessctl/sessctl/pkg/session"
)

// maxWrittenRunes is how long a model's summary is at most, in code points
// (docs/dev/decisions.md D18).
const maxWrittenRunes = 12_000

// hermesBytes is how much of the conversation's end goes to Hermes: its agent
// is asked once, and all of it is part of that turn.
const hermesBytes = 24 << 10

// Bounds of the state that a model is told with a stage, in code points. A window has
// room for four times as many tokens as it is told code points; less than leastState
// tells nothing.
const (
	mostState  = 1200
	leastState = 400
)

// WrittenOptions set who writes a summary, and how.
type WrittenOptions struct {
	Options                      // MaxRunes 0 means 12,000 for the model's
	Style   session.SummaryStyle // of the runtime
	Client  *Client
	// SplitTurn says that the last turn goes on in what is not summed up: its
	// beginning is told apart from what came before.
	SplitTurn bool
}

// Written sees the messages of one session and then has a model sum them up. If
// the model fails, [Extractive] does it. It is for one goroutine; its memory
// does not grow beyond some megabytes. Call [NewWritten].
type Written struct {
	options    WrittenOptions
	transcript *transcript
}

// NewWritten returns a Written that has seen nothing.
func NewWritten(o WrittenOptions) *Written {
	digest := o.Options
	if o.MaxRunes <= 0 || o.MaxRunes > maxWrittenRunes {
		o.MaxRunes = maxWrittenRunes
	}
	if digest.MaxRunes > DefaultMaxRunes {
		digest.MaxRunes = DefaultMaxRunes
	}
	return &Written{options: o, transcript: newTranscript(digest, min(mostState, o.Client.Window()/16))}
}

// Add takes in the next message of the log. The error is always nil; nothing
// of m is kept.
func (w *Written) Add(m *session.Message) error {
	w.transcript.add(m)
	return w.transcript.digest.Add(m)
}

// Summary asks the model. If it gives no usable summary, the extractive one
// takes its place: Degraded is true then, and Reason says why. An error is
// returned only if ctx is done.
func (w *Written) Summary(ctx context.Context) (Summary, error) {
	s := w.transcript.digest.Summary()
	if len(w.transcript.context.Entries) == 0 {
		return s, nil // a summary alone is not summed up again
	}
	calls, tokens := w.options.Client.Meter().Spent()
	err := w.write(ctx, &s)
	if ctx.Err() != nil {
		return Summary{}, ctx.Err()
	}
	if err != nil {
		s.Degraded, s.Reason = true, err.Error()
	}
	after, used := w.options.Client.Meter().Spent()
	s.Calls, s.Tokens = after-calls, used-tokens
	return s, nil
}

// write puts the model's summary in the place of the extractive one.
func (w *Written) write(ctx context.Context, s *Summary) error {
	text, left, err := w.ask(ctx)
	if err != nil {
		return err
	}
	o := &w.options
	s.Kind, s.Model, s.Sentences, s.Learned = o.Client.endpoint.Provider, o.Client.Name(), s.Prose(), s.Lessons()
	switch o.Style {
	case session.StyleContext:
		text, s.Learned = contextAndLessons(text)
	case session.StyleSentences:
		text = strings.Join(strings.Fields(text), " ")
		s.Sentences = text
	}
	whole, loss := w.transcript.digest.complete(text, o.MaxRunes)
	s.Text, s.Chars, s.Sections = whole, utf8.RuneCountInString(whole), nil
	s.Identifiers, s.Lost, s.Indexed = loss.all, loss.lost, loss.named
	if left > 0 {
		s.Degraded, s.Reason = true, fmt.Sprintf("the oldest %s did not fit into the calls that are allowed", count(left, "message"))
	}
	return nil
}

// dated is a date that a model puts first although the runtime does.
var dated = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\[\d{4}-\d\d-\d\d\]\s*`) })

// turnTitle stands between what came before a turn and the turn's beginning.
const turnTitle = "\n\n---\n\n**Turn Context (split turn):**\n\n"

// ask has the conversation summed up. Where it ends within a turn, the
// beginning of that turn is told apart, for whoever reads the rest of it.
func (w *Written) ask(ctx context.Context) (text string, left int, err error) {
	o := w.order()
	hermes := w.options.Client.endpoint.Provider == ProviderHermes // one question with everything
	if o.style != session.StyleCheckpoint || !w.options.SplitTurn || hermes {
		return w.inStages(ctx, o, w.transcript.context.Entries)
	}
	history, turn := w.transcript.lastTurn()
	if turn == nil {
		return w.inStages(ctx, o, history)
	}
	whole := o.runes - utf8.RuneCountInString(turnTitle)
	o.runes = whole * 2 / 3
	text, left, err = w.inStages(ctx, o, history)
	if err != nil {
		return "", left, err
	}
	o.style, o.previous, o.runes = styleTurn, "", whole/3
	begun, more, err := w.inStages(ctx, o, turn)
	return text + turnTitle + begun, left + more, err
}

// order is what the model is asked for, without the conversation. An answer
// takes a quarter of the window at most.
func (w *Written) order() order {
	o := order{
		style: w.options.Style, focus: redact(w.options.Focus), previous: strings.TrimSpace(w.transcript.previous),
		runes: min(w.options.MaxRunes, w.options.Client.Window()/2), memories: w.options.Client.endpoint.Provider == ProviderHermes,
	}
	if o.style == session.StyleSentences {
		o.runes = min(o.runes, 1500)
	}
	return o
}

// inStages has entries summed up, one after the other if they are longer than
// the model's window: each stage updates the summary of the one before.
func (w *Written) inStages(ctx context.Context, o order, entries []entry) (text string, left int, err error) {
	pieces, left, err := w.pieces(o, entries)
	if err != nil {
		return "", left, err
	}
	for i, piece := range pieces {
		o.text, o.state = piece.text, piece.state
		if text, err = w.stage(ctx, o); err != nil {
			return "", left, fmt.Errorf("stage %d of %d: %w", i+1, len(pieces), err)
		}
		o.previous = text
	}
	return text, left, nil
}

// stage has one piece summed up. A model whose answer is of no use is told so
// and asked once more; not so Hermes, whose agent may be asked only twelve times
// an hour.
func (w *Written) stage(ctx context.Context, o order) (string, error) {
	client := w.options.Client
	for {
		answer, err := client.Complete(ctx, o.request())
		if err != nil {
			return "", err
		}
		text, err := check(o, answer)
		if err == nil {
			err = checkStatements(o, text)
		}
		if err == nil {
			return text, nil
		}
		if o.repeat != "" || client.endpoint.Provider == ProviderHermes || client.Meter().Left() == 0 {
			return "", fmt.Errorf("%s: %w", client.Name(), err)
		}
		o.repeat = told(err)
	}
}

// pieces cuts entries so that instructions, a previous summary, a piece and an
// answer fit the window; a fifth is left because tokens are estimates.
func (w *Written) pieces(o order, entries []entry) ([]piece, int, error) {
	endpoint := &w.options.Client.endpoint
	most := endpoint.Meter.Left()
	if most == 0 {
		return nil, 0, errCalls
	}
	if endpoint.Provider == ProviderHermes {
		return []piece{{text: w.transcript.digest.Summary().Text + "\n\nThe end of the conversation:\n\n" + newest(entries, hermesBytes)}}, 0, nil
	}
	const instructions = 1000 // tokens
	room := int64(endpoint.Window - 2*o.tokens() - instructions - w.transcript.stateRunes/3)
	room -= max(0, session.EstimateTokens([]byte(o.previous))-int64(o.tokens()))
	all, left := stages(entries, max(room*4/5, 500), most)
	if whole := w.transcript.context.Entries; len(all) > 0 && len(entries) > 0 && &entries[len(entries)-1] == &whole[len(whole)-1] {
		all[len(all)-1].state = w.transcript.state()
	}
	return all, left + w.transcript.left, nil
}
