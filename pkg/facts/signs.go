package facts

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// signs are what speaks for or against a sentence saying something that lasts, and for
// its kind: its words, its form and its place, by names that people can
// read. A sign is there or not; what each weighs is in weights.go.
type signs []string

func (s *signs) add(name string) { *s = append(*s, name) }

// addIf adds a sign that is there.
func (s *signs) addIf(there bool, name string) {
	if there {
		s.add(name)
	}
}

// atLeast adds a sign for each bound that a number reaches.
func (s *signs) atLeast(name string, n int, bounds ...int) {
	for _, least := range bounds {
		s.addIf(n >= least, name+" >= "+strconv.Itoa(least))
	}
}

// signsOf are the signs of a sentence of a message, the one at this place of so many.
func (s *statement) signsOf(m Message, at, sentences int) signs {
	var all signs
	all.ofWords(signWords(s.lower))
	all.ofForm(s)
	all.ofPlace(s, m, at, sentences)
	slices.Sort(all)
	return slices.Compact(all)
}

// signWords are the words of a text in lower case, numbers among them.
func signWords(lower string) []string {
	return strings.FieldsFunc(lower, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '\'' })
}

// ofWords adds the words, and again those that a sentence begins and ends with. What it
// agrees with first ("ok, so") is no beginning.
func (s *signs) ofWords(words []string) {
	for _, w := range words {
		s.addIf(!strings.ContainsAny(w, digits), "word "+w)
	}
	s.atLeast("words", len(words), 2, 3, 5, 8, 12, 18, 25)
	at := 0
	for at < len(words) && linking(words[at]) {
		at++
	}
	if at > 0 {
		s.add("links " + words[0])
	}
	if at < len(words) {
		s.add("begins " + words[at])
		s.addIf(taskVerb(words[at]) || choiceVerb(words[at]), "begins with an order")
		s.add("ends " + words[len(words)-1])
	}
}

// linking are words before what a sentence says.
func linking(word string) bool {
	switch word {
	case "ok", "okay", "yes", "no", "so", "then", "and", "but", "good", "right", "fine", "great", "hm", "hmm", "mm", "please", "sure", "yep", "sí", "vale", "ja", "nein", "gut", "oui", "non", "well", "perfect", "thanks", "also", "now":
		return true
	}
	return false
}

// choiceVerb begins an order that chooses something.
func choiceVerb(word string) bool {
	switch word {
	case "make", "take", "set", "use", "put", "pin", "bump", "raise", "lower", "cap", "keep", "leave", "let", "call", "name", "switch", "change", "sort", "count", "mark", "note", "bring", "get", "hold", "turn", "split", "round":
		return true
	}
	return false
}

// ofForm adds what a sentence names and how it is said.
func (s *signs) ofForm(st *statement) {
	for _, f := range signForms() {
		text := st.lower
		if f.cased {
			text = st.text
		}
		s.addIf(f.pattern().MatchString(text), f.name)
	}
	dayNamed := dayOfMonth().MatchString(st.lower) || dayOfWeek().MatchString(st.lower)
	s.add("by the rules' questions a " + string(st.kindOf(Decision)))
	s.addIf(dayNamed && untilDay().MatchString(st.lower), "a day that is due")
	s.addIf(slices.ContainsFunc(st.words, inPastAnywhere), "past")
	s.addIf(len(st.words) <= 4 && strings.ContainsAny(st.text, digits), "short with a number")
	s.atLeast("numbers", len(numbers().FindAllString(st.text, 3)), 2, 3)
	s.atLeast("commas", strings.Count(st.text, ","), 1, 2)
	fields := strings.Fields(st.text)
	s.atLeast("capitals", countOf(fields[min(1, len(fields)):], capitalized), 1, 2, 3)
	s.addIf(slices.ContainsFunc(fields, func(w string) bool { return st.names()[strings.Trim(w, ".,;:()")] }), "a person")
}

func countOf(words []string, counts func(string) bool) (n int) {
	for _, w := range words {
		if counts(w) {
			n++
		}
	}
	return n
}

// capitalized tells a word that begins with a capital, and is not "I".
func capitalized(word string) bool {
	word = strings.TrimLeft(word, `("'`)
	for _, r := range word {
		return unicode.IsUpper(r) && word != "I" && !strings.HasPrefix(word, "I'")
	}
	return false
}

// inPastAnywhere are past forms in the languages that the rules know.
func inPastAnywhere(word string) bool {
	switch word {
	case "era", "fue", "estaba", "hizo", "dijo", "war", "hatte", "wurde", "sagte", "kam", "ging", "était", "avait":
		return true
	}
	return inPast(word)
}

// ofPlace adds where in its message and after what a sentence stands.
func (s *signs) ofPlace(st *statement, m Message, at, sentences int) {
	s.addIf(m.Opens, "before any answer")
	s.addIf(at == 0, "first of its message")
	s.addIf(at == sentences-1 && sentences > 1, "last of its message")
	s.atLeast("sentences of its message", sentences, 2, 3, 5, 8)
	s.atLeast("sentences before it", at, 1, 2, 4)
	s.addIf(st.said != "" && len(st.said) < 200, "after a short message")
	if asked := strings.ToLower(st.last); strings.HasSuffix(strings.TrimSpace(asked), "?") {
		s.add("answers")
		s.addIf(at == 0, "answers first")
		for _, w := range signWords(asked) {
			s.addIf(questionWord(w), "asked "+w)
		}
	}
	s.ofShared(signWords(st.lower), signWords(st.offered()))
}

func questionWord(word string) bool {
	switch word {
	case "or", "what", "which", "who", "where", "when", "how", "should", "shall", "do", "is", "can", "want":
		return true
	}
	return false
}

// ofShared adds how much of a sentence the agent has just said.
func (s *signs) ofShared(words, offered []string) {
	words = slices.DeleteFunc(words, func(w string) bool { return !ofContent(w) })
	shared := countOf(words, func(w string) bool { return slices.Contains(offered, w) })
	s.addIf(shared > 0, "shares a word")
	s.addIf(shared > 0 && 2*shared >= len(words), "shares half its words")
	s.addIf(shared == len(words) && len(words) > 0, "shares all its words")
}

// ofContent tells a word that says something by itself, as far as its length tells.
func ofContent(word string) bool { return len(word) > 3 || strings.ContainsAny(word, digits) }

// signForm is a sign that a pattern tells.
type signForm struct {
	name    string
	cased   bool // the pattern is for the text as it is, not for lower case
	pattern func() *regexp.Regexp
}

// signForms are the signs that patterns tell, in English, German, Spanish and French.
func signForms() []signForm {
	return []signForm{
		{"a number", false, numbers},
		{"a date", false, dayOfMonth},
		{"a weekday", false, dayOfWeek},
		{"a host", false, hostNamed},
		{"a path", true, pathNamed},
		{"a file", false, fileNamed},
		{"a mail address", false, mailAddress},
		{"an identifier", true, identifier},
		{"an acronym", true, acronym},
		{"a version", false, versionNamed},
		{"a unit", false, unitNamed},
		{"a number in words", false, numberWord},
		{"a title", true, titleNamed},
		{"a quotation", true, inQuotes},
		{"a colon", false, colon},
		{"an exclamation", true, exclaimed},
		{"tells what was", false, toldBy},
		{"begins with it", false, beginsWithIt},
		{"we", false, ofUs},
		{"I", false, ofMe},
		{"you", false, ofYou},
		{"no", false, sayingNo},
		{"must", false, obliged},
		{"every", false, ofEvery},
		{"a role", false, ofRole},
		{"is", false, beingSo},
	}
}

var (
	numbers      = expression(`\d[\d.,:]*`)
	dayOfMonth   = expression(`\b(?:\d{4}-\d\d-\d\d|\d{1,2}(?:st|nd|rd|th)?\.? (?:of |de )?(?:` + months + `|` + monthsElsewhere + `)\b|` + months + ` \d{1,2}\b)`)
	dayOfWeek    = expression(`\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b|\b(?:montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonntag|lunes|martes|miércoles|jueves|viernes|sábado|domingo|lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche)s?\b`)
	untilDay     = expression(`\b(?:by|until|till|before|due|deadline|on|antes|hasta|bis|vor|am|avant|jusqu)\b`)
	hostNamed    = expression(`\b(?:[a-z0-9-]+\.)+(?:com|org|net|io|dev|eu|de|nl|be|fr|uk|es|pt|it|cloud|app|local|lan|internal|intern|corp|example|test|home|edu)\b|\b\d{1,3}(?:\.\d{1,3}){3}\b|[a-z]+://`)
	pathNamed    = expression(`(?:^|[\s(])[~.]?/?[\w.-]+/[\w./-]+`)
	fileNamed    = expression(`\b[\w-]+\.[a-z]{2,4}\b`)
	identifier   = expression(`\b[a-z]+(?:_[a-z0-9]+)+\b|\b[a-z]+[A-Z]\w+|\b[A-Z]{2,}[0-9_]+\w*|\b[a-z]+-[a-z]*\d+\b`)
	acronym      = expression(`\b[A-Z]{2,6}\b`)
	versionNamed = expression(`\bv?\d+\.\d+(?:\.\d+)*\b`)
	unitNamed    = expression(`\b\d[\d.,]* ?(?:ms|s|sec|seconds?|min|minutes?|h|hours?|days?|weeks?|months?|years?|mm|cm|m|km|kb|mb|gb|tb|kg|g|hz|khz|mhz|db|v|ma|w|kw|kwh|px|pt|l|°c)\b`)
	numberWord   = expression(`\b(?:two|three|four|five|six|seven|eight|nine|ten|twelve|twenty|thirty|forty|fifty|half|dos|tres|cuatro|cinco|zwei|drei|vier|fünf|deux|trois|quatre)\b`)
	titleNamed   = expression(`\b` + titles + `\b\.? ?\p{Lu}`)
	inQuotes     = expression("[\"“”'`«][^\"“”`»]{2,}[\"“”'`»]")
	colon        = expression(`:`)
	exclaimed    = expression(`!$`)
	toldBy       = expression(`\b(?:i|we|they|he|she|it|somebody|people|who|that) (?:just |also |already |only )?(?:[a-z]{2,}ed|was|were|had|did|went|came|said|told|sent|broke|lost|saw|found|made|took|gave|thought|wrote|got|ran|put)\b`)
	beginsWithIt = expression(`^(?:and |but |so |ok )?(?:he|she|they|it|that|this|these|those|there|it's|that's|there's)\b`)
	ofUs         = expression(`\b(?:we|our|us|nosotros|nuestr[oa]s?|wir|unser[em]?|nous|notre|nos)\b`)
	ofMe         = expression(`\b(?:i|my|me|i'm|i'll|mi|yo|ich|mein[em]?|je|mon|ma)\b`)
	ofYou        = expression(`\b(?:you|your)\b`)
	sayingNo     = expression(`\b(?:not|no|never|nobody|nothing|none|without|nunca|nadie|nada|sin|nicht|kein\w*|nie|ohne|pas|jamais|rien|sans|\w+n't)\b`)
	obliged      = expression(`\b(?:must|may|shall|should|has to|have to|needs? to|can only|debe\w*|hay que|tiene que|muss|müssen|darf|dürfen|soll\w*|doit|doivent|faut)\b`)
	ofEvery      = expression(`\b(?:always|never|every|each|all|any|only|nobody|nothing|siempre|nunca|cada|todos?|todas?|solo|sólo|immer|nie|jeder?|alle|nur|toujours|jamais|chaque|tous|seulement)\b`)
	ofRole       = expression(`\b(?:` + roles + `|client|customer|editor|madre|padre|hermano|hermana|primo|prima|tía|tío|abogad[oa]|notari[oa]|chefin?|leiterin?|mutter|vater|kollegin?|mère|père|directeur|directrice)\b`)
	beingSo      = expression(`\b(?:is|are|it's|lives?|sits?|runs?|has|have|es|está|están|son|tiene|ist|sind|hat|liegt|läuft|est|sont)\b`)
)
