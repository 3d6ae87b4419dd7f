package summarize

import (
	"bytes"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// shortSentence is how many bytes a sentence has at least: "Constraints." or
// "OK." says nothing without what follows.
const shortSentence = 24

// sentence is one sentence of a text. Its slice is that of the text.
type sentence struct {
	text []byte
	item bool // the line is an item of a list
	head bool // the line is a heading, or ends in a colon: it speaks for the list below
	// goesOn is true if the line has a sentence before it.
	goesOn bool
	quoted bool // the line begins with ">": somebody else has said it
}

// shortClause is the same for what people say: "200 GB." is a choice, and what
// stands beside it may be over while it holds.
const shortClause = 8

// eachSentence hands out the sentences of a text without the marks of lists
// and headings. Fenced code is not prose and is left out.
func eachSentence(text []byte, yield func(sentence)) { eachSentenceOf(text, shortSentence, yield) }

// eachSentenceOf is eachSentence with the least number of bytes of a sentence.
func eachSentenceOf(text []byte, short int, yield func(sentence)) {
	eachProseLine(text, func(line []byte) {
		if line = bytes.TrimSpace(line); len(line) > 0 {
			eachInLine(line, short, yield)
		}
	})
}

// eachProseLine hands out the lines of a text that stand outside of fences.
func eachProseLine(text []byte, yield func(line []byte)) {
	fenced := false
	for line := range bytes.Lines(text) {
		bare := bytes.TrimSpace(line)
		if bytes.HasPrefix(bare, []byte("```")) {
			fenced = !fenced || bytes.HasPrefix(line, []byte("    ")) || len(bytes.TrimLeft(bare, "`")) > 0 // a fence inside is no end
			continue
		}
		if !fenced {
			yield(line)
		}
	}
}

// withoutShown is a text without what it only shows: code between fences, and a document
// with its title.
func withoutShown(text []byte) []byte {
	if !bytes.Contains(text, []byte("```")) && !bytes.Contains(text, []byte("# ")) {
		return text
	}
	own := make([]byte, 0, len(text))
	titled := false
	eachProseLine(text, func(line []byte) {
		if titled = titled || bytes.HasPrefix(line, []byte("# ")); !titled {
			own = append(own, line...)
		}
	})
	return bytes.TrimSpace(own)
}

// withoutCode is a text without what stands between fences, but for a few lines.
func withoutCode(text []byte) []byte {
	if !bytes.Contains(text, []byte("```")) {
		return text
	}
	var prose, block []byte
	fenced, lines := false, 0
	for line := range bytes.Lines(text) {
		fence := bytes.HasPrefix(bytes.TrimSpace(line), []byte("```"))
		switch {
		case fence && !fenced:
			fenced, block, lines = true, append(block[:0], line...), 0
		case fenced:
			block, lines = append(block, line...), lines+1
			if fence && !bytes.HasPrefix(line, []byte("    ")) && len(bytes.Trim(line, "` \r\n")) == 0 {
				fenced = false
				if lines-1 <= shownCode {
					prose = append(prose, block...)
				}
			}
		default:
			prose = append(prose, line...)
		}
	}
	return bytes.TrimSpace(prose)
}

// shownCode is how many lines of code are told with what somebody says.
const shownCode = 5

func eachInLine(line []byte, short int, yield func(sentence)) {
	bare, item := trimMarks(line)
	for goesOn := false; len(bare) > 0; goesOn = true {
		n := sentenceEnd(bare, short)
		if s := bytes.TrimSpace(bare[:n]); len(s) > 0 {
			last := s[len(s)-1]
			head := line[0] == '#' || last == ':' || bytes.HasSuffix(s, []byte(":**"))
			yield(sentence{text: s, item: item, head: head, goesOn: goesOn, quoted: line[0] == '>'})
		}
		bare = bare[n:]
	}
}

// sentenceEnd returns where the first sentence of a line ends: behind a mark
// that a space follows, or behind a mark of Chinese or Japanese. A short
// sentence goes with its neighbour.
func sentenceEnd(line []byte, short int) int {
	for i := 0; i+short*3/4 < len(line); {
		if c := line[i]; c < utf8.RuneSelf && c != '.' && c != '!' && c != '?' {
			i++
			continue
		}
		r, size := utf8.DecodeRune(line[i:])
		i += size
		switch r {
		case '。', '！', '？':
			return i
		case '.', '!', '?':
			if i < len(line) && line[i] == ' ' && i >= short && len(line)-i > short*3/4 {
				return i
			}
		}
	}
	return len(line)
}

// trimMarks removes "## ", "> ", "- ", "1. " and "[x] " from a line's start,
// and tells whether it is an item of a list.
func trimMarks(line []byte) (bare []byte, item bool) {
	line = bytes.TrimLeft(line, "#> \t")
	bare = line
	for _, mark := range []string{"- ", "* ", "+ ", "• ", "– "} {
		bare = bytes.TrimPrefix(bare, []byte(mark))
	}
	digits := 0
	for digits < len(bare) && bare[digits] >= '0' && bare[digits] <= '9' {
		digits++
	}
	if digits > 0 && digits < 3 && digits+1 < len(bare) && (bare[digits] == '.' || bare[digits] == ')') && bare[digits+1] == ' ' {
		bare = bare[digits+2:]
	}
	for _, box := range []string{"[x] ", "[ ] "} {
		bare = bytes.TrimPrefix(bare, []byte(box))
	}
	return bare, len(bare) < len(line)
}

// appendLower appends s with ASCII letters in lower case. Other letters keep
// their case: cues with such letters do not begin sentences.
func appendLower(dst, s []byte) []byte {
	for _, c := range s {
		if c >= 'A' && c <= 'Z' {
			c |= 0x20
		}
		dst = append(dst, c)
	}
	return dst
}

// oneLine joins the lines of a text, and cuts it after n code points.
func oneLine(text string, n int) string {
	var out strings.Builder
	runes, space := 0, false
	for _, r := range text {
		if unicode.IsSpace(r) {
			space = out.Len() > 0
			continue
		}
		if runes+2 > n {
			return out.String() + "…"
		}
		if space {
			out.WriteByte(' ')
			runes++
		}
		out.WriteRune(r)
		runes++
		space = false
	}
	return out.String()
}

// code quotes a text as Markdown code, with a fence that it does not contain.
func code(text string) string {
	fence := "`"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	if len(fence) > 1 {
		return fence + " " + text + " " + fence
	}
	return fence + text + fence
}

// unwrap removes what chat gateways put around a person's words
// (docs/dev/formats.md, "openclaw"): the envelope of the channel, blocks of
// metadata, and marks for replies.
func unwrap(text []byte) []byte {
	for {
		head, rest, found := bytes.Cut(text, []byte("(untrusted metadata):\n```"))
		if !found || bytes.IndexByte(head, '\n') >= 0 {
			break
		}
		_, after, closed := bytes.Cut(rest, []byte("\n```"))
		if !closed {
			break
		}
		text = bytes.TrimSpace(after)
	}
	for _, prefix := range []string{"[Telegram ", "[WhatsApp ", "[Discord ", "[Slack ", "[Signal ", "[iMessage ", "[message_id:", "[[reply_to"} {
		if end := bytes.IndexByte(text, ']'); end > 0 && bytes.HasPrefix(text, []byte(prefix)) {
			text = bytes.TrimLeft(text[end:], "] ")
		}
	}
	return text
}

// Unwrap removes what chat gateways put around a person's words: the envelope
// of the channel, blocks of metadata, and marks for replies. What it returns is
// a part of text.
func Unwrap(text []byte) []byte { return unwrap(text) }

// kind is what a sentence may be.
type kind uint8

const (
	constraint kind = iota
	decision
	finding
	open
	next
	known // when something is, where, and with whom
	goal  // of a whole message
	kinds
)

// cue is a phrase that speaks for a kind. Weights were set by reading the
// summaries of real and synthetic sessions; 3 alone makes an item.
type cue struct {
	phrase string // lower case
	weight int
	start  bool // counts only where the sentence begins
}

// enough is the weight from which a sentence is an item.
const enough = 3

// cueIndex finds the cues that begin with a word.
type cueIndex map[string][]indexedCue

type indexedCue struct {
	cue
	kind kind
}

// allCues is the index of all cues; nobody changes it.
var allCues = sync.OnceValue(newCueIndex)

func newCueIndex() cueIndex {
	index := cueIndex{}
	for k, table := range [kinds][]cue{constraint: constraintCues(), decision: decisionCues(), finding: findingCues(), open: openCues(), next: nextCues(), known: knownCues(), goal: goalCues()} {
		for _, c := range table {
			first := c.phrase
			if i := bytes.IndexFunc([]byte(first), func(r rune) bool { return !wordRune(r) }); i > 0 {
				first = first[:i]
			}
			index[first] = append(index[first], indexedCue{c, kind(k)})
		}
	}
	return index
}

// weigh adds up the cues of a sentence in lower case. Each cue counts once.
func (x cueIndex) weigh(sentence []byte) (weights [kinds]int) {
	start := true
	for i := 0; i < len(sentence); {
		end := i + wordLength(sentence[i:])
		if end == i {
			i += runeLength(sentence[i:])
			continue
		}
		for _, c := range x[string(sentence[i:end])] {
			if (start || !c.start) && hasPhrase(sentence[i:], c.phrase) {
				weights[c.kind] = max(weights[c.kind], c.weight) + min(weights[c.kind], c.weight)/2
			}
		}
		start = start && opens(sentence[i:end])
		i = end
	}
	return weights
}

// opens tells whether a sentence still begins after a word: "Please add" asks
// for the same as "Add".
func opens(word []byte) bool {
	switch string(word) {
	case "please", "now", "also", "then", "so", "ok", "okay", "and", "but", "just", "first", "can", "could", "you", "let's", "bitte",
		"yes", "fine", "good", "great", "hm", "hmm", "right", "alright", "sorry", "thanks", "wait":
		return true
	}
	return false
}

// hasPhrase tells whether s begins with a phrase that ends where a word does.
func hasPhrase(s []byte, phrase string) bool {
	if !bytes.HasPrefix(s, []byte(phrase)) {
		return false
	}
	r, _ := utf8.DecodeRune(s[len(phrase):])
	return len(s) == len(phrase) || !wordRune(r) || phrase[len(phrase)-1] == ':'
}

func wordLength(s []byte) int {
	n := 0
	for n < len(s) {
		if s[n] < utf8.RuneSelf {
			if !wordByte(s[n]) {
				break
			}
			n++
			continue
		}
		r, size := utf8.DecodeRune(s[n:])
		if !wordRune(r) {
			break
		}
		n += size
	}
	return n
}

func wordByte(c byte) bool {
	return c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' || c == '\'' || c == '_'
}

func wordRune(r rune) bool {
	if r < utf8.RuneSelf {
		return wordByte(byte(r))
	}
	return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '’'
}

func runeLength(s []byte) int {
	_, n := utf8.DecodeRune(s)
	return n
}

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
		{"has to be", 3, false}, {"have to be", 3, false}, {"must be", 4, false}, {"needs a", 3, false}, {"needs to", 2, false}, {"every", 1, true}, {"nobody", 3, false}, {"no exceptions", 4, false}, {"all in", 2, false}, {"not more", 3, false}, {"without", 2, false},
		{"before you", 3, false}, {"as it is", 3, false}, {"as they are", 3, false}, {"stays", 3, false}, {"stay", 2, false}, {"respect", 2, false}, {"cannot", 2, false}, {"can't", 1, false}, {"may not", 3, false}, {"don't touch", 4, false}, {"keep the", 3, false}, {"our people", 2, false}, {"hate", 2, false},
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
		{"make that", 5, false}, {"make it", 2, true}, {"scrap that", 5, false}, {"scrap", 3, true}, {"forget", 3, true}, {"only", 1, false}, {"changed my mind", 5, false}, {"instead", 1, false}, {"becomes", 4, false}, {"moved:", 4, false}, {"takes his", 4, false}, {"takes her", 4, false}, {"takes over", 3, false},
		{"we go", 3, false}, {"we pay", 3, false}, {"we take", 3, false}, {"we have to", 3, false}, {"let's", 2, true}, {"let's do", 3, false}, {"pin", 4, true}, {"skip", 3, true}, {"leave", 3, true}, {"option", 3, true}, {"use", 3, true}, {"start at", 3, true}, {"upgrade", 2, true},
		{"drop", 3, true}, {"cap", 3, true}, {"wants the", 3, false}, {"want the", 2, false}, {"wants", 1, false}, {"want", 1, false}, {"no", 2, true}, {"allow", 2, false}, {"they allow", 3, false}, {"is fine", 3, false}, {"not before", 3, false}, {"anyway", 1, false}, {"for good", 2, false}, {"after all", 3, false},
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
		{"reproduced", 3, true}, {"found it", 4, false}, {"cause:", 4, false}, {"dead end", 3, false}, {"that explains", 3, false}, {"explains", 2, false}, {"the difference", 4, true}, {"two causes", 4, false}, {"passes alone", 3, false}, {"comes from", 2, false}, {"is that", 1, false}, {"this one is", 2, true}, {"yes:", 3, true}, {"no:", 3, true}, {"needs the", 2, false}, {"fixed", 3, true}, {"done", 2, true}, {"done:", 3, true}, {"shipped", 3, true}, {"deployed", 3, true}, {"both", 1, true}, {"no longer", 2, false}, {"now uses", 2, false},
		{"die ursache", 3, false}, {"der grund ist", 3, false}, {"la cause", 3, false}, {"la causa", 3, false},
	}
}

// guesses are the words of somebody who does not know, or has not done it yet.
// What they stand with is neither decided nor found.
var guesses = phraseSet(
	"might ", "maybe", "perhaps", "probably", "possibly", "likely", "could be", "may be ", "seems ", "seem to", "looks like", "look like", "appears to", "i suspect", "i guess", "i'd guess", "i assume",
	"not sure", "unsure", "should work", "should be working", "should be fixed", "should now", "let me ", "i want to", "i propose", "i suggest", "i would suggest", "shall we", "let's see", "let's check", "now i ", "i'll check", "would be", "do you want", "wait,", "hmm",
	"vielleicht", "wahrscheinlich", "vermutlich", "peut-être", "quizás", "tal vez",
)

// denials are how people report what they see.
var denials = phraseSet("i don't think", "i dont think", "i don't tink", "i don't know", "i don't see", "i don't understand", "i don't get", "i don't remember", "i do not know", "i do not see", "i do not understand", "i do not remember", "i do not think", "i cannot remember", "i can't remember", "don't ask", "dont ask", "don't get me started", "don't mention it", "don't mind",
	"until then", "for now", "for the moment", "i must speak", "i must ask", "i must think", "i must check", "i must talk", "i must look", "i must say", "i must admit")

// knownCues are looked for in what people say: days, places and people that
// matter later. Most count only beside a number.
func knownCues() []cue {
	return []cue{
		{"january", 2, false}, {"february", 2, false}, {"march", 2, false}, {"april", 2, false}, {"june", 2, false}, {"july", 2, false}, {"august", 2, false}, {"september", 2, false}, {"october", 2, false}, {"november", 2, false}, {"december", 2, false},
		{"monday", 2, false}, {"tuesday", 2, false}, {"wednesday", 2, false}, {"thursday", 2, false}, {"friday", 2, false}, {"saturday", 2, false}, {"sunday", 2, false},
		{"deadline", 3, false}, {"due", 3, false}, {"due on", 3, false}, {"on call", 4, false}, {"contact", 3, false}, {"is at", 3, false}, {"is on", 1, false}, {"port", 2, false}, {"account is", 3, false}, {"the window is", 3, false}, {"has the shift", 4, false},
		{"administers it", 4, false}, {"has to review", 4, false}, {"needs a review", 4, false}, {"they decide", 3, false}, {"gets switched off", 4, false}, {"switched off", 3, false}, {"broken from", 3, false}, {"responsible for", 4, false}, {"is responsible", 4, false}, {"in charge of", 4, false},
		{"runs on", 2, false}, {"lives in", 2, false}, {"lives on", 2, false}, {"password is in", 4, false}, {"they are in", 2, false}, {"maintains", 3, false}, {"reports to", 3, false}, {"our clinics", 1, false}, {"allergy", 4, false}, {"allergic", 4, false}, {"vegetarian", 3, false}, {"vegetarians", 3, false}, {"vegan", 3, false}, {"wheelchair", 4, false}, {"version", 1, false},
	}
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
		{"next:", 5, false}, {"next step", 5, true}, {"next steps", 5, true}, {"the next step is", 5, false}, {"next steps are", 5, false}, {"todo:", 5, false}, {"todo for", 4, false}, {"todos:", 5, false}, {"still todo", 5, false}, {"to do", 2, false}, {"next week", 4, false}, {"tomorrow", 3, false}, {"tonight", 3, false}, {"i'll ask", 4, false}, {"i'll open", 3, false}, {"i'll file", 4, false}, {"i'll tell", 3, false}, {"has to be done", 4, false}, {"has to be corrected", 4, false}, {"translating is next", 4, false}, {"is next", 3, false}, {"finish it", 4, false},
		{"still to do", 5, false}, {"left to do", 5, false}, {"what is left", 3, false}, {"remaining", 3, false}, {"left:", 3, false}, {"remains to", 4, false}, {"follow up", 3, false},
		{"follow-up", 3, false}, {"reminder set", 4, false}, {"we need to", 2, false},
		{"i will", 2, true}, {"what is left:", 5, false}, {"left", 3, true}, {"what remains", 4, false}, {"still missing", 4, false}, {"what is missing", 3, false}, {"plan:", 4, false}, {"talk to", 2, true}, {"ask", 2, true}, {"then:", 3, true}, {"open from", 3, true}, {"nächster schritt", 5, false}, {"nächste woche", 4, false}, {"prochaine étape", 5, false}, {"siguiente paso", 5, false},
	}
}

// goalCues are looked for in every sentence of a person.
func goalCues() []cue {
	return []cue{
		{"goal", 5, false}, {"task", 3, false}, {"first job", 4, false}, {"next:", 4, true}, {"next", 2, true}, {"please", 2, false}, {"can you", 4, false}, {"could you", 4, false},
		{"i want", 3, false}, {"we need", 3, false}, {"we still need", 3, false}, {"i need", 3, false}, {"i still need", 3, false}, {"i'd like", 3, false}, {"let's", 2, true}, {"help", 3, true}, {"one more", 2, true},
		{"fix", 4, true}, {"implement", 4, true}, {"add", 4, true}, {"build", 4, true}, {"create", 4, true}, {"write", 3, true}, {"rewrite", 4, true}, {"refactor", 4, true},
		{"remove", 4, true}, {"delete", 3, true}, {"move", 3, true}, {"update", 4, true}, {"change", 3, true}, {"port", 3, true}, {"migrate", 4, true}, {"deploy", 4, true},
		{"investigate", 4, true}, {"find", 3, true}, {"find out", 4, false}, {"figure out", 4, false}, {"check", 3, true}, {"review", 4, true}, {"read", 3, true},
		{"look", 3, true}, {"look at", 2, false}, {"test", 3, true}, {"run", 3, true}, {"make", 3, true}, {"set up", 4, false}, {"draft", 3, false}, {"explain", 3, true},
		{"why", 2, true}, {"how", 2, true}, {"what", 1, true}, {"is there", 2, true},
		{"ziel", 5, false}, {"bitte", 2, false}, {"kannst du", 4, false}, {"peux-tu", 4, false}, {"puedes", 4, false},
	}
}
