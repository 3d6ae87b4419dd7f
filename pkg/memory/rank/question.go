package rank

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sessctl/sessctl/pkg/embed"
)

// answerWords say what the answer of a question has among its words, or are
// nil: only English questions are known.
func answerWords(question string) func(term []byte) bool {
	words := strings.Fields(strings.ToLower(question))
	if len(words) == 0 {
		return nil
	}
	second := ""
	if len(words) > 1 {
		second = words[1]
	}
	switch words[0] + " " + second {
	case "how long", "what time", "what date", "what day", "what month", "what year", "which day", "which month", "which year":
		return isTime()
	case "how many", "how much", "how often", "how old":
		return isNumber()
	}
	if words[0] == "when" {
		return isTime()
	}
	return nil
}

// isTime says whether a term is part of a time.
func isTime() func(term []byte) bool {
	times := termSet(`yesterday today tonight tomorrow last next ago recently since week weekend month year day morning evening
		monday tuesday wednesday thursday friday saturday sunday mon tues wed thurs fri sat sun
		january february march april june july august september october november december`)
	return func(term []byte) bool { return times[string(term)] || yearNumber(string(term)) != 0 }
}

// isNumber says whether a term counts something.
func isNumber() func(term []byte) bool {
	numbers := termSet(`one two three four five six seven eight nine ten dozen couple few several once twice hundred thousand
		first second third fourth fifth half daily weekly every`)
	return func(term []byte) bool { return numbers[string(term)] || term[0] >= '0' && term[0] <= '9' }
}

// termSet are the words of a text as the index has them.
func termSet(text string) map[string]bool {
	set := map[string]bool{}
	for _, term := range strings.Fields(string(embed.AppendTerms(nil, text))) {
		set[term] = true
	}
	return set
}

// Identifiers returns the words of a query that name exactly one thing: ids,
// paths, error codes, camelCase names, anything with a digit and a letter or
// inner punctuation.
func Identifiers(text string) []string {
	var names []string
	for _, word := range strings.Fields(text) {
		word = TrimmedWord(word)
		if len(word) >= 4 && len(word) <= 200 && IsIdentifier(word) && !slices.Contains(names, word) {
			names = append(names, word)
		}
	}
	return names
}

// TrimmedWord is a word without what stands around it in a sentence.
func TrimmedWord(word string) string { return strings.Trim(word, "\"'`.,;:!?()[]{}<>") }

// IsIdentifier says whether a word names exactly one thing; see Identifiers.
func IsIdentifier(word string) bool {
	letters, digits, inner, humps := 0, 0, 0, 0
	last := ' '
	for _, r := range word {
		switch {
		case unicode.IsDigit(r):
			digits++
		case unicode.IsLetter(r):
			letters++
			if unicode.IsUpper(r) && unicode.IsLower(last) {
				humps++
			}
		case strings.ContainsRune("_/\\.:-#@", r):
			inner++
		}
		last = r
	}
	return digits > 0 && letters+inner > 0 || humps > 0 || strings.ContainsAny(word, "_/\\") || digits >= 5
}

// Holds says which of names occur in a text word for word, whatever their case:
// bit i for names[i].
func Holds(text string, names []string) (bits uint) {
	if len(names) == 0 {
		return 0
	}
	text = strings.ToLower(text)
	for i, name := range names {
		if hasWord(text, strings.ToLower(name)) {
			bits |= 1 << i
		}
	}
	return bits
}

// hasWord says whether word occurs in text with no letter or digit next to it.
func hasWord(text, word string) bool {
	for from := 0; ; {
		at := strings.Index(text[from:], word)
		if at < 0 {
			return false
		}
		at += from
		if !wordy(lastRune(text[:at])) && !wordy(firstRune(text[at+len(word):])) {
			return true
		}
		from = at + 1
	}
}

func wordy(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

func lastRune(s string) rune {
	r, _ := utf8.DecodeLastRuneInString(s)
	return r
}

func firstRune(s string) rune {
	r, _ := utf8.DecodeRuneInString(s)
	return r
}
