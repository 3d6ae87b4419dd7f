package summarize

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// sentences splits prose into sentences and list items. Code blocks are left
// out: they are not said but shown.
func sentences(text string) []string {
	var out []string
	fenced := false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
			continue
		}
		if fenced || line == "" {
			continue
		}
		out = append(out, splitLine(strings.TrimLeft(line, "-*#> "))...)
	}
	return out
}

// splitLine cuts after . ! ? (also the full-width ones) before a space or the end.
func splitLine(line string) []string {
	var out []string
	start := 0
	for i, r := range line {
		end := i + utf8.RuneLen(r)
		wide := strings.ContainsRune("。！？", r)
		if !wide && !strings.ContainsRune(".!?", r) {
			continue
		}
		if !wide && end < len(line) && line[end] != ' ' {
			continue
		}
		if s := strings.TrimSpace(line[start:end]); s != "" {
			out = append(out, s)
		}
		start = end
	}
	if s := strings.TrimSpace(line[start:]); s != "" {
		out = append(out, s)
	}
	return out
}

func firstParagraph(text string) string {
	first, _, _ := strings.Cut(text, "\n\n")
	return strings.Join(strings.Fields(first), " ")
}

// shorten makes one line of at most n code points, cut at a word.
func shorten(text string, n int) string {
	text = strings.Join(strings.Fields(text), " ")
	if utf8.RuneCountInString(text) <= n {
		return text
	}
	runes := []rune(text)[:n-1]
	for i := len(runes) - 1; i > n*3/4; i-- {
		if unicode.IsSpace(runes[i]) {
			runes = runes[:i]
			break
		}
	}
	return string(runes) + "…"
}

// containsAny counts the phrases that stand in a lower-case text as words.
func containsAny(lower string, phrases ...string) int {
	n := 0
	for _, p := range phrases {
		if i := strings.Index(lower, p); i >= 0 && wordStart(lower, i) && wordEnd(lower, i+len(p)) {
			n++
		}
	}
	return n
}

func wordStart(s string, i int) bool {
	r, _ := utf8.DecodeLastRuneInString(s[:i])
	return i == 0 || !unicode.IsLetter(r)
}

func wordEnd(s string, i int) bool {
	r, _ := utf8.DecodeRuneInString(s[i:])
	return i == len(s) || !unicode.IsLetter(r)
}

// goalScore says how much a user message sets a task: the first ones do, and
// those that ask for work.
func goalScore(text string, nth int) float64 {
	lower := strings.ToLower(text[:min(len(text), 400)])
	score := 0.0
	if nth <= 2 {
		score += 5
	}
	score += 2 * float64(containsAny(lower, "please", "can you", "could you", "let's", "we need", "i need", "i want", "goal", "task", "plan"))
	score += float64(containsAny(lower, "add", "fix", "implement", "write", "build", "create", "change", "move", "remove", "investigate", "find out", "why", "how", "make", "check", "set up", "rename", "migrate"))
	if words := len(strings.Fields(lower)); words < 4 {
		score -= 3
	}
	return score
}

// ruleScore finds what a user wants kept to.
func ruleScore(sentence string) float64 {
	lower := strings.ToLower(sentence)
	return float64(2*containsAny(lower, "always", "never", "must not", "must", "do not", "don't", "make sure", "only use", "i prefer", "prefer") +
		containsAny(lower, "without", "should not", "should", "at most", "at least", "no more than", "keep"))
}

// decisionScore finds what was decided, by either side.
func decisionScore(sentence string) float64 {
	lower := strings.ToLower(sentence)
	return float64(3*containsAny(lower, "decided", "decision", "we will use", "we'll use", "going with", "agreed", "we chose", "settled on", "final answer") +
		2*containsAny(lower, "instead of", "switch to", "switched to", "rather than", "let's use", "we use", "moved to", "chosen", "choose"))
}

// nextStep finds what is still to be done.
func nextStep(sentence string) bool {
	return containsAny(strings.ToLower(sentence), "next step", "next steps", "next", "todo", "to do", "remaining", "still need", "still needs", "left to do", "follow-up", "afterwards") > 0
}
