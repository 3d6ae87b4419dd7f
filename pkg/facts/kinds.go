package facts

import "strings"

// kindOf is the kind of a fact that a rule takes for one of kind k. A sentence can be a
// rule, a choice and a place at once; its kind is the first of them that its main
// clause says (docs/facts.md): what holds whenever it comes up, where something is,
// what was chosen here.
func (s *statement) kindOf(k Kind) Kind {
	switch {
	case k == Decision && s.holdsAlways():
		return Preference
	case k == Decision && s.describes():
		return s.ofState()
	case k == Preference && s.chosenHere():
		return Decision
	case k == Environment && mailAddress().MatchString(s.text) && !ofMachine().MatchString(s.lower) && !ownAddress().MatchString(s.lower):
		return Contact
	}
	return k
}

// holdsAlways tells a rule: it speaks of every case, is kept for others, says how
// something shall look, or how people are to be spoken to.
func (s *statement) holdsAlways() bool {
	return s.generalizes() || s.keeps() && s.bindsOthers() || ofStyle().MatchString(s.lower) || ofManners().MatchString(s.lower)
}

// generalizes tells whether the main clause speaks of every case. What follows from a
// choice only sounds so: "so we must do the SVG after all".
func (s *statement) generalizes() bool {
	main := s.mainClause()
	return (universal().MatchString(main) || alwaysElsewhere().MatchString(main)) && !concluding().MatchString(s.lower)
}

// mainClause is a sentence without its reasons. After a comma stand reasons ("no
// docker, nobody here knows it"), and a few words that belong to what is before
// ("no TTF, never").
func (s *statement) mainClause() string {
	parts := strings.Split(because().ReplaceAllString(s.lower, ", because of all that "), ", ")
	main := parts[:1]
	for i, part := range parts[1:] {
		if len(strings.Fields(part)) <= fewWords || i == 0 && conditional().MatchString(parts[0]) {
			main = append(main, part)
		}
	}
	return strings.Join(main, ", ")
}

// fewWords are too few for a reason.
const fewWords = 2

// describes tells a sentence that says of a thing where it is, and chooses nothing.
func (s *statement) describes() bool {
	head, _, _ := strings.Cut(s.text, ", ")
	return subjected().MatchString(head) && !spokenOf().MatchString(head) && !concluding().MatchString(s.lower) && !approving().MatchString(s.lower) &&
		(place().MatchString(head) || weekly().MatchString(s.lower))
}

// ofState is the kind of what is so: what happens every week, or where something is.
func (s *statement) ofState() Kind {
	if weekly().MatchString(s.lower) {
		return Pattern
	}
	return Environment
}

// chosenHere tells what is a rule by its form and was chosen for this case only.
func (s *statement) chosenHere() bool {
	switch {
	case s.generalizes():
		return false
	case s.declined != "":
		return s.chooses()
	}
	return s.answersOnly() || concluded().MatchString(s.lower)
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
	return s.last != "" && len(s.words) <= shortWords && s.has("only") && (strings.HasSuffix(s.last, "?") || offering().MatchString(s.offered()) || agreeing(s.words[0]) || s.has("then"))
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
	return strings.HasSuffix(s.last, "?") || strings.Contains(s.turn.lower, s.declined) || strings.Contains(s.before, s.declined) || s.has("then") || offering().MatchString(s.offered())
}

// retracted tells whether a few words are taken back by the next sentence of the same
// message: "preferred... no. required".
func retracted(s, next sentence) bool {
	return len(strings.Fields(s.text)) <= leastClause && takenBack().MatchString(next.text)
}

// asksWhatIs tells a question for what there is: its answer chooses nothing.
func asksWhatIs(question string) bool {
	lower := strings.ToLower(question)
	if whatElsewhere().MatchString(lower) || whetherElsewhere().MatchString(lower) {
		return !wishElsewhere().MatchString(lower)
	}
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
	whatIs      = expression(`\bsince when\b|\bhow (?:many|much) (?:[a-z-]+ ){1,2}(?:work|live|go|come|use|take)\b|(?:^|[,;:.] |\band )(?:what|which|where|who|whose|when|how (?:many|much|old|long|big|large))\b(?: [a-z'-]+){0,3}?(?:'s| is| are| was| were| does| do| did| has| have)\b`)
	ofWill      = expression(`\b(?:would|prefer|take|choose|need|mind|will|must|do you think|best|better|going to)\b`)
	universal   = expression(`\b(?:never|always|nobody|nothing|anything|mustn't|(?:must|may) (?:not|only|never|always)|only ever|at (?:least|most) \d+|no [a-z]+ (?:may|must|shall|should|can|gets?)|only (?:if|when|after|once)|no exceptions|every time|each time|whenever)\b`)
	concluding  = expression(`^(?:ok,? |okay,? |yes,? )*(?:so|then)\b|\bthen$|\bafter all\b|\bit is$`)
	conditional = expression(`^(?:and |but )?(?:if|when|whenever|once|unless|for|in|on|as|before|after)\b`)
	because     = expression(` (?:because|since|as long as) `)
	ofManners   = expression(`\b(?:ring|call|phone|write|mail|text|ask|tell|message|ping)(?: to)? (?:me|him|her|them|us)\b.* (?:rather than|instead of|not) `)
	spokenOf    = expression(`(?i)^(?:(?:and|but|so|no|yes|ok),? )*(?:it|that|this|they|he|she|i|we|you|there|what|which)\b`)
	approving   = expression(`\b(?:is|are)(?: \w+)? (?:fine|enough|ok|okay|good|better|best|right|plenty)\b`)
	// wished matches the version that something shall have, and has not yet.
	wished = expression(`\b(?:i|we) (?:want|need|would like|go|aim|wish)\b|\bi'd like\b|\b(?:straight|right) away\b|\bnext\b|\bfirst\b|^(?:(?:ok|yes|no|so|then|and|please),? )*(?:use|go|make|take|upgrade|update|switch|move|bump|pin|let's)\b`)
)
