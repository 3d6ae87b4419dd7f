package summarize

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/sessctl/sessctl/pkg/session"
)

// errUnusable is returned for an answer that must not become a summary. A
// session is never made smaller because of one.
var errUnusable = errors.New("the answer is no summary")

func unusable(format string, args ...any) error {
	return fmt.Errorf("%w: %s", errUnusable, fmt.Sprintf(format, args...))
}

// leastRunes is how short a summary can be and still say something.
const leastRunes = 40

// refusal is how models begin when they do not do it, and what other programs
// have stored for a summary (docs/dev/decisions.md D18).
var refusal = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)^\W*(?:i'?m sorry|i am sorry|sorry,|i can(?:no|')t\b|i am unable|i'?m unable|unable to|as an ai\b|summary unavailable|no summary|there is no conversation|please provide)`)
})

// labels are lines of a transcript: the model has gone on with it.
var labels = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^\s*\[(?:User|Assistant|Assistant tool calls|Tool result|Tool error)\]:`)
})

// check returns the summary in an answer, or why there is none in it. Whether its
// statements hold is for [checkStatements].
func check(o order, a Reply) (string, error) {
	if a.Cut != "" {
		return "", unusable("%s", a.Cut)
	}
	text := unfenced(a.Text)
	if err := checkEcho(o, text); err != nil {
		return "", err
	}
	if o.style == session.StyleCheckpoint || o.style == styleTurn {
		text = fromFirstHeading(text)
	}
	if o.style == session.StyleSentences {
		text = dated().ReplaceAllString(text, "")
	}
	text = strings.TrimSpace(redact(strings.ToValidUTF8(text, "\uFFFD")))
	for _, test := range []func(order, string) error{checkLength, checkWords, checkStyle, checkSource} {
		if err := test(o, text); err != nil {
			return "", err
		}
	}
	return text, nil
}

// unfenced removes a code fence around a whole answer.
func unfenced(text string) string {
	text = strings.TrimSpace(text)
	inner, opened := strings.CutPrefix(text, "```")
	inner, closed := strings.CutSuffix(inner, "```")
	if !opened || !closed || strings.Contains(inner, "\n```") {
		return text
	}
	_, inner, _ = strings.Cut(inner, "\n") // the language
	return strings.TrimSpace(inner)
}

func fromFirstHeading(text string) string {
	if i := strings.Index(text, "\n#"); i >= 0 && !strings.HasPrefix(text, "#") {
		return text[i+1:]
	}
	return text
}

func checkLength(o order, text string) error {
	n := utf8.RuneCountInString(text)
	switch {
	case n == 0:
		return unusable("it is empty")
	case n < leastRunes:
		return unusable("it has only %d characters", n)
	case n > o.runes:
		return unusable("it has %d characters, more than %d", n, o.runes)
	}
	return nil
}

func checkWords(_ order, text string) error {
	switch {
	case text[0] == '{' || text[0] == '[':
		return unusable("it is JSON, or a list")
	case refusal().MatchString(text):
		return unusable("%s", refused)
	}
	return nil
}

// checkEcho tells an answer from the question, and from a transcript.
func checkEcho(o order, text string) error {
	for _, ours := range []string{"Use exactly these headings", "with exactly these headings", "No headings, no lists", "no headings, no preamble", "<" + tagConversation, "<" + tagPrevious, "<" + tagState} {
		if strings.Contains(text, ours) {
			return unusable("it repeats the question")
		}
	}
	if len(labels().FindAllStringIndex(text, 2)) > 0 {
		return unusable("it goes on with the conversation")
	}
	const sample = 240
	if source := strings.TrimSpace(o.text); len(source) > sample && strings.Contains(text, strings.ToValidUTF8(source[:sample], "")) {
		return unusable("it repeats the conversation")
	}
	return nil
}

// requiredSections must be in a checkpoint. The others may be missing.
var requiredSections = []string{"goal", "progress", "key decisions", "next steps", "critical context"}

func checkStyle(o order, text string) error {
	switch o.style {
	case session.StyleCheckpoint:
		return checkSections(text, requiredSections)
	case styleTurn:
		return checkSections(text, []string{"original request", "early progress", "context for suffix"})
	case session.StyleContext:
		if c, _ := contextAndLessons(text); utf8.RuneCountInString(c) < leastRunes {
			return unusable("its section \"context\" is missing, or says nothing")
		}
	case session.StyleSentences:
		if n := len(splitSentences(text)); n < minSentences || n > maxSentences || len(headings(text)) > 0 {
			return unusable("it is not two to five sentences")
		}
	}
	return nil
}

var sentenceEnds = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`[.!?…]["')\]”’]*(?:\s|$)|[。！？]["')\]”’」]*`)
})

func checkSections(text string, required []string) error {
	all := headings(text)
	for _, name := range required {
		i := slices.IndexFunc(all, func(h heading) bool { return h.name == name })
		if i < 0 {
			return unusable("it has no section %q", name)
		}
		if i == 0 && blank(all[0].body) && name == required[0] {
			return unusable("its section %q says nothing", name)
		}
	}
	return nil
}

// blank says whether a section's body is empty or a placeholder.
func blank(body string) bool {
	body = strings.ToLower(strings.Trim(body, " \t\r\n-*.()[]"))
	return body == "" || body == "none" || body == "n/a" || body == "what the user wants; several items if there are several"
}

// heading is a section of a Markdown text, up to the next heading of any level.
type heading struct {
	name string // in lower case
	body string
}

var headingLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\s*(?:#{1,6}\s*(.+?)\s*#*|\*\*([^*]+)\*\*:?|([A-Z][A-Z &]{3,}):)\s*$`)
})

// headings cuts a text into its sections. What comes before the first is left
// out.
func headings(text string) []heading {
	var all []heading
	for line := range strings.Lines(text) {
		m := headingLine().FindStringSubmatch(strings.TrimRight(line, "\r\n"))
		if m == nil {
			if len(all) > 0 {
				all[len(all)-1].body += line
			}
			continue
		}
		name := strings.ToLower(strings.Trim(m[1]+m[2]+m[3], "*: \t"))
		all = append(all, heading{name: strings.ReplaceAll(name, " and ", " & ")})
	}
	return all
}

// Bounds by which an answer is checked against what it sums up.
const (
	leastWords  = 40 // fewer do not tell whether a text repeats itself
	leastSource = 12 // fewer words do not tell what a conversation is about
	longWord    = 4  // code points of a word that says something
)

var headingLines = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^#+ .*$`) })

// checkSource finds answers that are about something else: a model that runs
// in circles, or that obeys a text in the conversation.
func checkSource(o order, text string) error {
	words := longWords(headingLines().ReplaceAllString(text, ""))
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
