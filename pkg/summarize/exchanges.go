package summarize

import (
	"bytes"
	"slices"
	"strings"
)

// exchange remembers the last things that were said. What the agent says
// before a call gives way to what it says after it, and to what anybody says if it
// only says what it looks at ("Let me look.").
func (e *Extractive) exchange(line int, who string, text []byte) {
	if n := len(e.exchanges); n > 0 && e.working && (who == agentSaid || narrates(e.exchanges[n-1].text)) {
		if narrates(string(text)) && !narrates(e.exchanges[n-1].text) { // "It is 400 GB. Now let me look."
			return
		}
		e.exchanges = e.exchanges[:n-1]
	}
	if courtesy(text) && len(e.exchanges) > 0 {
		return
	}
	if n := len(e.exchanges); n > 0 && acknowledges(e.exchanges[n-1].text) { // "Noted, 20 April."
		e.exchanges = e.exchanges[:n-1]
	}
	if text = withoutCode(text); len(text) == 0 {
		return
	}
	e.exchanges = append(e.exchanges, candidate{text: who + string(cut(text, 4*exchangeRunes+64)), line: line})
	if len(e.exchanges) > keptExchanges {
		e.exchanges = slices.Delete(e.exchanges, 0, 1)
	}
}

// deferred keeps what a person puts off, in answer to what the agent named: "after the
// release".
func (e *Extractive) deferred(line int, text []byte) {
	n := len(e.exchanges)
	if wordCount(text) > deferredWords || n == 0 || bytes.HasSuffix(text, []byte("?")) {
		return
	}
	asked, found := strings.CutPrefix(e.exchanges[n-1].text, agentSaid)
	lower := bytes.ToLower(text)
	for _, start := range []string{"after ", "later", "not now", "not yet", "next time", "next week", "next month", "maybe later", "another time"} {
		if found && bytes.HasPrefix(lower, []byte(start)) {
			c := e.candidate(line, text, sentenceRunes, enough+2)
			c.text += answerTo + oneLine(string(lastSentence([]byte(asked))), 140) + ")"
			c.person, c.people = true, e.people
			e.said[next].replace(c)
			return
		}
	}
}

// deferredWords is how many words an answer has at most that puts something off.
const deferredWords = 6

// denied takes in that a person says that what the agent has just reported is not so:
// "no, the block should stay as it is".
func (e *Extractive) denied(text []byte) {
	if e.question.text != "" || e.repliedAt == 0 {
		return
	}
	lower := bytes.ToLower(cut(text, 24))
	for _, start := range []string{"no, ", "no! ", "no. ", "nope", "wrong", "that's wrong", "not what i", "undo ", "revert ", "nein, ", "non, "} {
		if bytes.HasPrefix(lower, []byte(start)) {
			reported := func(c candidate) bool { return c.line == e.repliedAt && !c.person }
			e.results.items = slices.DeleteFunc(e.results.items, reported)
			e.said[finding].items = slices.DeleteFunc(e.said[finding].items, reported)
			e.remarks.deny(e.repliedAt)
			return
		}
	}
}

// Who said what was said last.
const (
	personSaid = "**User**: "
	agentSaid  = "**Agent**: "
)

// narrates tells whether an exchange only says what the agent looks at.
func narrates(text string) bool {
	lower := bytes.ToLower([]byte(strings.TrimSpace(strings.TrimPrefix(text, agentSaid))))
	return len(lower) > 0 && len(lower) < narration && (announces(lower) || guesses().in(lower) || lower[len(lower)-1] == ':') && !reportsTrouble().in(lower)
}

// reportsTrouble are the words by which an agent tells that something went wrong, even
// if it says at once what it looks at next.
var reportsTrouble = phraseSet("fail", "error", "mismatch", "broken", "oops", "crash", "does not work", "doesn't work")

// acknowledges tells whether an exchange only says that the agent has heard.
func acknowledges(text string) bool {
	said, found := strings.CutPrefix(text, agentSaid)
	if !found || wordCount([]byte(said)) > acknowledgedWords {
		return false
	}
	lower := strings.ToLower(said)
	return strings.HasPrefix(lower, "noted") || strings.HasPrefix(lower, "understood") || strings.HasPrefix(lower, "got it") || strings.HasPrefix(lower, "will do")
}

// acknowledgedWords is how long such a sentence is at most.
const acknowledgedWords = 6

// courtesy tells whether somebody only says thanks or goodbye.
func courtesy(text []byte) bool {
	if wordCount(text) > 12 || bytes.ContainsAny(text, "0123456789?") {
		return false
	}
	lower := bytes.ToLower(text)
	for _, start := range []string{"you're welcome", "thanks", "thank you", "thx", "bye", "have a good", "good night", "great, thanks", "perfect, thanks", "ok thanks", "ok, thanks", "gern geschehen", "danke", "merci", "gracias"} {
		if bytes.HasPrefix(lower, []byte(start)) {
			return true
		}
	}
	return false
}
