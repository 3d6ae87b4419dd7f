package facts

import (
	"slices"
	"strings"
	"unicode"
)

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

// stem takes the ends off that English words have.
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

// value tells whether a word is one that another may take the place of: a
// number, an address, a version.
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

// sameShare is the share of words of the shorter of two facts from which they
// say the same.
const sameShare = 0.8

// relate compares two facts.
func relate(x, known Fact) relation {
	if normal(x.Text) == normal(known.Text) {
		if negated(x.Text) != negated(known.Text) {
			return corrects
		}
		return repeats
	}
	if x.named(known) {
		return repeats
	}
	if x.Topic != "" && known.Topic != "" && x.Topic != topicIs {
		return byTopic(x, known)
	}
	if over := withVerbs(x.Instead); len(over) > 0 && (changeable(known.Kind) || len(over) > 1) && within(over, withVerbs(known.Text)) && known.Instead == "" {
		return corrects
	}
	if x.Kind != known.Kind {
		return unrelated
	}
	return byWords(stems(x.Text), stems(known.Text), negated(x.Text) != negated(known.Text))
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

// changeable kinds are those of which "we moved from X" can be the end.
func changeable(k Kind) bool {
	return k == Decision || k == Project || k == Preference || k == Pattern
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

// apart splits words into what is said and its values.
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
