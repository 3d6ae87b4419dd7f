package summarize

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sessctl/sessctl/pkg/summarize/state"
)

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

	// The report of what was lost: the paths, addresses, commands, values and other
	// names of the conversation, how many of them the text lacks, and how many of
	// those the index at its end names.
	Identifiers, Lost, Indexed int

	Sentences string   // see [Summary.Prose]
	Learned   []string // see [Summary.Lessons]
}

// Section is one part of a summary.
type Section struct {
	Title string
	Items []Item // in the order of the log, but commands and files newest first
}

// Summary returns the summary of what was added. It can be called again after
// more messages. Text is empty if no message was added, and otherwise never
// longer than Options.MaxRunes code points.
func (e *Extractive) Summary() Summary {
	if e.seen.messages == 0 {
		return Summary{Kind: KindExtractive}
	}
	u := usesOf(e.events, focusWords(e.options.Focus))
	w := e.filled(u)
	s := Summary{Kind: KindExtractive, Sections: w.sections}
	whole, r := e.indexed(u, strings.TrimRight(w.text.String(), "\n"), e.options.MaxRunes)
	s.Identifiers, s.Lost, s.Indexed = r.all, r.lost, r.named
	s.Text = string(cutRunes([]byte(strings.ToValidUTF8(whole, "\uFFFD")), e.options.MaxRunes))
	s.Chars = utf8.RuneCountInString(s.Text)
	s.Sentences, s.Learned = w.prose(), w.lessons()
	return s
}

// writer writes one summary.
type writer struct {
	e        *Extractive
	u        *uses
	state    state.State
	text     strings.Builder
	told     strings.Builder // what is told already, to tell nothing twice
	left     int             // code points
	wider    float64         // by how much the shares of the sections are raised
	sections []Section
	stands   string          // the state as it is told
	listed   map[string]bool // commands that are told
}

// indexShare is the part of a summary that is left for the index of what it lacks:
// one in so many code points.
const indexShare = 8

// filled writes the summary. Where a short log or a talk without names leaves room, the
// sections get more of it.
func (e *Extractive) filled(u *uses) *writer {
	wider := 1.0
	for tries := 0; ; tries++ {
		w := e.newWriter(u, wider)
		switch {
		case e.options.Checkpoint:
			w.checkpoint()
		case e.options.ThirdPerson:
			w.thirdPerson()
			return w
		default:
			w.plain()
		}
		unused := float64(w.left) / float64(e.options.MaxRunes)
		if unused < 0.05 || tries == 3 {
			return w
		}
		wider += 3 * unused
	}
}

func (e *Extractive) newWriter(u *uses, wider float64) *writer {
	u.untold()
	w := &writer{e: e, u: u, state: e.stand.State(), wider: wider, listed: map[string]bool{}}
	w.withoutStaying()
	head := e.head()
	w.text.WriteString(head)
	w.left = e.options.MaxRunes - utf8.RuneCountInString(head) - e.options.MaxRunes/indexShare
	return w
}

// focusWords are the words of a focus, in lower case.
func focusWords(focus string) []string {
	return strings.FieldsFunc(strings.ToLower(focus), func(r rune) bool { return !wordRune(r) })
}

// head says what the summary is of.
func (e *Extractive) head() string {
	x := &e.seen
	return fmt.Sprintf(extractiveTitle+"\n\nLines %d to %d, %s from people%s%s. %s.\n",
		x.firstLine, x.lastLine, count(x.people, "message"), x.days(), e.where(), notWritten)
}

// where is the directory that the work is in.
func (e *Extractive) where() string {
	if e.directory == "" || utf8.RuneCountInString(e.directory) > e.options.MaxRunes/20 {
		return ""
	}
	return ", in " + e.directory
}

func (x *extent) days() string {
	if x.first <= 0 || x.last <= 0 {
		return ""
	}
	from, to := day(x.first), day(x.last)
	if from == to {
		return ", " + from
	}
	return ", " + from + " to " + to
}

func day(ms int64) string { return time.UnixMilli(ms).UTC().Format("2 January 2006") }

// withoutStaying takes out of the state what stands in what stays beside the summary.
func (w *writer) withoutStaying() {
	first := 0
	for i := range w.e.events {
		if w.e.events[i].stays {
			first = w.e.events[i].place.Line
			break
		}
	}
	if first == 0 {
		return
	}
	s := &w.state
	if s.Plan != nil && s.Plan.Line >= first {
		s.Plan = nil
	}
	for _, q := range []**state.Quote{&s.Request, &s.Before, &s.Word} {
		if *q != nil && (*q).Line >= first {
			*q = nil
		}
	}
	s.Steps, s.Failing = before(s.Steps, first), before(s.Failing, first)
	s.Unanswered = nil
}

func before(steps []state.Step, line int) (kept []state.Step) {
	for _, s := range steps {
		if s.Line < line {
			kept = append(kept, s)
		}
	}
	return kept
}

// share is a part of the summary in code points: so many percent.
func (w *writer) share(percent int) int {
	return int(w.wider * float64(w.e.options.MaxRunes*percent/100))
}

// mostRules is how much the rules of people take at most, and their answers, in code
// points.
const mostRules = 900

// plain writes the sections of a summary that is read by itself.
func (w *writer) plain() {
	w.stand(w.share(20))
	w.add(earlierTitle, w.e.before(w.earlierRunes()))
	w.add(rulesTitle, w.e.said(w.u, rulesOf(w.e.events), min(w.share(3+w.ofTalk(4)), mostRules)))
	w.add(choicesTitle, w.e.said(w.u, choicesOf(w.e.events), min(w.share(3+w.ofTalk(4)), mostRules)))
	w.add(peopleTitle, w.e.people(w.u, w.peopleRunes(), w.told.String()))
	w.add(messagesTitle, w.e.messages(w.share(8+w.ofTalk(25)), w.told.String()))
	w.add(stepsTitle, w.steps(w.share(7+w.ofTalk(24))))
	w.add(filesTitle, filesIn(&w.state, w.share(6), w.told.String()))
	w.add(commandsTitle, w.commands(w.share(5)))
	w.ranked("## ")
}

// peopleRunes is how much of what people said is told beside their rules and answers,
// in code points: a short summary has no room for it.
func (w *writer) peopleRunes() int {
	return int(w.wider * w.e.talk() * peopleShare * float64(max(0, w.e.options.MaxRunes-4000)))
}

// ofTalk is by how many percent a share is larger in a log of talk, where a summary has
// room.
func (w *writer) ofTalk(percent int) int {
	t := w.e.talk()
	return int(float64(percent) * t * t * min(1, float64(max(0, w.e.options.MaxRunes-2000))/4000))
}

const peopleShare = 0.5

// talk is how much of a log is talk and not work: 1 without a call, a half where each
// message of a person is followed by four calls.
func (e *Extractive) talk() float64 {
	people, calls := 0.0, 0.0
	for i := range e.events {
		switch e.events[i].by {
		case person:
			people++
		case call:
			calls++
		}
	}
	return people / max(1, people+calls/4)
}

// earlierRunes is how much of the summary before this one is told, in code points.
func (w *writer) earlierRunes() int {
	const short, most = 2000, 1000
	if n := w.e.options.MaxRunes; n < short {
		return min(most, w.left*7/8)
	}
	return min(w.e.options.MaxRunes*12/100, 1200)
}

// stand writes where the work stands.
func (w *writer) stand(runes int) {
	s := w.state
	s.Steps, s.Files = nil, nil // they have sections of their own
	text := s.Text(min(runes, w.left-len(standTitle)-6))
	if text == "" {
		return
	}
	w.stands = text
	w.write("\n## " + standTitle + "\n\n" + text + "\n")
	w.sections = append(w.sections, Section{Title: standTitle, Items: standing(&w.state)})
}

// standing are the parts of the state, as items.
func standing(s *state.State) (items []Item) {
	for _, q := range []*state.Quote{s.Before, s.Request, s.Word} {
		if q != nil {
			items = append(items, Item{q.Text, q.Line, placeName(q.Place)})
		}
	}
	return items
}

func (w *writer) write(text string) {
	w.text.WriteString(text)
	w.told.WriteString(text)
	w.left -= utf8.RuneCountInString(text)
}

// add writes a section, unless it is empty or does not fit.
func (w *writer) add(title string, items []Item) { w.list("\n## "+title+"\n\n", title, "", items) }

func (w *writer) list(head, title, mark string, items []Item) {
	if len(items) == 0 {
		return
	}
	items = slices.DeleteFunc(slices.Clone(items), func(x Item) bool { return utf8.RuneCountInString(head+x.written(mark)) > w.left })
	if len(items) == 0 {
		return
	}
	w.write(head)
	var kept []Item
	for _, x := range items {
		if line := x.written(mark); utf8.RuneCountInString(line) <= w.left {
			w.write(line)
			kept = append(kept, x)
		}
	}
	w.sections = append(w.sections, Section{Title: title, Items: kept})
}

// listedWorth is what is left of the worth of a term that stands in a list of calls or
// files: nobody says there what it is about.
const listedWorth = 0.4

// listing reports whether a section lists calls or files.
func (s Section) listing() bool {
	return s.Title == stepsTitle || s.Title == filesTitle || s.Title == commandsTitle || s.Title == doneTitle
}

// ranked fills the rest of the room with the sentences that are probably needed.
func (w *writer) ranked(level string) {
	for line := range strings.Lines(w.stands) {
		left := 0.0
		if !strings.HasPrefix(line, "A") { // Asked last, Agent's last word
			left = listedWorth
		}
		w.u.covered(line, left)
	}
	for _, section := range w.sections {
		if section.Title == standTitle {
			continue
		}
		left := 0.0
		if section.listing() {
			left = listedWorth
		}
		for _, x := range section.Items {
			w.u.covered(x.Text, left)
		}
	}
	const frame = len("\n## \n\n") + 30
	quotes := w.e.quotes(w.u, w.left-3*frame, w.told.String())
	for _, part := range []struct {
		title string
		by    []party
	}{{saidTitle, []party{person, agent, earlier}}, {workTitle, []party{call, result}}} {
		w.list("\n"+level+part.title+"\n\n", part.title, "", w.e.quoted(quotes, part.by...))
	}
}
