package facts

import (
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sessctl/sessctl/pkg/secrets"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/statements"
)

// The bounds by which a model's fact is checked against the conversation.
const (
	leastFact     = 8    // code points
	mostFact      = 240  // code points
	leastQuote    = 3    // words, unless one of them is a value
	mostConfident = 0.95 // a model is never surer than what is said outright
)

// check makes a fact of what a model wrote, or says why it is none. The Line of
// what is refused is set if it is known.
func (q question) check(it item) (Fact, string) {
	f := Fact{Kind: it.category(), Text: strings.Join(strings.Fields(strings.ToValidUTF8(it.sentence(), "")), " "), Confidence: number(it.Confidence)}
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
	for _, test := range []func(*Fact, Message, string) string{quotable, permitted, echoed, supported} {
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
	confidence := number(it.Confidence)
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
		if statements.Against(text) {
			return reasonAgainst
		}
	}
	return ""
}

// quotation is a quotation without the marks around it.
func quotation(s string) string {
	return strings.Trim(strings.Join(strings.Fields(s), " "), ` "'“”„«».…`)
}

// source returns the message that a fact quotes: the one that it names, else
// the last that a person said, else the last; -1 if there is none.
func (q question) source(it item) int {
	quote := statements.Spaced(quotation(it.Quote))
	words := strings.Fields(quote)
	enough := len(words) >= leastQuote || slices.ContainsFunc(words, statements.Value) || len(words) > 0 && utf8.RuneCountInString(quote) >= 8 && !statements.Latin(quote)
	if !enough {
		return -1
	}
	best := -1
	for i, m := range q.messages {
		if !strings.Contains(statements.Spaced(shown(m.Text)), quote) {
			continue
		}
		if float64(i+1) == number(it.Message) {
			return i
		}
		if best < 0 || m.Role == session.RoleUser || q.messages[best].Role != session.RoleUser {
			best = i
		}
	}
	return best
}

// quotable refuses what stands in a question, a condition, code or a quotation.
func quotable(f *Fact, m Message, _ string) string {
	quote := statements.Spaced(f.Quote)
	var all strings.Builder
	for _, s := range sentences(m.Text) {
		all.WriteString(s.text + " ")
		switch bare := opener().ReplaceAllString(s.text, ""); {
		case !strings.Contains(statements.Spaced(s.text), quote):
			continue
		case s.question && asked(bare) == "":
			return "it was a question"
		case supposed().MatchString(bare):
			return "it was supposed, not said"
		case statements.Against(s.text):
			return reasonAgainst
		case statements.Negates(s.text) != statements.Negates(f.Text) && statements.Negates(f.Quote) != statements.Negates(f.Text):
			return "it says the opposite"
		}
		if hedged().MatchString(s.text) {
			f.Confidence -= 0.3
		}
		return ""
	}
	if !strings.Contains(statements.Spaced(all.String()), quote) {
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

// supported refuses what the messages do not bear out: names, numbers, orders, and words
// of which most are not there. The fact may have the words that one in the third person
// needs.
func supported(f *Fact, m Message, support string) string {
	source := statements.NewSource()
	source.Said(m.Text, m.Role != session.RoleUser)
	source.Printed(support)
	source.Printed(ours)
	return source.Check(statements.Statement{Text: f.Text, Strict: true})
}

// ours are words that a fact in the third person needs.
const ours = "prefers likes dislikes loves speaks owns person person's named called known located based lives works plans always never usually using uses wants decided asked instead address name email number team said remember standing instruction"

// promptWords are the words of the question that a model may take for its answer.
var promptWords = expression(`(?i)\b(?:known facts?|conversation|transcript|fact extraction|third person|json|confidence|category|the assistant|ai agent|language model|message number|quote)\b`)

// echoed refuses facts about the prompt instead of the conversation.
func echoed(f *Fact, m Message, support string) string {
	for _, w := range promptWords().FindAllString(f.Text, -1) {
		if !strings.Contains(statements.Spaced(support), statements.Spaced(w)) {
			return "it repeats the question"
		}
	}
	return ""
}

// replaced is the id of the known fact that is no longer true, if that can be:
// it is older, about the same, and of the same kind.
func (q question) replaced(f Fact, it item) string {
	n := int(number(it.Replaces))
	if n < 1 || n > len(q.known) {
		return ""
	}
	k := q.known[n-1]
	if k.Time > f.Time || k.Kind != f.Kind || common(words(f.Text), words(k.Text)) == 0 {
		return ""
	}
	return k.ID
}
