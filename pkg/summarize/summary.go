package summarize

import (
	"strings"

	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
)

// KindExtractive is the kind of summary that [Extractive] makes.
const KindExtractive = "extractive"

// DefaultMaxRunes is how long an extractive summary is at most, in code
// points: two chunks of seed 002, or about 1,500 tokens of a fresh context.
const DefaultMaxRunes = 6000

// Options set what a summary dwells on.
type Options struct {
	MaxRunes int    // code points of the whole summary; 0 means DefaultMaxRunes
	Focus    string // words that raise what contains them
	// Checkpoint puts the summary under the headings of seed 001, section
	// 7.5.4, for a runtime that goes on from it.
	Checkpoint bool
}

// Summary is a finished summary.
type Summary struct {
	Kind     string // KindExtractive, or the provider of the model that wrote it
	Text     string // Markdown
	Sections []Section
	Chars    int // code points of Text

	Model string // provider and model, if a model wrote it
	// Degraded is true if a model was to write it and did not, or not of all
	// of it; Reason says why, for people.
	Degraded bool
	Reason   string
	Calls    int   // to the model
	Tokens   int64 // of these calls, in and out

	// The report of what was lost: the paths, addresses, ids, commands and
	// numbers of the conversation (of a very long one those that are named most
	// often), how many of them the text lacks, and how many of those the index
	// at its end names.
	Identifiers, Lost, Indexed int

	Sentences string   // a model's words for [Summary.Prose]
	Learned   []string // a model's words for [Summary.Lessons]
}

// Section is one part of a summary.
type Section struct {
	Title string
	Items []Item // in the order of the log
}

// Item is one thing that was said or done.
type Item struct {
	Text string // Markdown, one line, without the source
	Line int    // 1-based line of the log
}

// Extractive watches the messages of one session and then sums them up. It is
// for one goroutine. Call [NewExtractive].
type Extractive struct {
	options Options
	cues    cueIndex
	focus   []string

	seen      extent
	goals     shelf
	said      [kinds]shelf
	about     shelf     // what contains words of the focus
	question  candidate // asked last, with no answer yet
	exchanges []candidate
	working   bool // the last exchange is the agent's word before a call
	earlier   []candidate
	calls     calls
	files     files
	commands  commands
	ids       identifiers

	lastPerson int // line of the last message from a person

	cursor jsonl.Cursor
	text   []byte // scratch
	lower  []byte // scratch
}

// extent is what the summary says of the log as a whole.
type extent struct {
	messages, people    int
	firstLine, lastLine int
	first, last         int64 // epoch milliseconds
}

// NewExtractive returns an Extractive that has seen nothing.
func NewExtractive(o Options) *Extractive {
	if o.MaxRunes <= 0 {
		o.MaxRunes = DefaultMaxRunes
	}
	e := &Extractive{options: o, cues: newCueIndex(), focus: focusWords(o.Focus)}
	e.goals = shelf{first: 2, best: 14, recent: 6}
	e.said[constraint] = shelf{first: 4, best: 16, recent: 4}
	e.said[decision] = shelf{best: 24, recent: 10}
	e.said[finding] = shelf{best: 16, recent: 8}
	e.said[open] = shelf{best: 8, recent: 8}
	e.said[next] = shelf{best: 4, recent: 10}
	e.about = shelf{best: 12, recent: 6}
	return e
}

// Add takes in the next message of the log. Messages of abandoned branches,
// and those that the runtime never showed to the model, are passed over. The
// error is always nil; nothing of m is kept.
func (e *Extractive) Add(m *session.Message) error {
	if m.Branch != session.Active || m.OutOfContext {
		return nil
	}
	e.seen.add(m)
	e.ids.add(m)
	switch m.Role {
	case session.RoleUser:
		e.user(m)
	case session.RoleAssistant:
		e.assistant(m)
	case session.RoleToolResult:
		e.result(m)
	case session.RoleShell:
		e.shell(m)
	case session.RoleSummary:
		e.summary(m)
	}
	return nil
}

func (x *extent) add(m *session.Message) {
	x.messages++
	if m.Role == session.RoleUser {
		x.people++
	}
	if x.firstLine == 0 {
		x.firstLine, x.first = m.Line, m.Time
	}
	x.lastLine, x.last = m.Line, m.Time
}

// focusWords are the words of a focus, in lower case.
func focusWords(focus string) []string {
	return strings.FieldsFunc(strings.ToLower(focus), func(r rune) bool { return !wordRune(r) })
}
