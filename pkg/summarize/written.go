package summarize

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sessctl/sessctl/pkg/session"
)

// maxWrittenRunes is how long a model's summary is at most, in code points
// (seed 003 bounds its own at 12,000).
const maxWrittenRunes = 12_000

// hermesBytes is how much of the conversation's end Hermes is sent: its agent
// is asked once and has a turn of its own to live with it.
const hermesBytes = 24 << 10

// WrittenOptions set who writes a summary, and how.
type WrittenOptions struct {
	Options       // MaxRunes 0 means 12,000 for the model's
	Style   Style // of the runtime
	Client  *Client
}

// Written watches the messages of one session and then has a model sum them
// up. What the model cannot say is said by [Extractive]. It is for one
// goroutine; its memory does not grow beyond some megabytes. Call [NewWritten].
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
	return &Written{options: o, transcript: newTranscript(digest)}
}

// Add takes in the next message of the log. The error is always nil; nothing
// of m is kept.
func (w *Written) Add(m *session.Message) error {
	w.transcript.add(m)
	return w.transcript.digest.Add(m)
}

// Summary asks the model. If it gives no usable summary, the extractive one
// stands in: Degraded is true then, and Reason says why. An error is returned
// only if ctx is done.
func (w *Written) Summary(ctx context.Context) (Summary, error) {
	s := w.transcript.digest.Summary()
	if len(w.transcript.entries) == 0 {
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
	case StyleContext:
		text, s.Learned = contextAndLessons(text)
	case StyleSentences:
		text = strings.Join(strings.Fields(dated.ReplaceAllString(text, "")), " ")
		s.Sentences = text
	}
	lost := w.transcript.ids.missing(text)
	s.Lost, s.Text = len(lost), text
	if o.Style == StyleCheckpoint {
		s.Text += index(lost, o.MaxRunes-utf8.RuneCountInString(text))
	}
	s.Chars, s.Sections = utf8.RuneCountInString(s.Text), nil
	if left > 0 {
		s.Degraded, s.Reason = true, fmt.Sprintf("the oldest %s did not fit into the calls that are allowed", count(left, "message"))
	}
	return nil
}

// dated is a date that a model puts first although the runtime does.
var dated = regexp.MustCompile(`^\[\d{4}-\d\d-\d\d\]\s*`)

// ask has the conversation summed up, in stages if it is longer than the
// model's window: each updates the summary of the one before.
func (w *Written) ask(ctx context.Context) (text string, left int, err error) {
	o := order{style: w.options.Style, focus: w.options.Focus, runes: w.options.MaxRunes, previous: strings.TrimSpace(w.transcript.previous)}
	if o.style == StyleSentences {
		o.runes = min(o.runes, 1500)
	}
	stages, left := w.stages(o)
	if len(stages) == 0 {
		return "", 0, ErrCalls
	}
	for i, stage := range stages {
		o.text = stage
		answer, err := w.options.Client.Complete(ctx, o.request())
		if err != nil {
			return "", left, err
		}
		if text, err = check(o, answer); err != nil {
			return "", left, fmt.Errorf("%s, stage %d of %d: %w", w.options.Client.Name(), i+1, len(stages), err)
		}
		o.previous = text
	}
	return text, left, nil
}

func (w *Written) stages(o order) ([]string, int) {
	endpoint := &w.options.Client.endpoint
	if endpoint.Provider == ProviderHermes {
		return []string{w.transcript.digest.Summary().Text + "\n\nThe end of the conversation:\n\n" + w.transcript.newest(hermesBytes)}, 0
	}
	const instructions = 1000 // tokens
	room := int64(endpoint.Window - 2*o.tokens() - instructions)
	room -= max(0, session.EstimateTokens([]byte(o.previous))-int64(o.tokens()))
	most := endpoint.Meter.Left()
	if most == 0 {
		return nil, 0
	}
	return w.transcript.stages(max(room, 500), most)
}

// contextAndLessons takes the two sections of seed 003 apart, in whichever
// order they come.
func contextAndLessons(text string) (context string, lessons []string) {
	for _, h := range headings(text) {
		switch {
		case h.name == "context":
			context += strings.TrimSpace(h.body)
		case h.name == "lessons":
			for line := range strings.Lines(h.body) {
				lessons = addLesson(lessons, line)
			}
		case context != "" && lessons == nil: // a heading within the context
			context += "\n\n" + strings.TrimSpace(h.body)
		}
	}
	return context, lessons
}

// addLesson keeps a lesson that says something and is not there already.
func addLesson(lessons []string, line string) []string {
	line = strings.Join(strings.Fields(strings.TrimLeft(strings.TrimSpace(line), "-*• \t")), " ")
	n := utf8.RuneCountInString(line)
	same := func(known string) bool { return strings.EqualFold(strings.Trim(known, " ."), strings.Trim(line, " .")) }
	if n < minLessonRunes || n > maxLessonRunes || len(lessons) >= maxLessons || blank(line) || refusal.MatchString(line) || slices.ContainsFunc(lessons, same) {
		return lessons
	}
	return append(lessons, line)
}
