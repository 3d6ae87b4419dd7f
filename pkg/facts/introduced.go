package facts

import (
	"strings"
	"unicode"

	"github.com/sessctl/sessctl/pkg/session"
)

// ruleIntroduces is [Fact.Rule] of the sentence in which people first speak of somebody
// and say who that is.
const ruleIntroduces = "introduces"

// acquaintance is whom people have spoken of so far in a session.
type acquaintance struct {
	said  map[string]bool // words, in lower case
	crowd bool            // people with a title are what the work is about
}

// mostTitled is how many people with a title somebody works with: a timetable or a list
// of tenants has more of them, and they are not to be asked.
const mostTitled = 5

func acquaintanceOf(messages []Message) *acquaintance {
	all := map[string]bool{}
	for _, m := range messages {
		if m.Role != session.RoleUser {
			continue
		}
		for _, groups := range withTitle().FindAllStringSubmatch(m.Text, -1) {
			all[groups[1]] = true
		}
	}
	return &acquaintance{said: map[string]bool{}, crowd: len(all) > mostTitled}
}

// hear notes the words of a sentence.
func (a *acquaintance) hear(text string) {
	for w := range strings.FieldsFuncSeq(text, func(r rune) bool { return !unicode.IsLetter(r) }) {
		a.said[strings.ToLower(w)] = true
	}
}

// introduction is the fact that a sentence says who somebody is, of whom nobody has
// spoken before. It need not say what they do: a title or a role is enough.
func (s *statement) introduction(m Message) (Fact, bool) {
	if s.met == nil || departed().MatchString(s.lower) || !s.introduces() {
		return Fact{}, false
	}
	f := newFact(m, clause{text: s.text}, Fact{Kind: Contact, Rule: ruleIntroduces, Confidence: statementConfidence, Text: s.quoted(Contact), Value: s.text})
	return f, workObjection(f) == ""
}

// introduces tells whether somebody new stands in a sentence with a title, with what
// they are, or with where they are from.
func (s *statement) introduces() bool {
	if !s.met.crowd && s.newIn(withTitle().FindAllStringSubmatchIndex(s.text, -1), func(string) bool { return true }) {
		return true
	}
	return s.newIn(withRole().FindAllStringSubmatchIndex(s.text, -1), func(name string) bool { return s.names()[name] })
}

// newIn tells whether one of the matches names a person who was not spoken of before,
// and not only something of theirs ("Mr Hughes's letters").
func (s *statement) newIn(matches [][]int, person func(string) bool) bool {
	for _, at := range matches {
		for i := 2; i+1 < len(at); i += 2 {
			if at[i] < 0 {
				continue
			}
			name, rest := s.text[at[i]:at[i+1]], s.text[at[i+1]:]
			if person(name) && !s.met.said[strings.ToLower(name)] && !strings.HasPrefix(rest, "'s") {
				return true
			}
		}
	}
	return false
}

const titles = `(?:Mrs?|Ms|Frau|Herrn?|Dr|Prof|Professor|Mme|Madame|Monsieur|Signora?|Señora?|Sra|Doña|Don|[Pp]aní?)`

var (
	withTitle = expression(`\b` + titles + `\.? (?:` + titles + `\.? )*(\p{Lu}\p{L}+)`)
	withRole  = expression(`\b(?:` + roles + `) (?:\p{Lu}\p{L}+ )?(\p{Lu}\p{L}+)|[a-z,] (\p{Lu}\p{L}+)(?: \p{Lu}\p{L}+)? who\b|\b(?:with|ask|asked|to|tell|told|be|is|that's|call|rang|ring|met) (\p{Lu}\p{L}+)(?: \p{Lu}\p{L}+)?,? (?:from|at|of) (?:(?:the|our) )?\p{L}{2,}|(\p{Lu}\p{L}+)(?: \p{Lu}\p{L}+)? is (?:the |our |my )?(?:[a-z]+ )?(?:` + roles + `)\b|^(\p{Lu}\p{L}+), (?:the |our |my )?(?:[a-z]+ )?(?:` + roles + `)(?:$|[,;:.])`)
	// departed matches what is said of somebody who is not there any more.
	departed = expression(`\b(?:died|is dead|passed away|deceased|who left|has left|left us|retired in|gestorben|murió|décédé)\b`)
)
