package facts

import "strings"

// kindOf is the kind of a fact of a form. What is kept "please", as it is, or because
// others depend on it, is a preference, and so is how something shall look; what is
// declined is a decision where it is one of several things.
func (s *statement) kindOf(k Kind) Kind {
	switch {
	case k == Decision && (s.keeps() && s.bindsOthers() || ofStyle().MatchString(s.lower)):
		return Preference
	case k == Preference && s.declined == "" && (s.answersOnly() || concluded().MatchString(s.lower)):
		return Decision
	case k == Preference && s.declined != "" && s.chooses():
		return Decision
	case k == Environment && mailAddress().MatchString(s.text) && !ofMachine().MatchString(s.lower) && !ownAddress().MatchString(s.lower):
		return Contact
	}
	return k
}

// bindsOthers tells what is kept for longer than this task. What answers a question
// is chosen.
func (s *statement) bindsOthers() bool {
	answers := s.first && strings.HasSuffix(s.last, "?")
	return s.has("please") || asItIs().MatchString(s.lower) || !answers && dependedOn().MatchString(s.lower)
}

// answersOnly tells a short answer that takes a part of what the agent named:
// "only on Sundays", "yes, only on that card".
func (s *statement) answersOnly() bool {
	return s.last != "" && len(s.words) <= shortWords && s.has("only") && (strings.HasSuffix(s.last, "?") || agreeing(s.words[0]) || s.has("then"))
}

// chooses tells whether what a sentence declines is one of several things, and not
// what shall never be.
func (s *statement) chooses() bool {
	switch {
	case s.has("please"):
		return orderly(s.words[0]) || s.has("take")
	case s.words[0] == "so": // what follows from the choice
		return true
	}
	return strings.HasSuffix(s.last, "?") || strings.Contains(s.turn.lower, s.declined) || s.has("then") || offering().MatchString(s.offered())
}

// retracted tells whether a few words are taken back by the next sentence of the same
// message: "preferred... no. required".
func retracted(s, next sentence) bool {
	return len(strings.Fields(s.text)) <= leastClause && takenBack().MatchString(next.text)
}

// asksWhatIs tells a question for what there is: its answer chooses nothing.
func asksWhatIs(question string) bool {
	lower := strings.ToLower(question)
	return whatIs().MatchString(lower) && !askedChoice().MatchString(lower) && !ofWill().MatchString(lower)
}

var (
	// asksNothing matches an invitation to go on.
	asksNothing = expression(`(?i)^(?:and |so |ok,? )?(?:what(?:'s| is)? (?:next|else)|next|anything else|something else|is that all|how can i help)\b[^,]{0,30}\?$`)
	takenBack   = expression(`(?i)^(?:hm+,? )?(?:no|nope|wait|actually|sorry|scratch that)(?:[.,!:… ]|$)`)
	ofStyle     = expression(`\bstyle\b|\bin (?:[a-z]+ )?(?:tones?|colou?r|print)\b|\beach with (?:the|its|an?)\b|\b(?:wording|spelling)\b`)
	concluded   = expression(`\bso (?:we|i) use\b`)
	dependedOn  = expression(`, (?:[a-z]+ ){1,4}(?:hangs?|depends?|rely|relies|uses?|imports?|reads?|parses?|overrides?|needs?|links?|points?|expects?|knows?) (?:on|to|it|them|that|those|these|both|in)\b`)
	ownAddress  = expression(`\b(?:our|my) (?:e-?mail )?(?:address|mail|e-mail|mailbox) is `)
	whatIs      = expression(`(?:^|[,;:.] |\band )(?:what|which|where|who|whose|when|how (?:many|much|old|long|big|large))\b(?: [a-z'-]+){0,3}?(?:'s| is| are| was| were| does| do| did| has| have)\b`)
	ofWill      = expression(`\b(?:would|prefer|take|choose|need|mind|will|must|do you think|best|better|going to)\b`)
	// wished matches the version that something shall have, and has not yet.
	wished = expression(`\b(?:i|we) (?:want|need|would like|go|aim|wish)\b|\bi'd like\b|\b(?:straight|right) away\b|\bnext\b|\bfirst\b|^(?:(?:ok|yes|no|so|then|and|please),? )*(?:use|go|make|take|upgrade|update|switch|move|bump|pin|let's)\b`)
)
