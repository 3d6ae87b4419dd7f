package summarize

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// ErrUnusable is returned for an answer that must not become a summary. A
// session is never made small on the word of one.
var ErrUnusable = errors.New("the answer is no summary")

func unusable(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrUnusable, fmt.Sprintf(format, args...))
}

// leastRunes is how short a summary can be and still say something.
const leastRunes = 40

// refusal is how models begin when they do not do it, and what other programs
// have stored for a summary (research/complaints.md section 1).
var refusal = regexp.MustCompile(`(?i)^\W*(?:i'?m sorry|i am sorry|sorry,|i can(?:no|')t\b|i am unable|i'?m unable|unable to|as an ai\b|summary unavailable|no summary|there is no conversation|please provide)`)

// labels are lines of a transcript: the model has gone on with it.
var labels = regexp.MustCompile(`(?m)^\s*\[(?:User|Assistant|Assistant tool calls|Tool result|Tool error)\]:`)

// check returns the summary in an answer, or why there is none in it.
func check(o order, a Reply) (string, error) {
	if a.Cut != "" {
		return "", unusable("%s", a.Cut)
	}
	text := unfenced(a.Text)
	if err := checkEcho(o, text); err != nil {
		return "", err
	}
	if o.style == StyleCheckpoint || o.style == styleTurn {
		text = fromFirstHeading(text)
	}
	if o.style == StyleSentences {
		text = dated.ReplaceAllString(text, "")
	}
	text = strings.TrimSpace(redact(strings.ToValidUTF8(text, "\uFFFD")))
	for _, test := range []func(order, string) error{checkLength, checkWords, checkScript, checkStyle, checkSource} {
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
	case refusal.MatchString(text):
		return unusable("%s", refused)
	}
	return nil
}

// checkEcho tells an answer from the question, and from a transcript.
func checkEcho(o order, text string) error {
	for _, ours := range []string{"Use exactly these headings", "with exactly these headings", "No headings, no lists", "no headings, no preamble", "<" + tagConversation, "<" + tagPrevious} {
		if strings.Contains(text, ours) {
			return unusable("it repeats the question")
		}
	}
	if len(labels.FindAllStringIndex(text, 2)) > 0 {
		return unusable("it goes on with the conversation")
	}
	const sample = 240
	if source := strings.TrimSpace(o.text); len(source) > sample && strings.Contains(text, strings.ToValidUTF8(source[:sample], "")) {
		return unusable("it repeats the conversation")
	}
	return nil
}

// checkScript finds an answer in a language that nobody has used, as far as
// letters tell.
func checkScript(o order, text string) error {
	source, answer := latinShare(o.text+o.previous), latinShare(text)
	if source > 0.8 && answer < 0.3 {
		return unusable("it is not in the language of the conversation")
	}
	return nil
}

// latinShare is the share of letters that are Latin; 1 of no letters.
func latinShare(text string) float64 {
	letters, latin := 0, 0
	for _, r := range text {
		if unicode.IsLetter(r) {
			letters++
			if unicode.Is(unicode.Latin, r) {
				latin++
			}
		}
	}
	if letters == 0 {
		return 1
	}
	return float64(latin) / float64(letters)
}

// requiredSections are those of seed 001 (S7.14). The others may be missing.
var requiredSections = []string{"goal", "progress", "key decisions", "next steps", "critical context"}

func checkStyle(o order, text string) error {
	switch o.style {
	case StyleCheckpoint:
		return checkSections(text, requiredSections)
	case styleTurn:
		return checkSections(text, []string{"original request", "early progress", "context for suffix"})
	case StyleContext:
		if c, _ := contextAndLessons(text); utf8.RuneCountInString(c) < leastRunes {
			return unusable("its section \"context\" is missing, or says nothing")
		}
	case StyleSentences:
		if n := len(splitSentences(text)); n < minSentences || n > maxSentences || len(headings(text)) > 0 {
			return unusable("it is not two to five sentences")
		}
	}
	return nil
}

var sentenceEnds = regexp.MustCompile(`[.!?…]["')\]”’]*(?:\s|$)|[。！？]["')\]”’」]*`)

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

var headingLine = regexp.MustCompile(`^\s*(?:#{1,6}\s*(.+?)\s*#*|\*\*([^*]+)\*\*:?|([A-Z][A-Z &]{3,}):)\s*$`)

// headings cuts a text into its sections. What comes before the first is left
// out.
func headings(text string) []heading {
	var all []heading
	for line := range strings.Lines(text) {
		m := headingLine.FindStringSubmatch(strings.TrimRight(line, "\r\n"))
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
