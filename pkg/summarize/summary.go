package summarize

import (
	"bytes"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/secrets"
	"github.com/sessctl/sessctl/pkg/session"
)

// KindExtractive is the kind of summary that [Extractive] makes.
const KindExtractive = "extractive"

// DefaultMaxRunes is how long an extractive summary is at most, in code
// points: two chunks, or about 1,500 tokens of a fresh context.
const DefaultMaxRunes = 6000

// Options set what a summary dwells on.
type Options struct {
	MaxRunes int    // code points of the whole summary; 0 means DefaultMaxRunes
	Focus    string // words that raise what contains them
	// Checkpoint puts the summary under the headings of a checkpoint, for a
	// runtime that goes on from it (docs/decisions.md D18).
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

// Extractive sees the messages of one session and then sums them up. It is
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

// Lengths of what is kept, in code points.
const (
	sentenceRunes = 280
	goalRunes     = 240
	exchangeRunes = 700
	summaryRunes  = 4000
)

// How many of the last things that were said, and of earlier summaries, are kept.
const (
	keptExchanges = 6
	keptSummaries = 3
)

func (e *Extractive) user(m *session.Message) {
	text := e.words(m)
	if len(text) == 0 || bytes.Contains(text, []byte("HEARTBEAT_OK")) {
		return
	}
	e.ids.text(m.Line, string(beginning(text, flatTextRunes)))
	e.answered(m.Line, text)
	e.question, e.lastPerson = candidate{}, m.Line
	e.goal(m.Line, text)
	e.sentences(m.Line, text, voice{person: true})
	e.exchange(m.Line, "User", text)
	e.working = false
	if last := lastSentence(text); bytes.HasSuffix(last, []byte("?")) || bytes.HasSuffix(last, []byte("？")) {
		e.question = candidate{text: "Not answered: " + oneLine(string(last), sentenceRunes), line: m.Line}
	}
}

func (e *Extractive) assistant(m *session.Message) {
	e.callsOf(m)
	if len(m.ErrorText) > 0 && string(m.StopReason) != "aborted" { // by a person, who knows
		e.commands.failed(failure{what: "model call", line: m.Line, text: []byte(redact(string(cut(m.ErrorText, 600))))})
	}
	text := e.words(m)
	if len(text) == 0 || !m.Embeddable() {
		return
	}
	e.ids.text(m.Line, string(beginning(text, flatTextRunes)))
	e.question = candidate{}
	working := slices.ContainsFunc(m.Parts, func(p session.Part) bool { return p.Kind == session.PartToolCall })
	e.sentences(m.Line, text, voice{working: working})
	e.exchange(m.Line, "Agent", text)
	e.working = working
	if last := lastSentence(text); bytes.HasSuffix(last, []byte("?")) || bytes.HasSuffix(last, []byte("？")) {
		e.question = candidate{text: "Asked last: " + oneLine(string(last), sentenceRunes), line: m.Line}
	}
}

// summary keeps what an earlier compaction, or the end of a branch, has
// summed up.
func (e *Extractive) summary(m *session.Message) {
	text := e.words(m)
	if len(text) == 0 {
		return
	}
	e.ids.text(m.Line, string(beginning(text, flatTextRunes)))
	kept := string(cutRunes(text, summaryRunes))
	if len(kept) < len(text) {
		kept += "\n…"
	}
	e.earlier = append(e.earlier, candidate{text: kept, line: m.Line})
	if len(e.earlier) > keptSummaries {
		e.earlier = slices.Delete(e.earlier, 0, 1)
	}
}

// words returns the text parts of a message without envelopes, secrets and what
// a memory put there: that was said in another session. It is valid until the
// next call.
func (e *Extractive) words(m *session.Message) []byte {
	e.text = e.text[:0]
	for i := range m.Parts {
		if p := &m.Parts[i]; p.Kind == session.PartText && len(p.Text) > 0 {
			if len(e.text) > 0 {
				e.text = append(e.text, '\n')
			}
			e.text = append(e.text, p.Text...)
		}
	}
	e.text, _ = session.CutRecalled(e.text)
	text := bytes.TrimSpace(e.text)
	if m.Role == session.RoleUser {
		text = unwrap(text)
	}
	e.lower = appendLower(e.lower[:0], text)
	if clean, n := secrets.RedactBytes(text); n > 0 {
		text = clean
	}
	return text
}

// goal keeps a person's message as a goal if it sets a task.
func (e *Extractive) goal(line int, text []byte) {
	score := 0
	eachSentence(text, func(s sentence) {
		e.lower = appendLower(e.lower[:0], s.text)
		weight := e.cues.weigh(e.lower)[goal]
		if s.text[len(s.text)-1] == '?' {
			weight--
		}
		score = max(score, weight)
	})
	if len(e.goals.items) == 0 {
		score += enough
	}
	if score < enough || len(bytes.Fields(cut(text, 200))) < 4 {
		return
	}
	score += min(len(text)/100, 3)
	e.goals.add(e.candidate(line, text, goalRunes, score))
}

// candidate makes a candidate of a text, raised by the words of the focus.
func (e *Extractive) candidate(line int, text []byte, runes, score int) candidate {
	c := candidate{text: oneLine(string(cut(text, 4*runes+64)), runes), line: line, score: score}
	c.score += 4 * e.inFocus(text)
	return c
}

// inFocus counts the words of the focus that a text contains.
func (e *Extractive) inFocus(text []byte) (found int) {
	if len(e.focus) == 0 {
		return 0
	}
	lower := bytes.ToLower(text)
	for _, word := range e.focus {
		if bytes.Contains(lower, []byte(word)) {
			found++
		}
	}
	return found
}

// answered lowers the question that the agent had just called open: what a
// person says next usually is the answer, and is told with it.
func (e *Extractive) answered(line int, text []byte) {
	shelf := &e.said[open]
	if len(e.exchanges) == 0 || len(shelf.items) == 0 || len(text) > 300 || bytes.HasSuffix(text, []byte("?")) {
		return
	}
	last := &shelf.items[len(shelf.items)-1]
	if last.line == e.exchanges[len(e.exchanges)-1].line && last.score > 0 {
		last.text += " → " + oneLine(string(text), 100)
		last.score = -1
	}
}

// exchange remembers the last things that were said. What the agent says
// before a call ("Let me look.") gives way to what comes after it.
func (e *Extractive) exchange(line int, who string, text []byte) {
	if e.working && who == "Agent" {
		e.exchanges = e.exchanges[:len(e.exchanges)-1]
	}
	e.exchanges = append(e.exchanges, candidate{text: "**" + who + "**: " + string(cut(text, 4*exchangeRunes+64)), line: line})
	if len(e.exchanges) > keptExchanges {
		e.exchanges = slices.Delete(e.exchanges, 0, 1)
	}
}

func lastSentence(text []byte) (last []byte) {
	tail := text[max(0, len(text)-600):]
	eachSentence(tail, func(s sentence) { last = s.text })
	return last
}

// cut returns at most n bytes of a text; a code point may be lost at the end.
func cut(text []byte, n int) []byte {
	if len(text) <= n {
		return text
	}
	return bytes.ToValidUTF8(text[:n], nil)
}

// cutRunes returns at most n code points of a text.
func cutRunes(text []byte, n int) []byte {
	count := 0
	for i := range string(text) {
		if count == n {
			return text[:i]
		}
		count++
	}
	return text
}

// voice says whose words a sentence is.
type voice struct {
	person  bool
	working bool // the agent, who calls a tool with the same message: it thinks aloud
}

// Words that a finding has at least: "There's the problem!" says nothing.
const findingWords = 6

// sentences puts each sentence on the shelf that its cues speak for. A line
// like "Still open:" speaks for the items of the list below it; one like
// "Fixed:" does not, what is below it is seldom a sentence.
func (e *Extractive) sentences(line int, text []byte, by voice) {
	listed := kinds
	eachSentence(text, func(s sentence) {
		if e.inFocus(s.text) > 0 {
			e.about.add(e.candidate(line, s.text, sentenceRunes, len(s.text)/100))
		}
		if !s.item {
			listed = kinds
		}
		k, weight := e.classify(s.text, by)
		if s.head {
			if weight >= enough && k != finding {
				listed = k
			}
			return
		}
		if s.item && listed != kinds && weight <= enough {
			k, weight = listed, enough+1
		}
		if weight >= enough && len(s.text) >= 8 {
			e.said[k].add(e.candidate(line, s.text, sentenceRunes, weight))
		}
	})
}

// classify returns what a sentence most probably is, and how much speaks for it.
func (e *Extractive) classify(s []byte, by voice) (kind, int) {
	e.lower = appendLower(e.lower[:0], s)
	weights := e.cues.weigh(e.lower)
	if !by.person {
		weights[constraint] = 0
	}
	if s[len(s)-1] == '?' {
		weights[constraint], weights[decision], weights[finding], weights[next] = 0, 0, 0, 0
	}
	for _, word := range []string{"that ", "this ", "it "} { // says nothing without what came before
		if bytes.HasPrefix(e.lower, []byte(word)) {
			weights[constraint] -= 2
			weights[decision] -= 2
			weights[finding] -= 2
		}
	}
	if containsAny(e.lower, denials()) { // a report, and no rule
		weights[constraint] -= 3
	}
	if containsAny(e.lower, guesses()) || bytes.HasPrefix(e.lower, []byte("if ")) {
		weights[decision], weights[finding] = 0, 0
	}
	if by.working || len(bytes.Fields(s)) < findingWords {
		weights[finding] = 0
	}
	k := heaviest(weights)
	return k, weights[k]
}

// heaviest returns the kind of a sentence. Goals are of whole messages.
func heaviest(weights [kinds]int) kind {
	best := constraint
	for _, k := range [...]kind{decision, finding, open, next} {
		if weights[k] > weights[best] {
			best = k
		}
	}
	return best
}

// candidate may become an item of a summary.
type candidate struct {
	text  string
	line  int
	score int
}

// shelf keeps a fixed number of candidates, in the order they came: the first
// ones, the newest ones, and the best of those in between.
type shelf struct {
	first, best, recent int
	items               []candidate
}

// add puts a candidate on the shelf. What is already there is not kept twice.
func (s *shelf) add(c candidate) {
	if i := slices.IndexFunc(s.items, func(o candidate) bool { return strings.EqualFold(o.text, c.text) }); i >= 0 {
		s.items[i].score = max(s.items[i].score, c.score)
		return
	}
	s.items = append(s.items, c)
	if len(s.items) <= s.first+s.best+s.recent {
		return
	}
	worst := s.first
	for i := s.first; i < len(s.items)-s.recent; i++ {
		if s.items[i].score < s.items[worst].score {
			worst = i
		}
	}
	s.items = slices.Delete(s.items, worst, worst+1)
}

// ranked returns the candidates with the most important first. The first ones
// lead; the newest gain a little, so that they win over their equals.
func (s *shelf) ranked() []candidate {
	ranked := slices.Clone(s.items)
	for i := range ranked {
		if i < s.first {
			ranked[i].score += 100
		}
		if i >= len(ranked)-s.recent {
			ranked[i].score++
		}
	}
	slices.SortStableFunc(ranked, func(a, b candidate) int {
		if a.score != b.score {
			return b.score - a.score
		}
		return b.line - a.line
	})
	return ranked
}
