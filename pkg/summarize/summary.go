package summarize

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/secrets"
	"github.com/sessctl/sessctl/pkg/session"
)

// KindExtractive is the kind of summary that [Extractive] makes.
const KindExtractive = "extractive"

// DefaultMaxRunes is how long an extractive summary is at most, in code
// points: about 2,500 tokens of a fresh context (docs/dev/decisions.md D18).
const DefaultMaxRunes = 10000

// Options set what a summary dwells on.
type Options struct {
	MaxRunes int    // code points of the whole summary; 0 means DefaultMaxRunes
	Focus    string // words that raise what contains them
	// Checkpoint puts the summary under the headings of a checkpoint, for a
	// runtime that goes on from it (docs/dev/decisions.md D18).
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
	results   shelf // what the agent said when a turn of work had ended
	steps     steps // what became of what was to be done
	turn      turnOfWork
	before    turnOfWork // the turn before
	replied   string     // what the agent said at its end, in lower case
	repliedAt int        // the line of that
	message   string     // what a person says now, in lower case
	offer     string     // what the agent offered last, in lower case
	people    int        // how many messages of people begin the turn, with this one
	last      pending    // what the agent said last, until it is known whether a turn ends with it
	orders    []candidate
	trouble   candidate // what the agent could not do in its last turn
	about     shelf     // what contains words of the focus
	question  candidate // asked last, with no answer yet
	exchanges []candidate
	working   bool // the last exchange is the agent's word before a call
	earlier   []candidate
	calls     calls
	files     files
	commands  commands
	ids       identifiers
	remarks   remarks     // what was said, where later words on something are looked for
	turns     []statement // what may end others; made by plans

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
	e := &Extractive{options: o, cues: allCues(), focus: focusWords(o.Focus)}
	e.goals = shelf{first: 2, best: 14, recent: 6}
	e.said[constraint] = shelf{first: 4, best: 16, recent: 4}
	e.said[decision] = shelf{best: 24, recent: 10}
	e.said[finding] = shelf{best: 16, recent: 8}
	e.said[open] = shelf{best: 8, recent: 8}
	e.said[next] = shelf{best: 8, recent: 12}
	e.said[known] = shelf{best: 14, recent: 8}
	e.results = shelf{best: 20, recent: 12}
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

// messageBytes is how much of what a person says is kept with what they choose.
const messageBytes = 500

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
	e.over()
	whole := text
	text = withoutPasted(text)
	e.answered(m.Line, text)
	e.denied(text)
	asked := e.question
	e.question, e.lastPerson = candidate{}, m.Line
	e.people = e.seen.people
	e.message = strings.ToLower(string(cut(text, messageBytes)))
	e.commands.heard(e.message)
	task := e.goal(m.Line, text)
	e.after(m.Line, text)
	e.sentences(m.Line, text, voice{person: true})
	e.deferred(m.Line, text)
	e.chosen(m.Line, text, asked.text)
	if e.turn.chose { // what was to be decided is decided
		e.steps.decided(m.Line, &e.before, &e.turn)
	}
	e.remarks.add(remark{line: m.Line, person: true, task: task, people: e.people}, text)
	e.exchange(m.Line, personSaid, whole)
	e.working = false
	if last := lastSentence(text); bytes.HasSuffix(last, []byte("?")) || bytes.HasSuffix(last, []byte("？")) {
		e.question = candidate{text: "Not answered: " + oneLine(string(last), sentenceRunes), line: m.Line}
	}
}

func (e *Extractive) assistant(m *session.Message) {
	called := e.callsOf(m)
	e.went(called)
	if len(m.ErrorText) > 0 && string(m.StopReason) != "aborted" { // by a person, who knows
		e.commands.failed(failure{what: "model call", line: m.Line, people: e.seen.people, text: []byte(redact(string(cut(m.ErrorText, 600))))})
	}
	text := e.words(m)
	if len(text) == 0 || !m.Embeddable() {
		return
	}
	e.ids.text(m.Line, string(beginning(text, flatTextRunes)))
	e.question = candidate{}
	e.commands.heard(strings.ToLower(string(cut(text, messageBytes))))
	e.exchange(m.Line, agentSaid, text)
	e.working = slices.ContainsFunc(m.Parts, func(p session.Part) bool { return p.Kind == session.PartToolCall })
	if e.working {
		e.sentences(m.Line, text, voice{working: true})
		e.commands.explained(text)
	} else {
		e.last = pending{line: m.Line, text: string(text), worked: e.turn.worked}
	}
	if last := lastSentence(text); bytes.HasSuffix(last, []byte("?")) || bytes.HasSuffix(last, []byte("？")) {
		e.question = candidate{text: askedLast + oneLine(string(last), sentenceRunes), line: m.Line}
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

// goal keeps a person's message as a goal if it sets a task, and tells whether it does.
func (e *Extractive) goal(line int, text []byte) bool {
	if len(bytes.Fields(cut(text, 200))) < 4 {
		return false
	}
	score := 0
	var asked [][]byte
	eachSentence(text, func(s sentence) {
		e.lower = appendLower(e.lower[:0], s.text)
		weight := e.cues.weigh(e.lower)[goal]
		if weight >= enough || len(asked) == 0 {
			asked = append(asked, s.text)
		}
		if s.text[len(s.text)-1] == '?' {
			weight--
		}
		score = max(score, weight)
	})
	if len(e.goals.items) == 0 {
		score += enough
	}
	if score < enough {
		return false
	}
	score += min(len(text)/100, 3)
	c := e.candidate(line, bytes.Join(asked, []byte(" … ")), goalRunes, score)
	c.person, c.people, c.message = true, e.people, e.message
	c.passing = len(e.goals.items) > 0 && (strings.HasSuffix(e.replied, "?") || bytes.IndexByte(text, '?') >= 0 || wordCount(text) < taskWords)
	e.goals.add(c)
	return true
}

// taskWords is how many words a later goal has at least.
const taskWords = 10

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
	if len(text) <= n {
		return text
	}
	at := 0
	for range n {
		if at == len(text) {
			return text
		}
		size := 1
		if text[at] >= utf8.RuneSelf {
			_, size = utf8.DecodeRune(text[at:])
		}
		at += size
	}
	return text[:at]
}

// voice says whose words a sentence is.
type voice struct {
	person  bool
	working bool // the agent, who calls a tool with the same message: it thinks aloud
	// document is true if the agent shows a text that has a title: a file, mostly.
	// What stands in it nobody has decided here.
	document bool
}

// Words that a finding has at least: "There's the problem!" says nothing.
const findingWords = 6

// sentences puts each sentence on the shelf that its cues speak for. A line
// like "Still open:" speaks for the items of the list below it; one like
// "Fixed:" does not, what is below it is seldom a sentence.
func (e *Extractive) sentences(line int, text []byte, by voice) {
	listed, open, short := kinds, (*shelf)(nil), shortSentence
	quoting := false // a quotation of several sentences is not over
	if by.person {
		short = shortClause
	} else {
		by.document = bytes.HasPrefix(text, []byte("# "))
	}
	eachSentenceOf(text, short, func(s sentence) {
		if e.inFocus(s.text) > 0 {
			e.about.add(e.candidate(line, s.text, sentenceRunes, len(s.text)/100))
		}
		quoting = quoting && s.goesOn
		within := quoting
		if bytes.Count(s.text, []byte{'"'})%2 == 1 {
			quoting = !quoting
		}
		if s.quoted || within { // somebody else has said it
			return
		}
		if !s.item {
			listed = kinds
		}
		k, weight := e.classify(s.text, by)
		if s.head {
			if weight >= enough && k != finding {
				listed = k
			}
			if listed == next && !by.person && remaining(e.lower) {
				e.steps.listed(line)
			}
			return
		}
		if !by.person && leftover(e.lower) {
			e.steps.listed(line)
		}
		if s.goesOn && open != nil && weight < enough && !guesses().in(e.lower) && open.extend(line, s.text) {
			return
		}
		if by.person && weight < enough && len(s.text) < orderBytes && orders(e.lower) {
			e.ordered(line, s.text)
		}
		open = nil
		if by.working && !s.item && k == next { // what it does at once
			return
		}
		if s.item && listed != kinds && weight <= enough {
			k, weight = listed, enough+1
		}
		if weight >= enough && says(s.text, k, by) {
			e.keep(k, line, s.text, weight, by)
			if k == finding {
				open = &e.said[k]
			}
		}
	})
}

// says tells whether a sentence says enough by itself. A choice of a person may be
// short, a rule may not: "I hate that."
func says(s []byte, k kind, by voice) bool {
	if by.person && k == decision {
		return len(s) >= len("drop it")
	}
	return len(s) >= 8 && (!by.person || len(s) >= shortSentence || len(stemsOf(string(s))) >= 2)
}

// keep puts a sentence on its shelf.
func (e *Extractive) keep(k kind, line int, text []byte, weight int, by voice) {
	c := e.candidate(line, text, sentenceRunes, weight)
	c.people, c.weight = e.people, weight
	if c.person = by.person; by.person {
		c.reply, c.message, c.offer = e.replied, e.message, e.offer
		e.turn.chose = e.turn.chose || k == decision
	}
	e.said[k].add(c)
	if k == next {
		e.steps.add(c, by.person)
	}
}

// classify returns what a sentence most probably is, and how much speaks for it.
func (e *Extractive) classify(s []byte, by voice) (kind, int) {
	e.lower = appendLower(e.lower[:0], bytes.TrimLeft(s, "*_"))
	weights := e.cues.weigh(withoutQuotes(e.lower))
	if by.person {
		e.personal(s, &weights)
	} else {
		e.agents(s, &weights)
	}
	if by.document {
		weights[decision], weights[open], weights[next] = 0, 0, 0
	}
	if s[len(s)-1] == '?' {
		weights[constraint], weights[decision], weights[finding], weights[next], weights[known] = 0, 0, 0, 0, 0
	}
	for _, word := range []string{"that ", "this ", "it "} { // says nothing without what came before
		if bytes.HasPrefix(e.lower, []byte(word)) {
			weights[finding] -= 2
			if !by.person && weights[next] <= enough { // what will be, and no step
				weights[next] = 0
			}
		}
	}
	if weights[constraint] >= enough && denials().in(e.lower) { // a report, or of the moment, and no rule
		weights[constraint] -= 3
	}
	if bytes.HasPrefix(e.lower, []byte("if ")) {
		weights[next] = 0
	}
	if (weights[decision] >= enough || weights[finding] >= enough) && (guesses().in(e.lower) || bytes.HasPrefix(e.lower, []byte("if "))) {
		weights[decision], weights[finding] = 0, 0
	}
	if by.person && e.people <= 1 && weights[decision] < 5 { // nothing was there to decide on
		weights[decision] = 0
	}
	if weights[finding] > 0 && (by.working && weights[finding] <= enough || wordCount(s) < findingWords) {
		weights[finding] = 0
	}
	k := heaviest(weights)
	return k, weights[k]
}

// personal weighs what only people can say: what they choose, mostly in few
// words, and when and with whom something is.
func (e *Extractive) personal(s []byte, weights *[kinds]int) {
	digit := bytes.ContainsAny(s, "0123456789")
	if !digit {
		weights[known]--
	} else if weights[known] > 0 {
		weights[known] += 2
	}
	if bytes.IndexByte(s, '@') > 0 && bytes.IndexByte(s, '.') > 0 || bytes.Contains(s, []byte("://")) {
		weights[known] += enough
	}
	switch promised := promises().in(e.lower); {
	case promised && onWeekday().in(e.lower):
		weights[next] += enough
	case !promised && weights[next] <= timed: // when something is, and no step
		weights[known], weights[next] = max(weights[known], weights[next]), 0
	}
	if orders(e.lower) && strings.HasSuffix(e.replied, "?") && !bytes.Contains(e.lower, []byte("please")) {
		weights[decision] += enough
	}
	if bytes.Contains(e.lower, []byte(", not ")) && wordCount(s) <= 2*chosenWords { // one thing and not the other
		weights[decision] += enough
	}
	if wordCount(s) > chosenWords {
		return
	}
	if digit && e.people > 1 && !reports().in(numbered(e.lower)) {
		weights[decision] += 2
		if measured(s) {
			weights[decision]++
		}
	}
	if bytes.Contains(e.lower, []byte("then")) && !containsAny(e.lower, []string{"until then", "since then", "by then", "back then"}) && (bytes.HasSuffix(bytes.TrimRight(e.lower, ".! "), []byte(" then")) || (bytes.HasPrefix(e.lower, []byte("then ")) || thenFirst().in(e.lower[:min(len(e.lower), len("alright then "))])) || bytes.Contains(e.lower, []byte(" then. "))) {
		weights[decision] += enough + 1
	}
}

// timed is the most that a time alone speaks for a step.
const timed = 4

// promises are the words by which people say that they will do something.
var promises = phraseSet("i'll ", "i will ", "we'll ", "we will ", "i do ", "i go ", "i ask ", "i send ", "i run ", "i review ", "we do ", "we go ", "remind", "finish ")

// onWeekday are the words by which people name the day of a step.
var onWeekday = phraseSet("on monday", "on tuesday", "on wednesday", "on thursday", "on friday", "on saturday", "on sunday")

// thenFirst begins what a person chooses after what they have heard.
var thenFirst = phraseSet("ok then ", "okay then ", "ok, then ", "alright then ", "yes then ", "fine then ", "right then ", "good then ")

// orders tells whether a person's sentence in lower case begins with what shall be
// done: an answer to an offer, mostly.
func orders(lower []byte) bool {
	first := ""
	eachWord(lower, func(word []byte) {
		if first == "" && !opens(word) {
			first = string(word)
		}
	})
	switch first {
	case "take", "update", "remove", "keep", "replace", "switch", "write", "send", "set", "rename", "raise", "lower", "merge", "split", "stay", "try", "return", "store", "allow", "forget":
		return true
	}
	return false
}

// Bounds of the orders that are kept.
const (
	orderBytes = 160
	keptOrders = 48
)

// ordered keeps an order: it is no decision, but may end one.
func (e *Extractive) ordered(line int, text []byte) {
	c := candidate{text: oneLine(string(text), sentenceRunes), line: line, person: true, people: e.people, message: e.message, reply: e.replied, offer: e.offer}
	if e.orders = append(e.orders, c); len(e.orders) > keptOrders {
		e.orders = slices.Delete(e.orders, 0, 1)
	}
}

// withoutQuotes is a sentence without what stands between quotation marks, as far as
// that is a sentence too: somebody else has said it.
func withoutQuotes(lower []byte) []byte {
	from := bytes.IndexByte(lower, '"')
	if from < 0 {
		return lower
	}
	n := bytes.IndexByte(lower[from+1:], '"')
	if n < 0 || wordCount(lower[from+1:from+1+n]) < quotedWords {
		return lower
	}
	return append(bytes.Clone(lower[:from]), lower[from+n+2:]...)
}

// quotedWords is from how many words on a quotation is somebody's sentence, and
// not a name.
const quotedWords = 5

// numbered is a sentence up to the end of the clause that has its first number.
func numbered(lower []byte) []byte {
	at := bytes.IndexAny(lower, "0123456789")
	if end := bytes.Index(lower[max(at, 0):], []byte(", ")); at >= 0 && end >= 0 {
		return lower[:at+end]
	}
	return lower
}

// measured tells whether a number stands with its unit: "24h", "4Gi", "25%".
func measured(s []byte) bool {
	for i := 1; i < len(s); i++ {
		if s[i-1] >= '0' && s[i-1] <= '9' && (s[i] == '%' || s[i]|0x20 >= 'a' && s[i]|0x20 <= 'z') {
			return true
		}
	}
	return false
}

// chosenWords is how long a sentence is at most that chooses in passing.
const chosenWords = 16

// reports are the words of somebody who tells, rather than chooses.
var reports = phraseSet("i have", "i got", "says", "said", " was ", " were ", "happened", "error", "looks", "seems", "is at ", "there are", "there is", "i see", " is ", " are ", " cannot ", " can't ", "we meet", " has ", " have ", "called", "went ", "got ", "how ", "what ", "options", "green", "is that ok", "is this ok", "is it ok")

// agents takes away what an agent cannot say for its person, and what is advice.
func (e *Extractive) agents(s []byte, weights *[kinds]int) {
	weights[constraint], weights[known] = 0, 0
	if weights[decision] >= enough && !accepted().in(e.lower) {
		weights[decision] = 0
	}
	if (weights[decision] >= enough || weights[finding] >= enough) && general(e.lower) {
		weights[decision], weights[finding] = 0, 0
	}
	if bytes.HasPrefix(e.lower, []byte("always ")) || bytes.HasPrefix(e.lower, []byte("never ")) || bytes.HasPrefix(e.lower, []byte("document ")) { // a rule that it has read
		weights[decision], weights[open], weights[finding] = 0, 0, 0
	}
	if weights[open] >= enough && containsAny(e.lower, []string{"i don't know", "i do not know"}) {
		weights[open] -= enough
	}
}

// accepted are the words by which an agent tells what was decided, rather than
// what it would do.
var accepted = phraseSet("we decided", "was decided", "been decided", "decision:", "decided:", "we agreed", "agreed:", "agreed to", "agreed on", "we settled", "settled on", "you decided", "you chose", "as you", "noted as", "we will", "we'll", "we chose", "i chose", "i decided", "decisions", "entschieden", "beschlossen", "décidé", "decidido")

// heaviest returns the kind of a sentence. Goals are of whole messages.
func heaviest(weights [kinds]int) kind {
	best := constraint
	for _, k := range [...]kind{decision, finding, open, next, known} {
		if weights[k] > weights[best] {
			best = k
		}
	}
	return best
}

// candidate may become an item of a summary.
type candidate struct {
	text   string
	line   int
	score  int
	person bool   // they said it
	reply  string // of a choice of theirs: what the agent had said before, in lower case
	offer  string // what the agent had offered last, in lower case
	people int    // messages of people until then
	failed bool   // it tells what the agent could not do
	weight int    // how much spoke for its kind
	chosen bool   // it answers what the agent asked them
	// passing is true of what a person asks on the way: it is answered at once.
	passing bool
	// message is all that the person said, in lower case.
	message string
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

// firstScore is what the first candidates of a shelf have more than any other.
const firstScore = 100

// ranked returns the candidates with the most important first. The first ones
// lead; the newest gain a little, so that they win over their equals.
func (s *shelf) ranked() []candidate {
	ranked := slices.Clone(s.items)
	for i := range ranked {
		if i < s.first {
			ranked[i].score += firstScore
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
