package summarize

// The phrases below are English, with the commonest of German, French and
// Spanish. A session in another language still has its files, commands,
// errors, questions and last exchanges.

// constraintCues are looked for in what people say.
func constraintCues() []cue {
	return []cue{
		{"constraint", 5, false}, {"constraints", 5, false}, {"requirement", 4, false}, {"requirements", 4, false},
		{"never", 4, false}, {"always", 3, false}, {"must", 4, false}, {"must not", 4, false}, {"do not", 3, false}, {"don't", 3, false},
		{"prefer", 4, false}, {"i want", 2, false}, {"i don't want", 4, false}, {"i hate", 4, false}, {"important to me", 4, false},
		{"only", 2, false}, {"at most", 3, false}, {"no more than", 4, false}, {"at least", 2, false}, {"not a cent more", 4, false},
		{"budget", 2, false}, {"limit", 2, false}, {"deadline", 3, false}, {"rule", 3, false}, {"rule from now on", 4, false}, {"from now on", 4, false},
		{"make sure", 3, false}, {"without asking", 3, false}, {"ask next time", 4, false}, {"ask first", 4, false}, {"ask me", 2, false},
		{"avoid", 3, true}, {"no other", 3, true}, {"keep", 2, true}, {"use", 2, true}, {"please use", 3, false}, {"instead", 1, false},
		{"niemals", 4, false}, {"immer", 3, false}, {"auf keinen fall", 4, false}, {"höchstens", 3, false}, {"bitte nicht", 4, false}, {"ab jetzt", 4, false},
		{"jamais", 4, false}, {"toujours", 3, false}, {"il faut", 3, false}, {"nunca", 4, false}, {"siempre", 3, false}, {"hay que", 3, false},
	}
}

// decisionCues are looked for in what anybody says.
func decisionCues() []cue {
	return []cue{
		{"decided", 5, false}, {"decision", 5, false}, {"decisions", 4, false}, {"we decided", 5, false}, {"we will use", 5, false}, {"we'll use", 5, false},
		{"let's use", 4, false}, {"let us use", 4, false}, {"go with", 4, false}, {"going with", 4, false}, {"settled on", 4, false}, {"settled for", 4, false}, {"we agreed", 4, false}, {"agreed to", 4, false}, {"agreed on", 4, false}, {"agreed that", 4, false},
		{"rejected", 2, false}, {"rejected it", 4, false}, {"we rejected", 4, false}, {"ruled out", 4, false}, {"instead of", 2, false}, {"rather than", 2, false}, {"chose", 4, false}, {"chosen", 3, false},
		{"stay on", 4, false}, {"stay with", 4, false}, {"stick with", 4, false}, {"stick to", 3, false}, {"switch to", 3, false}, {"switched to", 4, false},
		{"moved to", 2, false}, {"replaced by", 2, false}, {"replaced with", 2, false}, {"we keep", 3, false}, {"new rule", 4, false}, {"as a rule", 4, false},
		{"noted as", 3, true}, {"because", 2, false}, {"no longer", 2, false},
		{"entschieden", 5, false}, {"beschlossen", 5, false}, {"stattdessen", 3, false}, {"wir nehmen", 4, false},
		{"décidé", 5, false}, {"au lieu de", 3, false}, {"plutôt que", 3, false}, {"decidido", 5, false}, {"en lugar de", 3, false}, {"en vez de", 3, false},
	}
}

// findingCues are looked for in what people say, and in what the agent says at
// the end of a turn.
func findingCues() []cue {
	return []cue{
		{"root cause", 4, false}, {"cause", 3, true}, {"the cause", 3, false}, {"the reason is", 3, false}, {"turned out", 3, false}, {"lesson", 4, false},
		{"conclusion", 3, false}, {"because", 2, false}, {"the fix", 3, false}, {"the problem", 3, false}, {"the issue is", 3, false}, {"the issue was", 3, false}, {"the bug", 3, false},
		{"reproduced", 3, true}, {"found it", 3, true}, {"fixed", 3, true}, {"done", 2, true}, {"done:", 3, true}, {"shipped", 3, true}, {"deployed", 3, true}, {"both", 1, true}, {"no longer", 2, false}, {"now uses", 2, false},
		{"die ursache", 3, false}, {"der grund ist", 3, false}, {"la cause", 3, false}, {"la causa", 3, false},
	}
}

// guesses are the words of who does not know, or has not done it yet. What
// stands beside them is neither decided nor found.
func guesses() []string {
	return []string{
		"might ", "maybe", "perhaps", "probably", "possibly", "likely", "could be", "may be ", "seems ", "seem to", "looks like", "look like", "appears to", "i suspect", "i guess", "i assume",
		"not sure", "unsure", "should work", "should be fixed", "should now", "let me ", "i want to", "i propose", "i suggest", "i would suggest", "shall we", "let's see", "let's check", "now i ", "i'll check", "would be", "do you want", "wait,", "hmm",
		"vielleicht", "wahrscheinlich", "vermutlich", "peut-être", "quizás", "tal vez",
	}
}

// denials are how people report what they see.
func denials() []string {
	return []string{"i don't think", "i dont think", "i don't tink", "i don't know", "i don't see", "i don't understand", "i don't get", "i don't remember", "i do not know", "i do not see", "i do not understand"}
}

func openCues() []cue {
	return []cue{
		{"open question", 6, false}, {"open questions", 2, false}, {"open questions:", 4, false}, {"are open", 3, false}, {"open:", 3, false}, {"still open", 5, false}, {"is not yet", 3, false}, {"are not yet", 3, false},
		{"unanswered", 4, false}, {"unclear", 3, false}, {"unresolved", 4, false}, {"waiting for", 2, false}, {"is waiting for", 3, false}, {"are waiting for", 3, false}, {"i am waiting for", 4, false}, {"waiting on", 3, false},
		{"blocked on", 4, false}, {"blocked by", 4, false}, {"to be decided", 5, false}, {"tbd", 5, false}, {"needs a decision", 5, false},
		{"i don't know", 3, false}, {"i do not know", 3, false}, {"not verified", 3, false}, {"not tested", 3, false}, {"could not check", 4, false},
		{"offene frage", 6, false}, {"noch offen", 5, false}, {"question ouverte", 6, false}, {"pregunta abierta", 6, false},
	}
}

func nextCues() []cue {
	return []cue{
		{"next:", 5, false}, {"next step", 5, false}, {"next steps", 5, false}, {"todo:", 5, false}, {"todo for", 4, false}, {"todos:", 5, false}, {"still todo", 5, false}, {"to do", 2, false}, {"next week", 4, false}, {"tomorrow", 3, false},
		{"still to do", 5, false}, {"left to do", 5, false}, {"what is left", 3, false}, {"remaining", 3, false}, {"left:", 3, false}, {"remains to", 4, false}, {"follow up", 3, false},
		{"follow-up", 3, false}, {"reminder set", 4, false}, {"scheduled for", 4, false}, {"on monday", 3, false}, {"until then", 3, false}, {"we need to", 2, false},
		{"i will", 2, true}, {"open from", 3, true}, {"nächster schritt", 5, false}, {"nächste woche", 4, false}, {"prochaine étape", 5, false}, {"siguiente paso", 5, false},
	}
}

// goalCues are looked for in every sentence of a person.
func goalCues() []cue {
	return []cue{
		{"goal", 5, false}, {"task", 3, false}, {"first job", 4, false}, {"next:", 4, true}, {"next", 2, true}, {"please", 2, false}, {"can you", 4, false}, {"could you", 4, false},
		{"i want", 3, false}, {"we need", 3, false}, {"i need", 3, false}, {"i'd like", 3, false}, {"let's", 2, true}, {"help", 3, true}, {"one more", 2, true},
		{"fix", 4, true}, {"implement", 4, true}, {"add", 4, true}, {"build", 4, true}, {"create", 4, true}, {"write", 3, true}, {"rewrite", 4, true}, {"refactor", 4, true},
		{"remove", 4, true}, {"delete", 3, true}, {"move", 3, true}, {"update", 4, true}, {"change", 3, true}, {"port", 3, true}, {"migrate", 4, true}, {"deploy", 4, true},
		{"investigate", 4, true}, {"find", 3, true}, {"find out", 4, false}, {"figure out", 4, false}, {"check", 3, true}, {"review", 4, true}, {"read", 3, true},
		{"look", 3, true}, {"look at", 2, false}, {"test", 3, true}, {"run", 3, true}, {"make", 3, true}, {"set up", 4, false}, {"draft", 3, false}, {"explain", 3, true},
		{"why", 2, true}, {"how", 2, true}, {"what", 1, true}, {"is there", 2, true},
		{"ziel", 5, false}, {"bitte", 2, false}, {"kannst du", 4, false}, {"peux-tu", 4, false}, {"puedes", 4, false},
	}
}
