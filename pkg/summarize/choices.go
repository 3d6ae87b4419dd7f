package summarize

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// chosen takes what a person says to an agent's question for a decision: the
// agent offered, the person chose. asked is that question, "" if there was none.
func (e *Extractive) chosen(line int, text []byte, asked string) {
	question, found := strings.CutPrefix(asked, askedLast)
	if !found {
		return
	}
	choice, ok := answer(question, string(cut(text, 1024)))
	if !ok || bytes.Contains(text, []byte("```")) {
		return
	}
	e.turn.chose = true
	if wordCount(firstLine(text)) > choiceWords { // it discusses: its sentences speak for themselves
		return
	}
	c := e.candidate(line, firstLine(text), sentenceRunes, enough+3)
	c.text, c.person, c.reply, c.chosen = choice, true, e.replied, true
	c.people, c.message, c.offer = e.people, e.message, e.offer
	e.said[decision].replace(c)
}

// choiceWords is how many words an answer has at most that is a choice as a whole.
const choiceWords = 25

// corrects tells whether an answer in lower case says that something is otherwise,
// and chooses nothing.
func corrects(lower []byte) bool {
	for _, start := range []string{"actually", "no, that", "no that", "hmm", "but ", "what", "why", "well,", "wait", "it's still", "still ", "that's not"} {
		if bytes.HasPrefix(lower, []byte(start)) {
			return true
		}
	}
	return false
}

// takesUp tells whether an answer is to the question: where that only asks
// whether the agent shall do something, the answer says yes or no.
func takesUp(lower []byte, question string) bool {
	for _, offer := range []string{"want me", "shall i", "should i", "would you like", "do you want me", "may i"} {
		if strings.Contains(question, offer) && !strings.Contains(question, " or ") {
			return agrees(lower) || bytes.HasPrefix(lower, []byte("no"))
		}
	}
	return true
}

// agrees tells whether an answer in lower case begins with a yes.
func agrees(lower []byte) bool {
	for _, yes := range []string{"yes", "ok", "sure", "yep", "go", "please", "do it", "fine", "sounds good", "ja", "oui", "sí", "si"} {
		if bytes.HasPrefix(lower, []byte(yes)) {
			return true
		}
	}
	return false
}

// answerTo is put before the question that a decision answers, where it says
// little without it.
const answerTo = " (asked: "

// askedLast begins what the agent asked last.
const askedLast = "Asked last: "

func firstLine(text []byte) []byte {
	line, _, _ := bytes.Cut(text, []byte("\n"))
	return bytes.TrimSpace(line)
}

// offers tells whether a question in lower case leaves a choice, rather than
// asking for something.
func offers(question string) bool {
	for _, ask := range []string{"can you", "could you", "have you", "who ", "when ", "where ", "is there", "are there", "do you know", "do you have", "what is ", "what does"} {
		if strings.Contains(question, ask) {
			return false
		}
	}
	return true
}

// replace puts a candidate in the place of what the shelf has from the same
// line and with the same words, and adds it where there is nothing.
func (s *shelf) replace(c candidate) {
	words, _, _ := strings.Cut(c.text, answerTo)
	kept := s.items[:0]
	for _, o := range s.items {
		if o.line != c.line || !strings.Contains(words, strings.TrimSuffix(o.text, "…")) {
			kept = append(kept, o)
		}
	}
	s.items = kept
	s.add(c)
}

// old matches what a sentence says is over: "not 7", "instead of pdf", "don't
// want #6B6B6B".
var old = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\b(?:instead of|rather than|in place of|replaces?|replacing|no longer|not want|n't want|scrap|forget(?: about)?|away from|switched from|moved from|changed from|,? not|no)\s+(?:an? |the |at )?([^,;:.!?()]{1,40}[^,;:.!?() ]?(?:\.\d+)?)`)
})

// oldWords are words of which [old] needs one.
var oldWords = phraseSet("instead of", "rather than", "in place", "replac", "no longer", "not ", "n't want", "scrap", "forget", "away from", "switched from", "moved from", "changed from", "no ")

// changed are the words by which a person changes what they have said.
var changed = phraseSet(
	"changed my mind", "moved", "moves", "postponed", "is off", "called off", "cancelled", "canceled", "only ", "better", "becomes", "make that", "make it", "scrap that", "after all", "on second thought", "actually", "bigger", "smaller", "higher", "lower", "longer", "shorter", "changes to", "instead", " then", "then ", "want", "allow",
	"we have to", "have to",
)

// counted and measures are a number and the word that goes with it: "concurrency
// 8", "90 days".
var (
	counted  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\b([a-z][a-z-]{2,})[ =:]+(\d[\d.,:]*)\b`) })
	measures = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\b(\d[\d.,]*)[ -]?(days?|hours?|minutes?|seconds?|weeks?|months?|gi|gb|mb|cpus?|entries|connections|euros?|workers?|percent|jobs|replicas|october|november|december|january|february|march|april|june|july|august|september|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec|%)`)
	})
)

// statement is a candidate as it is compared with others.
type statement struct {
	candidate
	stems []string
	pairs map[string]string // the numbers that go with words
	units map[string]bool   // of the words of pairs
	// What only a statement of a person has that may be ended:
	waitsFor  string   // the stem of what it puts off
	prohibits string   // and of what it forbids
	offers    []string // the stems of what the agent had offered
	asked     []string // and of what it had asked
	// What only a statement has that may end others:
	old     []string // what it says is over
	changes bool     // it says that something is different now
	reversal
	replied []string // the stems of a report that something does not do, which it answers
}

func newStatement(c candidate) statement {
	text, _, _ := strings.Cut(c.text, answerTo)
	s := statement{candidate: c, stems: stemsOf(text), pairs: map[string]string{}, units: map[string]bool{}}
	if !strings.ContainsAny(text, "0123456789") {
		return s
	}
	text = strings.ToLower(text)
	for _, m := range counted().FindAllStringSubmatch(text, -1) {
		if !common(m[1]) {
			s.pairs[stem(m[1])] = strings.TrimRight(m[2], ".,:")
		}
	}
	for _, m := range measures().FindAllStringSubmatch(text, -1) {
		unit := stem(m[2])
		s.pairs[unit], s.units[unit] = strings.TrimRight(m[1], ".,:"), true
	}
	return s
}

// earlierStatement is a statement that others may end.
func earlierStatement(c candidate) statement {
	s := newStatement(c)
	if !c.person {
		return s
	}
	lower := strings.ToLower(c.text)
	s.waitsFor = awaited(lower)
	s.prohibits, _ = forbiddenIn(lower)
	if offered(c.offer) {
		s.offers = stemsOf(c.offer)
	}
	if question := questionOf(c.reply); question != "" && strings.ContainsAny(c.text, "0123456789") {
		s.asked = stemsOf(question)
	}
	return s
}

// turningStatement is a statement that may end others.
func turningStatement(c candidate) statement {
	s := newStatement(c)
	lower := []byte(strings.ToLower(s.text))
	if oldWords().in(lower) {
		for _, m := range old().FindAllSubmatch(lower, -1) {
			s.old = append(s.old, string(bytes.TrimSpace(m[1])))
		}
	}
	s.changes, s.reversal = changed().in(lower), newReversal(c)
	if c.reply != "" && setbacks().inString(c.reply) {
		s.replied = stemsOf(c.reply)
	}
	return s
}

// ends tells whether a later statement says that an earlier one is over.
func (s *statement) ends(earlier *statement) bool {
	for _, over := range s.old {
		if s.endsBy(over, earlier) {
			return true
		}
	}
	if s.reopens(earlier) || s.reverses(earlier) {
		return true
	}
	if !s.changes {
		return false
	}
	shared, other := 0, false
	for _, stem := range s.stems {
		if !s.units[stem] && !isNumber(stem) && within(earlier.stems)(stem) {
			shared++
		}
	}
	for key, value := range s.pairs {
		before, has := earlier.pairs[key]
		other = other || has && before != value
	}
	return other && (shared >= 2 || shared >= 1 && len(earlier.stems) <= 8)
}

// reopens tells whether the agent had said that an earlier decision does not
// work, and this is what the person decided then.
func (s *statement) reopens(earlier *statement) bool {
	if len(s.replied) == 0 || !earlier.person || len(earlier.stems) < 2 {
		return false
	}
	share := overlap(earlier.stems, within(s.replied))
	return share >= reopenedShare && share*float64(len(earlier.stems)) >= 2
}

// reopenedShare is the share of a decision's words that a report of its failure
// has.
const reopenedShare = 0.6

// setbacks are the words by which an agent tells that something does not do.
var setbacks = phraseSet("dead end", "fail", "falls ", "does not", "doesn't", "cannot", "can't", "won't", "too ", "alternativ", "unless", "instead", "exceed", "that needs", "would need", "takes a ")

// endsBy tells whether what is called over stands in the earlier statement. A
// bare number must go with the same word there.
func (s *statement) endsBy(over string, earlier *statement) bool {
	words := stemsOf(over)
	if len(words) == 0 || len(words) > 4 {
		return false
	}
	if overlap(words, within(earlier.stems)) < 1 || overlap(words, within(stemsOf(s.before(over)))) == 1 {
		return false
	}
	if len(words) > 1 || len(over) >= 3 && strings.ContainsAny(over, "0123456789") {
		return true
	}
	if strings.ContainsAny(over, "0123456789") {
		for key, value := range earlier.pairs {
			if _, both := s.pairs[key]; both && value == over {
				return true
			}
		}
		return false
	}
	return len(over) >= 3 && len(earlier.stems) <= 10
}

// before is what a statement says before what it calls over: there the word
// stands for itself.
func (s *statement) before(over string) string {
	text, _, _ := strings.Cut(strings.ToLower(s.text), over)
	return text
}

func isNumber(stem string) bool { return stem[0] >= '0' && stem[0] <= '9' }

// renewed returns what was reported without what a later report says again with
// other numbers.
func renewed(items []candidate) []candidate {
	reports := make([]statement, len(items))
	for i, c := range items {
		reports[i] = newStatement(c)
	}
	var kept []candidate
	for i := range reports {
		again := slices.ContainsFunc(reports, func(o statement) bool { return o.line > reports[i].line && o.renews(&reports[i]) })
		if !again {
			kept = append(kept, items[i])
		}
	}
	return kept
}

// The bounds from which two reports are of the same.
const (
	renewedShare = 0.6
	renewedWords = 3
)

// renews tells whether a report is an earlier one with other numbers.
func (s *statement) renews(earlier *statement) bool {
	shared, words, number := 0, 0, false
	for _, stem := range earlier.stems {
		switch in := within(s.stems)(stem); {
		case isNumber(stem):
			number = number || !in
		case in:
			shared, words = shared+1, words+1
		default:
			words++
		}
	}
	return number && shared >= renewedWords && float64(shared) >= renewedShare*float64(words)
}

// carriedOut returns the reports without those of a turn whose choice does not hold
// any more, as far as they are about it.
func carriedOut(reports []candidate, choices []candidate, later []statement) []candidate {
	var fallen []statement
	for _, c := range choices {
		if s := earlierStatement(c); c.person && endedBy(c, later) != nil {
			fallen = append(fallen, s)
		}
	}
	return slices.DeleteFunc(reports, func(c candidate) bool {
		in := within(stemsOf(c.text))
		return slices.ContainsFunc(fallen, func(s statement) bool {
			return s.people == c.people && overlap(s.stems, in) >= carriedShare
		})
	})
}

// carriedShare is the share of a choice's words that a report of it has.
const carriedShare = 0.3

// endedBy returns what ends a candidate, or nil.
func endedBy(c candidate, later []statement) *statement {
	if len(later) == 0 || later[len(later)-1].line <= c.line {
		return nil
	}
	s := earlierStatement(c)
	for i := range later {
		if l := &later[i]; l.line > c.line && l.ends(&s) {
			return l
		}
	}
	return nil
}

// turning are the statements that may end others: what people decided and
// asked for.
func (e *Extractive) turning() []statement {
	var all []statement
	for _, k := range [...]kind{decision, constraint, known} {
		for _, c := range e.said[k].items {
			if !c.person {
				continue
			}
			text, _, _ := strings.Cut(c.text, answerTo)
			for _, part := range clauses(text) {
				c.text = part
				all = append(all, turningStatement(c))
			}
		}
	}
	for _, c := range e.orders {
		all = append(all, turningStatement(c))
	}
	slices.SortStableFunc(all, func(a, b statement) int { return a.line - b.line })
	return all
}

// answer tells whether what a person said first, in answer to a question of the
// agent, is a choice: the question offered something, and the answer takes it up
// with more than a yes. It returns the first line of the answer, with the question
// where the answer says little without it.
func answer(question, answer string) (choice string, ok bool) {
	first := firstLine([]byte(answer))
	lower := bytes.ToLower(first)
	switch {
	case !strings.HasSuffix(question, "?") || !offers(strings.ToLower(question)) || len(first) == 0 || first[0] == '/' || len(answer) > 600:
		return "", false
	case bytes.HasSuffix(first, []byte("?")) || corrects(lower) || !takesUp(lower, strings.ToLower(question)) || undecided().in(lower):
		return "", false
	case wordCount(first) <= 3 && !bytes.ContainsAny(first, "0123456789") && agrees(lower):
		return "", false
	}
	choice = oneLine(string(first), sentenceRunes)
	if wordCount(first) < 12 {
		choice += answerTo + oneLine(question, 140) + ")"
	}
	return choice, true
}

// undecided are the words of an answer that chooses nothing.
var undecided = phraseSet("i don't know", "don't know", "need to think", "not sure", "let me think", "here, ", "here is", "ask ", "i was ", "i meant", "referring to", "go ahead", "proceed", "sounds good", "continue")
