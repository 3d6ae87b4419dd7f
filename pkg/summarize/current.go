package summarize

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// What a summary says of something that was said is true as long as it says who
// said it, and becomes wrong when somebody says later that it is otherwise. So
// each item is looked up in what was said later: the last word on the same thing
// is told with it, wherever there is one.

// followed returns items with what the next turns made of them, the last word on them,
// and the lines that most likely tell more of them, of those who are wanted.
func (e *Extractive) followed(items []candidate, wanted func(*remark) bool) []candidate {
	return untold(items, func(c *candidate, text string) {
		next, last, likely := e.remarks.laterOn(c.line, text, wanted)
		if last.remark == nil || next.remark != last.remark {
			c.tell(text, next, nextRunes)
		}
		c.tell(text, last, followedRunes)
		c.see(likely)
	})
}

// overruled returns items with the last word on them alone: what is asked for, and
// rules, hold beyond the next turn.
func (e *Extractive) overruled(items []candidate, wanted func(*remark) bool) []candidate {
	return untold(items, func(c *candidate, text string) { c.tell(text, e.remarks.lastOn(c.line, text, wanted), followedRunes) })
}

// untold lets look up what each item says of which nothing later is told already.
func untold(items []candidate, look func(c *candidate, text string)) []candidate {
	for i := range items {
		if c := &items[i]; !strings.Contains(c.text, " → ") {
			look(c, withoutQuestion(c.text))
		}
	}
	return items
}

// tell adds a later word to an item, if there is one and it says something else.
func (c *candidate) tell(text string, later takenUp, runes int) {
	if later.remark == nil || later.confirms() {
		return
	}
	if told := later.quote(runes); !adds(text, told) {
		c.text += followedBy + strconv.Itoa(later.line) + ": " + told
	}
}

// adds tells whether a later sentence is a rule beside an earlier one, and not in its
// place: it begins with the same words. "You must never forget rule 22."
func adds(earlier, later string) bool {
	a, b := strings.Fields(strings.ToLower(earlier)), strings.Fields(strings.ToLower(later))
	return len(a) > addedWords && len(b) > addedWords && slices.Equal(a[:addedWords], b[:addedWords]) && ruled().inString(strings.Join(a[:addedWords], " ")+" ")
}

// addedWords is how many words two rules that stand beside each other begin with.
const addedWords = 3

// withoutLast is an item without the last word on it.
func withoutLast(text string) string {
	text, _, _ = strings.Cut(text, followedBy)
	return text
}

// followedBy stands between an item and the last word on it, with its line.
const followedBy = " → line "

// How much of the last word is told, and of what the next turns made of it, in code
// points.
const (
	followedRunes = 110
	nextRunes     = 70
)

// confirms tells whether the last word on something only says it again: the agent
// repeats all of its numbers, and enough of its words. A person who comes back to
// something mostly changes it.
func (t takenUp) confirms() bool {
	return !t.person && !t.changed && t.numbers && t.same && t.share >= confirmedShare
}

const confirmedShare = 0.4

// pending are the goals that still are goals: the first ones, if they are tasks, and
// what was asked for in the last two messages. What came of the others stands
// elsewhere.
func (e *Extractive) pending(goals []candidate) []candidate {
	kept := goals[:0:0]
	for _, c := range goals {
		if c.score >= firstScore && !c.passing && e.begins(c) || e.inFocus([]byte(c.text)) > 0 || c.people > e.seen.people-2 {
			kept = append(kept, c)
		}
	}
	return kept
}

// pastHurdles are reports without the sentences on what stood in the way, or had to be
// done first, before the last quarter of a talk: the log went on, and what became of it
// stands elsewhere.
func (e *Extractive) pastHurdles(items []candidate) []candidate {
	kept := items[:0:0]
	for _, c := range items {
		if !c.person && e.seen.people >= longTalk && 4*c.people <= 3*e.seen.people {
			c.text = withoutHurdles(c.text)
		}
		if c.text != "" {
			kept = append(kept, c)
		}
	}
	return kept
}

// withoutHurdles is a report without the sentences that tell what could not go on.
func withoutHurdles(text string) string {
	if !hurdles().inString(strings.ToLower(text)) {
		return text
	}
	kept := slices.DeleteFunc(clauses(text), func(s string) bool { return hurdles().inString(strings.ToLower(s)) })
	return strings.Join(kept, " ")
}

// hurdles are the words by which an agent tells what it cannot go on without.
var hurdles = phraseSet("waits for", "wait for", "waiting for", "has to ", "have to ", "i'd need", "i would need", "i have no ", "rejects ", "refuses ", "is rejected", "was rejected", "is refused", "was refused", "has expired", "is expired", "stopped after", "it stopped", "not yet", "is missing", "are missing", "needs your", "need your", "you need")

// begins tells whether something was said in the first quarter of the talk.
func (e *Extractive) begins(c candidate) bool { return c.people <= max(2, e.seen.people/4) }

// untaken are the items that nobody took up again later, by at least so much of what
// they say.
func (e *Extractive) untaken(items []candidate, share float64) []candidate {
	return slices.DeleteFunc(items, func(c candidate) bool {
		text := withoutQuestion(c.text)
		if wordCount([]byte(text)) <= deferredWords { // "after the release": what, the question says
			text = c.text
		}
		last := e.remarks.lastOn(c.line, text, anybody)
		return last.remark != nil && last.share >= share
	})
}

// sayings are what people said that counts later: rules that hold for all that
// comes, choices, and the rest. What is a rule or a choice only by its words, and
// nothing else speaks for it, is told as what it is: said. A rule is ended by people
// only.
func (e *Extractive) sayings(goals []candidate, turning []statement) (rules, choices, rest []candidate) {
	for _, c := range lasting(e.said[constraint].ranked(), turning) {
		if c.weight >= ruleWeight && demands(strings.ToLower(c.text)) && !(c.people <= 1 && e.asks(c.text)) {
			rules = append(rules, c)
		} else {
			rest = append(rest, c)
		}
	}
	for _, c := range lasting(e.said[decision].ranked(), turning) {
		if c.person && onlyAgrees(c.text) {
			continue
		}
		if !c.person || c.chosen && 2*c.people >= e.seen.people && len(stemsOf(withoutQuestion(c.text))) >= 3 && alternatives().inString(strings.ToLower(c.text+c.reply)) || c.weight >= choiceWeight || decides().inString(strings.ToLower(c.text)) {
			choices = append(choices, c)
		} else {
			rest = append(rest, c)
		}
	}
	rest = append(rest, lasting(e.said[known].ranked(), turning)...)
	rest = slices.DeleteFunc(notIn(rest, goals, rules, choices), func(c candidate) bool { return !speaks(c) })
	for i := range rest {
		rest[i].score = rest[i].weight + 4*e.inFocus([]byte(rest[i].text))
	}
	sortByScore(rest)
	rest = rest[:min(len(rest), maxSaid)]
	return e.overruled(rules, people), e.followed(choices, anybody), e.followed(rest, anybody)
}

// onlyAgrees tells whether a choice says yes to what stands elsewhere: "Yes, send those
// two."
func onlyAgrees(text string) bool {
	return wordCount([]byte(text)) < agreedWords && agrees([]byte(strings.ToLower(text))) && !strings.ContainsAny(text, "0123456789")
}

// agreedWords is from how many words on an answer says more than yes.
const agreedWords = 5

// From these weights on the words of a person are enough for a rule or a choice.
const (
	ruleWeight   = enough
	choiceWeight = 8
)

// maxSaid is how many sentences that people said in passing are looked at; about half
// of them fit.
const maxSaid = 28

// alternatives are the words of a question that leaves a choice.
var alternatives = phraseSet(" or ", "shall", "should", "which", "want", "may i", "prefer")

// speaks tells whether what a person said in passing says enough to be told: some
// words of its own, the fewer the more speaks for it.
func speaks(c candidate) bool {
	words := len(stemsOf(withoutQuestion(c.text)))
	return words >= saidWords || words >= 2 && c.weight > enough+1 || strings.Contains(c.text, "://") || strings.Contains(c.text, "@")
}

// saidWords is how many words that say something a sentence has at least.
const saidWords = 4

// notIn drops items that stand in others of the same line.
func notIn(items []candidate, others ...[]candidate) []candidate {
	return slices.DeleteFunc(items, func(c candidate) bool {
		return slices.ContainsFunc(slices.Concat(others...), func(o candidate) bool {
			return o.line == c.line && (strings.Contains(o.text, c.text) || strings.Contains(c.text, withoutQuestion(o.text)))
		})
	})
}

// decides are the words by which a decision is called one.
var decides = phraseSet("decided", "decision", "we will use", "we'll use", "let's use", "let us use", "go with", "going with", "settled on", "settled for", "we agreed", "agreed to", "agreed on", "agreed that", "stick with", "changed my mind", "entschieden", "beschlossen", "décidé", "decidido")

// asks tells whether a text asks for something to be done.
func (e *Extractive) asks(text string) bool {
	return e.cues.weigh([]byte(strings.ToLower(text)))[goal] >= enough
}

// demands tells whether a text in lower case is a rule by its form: it says what must
// never be, or a clause of it begins with what is never or always to be done. What somebody
// else says is none.
func demands(lower string) bool {
	if reported().inString(lower) {
		return false
	}
	if obliges().inString(lower) {
		return true
	}
	for _, clause := range strings.FieldsFunc(lower, func(r rune) bool { return strings.ContainsRune(".,;:!?()", r) }) {
		for i, part := range strings.Split(clause, " and ") {
			if forbidding(part, i > 0) {
				return true
			}
		}
	}
	return false
}

// forbidding tells whether a clause in lower case begins with what is never or always to
// be done. What was never done is a report, and so is what goes on with a preposition
// behind "and": "between players and never with the bank".
func forbidding(clause string, goesOn bool) bool {
	first, second := "", ""
	eachWord([]byte(clause), func(word []byte) {
		switch {
		case first != "" && second == "":
			second = string(word)
		case first == "" && !opens(word):
			first = string(word)
		}
	})
	switch first {
	case "never", "always", "don't", "dont", "nothing", "avoid", "ask", "niemals", "nie", "immer", "jamais", "toujours", "nunca", "siempre":
		return second != "mind" && !pastForm(second) && !(goesOn && common(second))
	case "do":
		return second == "not"
	case "no": // "no macros", and not "no, the second one"
		return second != "" && !common(second)
	}
	return false
}

// pastForm tells whether a word in lower case is a regular verb in the past: "used".
func pastForm(word string) bool {
	return strings.HasSuffix(word, "ed") && !strings.HasSuffix(word, "eed")
}

// reported are the words by which people tell what somebody else says, or complain.
var reported = phraseSet(" says", " said", " answers", " answered", " told me", " tells", " thinks", " believes", " wrote", " writes", "'s rule", "never happen")

// obliges are the words by which people say what must never be, or always. What has to
// be may be one step, which is done.
var obliges = phraseSet("must not", "must never", "must always", "must stay", "cannot", "may not", "may only", "should never", "no exceptions", "at most", "not more", "no more than", "from now on", "our rule", "new rule", "as it is", "as they are", "before you", "constraint", "requirement",
	"auf keinen fall", "höchstens", "ab jetzt")

// ruled are the words of which a rule has one: they hold for more than the next step.
var ruled = phraseSet("never", "always", "must", "don't", "dont ", "do not", "no exceptions", "cannot", "may not", "not more", "no more than", "at most", "only ", "has to be", "have to be", "from now on", "rule", "stay", "as it is", "as they are", "nobody", "before you", "every ", "constraint", "requirement",
	"niemals", "nie ", "immer", "auf keinen fall", "höchstens", "ab jetzt", "jamais", "toujours", "nunca", "siempre")

// stepShare is the share of a step's words from which a later word on it says what
// became of it.
const stepShare = 0.5

// unsaid are the sentences of the talk that no section tells and that are probably
// needed: those of a person's first message, which says what the talk is for, and then
// those that are needed most. What asks is left out, it is answered or stands at the end.
func (e *Extractive) unsaid(plans []*plan) []candidate {
	told := toldBy(plans)
	var all []unsaidSentence
	for i := range e.remarks.all {
		if t := &e.remarks.all[i]; !t.denied && (t.person || !e.opening(t.line)) {
			all = e.unsaidOf(i, told[e.remarks.all[i].line], all)
		}
	}
	slices.SortStableFunc(all, func(a, b unsaidSentence) int {
		return cmp.Or(int(indicator(b.begins)-indicator(a.begins)), cmp.Compare(a.idle, b.idle))
	})
	sentences := make([]candidate, min(len(all), maxUnsaid))
	for i := range sentences {
		sentences[i] = all[i].candidate
	}
	return sentences
}

// maxUnsaid is how many such sentences are looked at.
const maxUnsaid = 40

// unsaidSentence is a sentence that no section tells.
type unsaidSentence struct {
	candidate
	begins bool    // a person's first message says it
	idle   float64 // how likely it is that nobody needs it
}

// toldBy are the words that the sections tell of each line.
func toldBy(plans []*plan) map[int]string {
	told := map[int]string{}
	for _, p := range plans {
		for _, c := range p.chosen {
			told[c.line] += spelled(c.text) + " "
		}
	}
	return told
}

// unsaidOf adds those of one message. What people say in less words than [saidWords] says
// nothing by itself.
func (e *Extractive) unsaidOf(at int, told string, all []unsaidSentence) []unsaidSentence {
	t := &e.remarks.all[at]
	t.eachSentence(func(s sentence, opens bool) {
		text := string(s.text)
		words := len(stemsOf(text))
		if s.head || strings.HasSuffix(text, "?") || t.person && words < saidWords || told != "" && strings.Contains(told, spelled(text)) {
			return
		}
		if idle := e.idle(at, text, words, opens); idle < idleLimit {
			c := candidate{text: oneLine(text, sentenceRunes), line: t.line, person: t.person, people: t.people}
			all = append(all, unsaidSentence{c, t.person && t.people <= 1, idle})
		}
	})
	return all
}

// spelled are the letters and digits of a text: how it is set does not count.
func spelled(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return -1
	}, text)
}

// stillTrue is a sentence that no section tells, with the later words on it; its text is
// empty if it was ended, or probably does not hold. What costs least is looked at first.
func (e *Extractive) stillTrue(c candidate) candidate {
	x := e.signsOf(c.line, c.person, c.text)
	if x[signPointed] = 1; x.risk() >= unsaidLimit {
		return candidate{}
	}
	told := e.followed([]candidate{c}, anybody)[0]
	x[signPointed] = told.pointed()
	if x.risk() >= unsaidLimit || e.steps.doneAt(c) > 0 || stillHolds(c, e.turns).text != c.text {
		return candidate{}
	}
	return told
}

// pointed is 1 if a later word is told with an item, else 0.
func (c *candidate) pointed() float64 { return indicator(toldLater(c.text)) }

// toldLater tells whether a later word is told with an item. The number of a line tells
// nothing.
func toldLater(text string) bool {
	_, later, found := strings.Cut(text, followedBy)
	return found && strings.HasPrefix(strings.TrimLeft(later, "0123456789"), ":")
}

// eachSentence hands out the sentences of a message; opens is true of the first.
func (t *remark) eachSentence(yield func(s sentence, opens bool)) {
	opens, short := true, shortSentence
	if t.person {
		short = shortClause
	}
	eachSentenceOf([]byte(t.text), short, func(s sentence) {
		yield(s, opens)
		opens = false
	})
}
