package summarize

import (
	"math"
	"slices"
	"strings"
)

// What was said may not hold any more at the end, and what nobody took for worth telling
// may be worth it. Both are estimated from what a sentence says, where it stands and what
// was said later. The weights were learned from marked sentences of 62 sessions, by
// logistic regression (docs/dev/summaries.md, "How likely a statement is stale"). Goals, rules and choices are told whatever the risk: there it takes no more
// wrong ones away than right ones.

// signs are what speaks for or against it that a statement is stale, in the order of
// [signWeights].
type signs [signCount]float64

// What is looked at. Shares are of what the statement's words weigh.
const (
	signAlways   = iota
	signAfter    // ln(1 + later messages of people, [mostAfter] at most)
	signLate     // 1: at most two of them
	signWords    // ln(1 + words)
	signQuestion // 1: it asks
	signCovered  // the share that all later messages take up together
	signAnswer   // of a person: the share that the agent's next message takes up
	signChanged  // that a later message has another number with the same word: [remarks.changedNumber]
	signPointed  // 1: a later word is told with it
	signBegins   // 1: a person's first message says it
	signEnds     // 1: it is the last sentence of its message
	signChoice   // how much speaks for a decision, 0 to 1
	signHurdle   // 1: it says what the agent cannot go on without
	signProposal // 1: the agent proposes or guesses
	signSpeaker  // 1: it is about the speaker: "I", "my"
	signFinished // 1: it has a word of what is done
	signCount
)

var (
	finishedWords = phraseSet(" done", "fixed", " works", " pass", " green", "merged", "deployed", " sent", "finished", " ready", "written", " added")
	ofSpeaker     = phraseSet(" i ", " i'", " my ", " me ", " me.")
	wouldDo       = phraseSet("i'd ", " would ")
)

// signWeights are how much each sign speaks for it that a statement does not hold.
func signWeights() signs {
	return signs{
		signAlways:   -2.19,
		signAfter:    0.70,
		signLate:     -0.46,
		signWords:    -0.53,
		signQuestion: 1.20,
		signCovered:  0.47,
		signAnswer:   -1.08,
		signChanged:  0.48,
		signPointed:  -0.80,
		signBegins:   -1.14,
		signEnds:     0.28,
		signChoice:   -1.28,
		signHurdle:   0.60,
		signProposal: 0.76,
		signSpeaker:  0.43,
		signFinished: -0.60,
	}
}

// From these risks on a statement is not told (docs/dev/summaries.md): of what people say, of
// what the agent says, whose reports get old sooner, of what it says and nobody took up
// later, of what it says in the first tenth of the talk, and of what no rule takes for
// worth telling.
const (
	openingLimit = 0.04
	riskLimit    = 0.15
	agentLimit   = 0.10
	quietLimit   = 0.16
	unsaidLimit  = 0.15
)

// idleLimit is from what share on a sentence that no rule takes is probably of no use.
const idleLimit = 0.20

// reliable are the items without those that probably do not hold. What a person said and
// nobody took up later mostly holds, also long after it. A short talk has room for all.
func (e *Extractive) reliable(items []candidate) []candidate {
	if e.seen.people < longTalk {
		return items
	}
	return slices.DeleteFunc(items, func(c candidate) bool {
		switch followed := c.pointed() > 0; {
		case c.person:
			return followed && e.risk(&c) >= riskLimit
		case e.opening(c.line):
			return e.risk(&c) >= openingLimit
		case followed:
			return e.risk(&c) >= agentLimit
		}
		return e.risk(&c) >= quietLimit
	})
}

// opening tells whether a line is in the first tenth of the talk. What the agent finds
// there is what the talk then goes on to change.
func (e *Extractive) opening(line int) bool {
	return 10*(e.seen.people-e.remarks.peopleAfter(line)) <= e.seen.people
}

// risk is how likely it is that an item does not hold at the end, 0 to 1.
func (e *Extractive) risk(c *candidate) float64 {
	x := e.riskSigns(c)
	return x.risk()
}

// riskSigns looks at an item as it would be told.
func (e *Extractive) riskSigns(c *candidate) signs {
	x := e.signsOf(c.line, c.person, withoutQuestion(withoutLast(c.text)))
	x[signPointed] = c.pointed()
	return x
}

// risk is how likely a statement does not hold at the end, 0 to 1.
func (x *signs) risk() float64 {
	sum := 0.0
	for i, weight := range signWeights() {
		sum += float64(weight * x[i])
	}
	return logistic(sum)
}

// logistic is the share that a sum of weights stands for.
func logistic(sum float64) float64 { return 1 / (1 + math.Exp(-sum)) }

// signsOf looks at a statement of a line.
func (e *Extractive) signsOf(line int, person bool, text string) (x signs) {
	lower := " " + strings.ToLower(text) + " "
	x[signAlways] = 1
	x[signWords] = math.Log1p(float64(wordCount([]byte(text))))
	x[signQuestion] = indicator(strings.Contains(text, "?"))
	x[signChoice] = e.speaksFor(decision, lower)
	x[signHurdle] = indicator(hurdles().inString(lower))
	x[signProposal] = indicator(!person && proposes(lower))
	x[signSpeaker], x[signFinished] = indicator(ofSpeaker().inString(lower)), indicator(finishedWords().inString(lower))
	e.placeSigns(line, person, text, &x)
	e.remarks.laterSigns(line, person, keysOf(lower, nil), figuresOf(text), &x)
	return x
}

// speaksFor is how much the cues of a text in lower case speak for a kind, 0 to 1.
func (e *Extractive) speaksFor(k kind, lower string) float64 {
	return float64(min(e.cues.weigh([]byte(lower))[k], strongCue)) / strongCue
}

// mostAfter is how many later messages of people count at most: few of the talks that the
// weights come from have more behind a statement.
const mostAfter = 20

// strongCue is the weight from which a cue speaks as much as any.
const strongCue = 6

// placeSigns looks at where a statement stands.
func (e *Extractive) placeSigns(line int, person bool, text string, x *signs) {
	m, after := &e.remarks, e.remarks.peopleAfter(line)
	x[signAfter], x[signLate] = math.Log1p(float64(min(after, mostAfter))), indicator(after <= 2)
	if at := m.firstAfter(line) - 1; at >= 0 && m.all[at].line == line {
		x[signBegins] = indicator(person && after == e.seen.people-1)
		x[signEnds] = indicator(strings.HasSuffix(strings.TrimSpace(m.all[at].text), strings.TrimSpace(text)))
	}
}

// laterSigns looks at what later messages take up of a statement.
func (m *remarks) laterSigns(line int, person bool, words []wordKey, figures []figure, x *signs) {
	from := m.firstAfter(line)
	masses, all := m.masses(words)
	all = max(all, leastMass)
	x[signCovered] = m.covered(from, words)
	x[signChanged] = m.changedNumber(from, figures, masses, all)
	if reply := m.replyAfter(from); person && reply >= 0 {
		x[signAnswer] = masses[reply] / all
	}
}

// proposes tells whether a sentence of the agent in lower case says what could be, and not
// what is.
func proposes(lower string) bool {
	return guesses().inString(lower) || general([]byte(lower)) || offersChoice([]byte(lower)) || waysOf().inString(lower) || wouldDo().inString(lower)
}

// leastMass is what the words of a statement weigh together at least.
const leastMass = 0.3

// covered is the share of some words that the messages from one on say again.
func (m *remarks) covered(from int, words []wordKey) float64 {
	all, again := 0.0, 0.0
	for _, w := range words {
		weight, in := m.weight(w), m.in[w]
		all += weight
		if len(in) > 0 && int(in[len(in)-1]) >= from {
			again += weight
		}
	}
	return again / max(all, leastMass)
}

// replyAfter is where the agent's next message stands, -1 if there is none.
func (m *remarks) replyAfter(from int) int {
	for i := from; i < len(m.all); i++ {
		if !m.all[i].person {
			return i
		}
	}
	return -1
}

// changedNumber is [changedSign] and the largest share of a statement that a later message
// takes up which has another number with the same word; 0 if none has.
func (m *remarks) changedNumber(from int, figures []figure, masses []float64, all float64) (most float64) {
	for i := from; i < len(m.all) && len(figures) > 0; i++ {
		if share := masses[i] / all; otherwise(figures, m.all[i].numbers(), share) {
			most = max(most, changedSign+share)
		}
	}
	return most
}

// changedSign is what another number counts if nothing else of a statement is taken up.
const changedSign = 0.3

// idleSigns are what speaks for or against it that nobody needs a sentence, in the order
// of [idleWeights].
type idleSigns [idleCount]float64

// What is looked at.
const (
	idleAlways   = iota
	idlePlace    // how much of the talk was over, 0 to 1
	idleOpens    // 1: its message begins with it
	idleNumber   // 1: it has a number
	idleWords    // tenths of its words that say something
	idleProposal // 1: the agent proposes or guesses
	idleWork     // 1: the agent says it after it has called a tool
	idleAnswers  // 1: a person says it to a question
	idleKnown    // days, places and people
	idleCount
)

// idleWeights are how much each sign speaks for it that nobody needs a sentence.
func idleWeights() idleSigns {
	return idleSigns{
		idleAlways:   -0.35,
		idlePlace:    -1.02,
		idleOpens:    1.25,
		idleNumber:   -0.55,
		idleWords:    -1.16,
		idleProposal: 1.26,
		idleWork:     -1.69,
		idleAnswers:  -0.43,
		idleKnown:    -1.41,
	}
}

// idle is how likely it is that nobody needs a sentence of a message, 0 to 1; opens is
// true of its first, and words are those of it that say something.
func (e *Extractive) idle(at int, text string, words int, opens bool) float64 {
	x := e.idleSigns(at, text, words, opens)
	return x.idle()
}

// idle is how likely it is that nobody needs a sentence, 0 to 1.
func (x *idleSigns) idle() float64 {
	sum := 0.0
	for i, w := range idleWeights() {
		sum += float64(w * x[i])
	}
	return logistic(sum)
}

// idleSigns looks at a sentence of a message.
func (e *Extractive) idleSigns(at int, text string, words int, opens bool) (x idleSigns) {
	t, lower := &e.remarks.all[at], " "+strings.ToLower(text)+" "
	x[idleAlways] = 1
	x[idlePlace] = float64(t.people) / float64(max(e.seen.people, 1))
	x[idleOpens] = indicator(opens)
	x[idleNumber] = indicator(strings.ContainsAny(text, "0123456789"))
	x[idleWords] = float64(words) / 10
	x[idleProposal] = indicator(!t.person && proposes(lower))
	x[idleWork] = indicator(!t.person && t.worked)
	x[idleAnswers] = indicator(t.person && e.remarks.asksBefore(at))
	x[idleKnown] = e.speaksFor(known, lower)
	return x
}

// asksBefore tells whether the message before one is the agent's, and ends with a question.
func (m *remarks) asksBefore(at int) bool {
	return at > 0 && !m.all[at-1].person && strings.HasSuffix(strings.TrimSpace(m.all[at-1].text), "?")
}

// firstAfter is where the first message behind a line stands.
func (m *remarks) firstAfter(line int) int {
	at, _ := slices.BinarySearchFunc(m.all, line+1, func(t remark, line int) int { return t.line - line })
	return at
}

// peopleAfter is how many messages of people stand behind a line.
func (m *remarks) peopleAfter(line int) (people int) {
	for i := m.firstAfter(line); i < len(m.all); i++ {
		if m.all[i].person {
			people++
		}
	}
	return people
}

// indicator is 1 for true, and 0 for false.
func indicator(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}
