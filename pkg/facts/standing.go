package facts

import (
	"slices"
	"strings"
)

// rules: what a sentence says of every case without an order in it: who does what
// ("nobody scans anything"), what always is, at which hours, from when on.
func (s *statement) rules() bool {
	main := s.mainClause()
	if s.past() || s.ofNow() || undue().MatchString(s.lower) {
		return false
	}
	return ruled().MatchString(main) || nobodyDoes(main) || ruledElsewhere().MatchString(main) && !pastElsewhere().MatchString(s.lower)
}

// nobodyDoes tells what nobody is to do from what nobody does anyway: "nobody here
// knows it".
func nobodyDoes(main string) bool {
	m := ofNobody().FindStringSubmatch(main)
	return m != nil && (modal(m[1]) || !ofMind(m[1]) && excepted().MatchString(m[2]))
}

// modal are the verbs of what may be.
func modal(verb string) bool {
	return verb == "may" || verb == "should" || verb == "must" || verb == "shall"
}

// ofMind are verbs of what somebody notices, wants or has: they are no deeds.
func ofMind(verb string) bool {
	switch strings.TrimSuffix(verb, "s") {
	case "know", "understand", "read", "look", "see", "speak", "care", "say", "like", "want", "need", "answer", "work", "ha", "think", "believe", "hear", "notice", "remember", "i", "wa", "mind", "miss", "expect", "use", "complain", "agree", "feel", "seem":
		return true
	}
	return false
}

// topical: what shall be of a thing that is named before a colon ("binaries: musl, for
// both machines").
func (s *statement) topical() bool {
	m := topicFirst().FindStringSubmatch(s.text)
	if m == nil || s.said == "" {
		return false
	}
	of, rest := plainWords(strings.ToLower(m[1])), plainWords(strings.ToLower(m[2]))
	if len(rest) < leastTopical || len(rest) > maxChoice || pastElsewhere().MatchString(s.lower) || slices.Contains(rest, "i") || s.names()[m[1]] || s.names()[firstName(m[2])] || slices.ContainsFunc(of, noTopic) || slices.ContainsFunc(rest, inPast) {
		return false
	}
	return !shouted().MatchString(m[1]) && !ofSubject(rest[0]) && !slices.ContainsFunc(rest, asksOrThinks) && (approving().MatchString(s.lower) || !slices.ContainsFunc(rest, ofBeing)) && !taskVerb(rest[0]) && !strings.ContainsAny(m[2][:1], "`\"'>[{(")
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

// asksOrThinks are words of what is open.
func asksOrThinks(word string) bool {
	switch word {
	case "which", "what", "how", "whether", "why", "wat", "was", "wer", "wie", "quoi", "qui", "qué", "quién", "think", "thinking", "decide", "unclear", "open":
		return true
	}
	return false
}

// firstName is the first word of a text as it is written.
func firstName(text string) string {
	word, _, _ := strings.Cut(text, " ")
	return strings.Trim(word, ".,;:()")
}

// ofSubject begins a report of somebody: "title screen: I drew it".
func ofSubject(word string) bool {
	switch word {
	case "i", "we", "he", "she", "it", "they", "you", "there", "i'm", "i've", "we're", "it's", "that's", "this", "that", "what", "how", "why", "who", "is", "are", "can", "does", "do", "did":
		return true
	}
	return false
}

// concludes: what follows from what was said, without a verb or with the one that
// chooses ("so the bus with the trailer", "so it's 8").
func (s *statement) concludes() bool {
	if s.words[0] != "so" || len(s.words) < 3 || len(s.words) > maxChoice || s.past() || s.said == "" {
		return false
	}
	if concludesIn().MatchString(s.lower) {
		return true
	}
	head, _, _ := strings.Cut(s.lower, ", ")
	words := plainWords(head)[1:]
	return len(words) > 1 && !notConcluding(words[0]) && !slices.ContainsFunc(words, finite) && !slices.ContainsFunc(words, func(w string) bool { return taskVerb(w) || auxiliary(w) && w == "would" })
}

// notConcluding are words after "so" that conclude nothing.
func notConcluding(word string) bool {
	switch word {
	case "about", "no", "yes", "far", "much", "many", "good", "sorry", "please", "ok", "then", "now", "all", "until", "in", "on", "here", "first", "maybe", "not", "just", "only", "that's", "let's":
		return true
	}
	return strings.HasSuffix(word, "ly")
}

var (
	shouted     = expression(`\b[A-Z]{5,}\b`)
	ruled       = expression(`\bfrom now on\b|(?:^|[,;:] |\b(?:and|but|so|please),? )always (?:the [a-z]+er\b|(?:by|in|with|from|via|through|two|three|four|\d+|per) |[a-z]+ (?:[a-z]+ )?(?:after|before|in|with|by|for)\b)|^(?:and |but )?only (?:between|via|with|by|from|` + dayWords + `|\d)|\bonly \d\S*(?: ?(?:-|–|to|and) ?\d\S*)|\bi want (?:every|each|all|no|only) |(?:^|[,;:] |\b(?:and|but|so|please|then) )(?:tell|change|send|give|delete|show) (?:nobody|nothing)\b|\b(?:don't|do not|never) let (?:it|them|anybody|anyone) `)
	ofNobody    = expression(`(?:^|[,;:] |\b(?:and|but|so) )nobody (?:outside |else |but [a-z]+ |except [a-z]+ |of [a-z]+ )?(may|should|must|shall|[a-z]{3,}s)\b(.*)`)
	excepted    = expression(`\b(?:anything|anyone|anybody|who|without|before|until|but|except|unless)\b`)
	topicFirst  = expression(`^(?i:(?:oh|and|for|ok|so|also|then),? )*((?:[Tt]he |[Oo]ur )?\p{L}[\p{L}\d/_-]*(?: [\p{L}\d/_-]+){0,3}): (.+)$`)
	concludesIn = expression(`^so (?:it's|it is|it stays|it remains|we (?:go|do|take|keep|stay|use|leave|stick)|leave|keep) [a-z0-9"]`)
)
