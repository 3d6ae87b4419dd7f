package facts

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sessctl/sessctl/pkg/session"
)

// statementConfidence is of what is told from the form of a sentence: what a
// person says in few words while somebody works for them.
const statementConfidence = 0.75

// Bounds of a sentence whose form is looked at.
const (
	maxStatement = maxSentence // code points
	shortWords   = 7           // of a sentence that needs what it answers
	maxChoice    = 16          // words of a choice that names a value
	maxOffer     = 400         // bytes of the end of a message in which the agent offers something
)

// turn is where a sentence stands: after which message of the agent.
type turn struct {
	said  string                 // by the agent last, "" at the beginning
	lower string                 // the same in lower case
	last  string                 // its last sentence
	asked bool                   // the person asked something before that
	names func() map[string]bool // of people, as far as their form tells
	met   *acquaintance          // whom people have spoken of before
}

// after is where a sentence stands that follows a message of the agent, of which
// all are the sentences.
func (t turn) after(m Message, all []sentence) turn {
	t.said, t.lower, t.last = m.Text, strings.ToLower(m.Text), ""
	if len(all) > 0 {
		t.last = all[len(all)-1].text
	}
	return t
}

// asking notes whether a person's message asks something.
func (t turn) asking(m Message, all []sentence) turn {
	if m.Role == session.RoleUser {
		t.asked = slices.ContainsFunc(all, func(s sentence) bool { return s.question })
	}
	return t
}

// statement is a sentence of a person whose form is looked at.
type statement struct {
	turn
	text   string
	lower  string
	words  []string // in lower case, without marks
	before string   // what its message says before it, in lower case
	first  bool     // of its message
	alone  bool     // in a message of one line

	declined string // what it says no to
}

// sayingForm is one way in which people say something that lasts, whatever the words.
type sayingForm struct {
	name  string // of [Fact.Rule]
	kind  Kind
	holds func(*statement) bool
}

// forms are tried in their order; of preferences and decisions a sentence has one.
func forms() []sayingForm {
	return []sayingForm{
		{"forbids", Preference, (*statement).forbids},
		{"obliges", Preference, (*statement).obliges},
		{"keeps", Decision, (*statement).keeps},
		{"declines", Preference, (*statement).declines},
		{"contrasts", Decision, (*statement).contrasts},
		{"defines", Decision, (*statement).defines},
		{"takes up", Decision, (*statement).takesUp},
		{"settles", Decision, (*statement).settles},
		{"sets a value", Decision, (*statement).setsValue},
		{"wants a version", Decision, (*statement).wantsVersion},
		{"rules", Preference, (*statement).rules},
		{"concludes", Decision, (*statement).concludes},
		{"locates", Environment, (*statement).locates},
		{"names a person", Contact, (*statement).namesPerson},
		{"dates", Deadline, (*statement).dates},
		{ruleTopic, Decision, (*statement).topical},
	}
}

// ruleTopic is [Fact.Rule] of what shall be of a thing: where a sentence says something
// else, that is what it is.
const ruleTopic = "of a topic"

// stated finds what the form of a person's sentence says: what is forbidden or
// required, chosen, kept, where something is, who is responsible, when it is due.
// known are the facts that were found in the sentence already.
func stated(m Message, st statement, known []Fact) (found []Fact, refused []Refusal) {
	for _, f := range forms() {
		before := slices.Concat(known, found)
		if slices.ContainsFunc(before, Fact{Kind: f.kind}.rivals) || f.name == ruleTopic && len(before) > 0 || !f.holds(&st) {
			continue
		}
		kind := st.kindOf(f.kind)
		made := newFact(m, clause{text: st.text}, Fact{Kind: kind, Rule: f.name, Confidence: statementConfidence, Text: st.quoted(kind), Value: linked().ReplaceAllString(st.text, "")})
		if kind == Decision {
			made.Instead = cmp.Or(insteadOf(st.text), st.replacedValue(st.text))
		}
		if why := workObjection(made); why != "" {
			refused = append(refused, Refusal{Line: m.Line, Reason: why})
			continue
		}
		found = append(found, made)
	}
	return found, refused
}

// newStatement is a sentence of a person where it stands.
func newStatement(m Message, s sentence, t turn, first bool) statement {
	text := strings.TrimRight(straight(s.text), ".! ")
	text = strings.TrimLeftFunc(text, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("`\"'#@/<(-~.", r)
	})
	lower := strings.ToLower(text)
	before, _, _ := strings.Cut(m.Text, s.text)
	return statement{turn: t, text: text, lower: lower, words: plainWords(lower), before: strings.ToLower(before), first: first, alone: !strings.Contains(m.Text, "\n")}
}

// mayState tells a sentence whose form may say something: no question, no report, and
// no paste.
func (s *statement) mayState(of sentence) bool {
	return len(s.words) > 0 && !strings.ContainsAny(s.text[:1], `/'"<`) && utf8.RuneCountInString(s.text) <= maxStatement && !s.asks(of) && !s.tells()
}

// quoted is the text of a fact, with what a short sentence answers.
func (s *statement) quoted(k Kind) string {
	who := "The user said"
	if k == Decision {
		who = "The user decided"
	}
	if k != Decision && k != Preference {
		return quoted(who, s.text)
	}
	return s.turn.explained(quoted(who, s.text), len(s.words))
}

// explained adds to the text of a short sentence what it answers.
func (t turn) explained(text string, words int) string {
	if words > shortWords || t.last == "" || strings.Contains(text, "(asked:") {
		return text
	}
	return strings.TrimSuffix(text, ".") + afterWhat + cutAt(t.last, 120) + `").`
}

// cutAt is a text of at most n bytes, cut at a word.
func cutAt(text string, n int) string {
	if len(text) <= n {
		return text
	}
	text = text[:n]
	if at := strings.LastIndexByte(text, ' '); at > 0 {
		text = text[:at]
	}
	return strings.ToValidUTF8(text, "") + " …"
}

// plainWords are the words of a text without the marks around them.
func plainWords(lower string) []string {
	words := strings.Fields(lower)
	kept := words[:0]
	for _, w := range words {
		if w = strings.Trim(w, `.,;:!?"'“”()[]*…`+"`"); w != "" && w != "-" && w != "–" {
			kept = append(kept, w)
		}
	}
	return kept
}

func (s *statement) has(words ...string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return slices.Contains(s.words, w) })
}

// asks tells a question, also one without its mark, and a request for an answer.
func (s *statement) asks(of sentence) bool {
	return of.question || strings.Contains(s.text, "?") || asking().MatchString(s.lower)
}

// tells tells a report of what happened, and what a person only supposes.
func (s *statement) tells() bool {
	return tellsWhatHappened(s.text) || quotesOthers().MatchString(s.lower) || guessing().MatchString(s.lower) || s.has("says", "said", "thinks", "suggests", "believes") && opinion().MatchString(s.lower) || marks().hedged.MatchString(s.text) || marks().told.MatchString(s.text)
}

// past tells whether the first words of a sentence tell what was: "is cancelled"
// and "the stopped one" do not.
func (s *statement) past() bool {
	for i, w := range s.words[:min(len(s.words), 6)] {
		if inPast(w) && (i == 0 || !beforeParticiple(s.words[i-1])) {
			return true
		}
	}
	return pastSubject().MatchString(s.lower)
}

// beforeParticiple are words after which a past form tells of no past.
func beforeParticiple(word string) bool {
	switch word {
	case "is", "are", "be", "gets", "get", "will", "the", "a", "an", "all", "my", "our", "those", "these", "not":
		return true
	}
	return false
}

// inPast tells a verb in its past form, as far as a list of the common ones does.
func inPast(word string) bool {
	switch word {
	case "was", "were", "had", "did", "didn't", "wasn't", "weren't", "got", "went", "came", "said", "told", "tried", "called", "asked", "answered", "failed", "sent", "worked", "broke", "lost", "arrived", "looked", "tested", "saw", "found", "made", "took", "gave", "knew", "thought", "caught", "felt", "heard", "kept", "left", "met", "paid", "put", "ran", "wrote", "read", "sold", "bought", "forgot", "began", "became", "been", "gone", "done", "seen", "happened", "changed", "moved", "fixed", "added", "used", "wanted", "noticed", "checked", "deployed", "merged", "pushed", "booked", "installed", "updated", "cancelled", "canceled", "crashed", "restarted", "finished", "stopped", "started", "died", "fell", "approved", "confirmed", "received":
		return word != "put" && word != "read" && word != "left" && word != "used"
	}
	return false
}

// ofNow tells whether a sentence is about now only.
func (s *statement) ofNow() bool {
	return s.has("yet", "now", "today", "tonight", "again") || strings.Contains(s.lower, "for the moment") || strings.Contains(s.lower, "this time") || strings.Contains(s.lower, "for now")
}

// forbids: what is not to be done.
func (s *statement) forbids() bool {
	for _, m := range forbidding().FindAllStringSubmatch(s.lower, -1) {
		if verb := m[1]; !ofSpeech(verb) && !inPast(verb) && !(strings.HasSuffix(verb, "ed") && verb != "need") && !s.ofNow() {
			return !pointless().MatchString(s.lower[strings.Index(s.lower, m[0]):])
		}
	}
	return standingOrder().MatchString(s.lower) && !s.past()
}

// ofSpeech are verbs that "don't" and "never" go with in talk.
func ofSpeech(verb string) bool {
	switch verb {
	case "worry", "know", "think", "understand", "see", "mind", "forget", "hesitate", "care", "need", "have", "want", "like", "believe", "remember", "get", "say", "feel", "look", "even", "really", "you", "we", "i", "it", "the", "that", "again", "ever", "be", "hear", "heard", "is", "are", "has", "find", "matter", "exist", "work", "seem", "happen", "happens", "let", "require", "define", "give", "stop", "miss", "fail", "quit", "lose", "a", "an", "my", "our", "your", "his", "her", "their", "one", "anybody", "somebody", "someone", "him", "them":
		return true
	}
	return false
}

// obliges: what has to be, always, only, at most, or not without somebody.
func (s *statement) obliges() bool {
	switch {
	case s.has("only", "always", "ever", "limit", "must", "mustn't", "without", "nothing", "nobody", "max", "maximum", "minimum", "most", "least", "everything", "all", "each", "every", "never") || strings.Contains(s.lower, " to be ") || strings.Contains(s.lower, " to stay"):
	case s.has("before") && hasAny(s.lower, "want", "ask "):
	case s.has("in") && languages().MatchString(s.lower) && !saidIn().MatchString(s.lower):
	case s.has("use") && habits().MatchString(s.lower) && !usesThat().MatchString(s.lower):
	default:
		return false
	}
	if reachable().MatchString(s.lower) && !s.has("must", "never", "always") { // where something is
		return false
	}
	if dates().MatchString(s.text) && handedOver().MatchString(s.lower) { // a deadline
		return false
	}
	return !s.past() && !s.has("yet", "now", "today") && obliging().MatchString(s.lower) && !undue().MatchString(s.lower) && !strings.HasSuffix(s.lower, "read only")
}

// declines: what there shall not be.
func (s *statement) declines() bool {
	if s.saysWhatThereIs() || thereIs().MatchString(s.lower) || romance(s.words) {
		return false
	}
	for _, m := range declining().FindAllStringSubmatch(quotedNo().ReplaceAllString(s.lower, `""`), -1) {
		m[1] = contracted().ReplaceAllString(m[1], "")
		if !saysNo(m[1]) || strings.Contains(s.lower, "please no "+m[1]) {
			s.declined = m[1]
			return true
		}
	}
	return false
}

// saysWhatThereIs tells an answer to a question of what there is: it chooses nothing.
func (s *statement) saysWhatThereIs() bool {
	asked := strings.ToLower(s.last)
	return havingAny().MatchString(asked) && !strings.Contains(asked, " or ")
}

// saysNo are words with which "no" declines nothing.
func saysNo(noun string) bool {
	switch noun {
	case "problem", "problems", "worries", "idea", "need", "thanks", "thank", "wait", "way", "hurry", "rush", "change", "changes", "more", "one", "it", "that", "this", "i", "we", "you", "not", "no", "the", "doubt", "clue", "luck", "matter", "reason", "error", "errors", "result", "results", "answer", "output", "response", "sign", "longer", "a", "keep", "just", "don't", "its", "it's", "thats", "that's", "crash", "log", "difference", "then", "but", "and", "free", "point", "prob", "doubts", "wonder", "pressure", "joke", "kidding", "words", "other", "real", "such", "big", "small", "better", "sense", "let", "lets", "they", "there", "please", "sorry", "go", "do", "use", "what", "is", "are", "my", "our",
		"time", "loss", "losses", "chance", "news", "success", "effect", "harm", "trouble", "interruption", "warning", "warnings", "failure", "failures", "complaints", "feedback", "reply", "reaction", "connection", "signal", "money":
		return true
	}
	return strings.Trim(noun, "0123456789") == ""
}

// contrasts: one thing, and not another.
func (s *statement) contrasts() bool {
	if s.past() && !s.has("then") {
		return false
	}
	if arrow().MatchString(s.text) && len(s.words) < maxChoice {
		return true
	}
	if dropping().MatchString(s.lower) && !(s.has("before") && s.ordersTask()) && !s.has("you") && !forgotten().MatchString(s.lower) {
		return true
	}
	if strings.HasPrefix(s.lower, "if ") || strings.HasPrefix(s.lower, "when ") || ofPeople().MatchString(s.lower) {
		return false
	}
	for _, m := range contrasting().FindAllStringSubmatch(bracketed().ReplaceAllString(s.lower, ""), -1) {
		if !strings.Contains(m[1], "'") && !ofSpeech(m[1]) && !auxiliary(m[1]) && !notContrast(m[2]) {
			return true
		}
	}
	return false
}

// ordersTask tells whether a sentence begins with what is to be done once.
func (s *statement) ordersTask() bool {
	at := slices.IndexFunc(s.words, func(w string) bool { return !agreeing(w) })
	return at >= 0 && taskVerb(s.words[at])
}

func auxiliary(word string) bool {
	switch word {
	case "is", "are", "was", "were", "do", "does", "did", "will", "can", "could", "should", "would", "has", "have", "had", "may", "might", "must", "or", "why", "if", "be", "am", "it", "that", "but", "probably", "certainly", "better", "i", "it's", "thats", "that's", "and", "there", "of", "me", "us", "you", "him", "her", "them", "for", "as", "with", "to", "by", "in", "on", "than", "means", "says", "said":
		return true
	}
	return false
}

func notContrast(word string) bool {
	switch word {
	case "sure", "right", "yet", "now", "today", "only", "just", "really", "that", "to", "so", "even", "necessarily", "much", "many", "bad", "good", "working", "at", "tonight", "very", "always", "because", "him", "her", "it", "me", "this", "ready", "done", "finished", "available", "possible", "allowed", "clear", "enough", "here", "there", "true", "mine":
		return true
	}
	return strings.HasSuffix(word, "ing") || strings.HasSuffix(word, "ly") || strings.HasSuffix(word, "ed")
}

// keeps: what stays as it is, or where it is.
func (s *statement) keeps() bool {
	return hasAny(s.lower, "keep", "leave", "stay", "remain") && !s.discards() && keeping().MatchString(s.lower) && !strings.Contains(s.lower, "keep still") && !s.past() && !s.has("away", "tuned", "posted", "calm", "going", "why", "up", "you", "you'll")
}

// discards tells an order to do away with something, after which the rest is kept:
// "delete the imported ones and keep the real doubles".
func (s *statement) discards() bool {
	words := s.words
	for len(words) > 0 && agreeing(words[0]) {
		words = words[1:]
	}
	return len(words) > 0 && slices.Contains([]string{"delete", "remove", "cut", "drop", "kill", "throw", "do"}, words[0])
}

// defines: what something is taken for.
func (s *statement) defines() bool {
	return defining().MatchString(s.lower) && !s.has("with", "if", "when") && !s.past() && !s.namesPerson()
}

// takesUp: an answer to what the agent offered, that takes up one of the things.
func (s *statement) takesUp() bool {
	mayOffer := s.asked || offering().MatchString(s.offered()) || sufficing().MatchString(s.lower)
	offered := s.first && mayOffer && (!s.asked || offering().MatchString(s.offered()) || sufficing().MatchString(s.lower))
	if len(s.words) > 24 || s.saysWhatThereIs() || !mayOffer || doubting(s.words[len(s.words)-1]) {
		return false
	}
	head, _, _ := strings.Cut(strings.NewReplacer(";", ",", ":", ",", " - ", ",", " because ", ",").Replace(s.lower), ",")
	words := plainWords(head)
	for len(words) > 0 && agreeing(words[0]) {
		words = words[1:]
	}
	if i := slices.IndexFunc(words, func(w string) bool { return w == "is" || w == "are" }); i > 0 && i+1 < len(words) && slices.Contains([]string{"fine", "ok", "okay", "good", "better", "enough", "perfect"}, words[i+1]) {
		words = words[:i]
	}
	if len(words) == 0 || len(words) > 8 || !offered && (!s.alone || len(words) > 2 || len(s.words) > 3 && s.words[0] != "so" && s.words[0] != "then") || slices.ContainsFunc(words, finite) || taskVerb(words[0]) || strings.Contains(head, "/") {
		return false
	}
	offer := s.offered()
	return slices.ContainsFunc(words, func(w string) bool {
		return len(w) > 2 && !empty(w) && !unspecific(w) && strings.Contains(offer, stem(w))
	})
}

// settles: what it is after all, and what is out.
func (s *statement) settles() bool {
	if !hasAny(s.lower, " it is", "off the table", "make ", "set ") {
		return false
	}
	m := settling().FindStringSubmatch(s.lower)
	return m != nil && !slices.Contains([]string{"there", "here", "what", "how", "as", "that", "where", "whatever"}, m[1])
}

// doubting ends what is not decided yet.
func doubting(word string) bool { return word == "hm" || word == "hmm" || word == "hmmm" }

// offered is the part of the agent's message in which it offers something: its end.
func (s *statement) offered() string {
	return s.turn.lower[max(0, len(s.turn.lower)-maxOffer):]
}

// agreeing begins an answer.
func agreeing(word string) bool {
	switch word {
	case "yes", "ok", "okay", "sure", "yep", "yeah", "no", "hm", "hmm", "then", "good", "great", "nice", "perfect", "right", "fine", "so", "well", "please", "let's", "lets", "ja", "actually", "still", "but":
		return true
	}
	return false
}

// unspecific are words that say nothing about what was offered.
func unspecific(word string) bool {
	switch word {
	case "yes", "go", "do", "done", "that", "them", "then", "both", "fine", "good", "with", "from", "what", "when", "just", "first", "next", "look", "check", "please", "tests", "test", "run", "file", "files", "fix", "commit", "push", "apply", "deploy", "update", "change", "changes", "start", "continue", "now", "you", "can", "but", "all", "one", "not", "way", "see", "show", "try", "time", "should", "would", "could", "only", "also", "done.", "work", "make", "get", "have", "has", "about", "there", "here", "again", "ahead", "out", "new", "old":
		return true
	}
	return false
}

// setsValue: a short sentence that names a value and no more verbs than the one
// that sets it.
func (s *statement) setsValue() bool {
	if s.said == "" || len(s.words) > maxChoice || s.past() || !quantity().MatchString(s.lower) || equipped().MatchString(s.text) {
		return false
	}
	head, _, _ := strings.Cut(s.lower, ", ")
	words := plainWords(head)
	for len(words) > 0 && agreeing(words[0]) {
		words = words[1:]
	}
	if len(words) == 0 || strings.ContainsAny(head, "/()") || pointsTo().MatchString(head) || ofOthers().MatchString(s.text) && !setting().MatchString(strings.Join(words, " ")) {
		return false
	}
	if enough().MatchString(head) {
		return true
	}
	phrase := !slices.ContainsFunc(words, finite)
	if setting().MatchString(strings.Join(words, " ")) {
		return orderly(words[0]) || phrase && !asksWhatIs(s.last)
	}
	return phrase && len(words) <= 6 && quantity().MatchString(head) && !slices.ContainsFunc(words, taskVerb) && s.answersValue(head, words)
}

// answersValue is the second sign of a value that no verb sets: what it is of stands
// before it ("retention: 5 years"), or the agent asked, or spoke of such a value and
// this is another one.
func (s *statement) answersValue(head string, words []string) bool {
	offer := s.offered()
	switch {
	case asksWhatIs(s.last), askedAmount().MatchString(offer) && !askedChoice().MatchString(offer), slices.ContainsFunc(words, ofOwner), onlyDated(head), listedNames().MatchString(s.text), orderedBy().MatchString(head):
		return false
	case named().MatchString(head), unitAlone().MatchString(head), raised().MatchString(head), s.has("please", "pls"), strings.HasSuffix(s.last, "?"), offering().MatchString(offer):
		return true
	}
	fresh := slices.ContainsFunc(words, func(w string) bool { return strings.ContainsAny(w, digits) && !strings.Contains(offer, w) })
	about := slices.ContainsFunc(words, func(w string) bool {
		return len(w) > 2 && !strings.ContainsAny(w, digits) && !empty(w) && strings.Contains(offer, stem(w))
	})
	return fresh && strings.ContainsAny(offer, digits) && (about || len(words) == 1)
}

// onlyDated tells whether the numbers of a text are days.
func onlyDated(text string) bool {
	rest := dayNumber().ReplaceAllString(text, "")
	return rest != text && !strings.ContainsAny(rest, digits)
}

// ofOwner are words with which somebody has a value, and nobody sets it.
func ofOwner(word string) bool {
	switch word {
	case "nobody", "my", "our", "your", "his", "her", "their", "us", "me", "them":
		return true
	}
	return false
}

// orderly are the verbs of [setting].
func orderly(word string) bool {
	switch word {
	case "make", "take", "set", "use", "put", "pin", "bump", "raise", "lower", "cap", "limit", "keep", "give", "name", "tag", "assign", "allow":
		return true
	}
	return false
}

// finite tells a word that makes a sentence of a phrase.
func finite(word string) bool {
	switch word {
	case "is", "are", "was", "were", "has", "have", "had", "i", "we", "you", "it", "they", "he", "she", "there", "this", "that", "its", "do", "does", "don't", "can", "will", "would", "should", "it's", "i'm", "i'll", "we're", "that's", "thats", "gets", "get", "still", "failed", "passed", "remind", "ask", "call", "cannot", "can't", "signs", "uses", "runs", "use", "costs", "gives", "comes", "wants", "want", "needs", "allows", "says", "works", "stays", "tomorrow", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday", "saturdays", "sundays", "things", "questions", "question", "thing", "points", "options", "errors", "tests", "about", "what", "why", "how", "due", "never", "doesn't", "didn't", "isn't", "aren't", "won't", "below", "above", "starts", "via", "re", "number", "point", "item", "sounds", "looks", "seems", "means", "feels", "ist", "sind", "hat", "haben", "wird", "werden", "est", "sont", "es", "son":
		return true
	}
	return inPast(word)
}

// taskVerb begins what is to be done once.
func taskVerb(word string) bool {
	switch word {
	case "run", "check", "test", "look", "write", "fix", "find", "show", "explain", "read", "print", "list", "see", "open", "try", "do", "go", "rerun", "retry", "wait", "build", "install", "deploy", "push", "commit", "merge", "create", "add", "implement", "update", "upgrade", "remove", "delete", "rename", "refactor", "send", "tell", "give", "measure", "compare", "search", "download", "restart", "reboot", "kill", "stop", "start", "continue", "revert", "rebase", "review", "draft", "prepare", "plan", "help", "finish", "flag", "drop", "move", "copy", "convert", "scale", "figure", "sleep":
		return true
	}
	return false
}

// locates: where something is, and what it runs on.
func (s *statement) locates() bool {
	if !strings.ContainsAny(s.text, digits+"._@-/") || s.past() || s.has("then") || orders().MatchString(s.lower) {
		return false
	}
	return s.hasPlace() && !troubled().MatchString(s.lower)
}

// hasPlace tells whether a sentence names a place of the computer's, or a product
// with the version that it has.
func (s *statement) hasPlace() bool {
	return dataFile().MatchString(s.lower) || place().MatchString(s.text) && !sourceFile().MatchString(s.text) || !german(s.words) && equipped().MatchString(s.text) && !notProduct().MatchString(s.text) && !wished().MatchString(s.lower)
}

// wantsVersion: the version of a product that something shall have.
func (s *statement) wantsVersion() bool {
	return strings.ContainsAny(s.text, digits) && !s.past() && wished().MatchString(s.lower) && equipped().MatchString(s.text) && !notProduct().MatchString(s.text)
}

var (
	enough        = expression(`^(?:\S+ ){0,2}\S*\d\S*(?: [a-z]+)? (?:is|are) (?:enough|fine|ok|okay|plenty|good enough)\b`)
	sufficing     = expression(`^(?:(?:ok|yes|no|so|then),? )*(?:[\w-]+ ){1,3}(?:is|are) enough$`)
	handedOver    = expression(`\b(?:must|has to|have to|needs to) be (?:handed|submitted|delivered|sent|paid|ready|in|at|with|there|filed|signed|returned|finished|done)\b`)
	pastSubject   = expression(`^(?:(?:ok|and|but|so|hm+|yes|no),? )*(?:i|we|they|he|she|it|somebody|people) (?:just |also |already )?(?:[a-z]+ed|won|cut|hit|let|set)\b`)
	bracketed     = expression(`\([^)]*\)?`)
	listedNames   = expression(`^\S*\d\S*,? - |\d[\d.,]* [A-Z][a-z]+ [A-Z]|[A-Z][a-z]+ [A-Z][a-z]+ \d`) // "1,150 Transportes Silva", and a line of a file
	orderedBy     = expression(`^(?:step|option|part|phase|ticket|issue|page|line|day|week) \d+$`)
	dayNumber     = expression(`\b` + date + `|\b(?:the|on) (?:the )?\d{1,2}(?:st|nd|rd|th)\b`)
	unitAlone     = expression(`^\d[\d.,]*[a-z]+$`)
	raised        = expression(`^[a-z]+ to \d`)
	named         = expression(`^[a-z][a-z ]*: `)
	defining      = expression(`^(?:[a-z_]+,? ){0,3}[a-z_]+ (?:=|counts as|count as) [a-z0-9]`)
	asItIs        = expression(`\bas (?:it|they|that|this) (?:is|are)\b`)
	pointless     = expression(`\bdon't ask(?:$| (?:me )?(?:why|how|what)\b)|^.{0,12}\b(?:don't|do not|never) [a-z]+ (?:it|that|them|this)(?: now)?(?:$|,)`)
	standingOrder = expression(`\b(?:you|something|anything|deploy|we) (?:never|always) ` + imperative + `\b|\b(?:don't|do not) [a-z]+ .{2,60}\b(?:ever|without asking)\b|\b[a-z]+ never (?:alone|without)\b|\bi don't do (?:[a-z]{4,}[^s\W]s|[a-z]+ing)\b`)
	asking        = expression(`^(?:(?:ok|and|but|so|hm+|also|please|good|great),? )*(?:can|could|would|will|shall|should|may) (?:you|we|i|it|they)\b|^(?:(?:ok|and|but|so|hm+),? )*(?:what|why|who|how|when|where|which|is it|are there|is there|(?:i'd|i would) (?:like|love) to (?:know|see|understand|hear)|do (?:we|you|i|they)|does|did|have you|any idea|tell me|show me|explain|find out|let me know)\b`)
	guessing      = expression(`\b(?:i think|i guess|i wonder|not sure|i believe|as far as i know|wrong,|looks like|seems|i expected|should have)\b|^(?:thanks|thank you|great|nice|perfect|wonderful|super|lovely|good job)[!. ]*$`)
	forbidding    = expression(`(?:^|[,;:] |– |- |\b(?:and|but|so|please|pls|then|because|just|hence) |\b(?:we|nobody|must) )(?:(?:you )?(?:don't|do not)|never|not to)(?: ever)? ([a-z-]+)`)
	obliging      = expression(`(?:^|[,;:] |\b(?:and|but|so) )(?:[a-z'-]+ ){1,2}only (?:if|when|after|once)\b|\bnothing (?:about|of|from|with|in|that) [^,;]{2,40} (?:gets?|goes|is|leaves|may|shall|will)\b|(?:^|, |\b(?:and|but|so|please) )never (?:an?|any) [a-z]|\d\S*(?: ?%)? is the (?:limit|maximum|minimum|max)\b|(?:^|[,;:] |\band |\bso |\bbut |\bplease )only (?:[a-z]*[^s\W] )?(?:when|if|in|on|after|from|with|at|by)\b|(?:^|[,;:] |\band |\bso |\bbut )(?:read only|only (?:run|build|use|deploy|read|keep|push|merge|commit|touch|write|change|send|allow))\b|(?:^|[,;:] |\band |\bso |\bbut )only [a-z]+ (?:may|can|should|shall|must) |, (?:always|ever)(?:$|[:,])|\b(?:shall|should|must|has to|have to) ask (?:me|us) before\b|^(?:[a-z]+ ){1,6}always (?:by|in|with|from|via|through) [a-z]|\b(?:put|add|write|mention) (?:it|that|this|them) (?:in|into|on|to) (?:every|each|all)\b|\bwants? to (?:know|hear|see|approve|check|be (?:asked|told|informed)) (?:it |that |them )?before (?:we|you|i|any|anything|anybody|it|that|a|the)\b|\bmustn't (?:be|go|have|use|contain|come|run|end|fit|change|publish|share|send|show|leave|lose|write|delete|touch|print|mention)\b|\b[a-z]+ (?:should )?only (?:happens?|runs?|works?|goes|go|from|in|on|via|keeps?|through|allowed)\b| only$|^(?:and )?[a-z]+(?: [a-z]+)? only,|\bmust (?:not |never |always |only )?(?:be|stay|go|have|use|pass|contain|keep|come|wait|run|match|start|end|not|never|include|ask|remain|work|fit|exist)\b|\b(?:has|have|needs?) to (?:stay|remain|go through|use|pass|match|fit|work on)\b|\bwithout (?:my|our|asking|telling|a review|approval|an? (?:ok|review)|[a-z]+'s)\b|\bnothing (?:gets?|goes|is|leaves|may|shall|will|with|runs|that (?:[a-z]{3,}[^s\W]s|moves|flashes))\b|\bnobody (?:but|except|may|touches|should|is allowed)\b|\b(?:max|maximum|at most|not more than|no more than|at least|minimum)\.? (?:of )?(?:\d|two|three|one)|\b\d[\w.]*(?: [a-z]+)? ?(?:max|maximum|minimum)\b|\bi want (?:the|all|every|my|our|each) .+ to (?:be|stay|go|have|use)\b|\b(?:everything|anything|nothing|all) (?:under|over|above|below|older|smaller|larger|newer|shorter|longer)\b.{0,20}\d|\bfrom (?:here|now|then) (?:on )?(?:is|are|must|in)\b|\bin (?:english|dutch|german|french|spanish|italian|portuguese|irish|polish|swedish|norwegian|danish)\b|\b(?:i|we) (?:always |only )?use [a-z]|\bone [a-z]+ (?:at a time|each|per [a-z]+)\b|\b(?:every|each) [a-z]+ (?:needs|gets|has|must)\b`)
	undue         = expression(`\bwrong\b|\bit must (?:work|be|have)\b|^(?:(?:and|but|so) )?(?:she|he|they)(?:'s| is|'re| are| has| have) |\bonly (?:in|from|on|after) (?:` + months + `\b|the \d)|\bonly (?:from|since|until) (?:19|20)\d\d\b|\b(?:we|i) need (?:a|an|the) |\bmust be somewhere\b|\b(?:must|has to|have to) be (?:able|so|very|a bug|something|because|the|wrong|fixed|done|updated|corrected|changed|tested|written|reviewed|merged)\b|\bmust have\b|\b(?:some|often|people) always\b|\balways (?:don't|been|was|were|had|the same|happens|fails|gets|says|there|here|good|nice|a)\b|\bit's always\b|\b(?:every|each) (?:time|day|week|hour|minute|night)\b`)
	languages     = expression(`\bin (?:english|dutch|german|french|spanish|italian|portuguese|irish|polish|swedish|norwegian|danish)\b`)
	saidIn        = expression(`\bin [a-z]+ (?:it|this|that|they|we|is|means|says)\b`)
	habits        = expression(`\b(?:i|we) (?:always |only |also )?use [a-z]`)
	thereIs       = expression(`^(?:(?:and|but|so|ok),? )*(?:it's|its|it is|there's|there is|there are|that's) .*\band no `)
	quotedNo      = expression(`["'][^"']*\bno\b[^"']*["']`)
	usesThat      = expression(`\buse (?:the same|it|this|that|these|those|them)\b`)
	quotesOthers  = expression(`\b(?:mailed|wrote|writes|said|says|told [a-z]+|asked): ["']`)
	havingAny     = expression(`^(?:do|did|does|is|are|have|has)(?: \S+)? (?:you|there|it|they)(?: have| got)?\b.*\?$`)
	ofMachine     = expression(`\b(?:account|login|log in|user|sender|from [\w.+-]+@|ssh|scp|rsync|git|host|server|storage|folder|repo|key)\b|(?:^|\s)(?:mailbox|inbox)\b|@\d`)
	mailAddress   = expression(`\b` + email)
	declining     = expression(`(?:^|[,;] |– |- |\b(?:and|but|please|so|then) )no "?([a-z0-9][\w'-]*)`)
	contracted    = expression(`'(?:re|s|m|ll|ve|d|t)$`)
	contrasting   = expression(`\b([a-z0-9][\w.'%-]*),? (?:and )?not (?:an? |the )?([a-z0-9][\w.%-]*)`)
	ofPeople      = expression(`^(?:i'm|i am|we're|we are|he's|she's|he is|she is|they are) (?:an? |the )`)
	forgotten     = expression(`\bforget (?:it|that|this|about)\b`)
	dropping      = expression(`^(?:(?:ok|yes|no|so|then|hm+|and),? )*(?:scrap|forget|get rid of|no longer|replace) (?:the |it |that |this )?[a-z0-9]|\b(?:i|we)(?:'d| would)? (?:rather )?(?:get rid of|drop)\b|\binstead of\b|\brather than\b|\bafter all\b`)
	keeping       = expression(`(?:^|[,;:] |\b(?:and|but|so|please|yes|no|hm|then|better) )(?:keep|leave) (?:(?:the|all|our|my|its|it|that|those|these|a|an|this|both|\d\S*)\b|[a-z0-9.-]+ (?:in|at|as|until|for|on|to|out)\b)|\b(?:stays|remains|(?:must|shall|[a-z]+s|they|both|[a-z]+_[a-z]+) (?:stay|remain)|(?:the|those|these) [a-z][^,;]{2,50} stay|the \d\S* (?:stay|remain))\b(?: (?:as|at|on|in|with|like|for|until|where|out|free|off|untouched|unchanged|open|closed|private)\b|$|,)`)
	offering      = expression(`\bor\b|\beither\b|\boptions?\b|\btwo ways\b|\balternatives?\b|\bshould\b.*\?|\bshall\b.*\?|\bwhich\b.*\?|\bwould you rather\b|\bi'd\b|\bi would\b|\bboth\?`)
	quantity      = expression(`(?:^|[\s(~<>"'v])\d[\d.,:]*(?:[ -]?[a-z%€$°µ]+)?(?:\W|$)|\b(?:two|three|four|five|six|seven|eight|nine|ten|twelve) (?:days?|weeks?|months?|years?|hours?|minutes?)\b`)
	setting       = expression(`^(?:make|take|set|use|put|pin|bump|raise|lower|cap|limit|start at|give|name|tag|assign|allow|better|rather|only|up|down|back to|go|switch|change|increase|decrease|reduce|keep|call|threshold|retention|version|budget|limit|timeout|price|port|interval|width|height|size|level)\b`)
	orders        = expression(`^(?:(?:ok|yes|so|and|then|please|kindly|now|next|first|great|good|also),? )*(?:run|check|test|look|write|fix|find|show|explain|read|print|list|open|try|do|rerun|build|install|deploy|push|commit|merge|create|add|implement|update|remove|delete|rename|send|copy|move|put|save|store|take|start|see|make|change|go|get|post|patch|roll|have a look|we want to|i want to)\b`)
	place         = expression(`\b(?:[\w-]+\.)+(?:com|org|net|io|dev|eu|de|nl|be|fr|uk|cloud|app|local|lan|internal|intern|corp|example|test|home)\b(?:[:/]\S*)?|\b[a-z][a-z0-9+]{2,9}://\S+|\b\d{1,3}(?:\.\d{1,3}){3}\b|(?:^|[\s(])/(?:[\w.-]+/)+[\w.-]+|\b[Pp]ort \d{2,5}\b|\b(?:ssh|listens?|runs?|is|there) (?:[a-z]+ )?on \d{4,5}\b|\b(?:account|serial|host|hostname|user|profile|namespace|cluster|context|project|bucket|database|db|realm|role|queue|topic|vlan|gpio|mount|kubectx|app|share) (?:is |id |number |no )?["'#]?[\w@./-]*[\d._@/-][\w@.-]+|\b(?i:prod|production|staging|stage|dev|test|sandbox) is [a-z0-9]+-[a-z0-9-]+\b|\b(?:reference|policy|contract|customer|serial|booking|number|order) (?:no\.? |number |id )?[A-Z]{2,}-?[\d-]*\d\b|\baccount (?:ending|number)(?: in)? \d{3,}|\b(?:it's|its|is|are|runs?|lives?|sits?) on (?:the )?(?:[a-z]+,? ){0,3}[a-z]{2,}-?\d{1,3}(?:$|[,;)]| \(| and | in )|\buser for [a-z]+ is [a-z][\w-]*[_-][\w-]+|\b(?:variable|var) [A-Z][A-Z0-9_]{3,}\b|(?:^|[\s(])\.NET \d+\b|\b[A-Z][A-Z0-9]+_[A-Z0-9_]+=\S+`)
	sourceFile    = expression(`\b[\w/.-]+\.(?:go|py|ts|tsx|js|jsx|rs|c|h|cpp|java|rb|php|md|json|yaml|yml|toml|sql|css|html|sh|txt|log|vue|swift|kt)\b`)
	equipped      = expression(`[a-z,;:] [A-Z][A-Za-z.+#]{1,20} v?\d{1,2}(?:\.\d+)*(?:$|[,;:)]| (?:and|on|in|for|with|is|to)\b)|\b(?i:` + product + `|rails|fastify|xcode|expo|rust|msrv|rabbit(?:mq)?|gradle|flutter|laravel|spring|zephyr|dotnet|godot|unity|unreal|electron|svelte|next(?:\.js)?|nuxt|bun|deno|ansible|helm|airflow|pytorch|tensorflow|cuda|esp-idf|fedora|nixos|proxmox|truenas|keycloak|grafana|prometheus|drupal|wordpress|woocommerce|magento|typo3|symfony|maven|cmake|gcc|clang|blender|qgis|gdal|android|home assistant) (?:is (?:still |at |on )?|version |v)?(?:\d+\.\d+(?:\.\d+)*|\d{1,3})(?:$|[,;:)]| [a-z(])`)
	notProduct    = expression(`\b(?:January|February|March|April|May|June|July|August|September|October|November|December|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sep|Oct|Nov|Dec|Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday|Option|Step|Chapter|Issue|PR|MR|Phase|Section|Page|Room|Line|Part|Version|Table|Figure|Task|Ticket|Sprint|Week|Day|Level|The|And|About|Only|Budget|At|On|In|By|From|For|To|After|Before|Until|With|Yes|No|Ok|Then|All|Top|Last|First|Next|Take|Make|Set|Keep|Use|Show|Give|Roll) \d|\b(?i:go) \d+\b(?:[^.]|$)|\d (?:euros?|percent|%|days?|a head|ones?\b)|\d,\d{3}\b`)
	opinion       = expression(`\b(?:says|said|thinks|suggests|believes)\b.{1,60}\b(?:should|could|would)\b`)
	reachable     = expression(`\bonly (?:reachable )?(?:from|via|over|through|in) (?:the |our |my )?(?:vpn|office|inside|intranet|lan)\b`)
	settling      = expression(`(?:^|[,;] )(?:(?:ok|okay|yes|no|so|then|and|right|fine),? )*(?:[a-z0-9][\w.%/-]* ){0,3}([\w.%/-]*[a-z0-9]) it is(?:$|,| then| for )|\b(?:is|are) off the table\b|(?:^|[,;] )(?:make|set) (?:the|that) (?:[a-z]+ ){1,2}\d\S*$`)
	troubled      = expression(`\b(?:we|i) need |\bbudget\b|\b(?:growing|woke (?:me )?up|(?:is|are) (?:down|full|stuck|dead|broken|slow|gone|empty|filling|crashing|hanging|failing))\b|^(?:all|both|they|it|those|these|everything) (?:under|in|on|at)\b`)
	ofOthers      = expression(`, (?:they|he|she|there)\b|, [A-Z]\p{L}+ (?:has|is|was|wants)\b`)
	pointsTo      = expression(`^(?:[a-z]+ ){1,3}(?:the|those|these|your|all) \d+ `) // "put the 22 in the list"
	// dataFile matches where data is said to be: a file, or a folder of the work.
	dataFile = expression(`\b(?:is|are|it's|its|have|lives?|sits?|kept|stored|file|list|there's) (?:all |still |also )?(?:in |at |under )?(?:file )?(?:[\w.-]+/)*[\w-]+\.(?:csv|xlsx?|ods|parquet|gz|zip|pem|db|sqlite|dbf|gpkg|bib)\b|\b(?:is|are|lives?|sits?) (?:all |still |also )?(?:in|under) (?:[\w.-]+/)+[\w-]*(?:$|[ ,;:)])`)
	linked   = expression(`^(?i:ok so|so|ok),? `)
)
