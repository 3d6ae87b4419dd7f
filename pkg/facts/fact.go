package facts

import (
	"slices"
	"strings"
	"unicode"

	"github.com/sessctl/sessctl/pkg/session"
)

// Kind says what a fact is about (docs/decisions.md D19).
type Kind string

// The kinds of facts.
const (
	Preference Kind = "preference" // what somebody likes, or wants done always or never
	Background Kind = "background" // who the person is
	Pattern    Kind = "pattern"    // what they do again and again
	Project    Kind = "project"    // what they work on, and with what
	Contact    Kind = "contact"    // people, and how to reach them
	Decision   Kind = "decision"   // what was decided
	// Environment is what work is done on and with: hosts, ports, versions, paths
	// and accounts, never what opens them.
	Environment Kind = "environment"
	Deadline    Kind = "deadline" // when something is due, or happens
)

// Kinds returns all kinds.
func Kinds() []Kind {
	return []Kind{Preference, Background, Pattern, Project, Contact, Decision, Environment, Deadline}
}

// The limits of an extraction (docs/decisions.md D19).
const (
	DefaultMessages   = 20  // of a session that are looked at, the newest
	LeastMessages     = 4   // a session must have: two exchanges
	DefaultMost       = 5   // facts of one extraction
	DefaultConfidence = 0.7 // from which a fact is stored
)

// Version names the rules by which facts are made and checked. A session that
// was looked at by other rules is looked at again.
const Version = "facts-7"

// Fact is one thing that was said.
type Fact struct {
	Kind       Kind
	Text       string  // one line that can be understood alone
	Confidence float64 // 0 to 1

	Quote       string       // the words of the log that say it, on one line
	Line        int          // of the log, 1-based
	Offset, End int64        // bytes of that record in the log
	Time        int64        // epoch milliseconds of that record
	Speaker     session.Role // RoleUser or RoleAssistant, or RoleToolResult of what a call proved

	MadeBy string // [MadeByRules], or provider and model
	Rule   string // of the rules, the one that made it; "" of a model. It is not stored

	// Topic is what there can be only one of ("user.name"), or "". A newer fact
	// with the same topic and another value supersedes.
	Topic string
	Value string
	// Instead is what the fact says is over ("we moved from MySQL to ..."), or "".
	Instead string
	// Replaces is the id of a known fact that a model says is over, or "". It
	// was checked.
	Replaces string
}

// Refusal is why something was not made a fact.
type Refusal struct {
	Line   int // of the log, or 0
	Reason string

	whole bool // nothing else of its sentence counts either
}

// ofSentence tells whether nothing of the sentence is made a fact.
func (r Refusal) ofSentence() bool { return r.whole }

// Reasons that decide whether the rest of a sentence counts.
const (
	reasonSecret  = "it holds a secret"
	reasonAgainst = "it is an instruction to go against somebody"
	reasonMoment  = "it tells of a moment" // which its first clause is about
)

// harmful tells whether a reason is one for the whole sentence.
func harmful(reason string) bool { return reason == reasonSecret || reason == reasonAgainst }

// Known is a fact that is stored, under its id.
type Known struct {
	ID      string
	Session string // in whose log its Line is
	Fact
	Superseded bool // it is not true any more
}

// Merged is what is to be done about new facts.
type Merged struct {
	// Facts are new, in their order.
	Facts []Fact
	// Over maps the ids of known facts to the fact of Facts that supersedes it,
	// by its index.
	Over map[string]int
	// Late maps a fact of Facts, by its index, to the id of the known one that is
	// newer and supersedes it, or to the later one of Facts, if the id is "".
	Late     map[int]Successor
	Repeated int // said before: not stored again
}

// Successor is what supersedes a fact that is new itself: a known fact, or one
// of the same extraction.
type Successor struct {
	ID    string
	Index int
}

// Merge compares new facts, in the order of the log, with the known ones of the
// same agent, and keeps at most so many new ones, the surest; all for a
// negative number. The newer of two that cannot both be true supersedes the
// older, whichever was extracted first.
func Merge(facts []Fact, known []Known, most int) Merged {
	m := Merged{Over: map[string]int{}, Late: map[int]Successor{}}
	fresh := slices.DeleteFunc(distinct(facts), func(f Fact) bool {
		return slices.ContainsFunc(known, func(k Known) bool {
			return f.Replaces != k.ID && (!k.Superseded || f.Time <= k.Time) && relate(f, k.Fact) == repeats
		})
	})
	m.Repeated = len(facts) - len(fresh)
	m.Facts = surest(fresh, most)
	for at, f := range m.Facts {
		for i, other := range m.Facts[:at] {
			if _, over := m.Late[i]; !over && relate(f, other) == corrects {
				m.Late[i] = Successor{Index: at}
			}
		}
		m.against(at, f, known)
	}
	return m
}

// against compares one new fact with the known ones.
func (m *Merged) against(at int, f Fact, known []Known) {
	for _, k := range known {
		switch {
		case k.Superseded:
		case f.Replaces != k.ID && relate(f, k.Fact) != corrects:
		case k.Time <= f.Time:
			m.Over[k.ID] = at
		default:
			m.Late[at] = Successor{ID: k.ID}
		}
	}
}

// distinct drops facts that say what an earlier one of the list says, unless
// something else was said in between. A sentence may be facts of several kinds: a
// decision and a deadline.
func distinct(facts []Fact) []Fact {
	var kept []Fact
	for _, f := range facts {
		repeated := false
		for _, k := range kept {
			if f.Line == k.Line && f.Kind != k.Kind && f.Quote == k.Quote {
				continue
			}
			switch relate(f, k) {
			case repeats:
				repeated = true
			case corrects:
				repeated = false
			}
		}
		if !repeated {
			kept = append(kept, f)
		}
	}
	return kept
}

// normal is a text in lower case, letters and digits only, without what every
// fact begins with.
func normal(text string) string { return strings.Join(words(text), " ") }

// words are the words of a text in lower case, without articles and who says it.
func words(text string) []string {
	fields := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune(`.@_/+#-:`, r)
	})
	var all []string
	for _, w := range fields {
		if w = strings.Trim(w, `.@_/-:`); w != "" && !empty(w) {
			all = append(all, w)
		}
	}
	return all
}

// empty are the words that say nothing about what a fact is.
func empty(word string) bool {
	switch word {
	case "the", "a", "an", "user", "user's", "users", "s", "is", "are", "was", "be", "has", "have", "had", "been", "to", "of", "that", "they", "their", "said", "agent",
		"and", "in", "on", "at", "for", "with", "as", "by", "it", "this", "i", "we", "my", "our", "i'm", "am", "decided", "wants", "want", "prefers", "prefer", "uses", "use", "called", "named", "named:",
		"team's", "team", "standing", "instruction", "also", "will", "would", "does", "do", "likes", "like", "asked", "remember", "works", "work", "lives", "live",
		"always", "never", "usually", "normally", "typically", "often", "rarely", "generally", "mostly", "not", "no", "don't", "doesn't", "really", "please", "now", "anymore", "any", "more":
		return true
	}
	return false
}

// stem cuts the endings of English words.
func stem(word string) string {
	for _, end := range []string{"'s", "ing", "ies", "es", "ed", "s"} {
		if base, ok := strings.CutSuffix(word, end); ok && len(base) >= 4 {
			return base
		}
	}
	return strings.TrimSuffix(word, "e")
}

// stems are the words of a text that say something.
func stems(text string) []string {
	all := words(text)
	for i, w := range all {
		all[i] = stem(w)
	}
	return all
}

// withVerbs are the words of a text that say something, and what is done.
func withVerbs(text string) []string {
	var all []string
	for _, w := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		if len(w) > 3 || !empty(w) {
			all = append(all, stem(w))
		}
	}
	return all
}

// value tells whether a word is a value that may change: a number, an address,
// a version.
func value(word string) bool { return strings.ContainsAny(word, "0123456789@/") }

// negated counts the words by which a text says that something is not so.
func negated(text string) bool {
	n := 0
	for _, w := range strings.FieldsFunc(strings.ToLower(strings.ReplaceAll(text, "’", "'")), func(r rune) bool { return !unicode.IsLetter(r) && r != '\'' }) {
		switch w {
		case "not", "no", "never", "cannot", "without", "nor", "neither", "none", "hate", "hates", "dislike", "dislikes", "avoid", "avoids", "against", "nicht", "kein", "keine", "nie", "niemals", "ne", "jamais", "nunca":
			n++
		default:
			if strings.HasSuffix(w, "n't") {
				n++
			}
		}
	}
	return n%2 == 1
}

// relation is what a fact is to another that was known before.
type relation uint8

const (
	unrelated relation = iota
	repeats            // it says the same
	corrects           // both cannot be true
)

// afterWhat begins what a short fact answers.
const afterWhat = ` (after: "`

// sameShare is the share of words of the shorter of two facts from which they
// say the same.
const sameShare = 0.8

// relate compares two facts, without what they answer.
func relate(x, known Fact) relation {
	x.Text, _, _ = strings.Cut(x.Text, afterWhat)
	known.Text, _, _ = strings.Cut(known.Text, afterWhat)
	if normal(x.Text) == normal(known.Text) {
		if negated(x.Text) != negated(known.Text) {
			return corrects
		}
		return repeats
	}
	if x.named(known) {
		return repeats
	}
	if x.moves(known) && known.Time <= x.Time || known.moves(x) && x.Time < known.Time {
		return corrects
	}
	if x.Topic != "" && known.Topic != "" && x.Topic != topicIs {
		return byTopic(x, known)
	}
	if x.ends(known) || known.Time > x.Time && known.ends(x) {
		return corrects
	}
	if x.Kind != known.Kind {
		return unrelated
	}
	return byWords(stems(x.Text), stems(known.Text), negated(x.Text) != negated(known.Text))
}

// ends tells whether a fact says that another is over.
func (f Fact) ends(other Fact) bool {
	over := withVerbs(f.Instead)
	return len(over) > 0 && (changeable(other.Kind) || len(over) > 1) && within(over, withVerbs(other.Text)) && !within(over, withVerbs(other.Instead))
}

func byTopic(x, known Fact) relation {
	switch a, b := normal(x.Value), normal(known.Value); {
	case x.Topic != known.Topic:
		return unrelated
	case a == b || strings.HasPrefix(b, a+" "):
		return repeats
	}
	return corrects
}

// changeable kinds are those that "we moved from X" can end.
func changeable(k Kind) bool {
	return k == Decision || k == Project || k == Preference || k == Pattern || k == Environment
}

func byWords(x, known []string, opposite bool) relation {
	slices.Sort(x)
	slices.Sort(known)
	x, known = slices.Compact(x), slices.Compact(known)
	fixedX, valuesX := apart(x)
	fixedKnown, valuesKnown := apart(known)
	if !slices.Equal(valuesX, valuesKnown) {
		if len(fixedX) >= 2 && slices.Equal(fixedX, fixedKnown) && len(valuesX) == len(valuesKnown) {
			return corrects
		}
		return unrelated
	}
	least := min(len(x), len(known))
	if least < 2 || float64(common(x, known)) < sameShare*float64(least) {
		return unrelated
	}
	if opposite {
		return corrects
	}
	return repeats
}

// apart splits words into statements and values.
func apart(all []string) (fixed, values []string) {
	for _, w := range all {
		if value(w) {
			values = append(values, w)
		} else {
			fixed = append(fixed, w)
		}
	}
	return fixed, values
}

func common(x, y []string) (n int) {
	for _, w := range x {
		if slices.Contains(y, w) {
			n++
		}
	}
	return n
}

func within(part, whole []string) bool { return common(part, whole) == len(part) }
