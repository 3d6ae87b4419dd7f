package summarize

import (
	"bytes"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// turnOfWork is what one turn of work was about: from a person's word to the agent's
// last.
type turnOfWork struct {
	worked bool // a tool was called
	chose  bool // the person decided something
	words  map[string]bool
	// granted is the line of a word of the agent that named one step, if the
	// person said no more than that it should go on.
	granted int
}

// turnWords bounds the words of a turn.
const turnWords = 512

// add takes in the words of a text.
func (t *turnOfWork) add(lower string) {
	if t.words == nil {
		t.words = map[string]bool{}
	}
	eachStem(lower, func(stem string) {
		if len(t.words) < turnWords {
			stem = strings.Clone(stem)
			t.words[stem] = true
			if len(stem) >= alikeBytes {
				t.words["~"+stem[:alikeBytes]] = true
			}
		}
	})
}

// steps are what was called next, and whether the log has done it since.
type steps struct{ waiting []step }

// step is something that was to be done.
type step struct {
	text  string
	stems []string
	line  int
	done  int // line that tells it is done, or 0
	// person is true if they named it, and not the agent.
	person bool
}

// maxSteps bounds the steps that are watched; the oldest go.
const maxSteps = 32

// add takes in a step. A list that names it again says that it is still to be
// done.
func (s *steps) add(c candidate, person bool) {
	stems := stepStems(c.text)
	for i := range s.waiting {
		if w := &s.waiting[i]; overlap(stems, w.has) >= 0.75 && overlap(w.stems, within(stems)) >= 0.5 {
			w.done = c.line
		}
	}
	if len(s.waiting) == maxSteps {
		copy(s.waiting, s.waiting[1:])
		s.waiting = s.waiting[:maxSteps-1]
	}
	s.waiting = append(s.waiting, step{text: c.text, stems: stems, line: c.line, person: person})
}

// live tells whether there is anything to be done.
func (s *steps) live() bool {
	return slices.ContainsFunc(s.waiting, func(w step) bool { return w.done == 0 })
}

// stepStems are the stems of what is to be done. The paths in it are left out:
// they say where.
func stepStems(text string) []string {
	words := strings.Fields(whatOf(text))
	kept := words[:0:0]
	for _, w := range words {
		if strings.Count(w, "/") < 2 {
			kept = append(kept, w)
		}
	}
	return stemsOf(strings.Join(kept, " "))
}

// whatOf is a step without the words that say when: "the indexes after loading".
func whatOf(text string) string {
	lower := strings.ToLower(text)
	for _, when := range []string{" after ", " before ", " once ", " when ", " until ", " as soon as "} {
		if at := strings.Index(lower, when); at > 0 && len(stemsOf(lower[:at])) > 0 && len(lower) == len(text) {
			return text[:at]
		}
	}
	return text
}

// listed takes in that the agent lists what is left: what it has listed before
// is done or has been given up, but for what has a time of its own.
func (s *steps) listed(line int) {
	for i := range s.waiting {
		if w := &s.waiting[i]; !w.person && w.done == 0 && w.line < line && !later().inString(strings.ToLower(w.text)) {
			w.done = line
		}
	}
}

// later are the words of steps whose time comes by itself.
var later = phraseSet("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday", "week", "month", "tomorrow", "tonight", "later", "after ", "before ", "deadline", "once ", "when ")

// leftover tells whether a sentence in lower case lists all that is left.
func leftover(lower []byte) bool {
	return bytes.IndexByte(lower, ':') > 0 && containsAny(lower, []string{"what is left", "what's left", "what is missing", "what remains", "left to do", "still to do", "is left:", "all that is left", "only thing left"})
}

// remaining tells whether a heading in lower case is that of all that is left.
func remaining(lower []byte) bool {
	return containsAny(lower, []string{"left", "remain", "still", "to do", "todo", "next steps", "missing"})
}

func (s *step) has(stem string) bool { return within(s.stems)(stem) }

// overlap is the share of stems that a set has.
func overlap(stems []string, has func(string) bool) float64 {
	if len(stems) == 0 {
		return 0
	}
	n := 0
	for _, stem := range stems {
		if has(stem) {
			n++
		}
	}
	return float64(n) / float64(len(stems))
}

// within is the set of some stems.
func within(stems []string) func(string) bool {
	return func(stem string) bool {
		for _, other := range stems {
			if alike(stem, other) {
				return true
			}
		}
		return false
	}
}

// alikeBytes is how many bytes two stems have in common that are taken for
// forms of one word: "migrat" and "migration".
const alikeBytes = 5

func alike(a, b string) bool {
	return a[0] == b[0] && (a == b || len(a) >= alikeBytes && len(b) >= alikeBytes && a[:alikeBytes] == b[:alikeBytes])
}

// any tells whether the turn has a word like a stem.
func (t *turnOfWork) any(stem string) bool {
	return t.words[stem] || len(stem) >= alikeBytes && t.words["~"+stem[:alikeBytes]]
}

// ended marks the steps that a turn has done, where its last word says that
// something was done.
func (s *steps) ended(line int, t *turnOfWork) {
	for i := range s.waiting {
		if w := &s.waiting[i]; w.done == 0 && w.line < line && overlap(w.stems, t.any) >= doneShare {
			w.done = line
		}
	}
}

// reported marks the steps that a person named at the beginning of the turn, and of
// which its last word tells how it is now: "lower it to 300", "the limit is 300".
func (s *steps) reported(line, begun int, told []string) {
	in := within(told)
	for i := range s.waiting {
		w := &s.waiting[i]
		if !w.person || w.line != begun || w.done > 0 || len(w.stems) == 0 {
			continue
		}
		last := ""
		for _, stem := range w.stems {
			if isNumber(stem) {
				last = stem
			}
		}
		named := slices.ContainsFunc(w.stems, func(stem string) bool { return !isNumber(stem) && in(stem) })
		if last != "" && slices.Contains(told, last) && named || overlap(w.stems, in) >= doneShare {
			w.done = line
		}
	}
}

// granted marks the one step that the agent named in a line: its person told it
// to go on, and it did.
func (s *steps) granted(line, named int) {
	at := -1
	for i := range s.waiting {
		switch {
		case s.waiting[i].line != named:
		case at >= 0:
			return // it named several
		default:
			at = i
		}
	}
	if at >= 0 && s.waiting[at].done == 0 {
		s.waiting[at].done = line
	}
}

// decided marks the steps whose every word stands in a choice, or in the talk
// that led to it.
func (s *steps) decided(line int, before, now *turnOfWork) {
	for i := range s.waiting {
		w := &s.waiting[i]
		if w.done == 0 && w.line < line && !w.person && len(w.stems) > 0 && overlap(w.stems, func(stem string) bool { return before.any(stem) || now.any(stem) }) == 1 {
			w.done = line
		}
	}
}

// told marks the steps that a sentence says are done.
func (s *steps) told(line int, lower string) {
	words := stemsOf(lower)
	clause, _, _ := strings.Cut(lower, ",")
	short := stemsOf(clause)
	for i := range s.waiting {
		w := &s.waiting[i]
		share := overlap(w.stems, within(words))
		named := len(short) <= 3 && overlap(short, func(stem string) bool { return w.has(stem) || doneStem(stem) }) == 1 && overlap(short, w.has) > 0
		if w.done == 0 && w.line < line && (named || share == 1 || share >= toldShare && share*float64(len(w.stems)) >= 2) {
			w.done = line
		}
	}
}

// doneStem tells whether a stem is of a word that says that something is done.
func doneStem(stem string) bool {
	done, finished := look([]byte(stem))
	if !done {
		done, finished = look([]byte(stem + "ed"))
	}
	return done && finished
}

// The shares of a step's words that a turn, or one sentence, has to have.
const (
	doneShare = 0.65
	toldShare = 0.4
)

// doneAt returns the line where a step was done, 0 if it is still to be done.
func (s *steps) doneAt(c candidate) int {
	for _, w := range s.waiting {
		if w.line == c.line && w.text == c.text {
			return w.done
		}
	}
	return 0
}

// completes tells whether a sentence in lower case says that something is done
// and works.
func completes(lower []byte) bool {
	done, finished := look(lower)
	return done && finished
}

// look goes over a sentence in lower case once: whether it has a word of what is
// done, and none of what is not.
func look(lower []byte) (done, finished bool) {
	var before []byte
	finished = lower[len(lower)-1] != '?'
	eachWord(lower, func(word []byte) {
		last := string(before)
		switch string(word) {
		case "done", "works", "work", "working", "pass", "passes", "passed", "green", "fixed", "added", "installed", "migrated", "removed", "merged", "deployed", "rewritten", "committed", "pushed", "signed", "sent", "paid", "wrote",
			"written", "booked", "corrected", "created", "implemented", "finished", "completed", "ready", "reproduced", "applied", "applies", "dropped", "replaced", "active", "changed", "set", "calls", "runs", "prepared", "enabled",
			"confirmed", "bought", "ordered", "built", "renders", "rendered", "did", "keeps", "kept", "connects", "shows", "uses", "gone", "place", "moved", "updated", "upgraded", "called", "asked", "told", "through", "already":
			done = done || last != "not"
		case "now", "again": // "is idempotent now"
			done = done || last != ""
		case "still", "half", "yet", "missing", "cannot", "will", "should", "would", "needs", "need", "todo", "unable", "refused", "rejected", "remain", "remains", "remaining", "waiting", "left":
			finished = finished && string(word) == "left" && last != "is" && last != "are"
		case "no":
			finished = finished && last != "sees" && last != "has" && last != "have" && last != "finds" && last != "is"
		case "not":
			finished = finished && last != "is" && last != "are" && last != "does" && last != "do" && last != "did" && last != "has" && last != "have" && last != "was" && last != "were" && last != "could"
		default:
			finished = finished && !bytes.HasSuffix(word, []byte("n't")) && !bytes.HasSuffix(word, []byte("'ll")) && !bytes.HasPrefix(word, []byte("fail"))
		}
		before = word
	})
	return done, finished
}

// eachWord hands out the words of a text in lower case.
func eachWord(lower []byte, yield func([]byte)) {
	for i := 0; i < len(lower); {
		n := wordLength(lower[i:])
		if n == 0 {
			i += runeLength(lower[i:])
			continue
		}
		yield(lower[i : i+n])
		i += n
	}
}

// after takes in what a person says at the beginning of a turn: what they have
// done themselves.
func (e *Extractive) after(line int, text []byte) {
	e.before, e.turn = e.turn, turnOfWork{}
	e.givenUp(line, text)
	if e.trouble.line > 0 {
		eachSentenceOf(cut(text, endBytes), shortClause, func(s sentence) {
			e.lower = appendLower(e.lower[:0], s.text)
			if len(s.text) < 120 && completes(e.lower) {
				e.overcome(e.trouble)
			}
		})
	}
	if wordCount(text) <= 5 && agrees(bytes.ToLower(text)) {
		e.turn.granted = e.repliedAt
	}
	if !e.steps.live() {
		return
	}
	e.turn.add(string(bytes.ToLower(beginning(text, goalRunes*2))))
	eachSentence(cut(text, endBytes), func(s sentence) {
		e.lower = appendLower(e.lower[:0], s.text)
		if len(s.text) < 400 && completes(e.lower) {
			e.steps.told(line, string(e.lower))
		}
	})
}

// leaves matches what a person says of a step that they give up: "for the ignore:
// leave it", "skip the banner".
var leaves = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?:for|about|as for) (?:the |that |this )?([^,.:;]{2,40})[,:] ?(?:just )?(?:leave|skip|forget|drop|no)\b|\b(?:skip|forget|leave out|no need for|no need to|forget about) (?:the |that |about )?([^,.;:!?]{2,40})`)
})

// giveUps are the words of which [leaves] needs one.
var giveUps = phraseSet("leave", "skip", "forget", "drop", "no need", ": no", ", no")

// givenUp takes in which steps a person gives up.
func (e *Extractive) givenUp(line int, text []byte) {
	if !e.steps.live() {
		return
	}
	lower := bytes.ToLower(cut(text, endBytes))
	if !giveUps().in(lower) {
		return
	}
	for _, m := range leaves().FindAllStringSubmatch(string(lower), -1) {
		subject := stemsOf(m[1] + m[2])
		for i := range e.steps.waiting {
			if w := &e.steps.waiting[i]; w.done == 0 && len(subject) > 0 && overlap(subject, w.has) == 1 {
				w.done = line
			}
		}
	}
}

// pending is what the agent said, before it is known whether its turn goes on.
type pending struct {
	line   int
	text   string
	worked bool // a tool was called before it
}

// narration is how long a line is at most with which an agent tells what it does
// next, in bytes.
const narration = 240

// went takes in that the agent went on: with a call, what it said before in a
// line was about that call.
func (e *Extractive) went(called bool) {
	if e.last.line == 0 {
		return
	}
	text := e.last.text
	working := called && len(text) < narration && !strings.Contains(text, "\n")
	e.sentences(e.last.line, []byte(text), voice{working: working})
	if working {
		e.commands.explained([]byte(text))
		e.achieved(e.last.line, []byte(text))
		e.working = true
	} else {
		e.remarks.add(remark{line: e.last.line, worked: e.last.worked, people: e.people}, []byte(text))
		e.end(e.last.line, []byte(text))
	}
	e.last = pending{}
}

// achieved keeps what the agent says in passing that it has done, where it names
// something: a number, a name in quotes.
func (e *Extractive) achieved(line int, text []byte) {
	first := true
	eachSentence(text, func(s sentence) {
		e.lower = appendLower(e.lower[:0], s.text)
		if first && e.turn.worked && bytes.ContainsAny(s.text, "0123456789`") && !announces(e.lower) && completes(e.lower) && tells(e.lower) && !guesses().in(e.lower) && !general(e.lower) && !e.tellsLeft() {
			c := e.candidate(line, s.text, sentenceRunes, enough)
			c.people = e.people
			e.results.add(c)
		}
		first = false
	})
}

// over takes in that the turn is over: what the agent said last is what came of
// it.
func (e *Extractive) over() {
	e.replied, e.repliedAt = "", e.last.line
	if e.last.line == 0 {
		return
	}
	last := e.last
	e.remarks.add(remark{line: last.line, worked: last.worked, people: e.people}, []byte(last.text))
	e.sentences(last.line, []byte(last.text), voice{})
	e.end(last.line, []byte(last.text))
	if e.turn.worked && e.turn.granted > 0 {
		e.steps.granted(last.line, e.turn.granted)
	}
	e.replied = strings.ToLower(string(cut([]byte(last.text), repliedBytes)))
	if offered(e.replied) {
		e.offer = e.replied
	}
	e.last = pending{}
}

// repliedBytes is how much is kept of what a person answers.
const repliedBytes = 600

// finished is the state after the last turn. The original can go on.
func (e *Extractive) finished() *Extractive {
	f := *e
	for k := range f.said {
		f.said[k].items = slices.Clone(f.said[k].items)
	}
	f.results.items, f.about.items = slices.Clone(f.results.items), slices.Clone(f.about.items)
	f.orders = slices.Clone(f.orders)
	f.remarks.all = slices.Clone(f.remarks.all)
	f.steps.waiting = slices.Clone(f.steps.waiting)
	f.turn.words = maps.Clone(f.turn.words)
	f.lower, f.text = nil, nil
	f.over()
	return &f
}

// end takes in the agent's last word of a turn: what came of it.
func (e *Extractive) end(line int, text []byte) {
	at, taken, done, open, settled := 0, 0, false, false, false
	if !e.turn.worked && !e.turn.chose {
		return
	}
	trouble := e.trouble
	e.trouble = candidate{}
	asks := bytes.HasSuffix(bytes.TrimSpace(text), []byte("?"))
	eachSentence(wholeSentences(text, endBytes), func(s sentence) {
		at++
		if s.goesOn && open && e.more(line, s.text) {
			return
		}
		open = false
		if allBut().in(bytes.ToLower(s.text)) || s.head || s.item || taken >= resultSentences || s.text[len(s.text)-1] == '?' {
			return
		}
		e.lower = appendLower(e.lower[:0], s.text)
		does, finished := look(e.lower)
		completed := does && finished
		done = done || completed
		if offersChoice(e.lower) || waysOf().in(e.lower) || containsAny(e.lower, []string{"have to be", "has to be"}) {
			return
		}
		told := at == 1 && !announces(e.lower)
		settled = settled || told && finished && !asks
		if told && !finished {
			e.unsettled(line, s.text)
			return
		}
		if (told && !asks || completed && !lookedAt(e.lower)) && !guesses().in(e.lower) && !general(e.lower) && tells(e.lower) && !e.tellsLeft() {
			score := enough
			if completed {
				score += 2
			}
			c := e.candidate(line, s.text, sentenceRunes, score)
			c.people = e.people
			e.results.add(c)
			taken, open = taken+1, true
		}
	})
	if done && trouble.line > 0 && overlap(stemsOf(trouble.text), within(stemsOf(string(cut(text, endBytes))))) >= overcomeShare {
		e.overcome(trouble)
	}
	if (done || settled) && e.steps.live() {
		e.turn.add(string(bytes.ToLower(beginning(text, 1200))))
		if done {
			e.steps.ended(line, &e.turn)
		}
		e.steps.reported(line, e.lastPerson, stemsOf(string(cut(text, endBytes))))
	}
}

// offersChoice tells whether a sentence in lower case leaves a choice to the person:
// nothing of it is done.
func offersChoice(lower []byte) bool {
	return bytes.Contains(lower, []byte(" or ")) && (bytes.HasPrefix(lower, []byte("either ")) || announces(lower) || bytes.HasPrefix(lower, []byte("we could")))
}

// tellsLeft tells whether a sentence, whose lower case is at hand, says what is open.
func (e *Extractive) tellsLeft() bool {
	weights := e.cues.weigh(e.lower)
	return weights[open] >= enough || weights[next] > enough
}

// allBut are the words of a report that something is missing.
var allBut = phraseSet("everything but", "everything except", "all but", "all except", "except for")

// more adds a sentence to the last result, if it is nothing of its own.
func (e *Extractive) more(line int, text []byte) bool {
	_, weight := e.classify(text, voice{})
	return weight < enough && !waysOf().in(e.lower) && !guesses().in(e.lower) && e.results.extend(line, text)
}

// waysOf are the words of a sentence that offers a choice: nothing of it is done.
var waysOf = phraseSet("two ways", "three ways", "either ", "two options", "three options", "alternatives", "could also", "would you")

// unsettled keeps what a turn came to where it is not done: it fails, it cannot,
// it is not there.
func (e *Extractive) unsettled(line int, text []byte) {
	if e.turn.worked && !guesses().in(e.lower) && !general(e.lower) && wordCount(text) >= resultWords {
		c := e.candidate(line, text, sentenceRunes, enough)
		c.people, c.failed = e.people, true
		e.said[finding].add(c)
		e.trouble = c
	}
}

// overcome takes in that what the agent could not do is done: its person says so.
func (e *Extractive) overcome(trouble candidate) {
	e.said[finding].items = slices.DeleteFunc(e.said[finding].items, func(c candidate) bool { return c.line == trouble.line && c.text == trouble.text })
	e.trouble = candidate{}
}

// overcomeShare is the share of the words of what the agent could not do that its
// next report has.
const overcomeShare = 0.2

// extend adds a sentence to the item that was put on the shelf last, as far as
// it fits: what follows often says why, or how much.
func (s *shelf) extend(line int, text []byte) bool {
	if len(s.items) == 0 {
		return false
	}
	last := &s.items[len(s.items)-1]
	if last.line != line || text[len(text)-1] == '?' || utf8.RuneCountInString(last.text)+len(text) > extendedRunes || strings.HasSuffix(last.text, "…") {
		return false
	}
	last.text += " " + oneLine(string(text), extendedRunes)
	return true
}

// extendedRunes is how long an item gets by the sentences that follow it.
const extendedRunes = 220

// wholeSentences returns the sentences of a text that fit into n bytes.
func wholeSentences(text []byte, n int) []byte {
	if len(text) <= n {
		return text
	}
	text = cut(text, n)
	if end := max(bytes.LastIndexByte(text, '\n'), bytes.LastIndex(text, []byte(". "))+1); end > 0 {
		return text[:end]
	}
	return text
}

// endBytes is how much of what the agent says at the end of a turn is looked at
// for what came of it.
const endBytes = 1200

// tells tells whether a sentence in lower case says what was done: "Everything
// works now" does not.
func tells(lower []byte) bool {
	n := 0
	eachStem(string(lower), func(stem string) {
		switch stem {
		case "don", "fix", "perfect", "excellent", "great", "everyth", "work", "smoothly", "correctly", "properly", "successfully", "everyon", "good", "awesom", "ready", "pass", "all", "fin":
		default:
			n++
		}
	})
	return n >= 2 && (wordCount(lower) >= resultWords || n >= resultWords)
}

// Bounds of what one turn says it has come to.
const (
	resultSentences = 3
	resultWords     = 4
)

func wordCount(s []byte) (n int) {
	space := true
	for _, c := range s {
		if now := c == ' ' || c == '\n' || c == '\t'; now != space {
			space = now
			if !space {
				n++
			}
		}
	}
	return n
}

// announces tells whether a sentence in lower case says what will be done.
func announces(lower []byte) bool {
	for _, start := range []string{"let me", "let's", "i'll", "i will", "now ", "next", "first", "i'd", "i would", "i want", "looking", "reading", "checking", "i've looked", "i've read", "i have read", "i have looked", "i have gone through", "i've gone through", "i went through", "here is", "here are", "i have an overview", "i need to", "we need to", "overview", "understood", "great", "good", "you're", "sure", "gladly", "i can ", "i could ", "you can ", "you could "} {
		if bytes.HasPrefix(lower, []byte(start)) {
			return !bytes.HasPrefix(lower, []byte("understood.")) || wordCount(lower) < resultWords
		}
	}
	return false
}

// lookedAt tells whether a sentence in lower case only says what the agent has read.
func lookedAt(lower []byte) bool {
	for _, start := range []string{"i have gone through", "i've gone through", "i went through", "i have read", "i've read", "i have looked", "i've looked"} {
		if bytes.HasPrefix(lower, []byte(start)) {
			return true
		}
	}
	return false
}

// general tells whether a sentence in lower case is advice that holds anywhere:
// nobody has decided or found it here.
func general(lower []byte) bool { return advice().in(lower) }

// advice are the words of [general].
var advice = phraseSet(
	"generally", "in general", "usually", "normally", "typically", "commonly", "often ", "a rule of thumb", "as a rule", "recommended", "recommend ", "best practice", "most people", "most projects", "most teams", "most events", "most users", "many people", "many teams", "many events", "many projects", "should consider", "you should", "you could", "you may want",
	"it is better", "it's better", "is better to", "considered", "one should", "a common ", "are often", "is often", "tends to", "tend to",
)
