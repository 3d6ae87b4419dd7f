package facts

import (
	"slices"
	"strings"
)

// rules: what a sentence says of every case without an order in it: who does what
// ("nobody scans anything"), what always is, at which hours, from when on.
func (s *statement) rules() bool {
	main := s.mainClause()
	if s.past() || s.ofNow() && !strings.Contains(s.lower, "from now on") || undue().MatchString(s.lower) {
		return false
	}
	return ruled().MatchString(main) || nobodyDoes(main) || (ruledElsewhere().MatchString(main) || s.forbidsElsewhere(main)) && !pastElsewhere().MatchString(s.lower)
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
	says := func(w string) bool { return finite(w) || taskVerb(w) || w == "would" }
	return len(words) > 1 && !notConcluding(words[0]) && !slices.ContainsFunc(words, says)
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
	ruled       = expression(`\bfrom now on\b|(?:^|[,;:] |\b(?:and|but|so|please),? )always (?:the [a-z]+er\b|(?:by|in|with|from|via|through|two|three|four|\d+|per) |[a-z]+ (?:[a-z]+ )?(?:after|before|in|with|by|for)\b)|^(?:and |but )?only (?:between|via|with|by|from|` + dayWords + `|\d)|\bonly \d\S*(?: ?(?:-|–|to|and) ?\d\S*)|\bi want (?:every|each|all|no|only) |(?:^|[,;:] |\b(?:and|but|so|please|then) )(?:tell|change|send|give|delete|show) (?:nobody|nothing)\b|\b(?:don't|do not|never) let (?:it|them|anybody|anyone) `)
	ofNobody    = expression(`(?:^|[,;:] |\b(?:and|but|so) )nobody (?:outside |else |but [a-z]+ |except [a-z]+ |of [a-z]+ )?(may|should|must|shall|[a-z]{3,}s)\b(.*)`)
	excepted    = expression(`\b(?:anything|anyone|anybody|who|without|before|until|but|except|unless)\b`)
	concludesIn = expression(`^so (?:it's|it is|it stays|it remains|we (?:go|do|take|keep|stay|use|leave|stick)|leave|keep) [a-z0-9"]`)
)
