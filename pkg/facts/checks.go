package facts

import (
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sessctl/sessctl/pkg/secrets"
	"github.com/sessctl/sessctl/pkg/session"
)

// The bounds by which a model's fact is checked against the conversation.
const (
	leastFact     = 8    // code points
	mostFact      = 240  // code points
	leastQuote    = 3    // words, unless one of them is a value
	supportShare  = 0.6  // of the words that say something must be in the conversation
	mostConfident = 0.95 // a model is never surer than what is said outright
)

// check makes a fact of what a model wrote, or says why it is none. The Line of
// what is refused is set if it is known.
func (q question) check(it item) (Fact, string) {
	f := Fact{Kind: it.category(), Text: strings.Join(strings.Fields(strings.ToValidUTF8(it.sentence(), "")), " "), Confidence: it.Confidence.number()}
	if why := form(f, it); why != "" {
		return f, why
	}
	at := q.source(it)
	if at < 0 {
		return f, "its quotation is not in the conversation"
	}
	m := q.messages[at]
	f.Quote, f.Line, f.Offset, f.End, f.Time, f.Speaker = quotation(it.Quote), m.Line, m.Offset, m.End, m.Time, m.Role
	support := m.Text
	if at > 0 {
		support += "\n" + q.messages[at-1].Text // the question that it answers
	}
	for _, test := range []func(*Fact, Message, string) string{quotable, permitted, supported, echoed} {
		if why := test(&f, m, support); why != "" {
			return f, why
		}
	}
	f.Confidence = min(f.Confidence, mostConfident)
	if !strings.ContainsAny(f.Text[len(f.Text)-1:], ".!?") {
		f.Text += "."
	}
	f.Value, f.Replaces = f.Text, q.replaced(f, it)
	return f, ""
}

// form refuses what is no fact whatever the conversation says.
func form(f Fact, it item) string {
	n := utf8.RuneCountInString(f.Text)
	confidence := it.Confidence.number()
	switch {
	case n < leastFact || n > mostFact:
		return "it is empty, or too long"
	case !slices.Contains(Kinds(), f.Kind):
		return "its category is none of ours"
	case math.IsNaN(confidence) || confidence <= 0 || confidence > 1:
		return "its confidence is none"
	case strings.ContainsFunc(f.Text, func(r rune) bool { return unicode.IsControl(r) || strings.ContainsRune("{}<>\\|`", r) }):
		return "it is no sentence"
	case strings.HasSuffix(f.Text, "?"):
		return "it is a question"
	}
	for _, text := range []string{f.Text, it.Quote} {
		if _, n := secrets.Redact(text); n > 0 || strings.Contains(text, secrets.Mark) {
			return reasonSecret
		}
		if against(text) {
			return reasonAgainst
		}
	}
	return ""
}

// quotation is a quotation without the marks around it.
func quotation(s string) string {
	return strings.Trim(strings.Join(strings.Fields(s), " "), ` "'“”„«».…`)
}

// spaced are the words of a text, each between spaces.
func spaced(text string) string {
	fields := strings.FieldsFunc(strings.ToLower(strings.ReplaceAll(text, "’", "'")), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) && r != '@' && r != '\''
	})
	return " " + strings.Join(fields, " ") + " "
}

// source returns the message that a fact quotes: the one that it names, else
// the last that a person said, else the last; -1 if there is none.
func (q question) source(it item) int {
	quote := spaced(quotation(it.Quote))
	words := strings.Fields(quote)
	enough := len(words) >= leastQuote || slices.ContainsFunc(words, value) || len(words) > 0 && utf8.RuneCountInString(quote) >= 8 && !latin(quote)
	if !enough {
		return -1
	}
	best := -1
	for i, m := range q.messages {
		if !strings.Contains(spaced(shown(m.Text)), quote) {
			continue
		}
		if float64(i+1) == it.Message.number() {
			return i
		}
		if best < 0 || m.Role == session.RoleUser || q.messages[best].Role != session.RoleUser {
			best = i
		}
	}
	return best
}

func latin(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool {
		return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai)
	})
}

// quotable refuses what stands in a question, a condition, code or a quotation.
func quotable(f *Fact, m Message, _ string) string {
	quote := spaced(f.Quote)
	var all strings.Builder
	for _, s := range sentences(m.Text) {
		all.WriteString(s.text + " ")
		switch bare := opener().ReplaceAllString(s.text, ""); {
		case !strings.Contains(spaced(s.text), quote):
			continue
		case s.question && asked(bare) == "":
			return "it was a question"
		case supposed().MatchString(bare):
			return "it was supposed, not said"
		case against(s.text):
			return reasonAgainst
		case negated(s.text) != negated(f.Text) && negated(f.Quote) != negated(f.Text):
			return "it says the opposite"
		}
		if hedged().MatchString(s.text) {
			f.Confidence -= 0.3
		}
		return ""
	}
	if !strings.Contains(spaced(all.String()), quote) {
		return "it stands in code or in a quotation"
	}
	return ""
}

// hedged matches what is said with a doubt, or in jest.
var hedged = expression(`(?i)\b(?:maybe|perhaps|probably|possibly|might|not sure|i guess|i think|i suppose|could be|unsure|kind of|sort of|presumably|apparently|seems?|vielleicht|peut-être|quizás?|lol|haha|jk|just kidding|joking|sarcasm)\b|/s\b`)

// agentConfidence is at most that of what only the agent says.
const agentConfidence = 0.7

// permitted refuses what only the agent says about a person.
func permitted(f *Fact, m Message, _ string) string {
	if m.Role == session.RoleUser {
		return ""
	}
	if f.Kind != Decision && f.Kind != Project {
		return "only the agent says so"
	}
	f.Confidence = min(f.Confidence, agentConfidence)
	return ""
}

// supported refuses what has names, numbers or too many words that the
// conversation does not have.
func supported(f *Fact, m Message, support string) string {
	source := spaced(support)
	have := map[string]bool{}
	for _, w := range strings.Fields(source) {
		have[stem(strings.TrimSuffix(w, "'s"))] = true
	}
	found, all := 0, 0
	for i, w := range strings.Fields(f.Text) {
		w = strings.Trim(w, `.,;:!?"'“”()[]`)
		w = strings.TrimSuffix(strings.TrimSuffix(w, "'s"), "’s")
		in := strings.Contains(source, spaced(w))
		first, _ := utf8.DecodeRuneInString(w)
		switch {
		case in || w == "":
		case value(w):
			return "it has a number or an address that the conversation does not have"
		case i > 0 && unicode.IsUpper(first):
			return "it has a name that the conversation does not have"
		}
		if lower := strings.ToLower(w); w == "" || empty(lower) || ours(lower) {
			continue
		}
		all++
		if in || have[stem(strings.ToLower(w))] || !latin(w) && strings.Contains(support, w) {
			found++
		}
	}
	if all == 0 || float64(found) < supportShare*float64(all) {
		return "its words are not in the conversation"
	}
	return ""
}

// ours are words that a fact in the third person needs.
func ours(word string) bool {
	switch word {
	case "prefer", "prefers", "likes", "like", "dislikes", "loves", "speaks", "owns", "person", "person's", "he", "she", "his", "her", "them", "who", "which", "there", "over", "from", "not", "no", "about", "can", "should", "must", "doesn't", "don't", "be", "being", "or", "instead", "than", "when", "located", "based", "lives", "works", "named", "called", "known", "plans", "always", "never", "usually", "using", "address", "name", "email", "number":
		return true
	}
	return false
}

// promptWords are the words of the question that a model may take for its answer.
var promptWords = expression(`(?i)\b(?:known facts?|conversation|transcript|fact extraction|third person|json|confidence|category|the assistant|ai agent|language model|message number|quote)\b`)

// echoed refuses facts about the prompt instead of the conversation.
func echoed(f *Fact, m Message, support string) string {
	for _, w := range promptWords().FindAllString(f.Text, -1) {
		if !strings.Contains(spaced(support), spaced(w)) {
			return "it repeats the question"
		}
	}
	return ""
}

// replaced is the id of the known fact that is no longer true, if that can be:
// it is older, about the same, and of the same kind.
func (q question) replaced(f Fact, it item) string {
	n := int(it.Replaces.number())
	if n < 1 || n > len(q.known) {
		return ""
	}
	k := q.known[n-1]
	if k.Time > f.Time || k.Kind != f.Kind || common(stems(f.Text), stems(k.Text)) == 0 {
		return ""
	}
	return k.ID
}
