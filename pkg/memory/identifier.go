package memory

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// identifiers returns the words of a query that name exactly one thing: ids,
// paths, error codes, camelCase names, anything with a digit and a letter or
// inner punctuation.
func identifiers(text string) []string {
	var names []string
	for _, word := range strings.Fields(text) {
		word = strings.Trim(word, "\"'`.,;:!?()[]{}<>")
		if len(word) >= 4 && len(word) <= 200 && isIdentifier(word) && !slices.Contains(names, word) {
			names = append(names, word)
		}
	}
	return names
}

func isIdentifier(word string) bool {
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

// holds says which of names stand in a text word for word, whatever their
// case: bit i for names[i].
func holds(text string, names []string) (bits uint) {
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

// hasWord says whether word stands in text with no letter or digit around it.
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
