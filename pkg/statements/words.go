package statements

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// fields are the words of a text in lower case.
func fields(text string) []string {
	return strings.FieldsFunc(strings.ToLower(strings.ReplaceAll(text, "’", "'")), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) && r != '@' && r != '\''
	})
}

// Spaced are the words of a text in lower case, each between spaces: what has the same
// words one after the other contains it.
func Spaced(text string) string { return " " + strings.Join(fields(text), " ") + " " }

// Value tells whether a word is a value that may change: a number, an address, a
// version.
func Value(word string) bool { return strings.ContainsAny(word, "0123456789@/") }

// Latin tells whether a text has no letter of a script that is written without spaces.
func Latin(text string) bool { return !strings.ContainsFunc(text, unspaced) }

func unspaced(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai)
}

// endings are cut off words, the longest first.
var endings = strings.Fields(`ierung ieren ation ando endo iert ungen ung ción ções ing ies ado ido ada ida ten est en er es ed as os ar ir et te 's s e n a o t и ы а я у е ю ь й`)

// leastStem is how many letters of a word stay; a short verb ("ask") may have one less.
const leastStem = 4

// Stem cuts the endings of words, those of all languages alike: "deleting", "deletes"
// and "deleted" become one.
func Stem(word string) string {
	for range 2 {
		for _, end := range endings {
			least := leastStem
			if end == "ing" || end == "ed" {
				least--
			}
			if base, ok := strings.CutSuffix(word, end); ok && utf8.RuneCountInString(base) >= least {
				word = base
				break
			}
		}
	}
	return word
}

// Content are the stems of a text's words that say something, each once. Where words
// are not kept apart, every pair of letters is one.
func Content(text string) []string {
	var all []string
	seen := map[string]bool{}
	add := func(w string) {
		if w != "" && !seen[w] {
			seen[w] = true
			all = append(all, w)
		}
	}
	for _, w := range fields(lookers().ReplaceAllString(joined().ReplaceAllString(text, " "), " ")) {
		switch {
		case !Latin(w):
			pairs(w, add)
		case common()[w]|negative()[w]|without()[w]|empty()[w] == 0 && !strings.HasSuffix(w, "n't"):
			add(Stem(w))
		}
	}
	return all
}

// pairs adds each pair of letters of a word.
func pairs(word string, add func(string)) {
	runes := []rune(word)
	for i := range len(runes) - 1 {
		add(string(runes[i : i+2]))
	}
}

// spokenIn are the bits of languages, of English always.
func spokenIn(l language) uint16 { return 1<<english | 1<<l }

// Negates tells whether a text says that something is not so.
func Negates(text string) bool {
	l, _ := strongest(languagesOf(text))
	return negates(text, l)
}

// negates is Negates of a text in a language. What is no negation in Portuguese ("no
// servidor") is one in English.
func negates(text string, l language) bool {
	bits := spokenIn(l)
	if l == portuguese {
		bits = 1 << l
	}
	for _, w := range fields(text) {
		if negative()[w]&bits != 0 || strings.HasSuffix(w, "n't") {
			return true
		}
	}
	return joined().MatchString(lookers().ReplaceAllString(text, " "))
}
