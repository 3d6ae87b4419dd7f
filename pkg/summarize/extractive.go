package summarize

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/pkg/secrets"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/speaker"
	"github.com/sessctl/sessctl/pkg/summarize/state"
	"github.com/sessctl/sessctl/pkg/work"
)

// KindExtractive is the kind of summary that [Extractive] makes.
const KindExtractive = "extractive"

// DefaultMaxRunes is how long an extractive summary is at most, in code points, unless
// something else is asked for: about 2,500 tokens of a fresh context
// (docs/dev/decisions.md D18).
const DefaultMaxRunes = 10000

// Options set what a summary dwells on.
type Options struct {
	MaxRunes int    // code points of the whole summary; 0 means DefaultMaxRunes
	Focus    string // words that raise what contains them
	// Checkpoint puts the summary under the headings of a checkpoint, for a
	// runtime that goes on from it (docs/dev/decisions.md D18).
	Checkpoint bool
	// ThirdPerson makes it prose without headings: what the person and the agent said
	// and did.
	ThirdPerson bool
	// Secrets knows which texts of the log show none; nil searches every text.
	Secrets *secrets.Session
}

// Extractive sees the messages of one session and then sums them up. It is
// for one goroutine. Call [NewExtractive].
type Extractive struct {
	options Options
	seen    extent
	stand   state.Reader // where the work stands, with what stays
	events  []event
	bytes   int // of their texts
	left    int // events that were dropped

	directory string // in which the last call ran that named one
}

// extent is what the summary says of the log as a whole.
type extent struct {
	messages, people    int
	firstLine, lastLine int
	first, last         int64 // epoch milliseconds
}

// party says what an event is.
type party uint8

const (
	person  party = iota
	agent         // what it said
	call          // of a tool
	result        // what a tool printed
	earlier       // the summary of a compaction before this one
	parties
)

// prompt stands before a command, behind what it is for.
const prompt = "$ "

// event is one thing that was said or done.
type event struct {
	by    party
	place state.Place
	text  string // what was said; the command, or the file and what else the call has
	stays bool   // it is kept beside the summary, which need not tell it
	shown bool   // a person only pasted something

	tool   string
	kind   work.Kind // what a call does
	paths  []string
	id     string // of a call, and of its result
	failed bool   // a result that tells of a failure
	errors string // the lines of it that tell what went wrong

	redacted *string // text without secrets, once somebody asked for it
}

// safe is the text without what looks like a secret.
func (x *event) safe() string {
	if x.redacted == nil {
		text := redact(x.text)
		x.redacted = &text
	}
	return *x.redacted
}

// Bounds of what is kept of the events, in bytes. They are those of the log's end:
// where there are more, results go first, then calls, the oldest of each before the
// others.
const (
	maxEventBytes = 6 << 20
	saidBytes     = 20_000 // of what somebody says in one message
	callBytes     = 16_000
	resultBytes   = 16_000
	eventBytes    = 200 // of an event beside its text
)

// NewExtractive returns an Extractive that has seen nothing.
func NewExtractive(o Options) *Extractive {
	if o.MaxRunes <= 0 {
		o.MaxRunes = DefaultMaxRunes
	}
	return &Extractive{options: o}
}

// Add takes in the next message of the log. Messages of abandoned branches,
// and those that the runtime never showed to the model, are passed over. The
// error is always nil; nothing of m is kept.
func (e *Extractive) Add(m *session.Message) error {
	if m.Branch == session.Active && !m.OutOfContext {
		e.seen.add(m)
		e.add(m, false)
	}
	return nil
}

// Beside takes in the next message of those that stay beside the summary: the state is
// that after them, and what they tell the summary does not tell again. They come after
// all messages of [Extractive.Add]. The error is always nil; nothing of m is kept.
func (e *Extractive) Beside(m *session.Message) error {
	if m.Branch == session.Active && !m.OutOfContext && !m.Compaction {
		e.add(m, true)
	}
	return nil
}

func (x *extent) add(m *session.Message) {
	x.messages++
	if m.Role == session.RoleUser && m.Program() == "" {
		x.people++
	}
	if x.firstLine == 0 {
		x.firstLine, x.first = m.Line, m.Time
	}
	x.lastLine, x.last = m.Line, m.Time
}

func (e *Extractive) add(m *session.Message, stays bool) {
	e.stand.Add(m)
	base := event{place: state.Place{Line: m.Line, Message: m.Ordinal + 1}, stays: stays}
	switch m.Role {
	case session.RoleUser:
		base.by = person
		text := e.safe(m.Said())
		own := speaker.Prose(text)
		if base.shown = len(own) == 0; base.shown {
			own = text
		}
		e.push(base, own, saidBytes)
	case session.RoleAssistant:
		base.by = agent
		e.push(base, e.safe(m.Said()), saidBytes)
		e.calls(m, base)
	case session.RoleToolResult:
		e.result(m, base)
	case session.RoleShell:
		e.shell(m, base)
	case session.RoleSummary:
		base.by = earlier
		e.push(base, e.safe(m.Said()), saidBytes)
	}
	if e.bytes > maxEventBytes {
		e.forget()
	}
}

// safe is a text without what looks like a secret. It is asked for the whole of a text:
// of a part of a key nothing tells that it is one.
func (e *Extractive) safe(text []byte) []byte {
	clean, _ := e.options.Secrets.RedactAlone(text)
	return clean
}

// says tells whether a person says something with an event that the summary may quote.
func (x *event) says() bool { return x.by == person && !x.stays && !x.shown }

// push keeps an event, of a long text the beginning and the end.
func (e *Extractive) push(x event, text []byte, most int) {
	if text = bytes.TrimSpace(text); len(text) == 0 {
		return
	}
	if len(text) > most {
		x.text = string(bytes.ToValidUTF8(text[:most*2/3], nil)) + "\n" + string(bytes.ToValidUTF8(text[len(text)-most/3:], nil))
	} else {
		x.text = string(text)
	}
	e.events = append(e.events, x)
	e.bytes += len(x.text) + eventBytes
}

func (e *Extractive) calls(m *session.Message, base event) {
	for i := range m.Parts {
		if p := &m.Parts[i]; p.Kind == session.PartToolCall {
			c := e.stand.CallOf(m, i)
			e.directory = cmp.Or(c.Directory, e.directory)
			base.by, base.tool, base.kind, base.paths, base.id = call, c.Tool, c.Kind, c.Paths, string(p.CallID)
			text := strings.Join(slices.Concat(c.Head(), c.Texts), "\n")
			if c.Kind == work.KindCommand {
				text = prompt + text
				if c.Purpose != "" {
					text = c.Purpose + ": " + text
				}
			}
			e.push(base, e.safe([]byte(text)), callBytes)
		}
	}
}

func (e *Extractive) result(m *session.Message, base event) {
	base.by, base.id = result, string(m.CallID)
	base.failed = m.IsError
	if exit, known := work.ExitStatus(m); known && exit != 0 {
		base.failed = true
	}
	if base.failed {
		base.errors = string(e.safe([]byte(state.Cut(strings.Join(work.EndingOf(m, string(m.ToolName)).Errors, " "), errorRunes))))
	}
	e.push(base, e.safe(m.Said()), resultBytes)
}

// shell takes in a command that a person ran by hand.
func (e *Extractive) shell(m *session.Message, base event) {
	for i := range m.Parts {
		if p := &m.Parts[i]; p.Kind == session.PartCommand {
			command := base
			command.by, command.kind = call, work.KindCommand
			e.push(command, slices.Concat([]byte(prompt), e.safe(p.Text)), callBytes)
		}
	}
	e.result(m, base)
}

// forget makes room: a quarter of the texts goes, of the older ones first what tools
// printed and what was called, then what was summed up and said.
func (e *Extractive) forget() {
	older := len(e.events) * 3 / 4
	for _, by := range []party{result, call, earlier, agent, person} {
		older -= drop(e, older, func(x *event) bool { return x.by == by })
	}
	drop(e, len(e.events), func(*event) bool { return true })
}

// drop forgets events among the first so many, the oldest first, until there is room,
// and returns how many.
func drop(e *Extractive, first int, goes func(*event) bool) (dropped int) {
	kept := e.events[:0]
	for i, x := range e.events {
		if e.bytes > maxEventBytes*3/4 && i < first && goes(&x) {
			e.bytes -= len(x.text) + eventBytes
			dropped++
			continue
		}
		kept = append(kept, x)
	}
	clear(e.events[len(kept):])
	e.events = kept
	e.left += dropped
	return dropped
}
