package summarize

import (
	"math"
	"slices"
	"strings"
)

// A statement with a later word behind it may still mislead: that word is not always
// the last one. How likely it is that it does not hold at the end is estimated from
// what the statement says and from what was said later. The weights come from the
// 3,562 marked statements of 50 sessions, by logistic regression (docs/summaries.md,
// "How likely a statement is stale").

// signs are what speaks for or against a statement, in the order of [signWeights].
type signs [signCount]float64

// What is looked at. Shares are of what the statement's words weigh.
const (
	signAlways      = iota
	signPerson      // 1: a person said it
	signPlace       // how much of the talk was over, 0 to 1
	signAfter       // ln(1 + later messages of people)
	signLate        // 1: at most two of them
	signWords       // ln(1 + words)
	signNumbers     // ln(1 + numbers)
	signQuestion    // 1: it asks
	signShare       // the largest share that a later message takes up
	signPeople      // the largest share that a later message of a person takes up
	signNext        // the largest share that the next two turns take up
	signAgain       // ln(1 + later messages that take up a quarter)
	signCovered     // the share that all later messages take up together
	signRare        // ln(1 + later messages with two rare words of it)
	signNumbersGone // the share of its numbers that nobody says again
	signWordsFirst  // from here 1 for each of [signPhrases] that it has
	signCount       = signWordsFirst + signPhraseSets
)

// signPhraseSets is how many sets of phrases are looked for.
const signPhraseSets = 10

// signPhrases are these sets.
func signPhrases() [signPhraseSets]*phrases {
	return [...]*phrases{toCome(), waitedFor(), possible(), atPresent(), finishedWords(), failedWords(), changing(), guessed(), ofSpeaker(), ofListener()}
}

var (
	toCome        = phraseSet(" will ", "'ll ", "going to ", "tonight", "tomorrow", " next ", " later", " soon", " plan")
	waitedFor     = phraseSet(" wait", " until ", " till ", "not yet", " still ", " open", "missing", " need", "pending", "unclear", "no answer", "nobody")
	possible      = phraseSet(" can ", " could ", " should ", " would ", " may ", " might ", " must ", " has to ", " have to ")
	atPresent     = phraseSet(" now", " today", "currently", "so far", "at the moment", "already")
	finishedWords = phraseSet(" done", "fixed", " works", " pass", " green", "merged", "deployed", " sent", "finished", " ready", "written", " added")
	failedWords   = phraseSet(" fail", " error", "reject", "refuse", "broken", " wrong", " crash", " empty")
	changing      = phraseSet("instead", " change", "replace", " moved", " rather", "back to", "after all", "no longer", "any more", "anymore")
	guessed       = phraseSet(" think", " maybe", "perhaps", "probably", " seem", " looks like", " guess", "suggest", "propose")
	ofSpeaker     = phraseSet(" i ", " i'", " my ", " me ", " me.")
	ofListener    = phraseSet(" you ", " your ", " you'", " you?")
)

// signWeights are how much each sign speaks for it that a statement does not hold.
func signWeights() signs {
	return signs{
		signAlways:         -1.03,
		signPerson:         -0.79,
		signPlace:          -0.73,
		signAfter:          0.23,
		signLate:           -0.57,
		signWords:          -0.41,
		signNumbers:        0.14,
		signQuestion:       1.94,
		signShare:          0.04,
		signPeople:         0.85,
		signNext:           1.36,
		signAgain:          0.29,
		signCovered:        0.23,
		signRare:           0.28,
		signNumbersGone:    -0.62,
		signWordsFirst + 0: 0.09,  // toCome
		signWordsFirst + 1: -0.20, // waitedFor
		signWordsFirst + 2: 0.13,  // possible
		signWordsFirst + 3: -0.43, // atPresent
		signWordsFirst + 4: -0.31, // finishedWords
		signWordsFirst + 5: 0.42,  // failedWords
		signWordsFirst + 6: -0.63, // changing
		signWordsFirst + 7: 0.47,  // guessed
		signWordsFirst + 8: 0.55,  // ofSpeaker
		signWordsFirst + 9: 0.49,  // ofListener
	}
}

// riskLimit is from what risk on a statement is not told: a lower limit loses more facts
// than wrong statements (docs/summaries.md).
const riskLimit = 0.20

// reliable are the items without those that have a later word behind them and
// probably do not hold all the same. What nobody took up later mostly holds.
// A short talk has room for all of them.
func (e *Extractive) reliable(items []candidate) []candidate {
	return slices.DeleteFunc(items, func(c candidate) bool {
		if e.seen.people < longTalk || !strings.Contains(c.text, followedBy) {
			return false
		}
		x := e.signsOf(c.line, c.person, withoutQuestion(withoutLast(c.text)))
		return x.risk() >= riskLimit
	})
}

// risk is how likely a statement does not hold at the end, 0 to 1.
func (x *signs) risk() float64 {
	sum := 0.0
	for i, weight := range signWeights() {
		sum += float64(weight * x[i])
	}
	return 1 / (1 + math.Exp(-sum))
}

// signsOf looks at a statement of a line.
func (e *Extractive) signsOf(line int, person bool, text string) (x signs) {
	lower := " " + strings.ToLower(text) + " "
	after := e.remarks.peopleAfter(line)
	x[signAlways], x[signPerson] = 1, indicator(person)
	x[signPlace] = 1 - float64(after)/float64(max(e.seen.people, 1))
	x[signAfter], x[signLate] = math.Log1p(float64(after)), indicator(after <= 2)
	x[signWords] = math.Log1p(float64(wordCount([]byte(text))))
	x[signQuestion] = indicator(strings.Contains(text, "?"))
	words := keysOf(lower, nil)
	e.remarks.takenUpSigns(line, words, &x)
	e.remarks.saidAgainSigns(line, words, &x)
	for i, set := range signPhrases() {
		x[signWordsFirst+i] = indicator(set.inString(lower))
	}
	return x
}

// leastMass is what the words of a statement weigh together at least.
const leastMass = 0.3

// takenUpSigns looks at how much later messages take up of some words.
func (m *remarks) takenUpSigns(line int, words []wordKey, x *signs) {
	masses, all := m.masses(words)
	turn, again, rare := 0, 0, 0
	for i := m.firstAfter(line); i < len(m.all); i++ {
		t, share := &m.all[i], masses[i]/max(all, leastMass)
		x[signShare] = max(x[signShare], share)
		if t.person {
			turn++
			x[signPeople] = max(x[signPeople], share)
		}
		if turn >= 1 && turn <= nextTurns {
			x[signNext] = max(x[signNext], share)
		}
		if share >= laterShare {
			again++
		}
		if masses[i] >= rareMass && m.rare(shared(words, t.words)) >= rareWords {
			rare++
		}
	}
	x[signAgain], x[signRare] = math.Log1p(float64(again)), math.Log1p(float64(rare))
}

// saidAgainSigns looks at which of some words and numbers are said again at all.
func (m *remarks) saidAgainSigns(line int, words []wordKey, x *signs) {
	from, all, covered, numbers, gone := m.firstAfter(line), 0.0, 0.0, 0, 0
	for _, w := range words {
		weight, in := m.weight(w), m.in[w]
		later := len(in) > 0 && int(in[len(in)-1]) >= from
		all += weight
		if later {
			covered += weight
		}
		if w.number() {
			numbers++
			gone += int(indicator(!later))
		}
	}
	x[signCovered] = covered / max(all, leastMass)
	x[signNumbers] = math.Log1p(float64(numbers))
	x[signNumbersGone] = float64(gone) / float64(max(numbers, 1))
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
