package summarize

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// proseRunes is how long one sentence of prose is at most, in code points.
const proseRunes = 220

// Prose returns the summary as two to five sentences in a row: what was asked
// for, what was decided, what is open and what comes next (seed 004). It is
// "" if nothing of that was said.
func (s Summary) Prose() string {
	if s.Sentences != "" {
		return s.Sentences
	}
	all, spare := s.sentences()
	if len(all) == 1 {
		all = append(all, spare[:min(1, len(spare))]...)
	}
	return strings.Join(all, " ")
}

// proseParts are the sections that prose is made of, and how many items of each.
func proseParts() []prosePart {
	return []prosePart{
		{"Goals", "Asked: ", 1, false},
		{decisionsTitle, "Decided: ", 2, false},
		{findingsTitle, "Found: ", 1, false},
		{"Open questions", "Open: ", 1, false},
		{"Next steps", "Next: ", 1, false},
		{constraintsTitle, "To keep in mind: ", 1, false},
		{"Last exchanges", "Last said: ", 1, true},
	}
}

type prosePart struct {
	title, lead string
	most        int
	last        bool // the last items, not the first
}

// sentences are at most five, one for each item; spare are those of the items
// that are left over.
func (s Summary) sentences() (all, spare []string) {
	for _, part := range proseParts() {
		texts := s.texts(part)
		for i, text := range texts {
			if i < part.most && len(all) < maxSentences {
				all = append(all, part.lead+text)
				continue
			}
			spare = append(spare, part.lead+text)
		}
	}
	return all, spare
}

// Two to five sentences (seed 004, Change 1).
const (
	minSentences = 2
	maxSentences = 5
)

// texts returns the items of a section as one sentence each.
func (s Summary) texts(part prosePart) []string {
	var all []string
	for _, section := range s.Sections {
		if section.Title != part.title {
			continue
		}
		for _, item := range section.Items {
			if text := oneSentence(item.Text); text != "" {
				all = append(all, text)
			}
		}
	}
	if part.last {
		slices.Reverse(all)
	}
	return all
}

// oneSentence is the first sentence of a text that says something, without
// Markdown and not too long.
func oneSentence(text string) string {
	text = strings.TrimSpace(strings.NewReplacer("**", "", "`", "").Replace(text))
	all := splitSentences(text)
	if len(all) == 0 {
		return ""
	}
	at := slices.IndexFunc(all, func(s string) bool { return len(s) >= shortSentence })
	text = string(cutRunes([]byte(all[max(at, 0)]), proseRunes))
	if !strings.ContainsAny(text[len(text)-1:], ".!?") && !strings.HasSuffix(text, "…") && !strings.HasSuffix(text, "。") {
		text += "."
	}
	return text
}

// splitSentences cuts a text behind its full stops, exclamation and question
// marks. One that a small letter or a digit follows ends no sentence ("e.g. a
// file", "No. 5"), but for the marks of Chinese and Japanese.
func splitSentences(text string) []string {
	var all []string
	add := func(s string) {
		if s = strings.TrimSpace(s); s != "" {
			all = append(all, s)
		}
	}
	start := 0
	for _, at := range sentenceEnds.FindAllStringIndex(text, -1) {
		next, _ := utf8.DecodeRuneInString(strings.TrimSpace(text[at[1]:]))
		wide := strings.ContainsAny(text[at[0]:at[1]], "。！？")
		if at[0] < start || !wide && (unicode.IsLower(next) || unicode.IsDigit(next)) {
			continue
		}
		add(text[start:at[1]])
		start = at[1]
	}
	add(text[start:])
	return all
}
