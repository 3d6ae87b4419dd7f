package summarize

import (
	"strings"

	"github.com/sessctl/sessctl/pkg/session"
)

// DefaultMaxRunes bounds a summary, in code points: about 2,000 tokens, a
// small part of what a fresh session can hold.
const DefaultMaxRunes = 6000

// Options say what a summary should look like.
type Options struct {
	MaxRunes int    // code points of the whole text; 0 = DefaultMaxRunes
	Focus    string // words whose items come first, or ""
}

// Summary is what was made of a session.
type Summary struct {
	Kind  string // "extractive"
	Text  string // Markdown; empty only if no message was added
	Chars int    // code points of Text
}

// How many items a section keeps while the log goes by. What a section shows
// is decided by its budget in render.go.
const (
	keepGoals     = 10
	keepRules     = 8
	keepDecisions = 12
	keepCommands  = 12
	keepErrors    = 8
	keepQuestions = 4
	keepNext      = 6
	keepExchanges = 6
)

// Extractive collects what a summary needs. Make one per session; it is not
// safe for concurrent use.
type Extractive struct {
	options  Options
	focus    []string
	messages int
	users    int
	previous item // the latest summary that the log itself holds

	goals     best
	rules     best
	decisions best
	failures  best
	next      recent
	questions recent
	exchanges recent
	commands  commands
	files     files
	text      []byte
}

// NewExtractive returns a collector for one session.
func NewExtractive(o Options) *Extractive {
	if o.MaxRunes <= 0 {
		o.MaxRunes = DefaultMaxRunes
	}
	return &Extractive{
		options: o, focus: strings.Fields(strings.ToLower(o.Focus)),
		goals: best{keep: keepGoals}, rules: best{keep: keepRules}, decisions: best{keep: keepDecisions}, failures: best{keep: keepErrors},
		next: recent{keep: keepNext}, questions: recent{keep: keepQuestions}, exchanges: recent{keep: keepExchanges},
	}
}

// Add takes the next message of the log. Messages on abandoned branches are
// passed over: the agent left them behind. It never fails; the error is there
// for summarizers that can.
func (e *Extractive) Add(m *session.Message) error {
	if m.Branch == session.Abandoned {
		return nil
	}
	e.messages++
	switch m.Role {
	case session.RoleUser:
		e.addUser(m)
	case session.RoleAssistant:
		e.addAssistant(m)
	case session.RoleToolResult, session.RoleShell:
		e.addResult(m)
	case session.RoleSummary:
		e.previous = item{line: m.Line, text: e.spoken(m)}
	}
	return nil
}

// spoken returns the text parts of a message, without secrets and without
// characters that do not print.
func (e *Extractive) spoken(m *session.Message) string {
	e.text = e.text[:0]
	for _, p := range m.Parts {
		if p.Kind != session.PartText || len(p.Text) == 0 {
			continue
		}
		if len(e.text) > 0 {
			e.text = append(e.text, '\n')
		}
		e.text = append(e.text, p.Text[:min(len(p.Text), maxTextBytes)]...)
	}
	clean, _ := session.AppendClean(nil, e.text)
	return strings.TrimSpace(redact(strings.ToValidUTF8(string(clean), "")))
}

// maxTextBytes is how much of one text is looked at: what matters is said at
// the beginning, and a pasted file is not a sentence.
const maxTextBytes = 16 << 10

func (e *Extractive) addUser(m *session.Message) {
	text := e.spoken(m)
	if text == "" {
		return
	}
	e.users++
	e.exchanges.add(item{line: m.Line, text: "User: " + shorten(text, 300)})
	e.goals.add(item{line: m.Line, text: shorten(firstParagraph(text), 240), score: goalScore(text, e.users) + e.focusScore(text)})
	for _, s := range sentences(text) {
		if score := ruleScore(s); score > 0 {
			e.rules.add(item{line: m.Line, text: shorten(s, 200), score: score + e.focusScore(s)})
		}
		e.addDecision(m, s)
	}
}

func (e *Extractive) addAssistant(m *session.Message) {
	for _, p := range m.Parts {
		if p.Kind == session.PartToolCall {
			e.addCall(m, p)
		}
	}
	if len(m.ErrorText) > 0 {
		e.failures.add(item{line: m.Line, text: shorten(redact(string(m.ErrorText)), 200), score: 2})
	}
	text := e.spoken(m)
	if text == "" {
		return
	}
	e.exchanges.add(item{line: m.Line, text: "Agent: " + shorten(text, 400)})
	e.questions.clear() // an answer that asks nothing leaves nothing open
	for _, s := range sentences(text) {
		e.addDecision(m, s)
		if strings.HasSuffix(s, "?") {
			e.questions.add(item{line: m.Line, text: shorten(s, 200)})
		}
		if nextStep(s) {
			e.next.add(item{line: m.Line, text: shorten(s, 200)})
		}
	}
}

func (e *Extractive) addDecision(m *session.Message, sentence string) {
	if score := decisionScore(sentence); score > 0 {
		// later decisions win over earlier ones of the same strength
		e.decisions.add(item{line: m.Line, text: shorten(sentence, 220), score: score + e.focusScore(sentence)})
	}
}

func (e *Extractive) addCall(m *session.Message, p session.Part) {
	a := readArguments(p.Text)
	switch kind := toolKind(string(p.Name)); {
	case kind == toolRead && a.path != "":
		e.files.add(a.path, m.Line, false)
	case kind == toolWrite && a.path != "":
		e.files.add(a.path, m.Line, true)
	case a.command != "":
		e.commands.called(string(p.CallID), m.Line, shorten(redact(a.command), 160))
	}
}

func (e *Extractive) addResult(m *session.Message) {
	text := e.spoken(m)
	code, known := exitCode(m, text)
	if m.Role == session.RoleShell {
		e.commands.ran(m.Line, shorten(text, 160), code, known)
	} else {
		e.commands.answered(string(m.CallID), code, known, m.IsError)
	}
	if m.IsError || known && code != 0 {
		e.failures.add(item{line: m.Line, text: shorten(errorLine(text), 200), score: 3 + e.focusScore(text)})
	}
}

func (e *Extractive) focusScore(text string) float64 {
	if len(e.focus) == 0 {
		return 0
	}
	score, lower := 0.0, strings.ToLower(text)
	for _, word := range e.focus {
		if strings.Contains(lower, word) {
			score += 4
		}
	}
	return score
}
