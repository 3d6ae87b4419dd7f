package facts

import "strings"

// What the rules need of German, French and Spanish: months, questions, and words that
// speak of every case. Other words are told by their form.

// monthsElsewhere are the names of the months that English has not.
const monthsElsewhere = `(?:januar|februar|märz|mai|juni|juli|oktober|dezember|janvier|février|mars|avril|juin|juillet|août|septembre|octobre|novembre|décembre|enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|octubre|noviembre|diciembre)`

// numbered is a day as German writes it, "14. November": its dot ends no sentence.
const numbered = `(?:^|[ .–-])\d{1,2}\.$`

// german tells a sentence of German, whose nouns are all written as names are.
func german(words []string) bool {
	n := 0
	for _, w := range words {
		if ofGerman(w) {
			n++
		}
	}
	return n > 1
}

func ofGerman(word string) bool {
	switch word {
	case "der", "das", "und", "ist", "sind", "nicht", "ein", "eine", "einen", "den", "dem", "auf", "mit", "für", "wir", "ich", "du", "sie", "zu", "von", "bis", "nur", "kein", "keine", "im", "zum", "bei", "wenn", "jede", "jeder", "jeden", "wird", "soll", "muss":
		return true
	}
	return false
}

// romance tells a sentence of Spanish, Italian or French, where "no" goes with verbs.
func romance(words []string) bool {
	n := 0
	for _, w := range words {
		if ofRomance(w) {
			n++
		}
	}
	return n > 1
}

func ofRomance(word string) bool {
	switch word {
	case "il", "la", "lo", "los", "las", "les", "el", "di", "del", "della", "che", "è", "una", "une", "con", "non", "nel", "que", "por", "para", "pas", "du", "des", "est", "et", "pour", "avec", "sì", "sí", "si", "ho", "sono", "più", "más", "ya":
		return true
	}
	return false
}

// elsewhere tells a sentence of another language than English: of a long one the rules
// do not know what it says.
func elsewhere(text string) bool {
	words := plainWords(strings.ToLower(text))
	return len(words) > shortWords && (german(words) || romance(words))
}

// dayGoesOn tells whether what stands before a dot and after it are one day, of any
// language: "31. Oktober", "am 3. jeden Monats".
func dayGoesOn(before, after string) bool {
	return dayBefore().MatchString(before+".") && monthAfter().MatchString(strings.ToLower(after))
}

var (
	dayBefore  = expression(numbered)
	monthAfter = expression(`^ ?(?:` + months + `|` + monthsElsewhere + `|jede[ns]|des|and|und|–|-)(?:$|[ ,.;:)–-])`)
	// whatElsewhere and whetherElsewhere begin questions for what there is.
	whatElsewhere    = expression(`(?i)^(?:und |et |y )?(?:welche[mnrs]?|was|wo|wohin|wer|wem|wann|wie|wieviele?|quel(?:le)?s?|où|qui|quand|combien|comment|¿?(?:qué|dónde|quién|cuándo|cuánt[oa]s?|cómo|cuál(?:es)?|cosa|che|dove|chi|quando|quanto|come|qual[ei]?|wat|waar|wanneer|hoeveel|hoe|welke))\b`)
	whetherElsewhere = expression(`(?i)^(?:und |et |y )?(?:stimmt|ist|sind|hat|haben|gibt|est-ce|y a-t-il|¿?(?:hay|es|está|son|tiene|è|hai|ha|ci sono|heeft|zijn|weet))\b`)
	wishElsewhere    = expression(`(?i)\b(?:soll|sollen|möchte[nst]*|oder|lieber|dois-je|faut-il|voulez|veux|ou|of|vuoi|devo|preferis\S+|zal|wil|moet|préf\S+|quier\S+|debo|prefier\S+)\b`)
	alwaysElsewhere  = expression(`\b(?:nie|niemals|immer|niemand|ausschließlich|grundsätzlich|jamais|toujours|nunca|siempre|nadie)\b|\b(?:bitte|nur|du|ihr|sie) (?:[\p{L}]+ )?(?:nur|keine?n?)\b|\bdarf(?:st)? (?:\p{L}+ )?(?:nicht|nur|kein)|\bne (?:\p{L}+ ){1,3}jamais\b`)
	ruledElsewhere   = expression(`\b(?:ausschließlich|grundsätzlich)\b|\bbitte (?:\p{L}+ )?nur\b|\b(?:du|ihr) (?:\p{L}+ ){1,2}nur\b|\bdarf(?:st)? (?:\p{L}+ )?(?:nie|nicht|nur|kein)`)
	// forbiddenElsewhere matches what shall not be, said with no person who does it: an
	// infinitive, or a noun.
	forbiddenElsewhere = expression(`(?:^|[,;:] |\by )(?:no (?:\p{L}+[aei]r|\p{L}+[aei]rl[oae]s?) (?:de|a|el|la|los|las|en|ni|por|nada|con|al|hasta|sin)\b|nada de \p{L}+|ni palabra\b)|\bni palabra de\b|(?:^|[,;:] |\bet )(?:ne (?:pas|jamais|rien) \p{L}+(?:er|ir|re)\b|(?:surtout )?pas (?:de |d'|d’)\p{L}+)|(?:^|[,;:] |\bund )(?:bitte )?keine?n? \p{L}+ (?:ohne|vor|nach|mit|in|im|auf|an|mehr)\b`)
	// infinitive matches the same in German, where the verb stands last.
	infinitive      = expression(`^(?:[Bb]itte )?(?:\p{L}+ ){0,4}(?:nicht|nie|niemals) (?:\p{L}+ ){0,3}\p{Ll}+e?n$`)
	personElsewhere = expression(`\b(?:ich|wir|er|sie|es|man|du|ihr|das|die|der|so|kann|wird|werden|will)\b|^(?:bitte )?\p{L}*[^h]t\b`)
	// happenedElsewhere matches verbs that tell what was, wherever their sentence has a day.
	happenedElsewhere = expression(`\b(?:murió|nació|llegó|llamó|salió|pagó|firmó|vino|est (?:mort|morte|né|née|arrivée?)|starb|wurde geboren)(?:\s|$)`)
	pastElsewhere     = expression(`\b(?:habe|hat|haben|hatte|hatten|war|waren|wurde|wurden|kam|ging|letzte[ns]?|gestern|hab|avait|était|avons|ha|han|fue|estaba)\b`)
)

// forbidsElsewhere tells what shall not be in a sentence of another language.
func (s *statement) forbidsElsewhere(main string) bool {
	if forbiddenElsewhere().MatchString(main) {
		return true
	}
	head, _, _ := strings.Cut(s.text, ", ")
	return infinitive().MatchString(head) && !personElsewhere().MatchString(strings.ToLower(head))
}
