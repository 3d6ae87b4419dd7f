package summarize

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// stem cuts the endings of English words, so that "migrated" and "migrates" are
// the same, and knows the commonest verbs that change otherwise. The word is in
// lower case.
func stem(word string) string {
	switch word {
	case "wrote", "written":
		return "writ"
	case "sent":
		return "send"
	case "paid":
		return "pay"
	case "bought":
		return "buy"
	case "built":
		return "build"
	case "chose", "chosen":
		return "choos"
	case "told":
		return "tell"
	}
	for _, end := range []string{"'s", "ing", "ies", "es", "ed", "s"} {
		if base, ok := strings.CutSuffix(word, end); ok && len(base) >= 4 {
			return base
		}
	}
	return strings.TrimSuffix(word, "e")
}

// eachStem hands out the stems of the words of a text in lower case that say
// something: numbers, and words of three letters and more that do not stand in
// any sentence.
func eachStem(lower string, yield func(stem string)) {
	for i := 0; i < len(lower); {
		n := 0
		for i+n < len(lower) && (lower[i+n] >= utf8.RuneSelf || wordByte(lower[i+n]) && lower[i+n] != '_') {
			n++
		}
		if n == 0 {
			i++
			continue
		}
		stemOf(strings.Trim(lower[i:i+n], "'"), yield)
		i += n
	}
}

func stemOf(word string, yield func(string)) {
	if word == "" || len(word) == 1 && (word[0] < '0' || word[0] > '9') || common(word) {
		return
	}
	yield(stem(word))
}

// common are words that stand in any sentence, and the verbs of any plan.
func common(word string) bool {
	switch word {
	case "is", "it", "to", "of", "in", "on", "at", "as", "by", "be", "we", "or", "an", "if", "so", "no", "do", "up", "me", "my", "he", "us", "go", "am", "ok", "vs", "etc",
		"the", "and", "for", "with", "that", "this", "then", "than", "from", "into", "before", "after", "are", "was", "were", "has", "have", "had", "will", "would", "should", "can", "could",
		"not", "but", "all", "any", "its", "our", "your", "you", "they", "them", "there", "here", "what", "which", "who", "when", "where", "how", "too", "also", "just", "now", "still", "yet", "only", "one", "two", "new",
		"need", "needs", "next", "first", "last", "step", "steps", "let", "get", "got", "make", "made", "use", "used", "uses", "using", "see", "look", "find", "check", "going", "please", "about", "each", "every", "other", "more", "some",
		"bei", "der", "die", "das", "und", "mit", "für", "les", "des", "une", "los", "las", "por", "para":
		return true
	}
	return false
}

// stemsOf are the distinct stems of a text, in their order.
func stemsOf(text string) []string {
	var all []string
	eachStem(strings.ToLower(text), func(stem string) {
		if !slices.Contains(all, stem) {
			all = append(all, stem)
		}
	})
	return all
}
