package summarize

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// reversal is what a later statement has by which it ends an earlier one without
// naming what it ends.
type reversal struct {
	back      []string // the stems of the sentences of the message that take something back
	forbidden string   // the stem of what is not to be done
	about     []string // the other stems of that sentence
	refers    bool     // "make that 90 days": it changes what was said last
	amounts   map[string]string
	disliked  []string // the stems of the sentences of the message that say what somebody does not want
	rejected  bool     // the agent had said that what the person chose does not do
}

// takesBack are the words of a message that goes back on something.
var takesBack = phraseSet("after all", "changed my mind", "on second thought", "scrap that", "instead", "anyway", "back to", "moved", "moves to", "no longer", "is off", "called off", "cancelled", "canceled")

// amount is a number with its unit, and dimensions the units that stand for each
// other: 90 seconds may replace 10 minutes.
var amount = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(\d[\d.,]*)[ -]?(seconds?|secs?|s|minutes?|min|m|hours?|h|days?|d|weeks?|months?|gi?b?|mi?b?|tb|kb|%|percent|degrees|°c?|euros?|€|\$|rows|workers|replicas)(?:[^a-z]|$)|\((\d+, ?\d+)\)|\b(?:20|19)(\d\d)\b`)
})

func dimension(unit string) string {
	switch unit {
	case "second", "sec", "s", "minute", "min", "m", "hour", "h", "day", "d", "week", "month":
		return "time"
	case "g", "gb", "gi", "gib", "mb", "mi", "mib", "tb", "kb":
		return "size"
	case "%", "percent":
		return "share"
	case "degree", "°", "°c":
		return "degrees"
	case "euro", "€", "$":
		return "money"
	}
	return unit
}

// amounts are the amounts of a text in lower case, by their dimension.
func amounts(lower string) map[string]string {
	var all map[string]string
	for _, m := range amount().FindAllStringSubmatch(lower, -1) {
		key, value := dimension(strings.TrimSuffix(m[2], "s")), strings.TrimRight(m[1], ".,")+m[2]
		switch {
		case m[2] == "s":
			key = "time"
		case m[3] != "":
			key, value = "( , )", m[3]
		case m[4] != "":
			key, value = "year", m[4]
		}
		if all == nil {
			all = map[string]string{}
		}
		if _, again := all[key]; !again {
			all[key] = value
		}
	}
	return all
}

// refersBack matches the beginning of a change of what was said last.
var refersBack = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\b(?:make (?:it|that|them)|better|rather|scrap that)\b`)
})

// forbids matches what is not to be done, with what follows.
var forbids = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\b(?:don't|dont|do not|never|please not|nicht)(?: ever)? ([a-z]{3,})(?: ([^,.;:!?]*))?`)
})

// rejections begin the answer of an agent by which a choice does not do.
var rejections = phraseSet("that will not", "that won't", "that does not", "that doesn't", "that is not possible", "that isn't possible", "that can't", "that cannot", "won't work", "will not work", "not possible", "unfortunately")

// newReversal tells what a statement takes back.
func newReversal(c candidate) (r reversal) {
	lower := strings.ToLower(c.text)
	r.back, r.disliked = takenBack(c.message), clausesWith(c.message, dislikes())
	r.forbidden, r.about = forbiddenIn(lower)
	r.refers = containsAny([]byte(lower), []string{"make ", "better", "rather", "scrap that"}) && refersBack().MatchString(lower)
	if strings.ContainsAny(lower, "0123456789") {
		r.amounts = amounts(lower)
	}
	start := cut([]byte(c.reply), rejectedBytes)
	r.rejected = rejections().in(start)
	return r
}

// rejectedBytes is where an agent's answer says that something does not do.
const rejectedBytes = 80

// The shares from which a message speaks of an earlier statement.
const (
	reversedShare = 0.6
	offeredShare  = 0.5
	backShare     = 0.25 // of one that goes back on something
)

// reverses tells whether a later statement ends an earlier one by what was said
// around them.
func (s *statement) reverses(earlier *statement) bool {
	if s.message == earlier.message && s.line == earlier.line {
		return false
	}
	if s.forbidden != "" && s.forbidden == earlier.prohibits { // "never drop table b" adds to "never drop table a"
		return false
	}
	return s.takesBack(earlier) || s.forbidsIt(earlier) || s.releases(earlier) || s.callsOff(earlier) || s.dislikes(earlier) || s.otherOffer(earlier) || s.amends(earlier) || s.answersAgain(earlier) ||
		s.rejected && earlier.person && s.people == earlier.people+1
}

// takenBack are the stems of the sentences of a message that take something back.
func takenBack(message string) []string { return clausesWith(message, takesBack()) }

// clausesWith are the stems of the sentences of a message that have some words.
func clausesWith(message string, words *phrases) (stems []string) {
	if !words.inString(message) {
		return nil
	}
	for _, clause := range clauses(message) {
		if words.inString(clause) {
			stems = append(stems, stemsOf(clause)...)
		}
	}
	return stems
}

// dislikes are the words by which people tell that somebody does not want something.
var dislikes = phraseSet("terrible", "awful", "not like ", "n't like ", "hates ", "refuses ", "rejects ", "not accept", "n't accept", "not want ", "n't want ", "said no", "says no", "is not usable", "unusable")

// dislikes: "the director finds black terrible" ends "black letters then" of the message
// before, whatever is wanted in its place.
func (s *statement) dislikes(earlier *statement) bool {
	return len(s.disliked) > 0 && earlier.person && s.people > earlier.people && s.people <= earlier.people+amendedTurns &&
		slices.ContainsFunc(earlier.stems, func(stem string) bool { return !isNumber(stem) && slices.Contains(s.disliked, stem) })
}

// forbiddenIn is the stem of what a text in lower case says is not to be done, and
// the other stems of that sentence.
func forbiddenIn(lower string) (deed string, about []string) {
	if !containsAny([]byte(lower), []string{"n't ", "dont ", "not ", "never ", "nicht "}) {
		return "", nil
	}
	m := forbids().FindStringSubmatch(lower)
	if m == nil {
		return "", nil
	}
	return stem(m[1]), stemsOf(m[2])
}

// callsOff: "saturday is off. sunday 11 oct 06:00" ends what was for saturday.
func (s *statement) callsOff(earlier *statement) bool {
	if len(s.back) == 0 || !earlier.person {
		return false
	}
	day := slices.IndexFunc(s.back, func(stem string) bool { return weekday(stem) && slices.Contains(earlier.stems, stem) })
	return day >= 0 && slices.ContainsFunc(s.stems, func(stem string) bool { return weekday(stem) && stem != s.back[day] })
}

// weekday tells whether a stem is that of a day of the week.
func weekday(stem string) bool {
	switch stem {
	case "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday":
		return true
	}
	return false
}

// takesBack: "we keep them after all", with most of the words of what it ends.
func (s *statement) takesBack(earlier *statement) bool {
	if len(s.back) == 0 || !earlier.person {
		return false
	}
	words, shared := 0, 0
	for _, stem := range earlier.stems {
		if isNumber(stem) {
			continue
		}
		words++
		if within(s.back)(stem) {
			shared++
		}
	}
	return shared >= 2 && float64(shared) >= reversedShare*float64(words)
}

// forbidsIt: "don't delete anything" ends "delete the imported ones".
func (s *statement) forbidsIt(earlier *statement) bool {
	if s.forbidden == "" || !earlier.person || !within(earlier.stems[:min(2, len(earlier.stems))])(s.forbidden) || strings.Contains(strings.ToLower(earlier.text), "n't ") {
		return false
	}
	return len(s.about) == 0 || overlap(s.about, func(stem string) bool { return stem == "anyth" || within(earlier.stems)(stem) }) > 0
}

// waits matches what holds only until the person says so.
var waits = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\b(?:wait|hold|don't|dont|do not|not yet)\b.*?\b([a-z]{3,}) (?:it|them|that|this|yet)\b`)
})

// releases: "drop it" ends "wait before you drop it".
func (s *statement) releases(earlier *statement) bool {
	if !earlier.person || len(s.stems) == 0 || s.people <= earlier.people {
		return false
	}
	return earlier.waitsFor != "" && s.forbidden == "" && alike(earlier.waitsFor, s.stems[0])
}

// awaited is the stem of what a text in lower case puts off, or "".
func awaited(lower string) string {
	if !containsAny([]byte(lower), []string{"wait", "hold", "n't ", "dont ", "not "}) {
		return ""
	}
	if m := waits().FindStringSubmatch(lower); m != nil {
		return stem(m[1])
	}
	return ""
}

// otherOffer: the agent offered two things, the person took one, and takes the
// other now.
func (s *statement) otherOffer(earlier *statement) bool {
	if len(earlier.offers) == 0 || s.people <= earlier.people || s.people > earlier.people+offeredTurns {
		return false
	}
	words, other, same := 0, 0, 0
	in := within(earlier.offers)
	if !slices.ContainsFunc(earlier.stems, func(stem string) bool { return !isNumber(stem) && in(stem) }) { // it took none of them
		return false
	}
	for _, stem := range s.stems {
		switch {
		case isNumber(stem):
			continue
		case within(earlier.stems)(stem):
			same++
		case in(stem):
			other++
		}
		words++
	}
	if len(s.back) > 0 { // "it has to be by species after all"
		return same == 0 && other >= 1 && float64(other) >= backShare*float64(words)
	}
	return same == 0 && other >= 2 && float64(other) >= offeredShare*float64(words)
}

// offeredTurns is for how many messages of people an offer stands.
const offeredTurns = 12

// offered tells whether a text in lower case leaves a choice between things.
func offered(lower string) bool {
	return strings.Contains(lower, " or ") || strings.Contains(lower, "options") || strings.Count(lower, "\n- ") >= 2
}

// amends: "make that 5 degrees" changes the number that was said last.
func (s *statement) amends(earlier *statement) bool {
	if !s.refers || len(s.amounts) == 0 || s.people <= earlier.people || s.people > earlier.people+amendedTurns {
		return false
	}
	before := amounts(strings.ToLower(withoutQuestion(earlier.text)))
	for key, value := range s.amounts {
		if old, has := before[key]; has && old != value {
			return true
		}
	}
	return false
}

// answersAgain: "start with 25 %" is another answer to what the agent asked when the
// person said 10 %: the same unit, and a word of that question or answer.
func (s *statement) answersAgain(earlier *statement) bool {
	if !s.person || !earlier.person || len(s.amounts) == 0 || len(earlier.asked) == 0 || s.people <= earlier.people {
		return false
	}
	before := amounts(strings.ToLower(withoutQuestion(earlier.text)))
	other := false
	for key, value := range s.amounts {
		old, has := before[key]
		other = other || has && old != value && key != "year"
	}
	if !other {
		return false
	}
	in := within(earlier.asked)
	for _, stem := range stemsOf(s.message) {
		if len(stem) >= subjectBytes && !isNumber(stem) && in(stem) && dimension(stem) == stem {
			return true
		}
	}
	return false
}

// subjectBytes is how long the stem of what is asked for is at least.
const subjectBytes = 4

// withoutQuestion is a choice without the question that it answers.
func withoutQuestion(text string) string {
	text, _, _ = strings.Cut(text, answerTo)
	return text
}

// questionOf is the last sentence of a text in lower case, if it asks.
func questionOf(lower string) string {
	if last := lastSentence([]byte(lower)); len(last) > 0 && last[len(last)-1] == '?' {
		return string(last)
	}
	return ""
}

// amendedTurns is how many messages of people back "that" reaches.
const amendedTurns = 2

// lasting returns the candidates of a shelf that still hold. One of several
// sentences goes without those that do not; of a longer one that later words end
// only in part, it says where.
func lasting(items []candidate, later []statement) []candidate {
	kept := make([]candidate, 0, len(items))
	for _, c := range items {
		if c = stillHolds(c, later); c.text != "" {
			kept = append(kept, c)
		}
	}
	return kept
}

// stillHolds returns a candidate without what later statements end.
func stillHolds(c candidate, later []statement) candidate {
	text, question, asked := strings.Cut(c.text, answerTo)
	parts := clauses(text)
	kept := parts[:0:0]
	var by *statement
	for _, part := range parts {
		one := c
		one.text = part
		if ends := endedBy(one, later); ends != nil {
			by = ends
			continue
		}
		kept = append(kept, part)
	}
	switch {
	case by == nil && len(parts) > 1:
		by, kept = endedBy(c, later), nil
		if by == nil {
			return c
		}
	case by == nil:
		return c
	}
	switch {
	case wordCount([]byte(strings.Join(kept, " "))) >= leftWords:
		c.text = strings.Join(kept, " ")
		if asked {
			c.text += answerTo + question
		}
	case wordCount([]byte(text)) > partlyWords:
		c.text = oneLine(text, sentenceRunes) + " → line " + strconv.Itoa(by.line) + ": " + oneLine(by.text, 90)
	default:
		c.text = ""
	}
	return c
}

// clauses are the sentences of what somebody said, however short.
func clauses(text string) []string {
	var all []string
	for line := []byte(text); len(line) > 0; {
		n := sentenceEnd(line, shortClause)
		if s := strings.TrimSpace(string(line[:n])); s != "" {
			all = append(all, s)
		}
		line = line[n:]
	}
	return all
}

// leftWords is how many words a statement has at least without what was ended.
const leftWords = 3

// partlyWords is from how many words on a statement says more than what a later
// one ends.
const partlyWords = 12
