package summarize

import "strings"

// proseRunes is how long one sentence of prose is at most, in code points.
const proseRunes = 220

// Prose returns the summary as two to five sentences in a row: what was asked
// for, what was decided, what is open and what comes next (seed 004). It is
// "" if nothing of that was said.
func (s Summary) Prose() string {
	if s.Sentences != "" {
		return s.Sentences
	}
	var sentences []string
	for _, part := range []struct {
		title, lead string
		most        int
	}{
		{"Goals", "Asked: ", 1},
		{"Decisions and findings", "Decided: ", 2},
		{"Open questions", "Open: ", 1},
		{"Next steps", "Next: ", 1},
		{constraintsTitle, "To keep in mind: ", 1},
		{"Last exchanges", "Last said: ", 1},
	} {
		for _, text := range s.texts(part.title, part.most) {
			if len(sentences) < maxSentences {
				sentences = append(sentences, part.lead+text)
			}
		}
	}
	return strings.Join(sentences, " ")
}

const maxSentences = 5

// texts returns the first items of a section as sentences of their own.
func (s Summary) texts(title string, most int) []string {
	var all []string
	for _, section := range s.Sections {
		if section.Title != title {
			continue
		}
		for _, item := range section.Items[:min(most, len(section.Items))] {
			text := strings.TrimSpace(strings.NewReplacer("**", "", "`", "").Replace(item.Text))
			text = string(cutRunes([]byte(text), proseRunes))
			if text == "" {
				continue
			}
			if !strings.ContainsAny(text[len(text)-1:], ".!?") && !strings.HasSuffix(text, "…") {
				text += "."
			}
			all = append(all, text)
		}
	}
	return all
}
