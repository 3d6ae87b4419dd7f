package summarize

import (
	"net/url"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds by which an answer is held against what it is to sum up.
const (
	leastWords   = 40  // fewer do not tell whether a text repeats itself
	leastSource  = 12  // fewer words do not tell what a conversation is about
	longWord     = 4   // code points of a word that says something
	mostInvented = 0.5 // share of identifiers that the conversation does not have
	fewInvented  = 4   // these many may always be the model's own
)

var headingLines = regexp.MustCompile(`(?m)^#+ .*$`)

// checkSource finds answers that are about something else: a model that runs
// in circles, that obeys a text in the conversation, or that makes things up
// (research/complaints.md section 11).
func checkSource(o order, text string) error {
	words := longWords(headingLines.ReplaceAllString(text, ""))
	distinct := map[string]bool{}
	for _, w := range words {
		distinct[w] = true
	}
	if len(words) >= leastWords && len(distinct) < len(words)/8 {
		return unusable("it repeats itself")
	}
	source := strings.ToLower(o.text + "\n" + o.previous)
	shared := 0
	for w := range distinct {
		if strings.Contains(source, w) {
			shared++
		}
	}
	if known := longWords(source); len(known) >= leastSource && shared == 0 {
		return unusable("it has nothing of the conversation")
	}
	return checkInvented(o, text)
}

// checkInvented counts the identifiers of an answer that what it sums up does
// not have. An address of the web that nobody named is always too many.
func checkInvented(o order, text string) error {
	source := o.text + "\n" + o.previous
	found, invented := 0, 0
	for name := range identifiersOf(text) {
		if bareNumber.MatchString(name) {
			continue
		}
		found++
		if strings.Contains(source, name) {
			continue
		}
		invented++
		if u, err := url.Parse(name); err == nil && u.Host != "" && !strings.Contains(source, u.Host) {
			return unusable("it names the address of %s, which the conversation does not", u.Host)
		}
	}
	if invented > fewInvented && float64(invented) > mostInvented*float64(found) {
		return unusable("%d of the %d names and paths in it are not in the conversation", invented, found)
	}
	return nil
}

// longWords are the words of a text that say something, in lower case. Where
// words are not kept apart every letter is one.
func longWords(text string) []string {
	var words []string
	for _, w := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !wordRune(r) }) {
		switch first, _ := utf8.DecodeRuneInString(w); {
		case unicode.In(first, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai):
			words = append(words, strings.Split(w, "")...)
		case utf8.RuneCountInString(w) >= longWord:
			words = append(words, w)
		}
	}
	return words
}
