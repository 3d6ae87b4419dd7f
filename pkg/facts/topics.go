package facts

import (
	"slices"
	"strings"
)

// topical: what shall be of a thing that is named before a colon ("binaries: musl, for
// both machines").
func (s *statement) topical() bool {
	m := topicFirst().FindStringSubmatch(s.text)
	if m == nil || s.said == "" || pastElsewhere().MatchString(s.lower) {
		return false
	}
	return s.mayBeTopic(m[1]) && s.saysOfTopic(m[2])
}

// mayBeTopic tells whether what stands before a colon is a thing, and nobody who speaks.
func (s *statement) mayBeTopic(of string) bool {
	return !s.names()[of] && !shouted().MatchString(of) && !slices.ContainsFunc(plainWords(strings.ToLower(of)), noTopic)
}

// saysOfTopic tells whether what stands behind the colon says how the thing shall be: it
// is no report, no task, no list of people and nothing that is quoted.
func (s *statement) saysOfTopic(rest string) bool {
	words := plainWords(strings.ToLower(rest))
	if len(words) < leastTopical || len(words) > maxChoice || ofSubject(words[0]) || taskVerb(words[0]) || strings.ContainsAny(rest[:1], "`\"'>[{(") {
		return false
	}
	first, _, _ := strings.Cut(rest, " ")
	if s.names()[strings.Trim(first, ".,;:()")] || slices.ContainsFunc(words, inPast) || slices.ContainsFunc(words, isOpen) {
		return false
	}
	return approving().MatchString(s.lower) || !slices.ContainsFunc(words, ofBeing)
}

// leastTopical is how many words say what shall be of a topic: "two answers" says it not.
const leastTopical = 3

// noTopic are words before a colon that name no thing of the work, or say something
// themselves.
func noTopic(word string) bool {
	switch word {
	case "while", "when", "if", "todo", "task", "question", "questions", "bug", "issue", "error", "example", "note", "update", "status", "context", "log", "output", "result", "warning", "expected", "actual", "steps", "step", "reason", "problem", "edit", "ps", "fyi", "btw", "nb", "summary", "title", "description", "option", "options", "goal", "idea", "thing", "things", "wrote", "writes", "ask", "asks", "hint", "tip", "see", "here", "hi", "hello", "news", "background", "prompt", "file", "files", "source", "url", "link", "quick", "slow", "last", "first", "next", "done", "answer", "reply":
		return true
	}
	return strings.HasSuffix(word, "ed") || finite(word) || strings.Trim(word, digits) == ""
}

// ofBeing are verbs of what is so and was not chosen.
func ofBeing(word string) bool {
	switch word {
	case "is", "are", "isn't", "aren't", "that's", "it's", "wants", "says", "covers", "has", "have", "ask":
		return true
	}
	return false
}

// isOpen are words of what is not decided yet, and of what the person does alone.
func isOpen(word string) bool {
	switch word {
	case "i", "which", "what", "how", "whether", "why", "wat", "was", "wer", "wie", "quoi", "qui", "qué", "quién", "think", "thinking", "decide", "unclear", "open":
		return true
	}
	return false
}

// ofSubject begins a report of somebody: "title screen: I drew it".
func ofSubject(word string) bool {
	switch word {
	case "i", "we", "he", "she", "it", "they", "you", "there", "i'm", "i've", "we're", "it's", "that's", "this", "that", "what", "how", "why", "who", "is", "are", "can", "does", "do", "did":
		return true
	}
	return false
}

var (
	shouted    = expression(`\b[A-Z]{5,}\b`)
	topicFirst = expression(`^(?i:(?:oh|and|for|ok|so|also|then),? )*((?:[Tt]he |[Oo]ur )?\p{L}[\p{L}\d/_-]*(?: [\p{L}\d/_-]+){0,3}): (.+)$`)
)
