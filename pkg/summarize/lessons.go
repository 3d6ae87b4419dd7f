package summarize

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// Bounds of lessons: how many a summary gives, and how long one is, in code
// points. Shorter ones say nothing; longer ones are no rule but a story.
const (
	maxLessons     = 8
	minLessonRunes = 12
	maxLessonRunes = 280
)

// Lessons returns what people said must, must never or should be: the rules
// that hold beyond the session (seed 003, LESSONS). Each is one line without
// Markdown of its own.
func (s Summary) Lessons() []string {
	lessons := slices.Clone(s.Learned)
	for _, section := range s.Sections {
		if section.Title != constraintsTitle {
			continue
		}
		for _, item := range section.Items {
			text := strings.Join(strings.Fields(item.Text), " ")
			text = strings.TrimSpace(strings.TrimLeft(text, "-*> "))
			n := utf8.RuneCountInString(text)
			if n < minLessonRunes || n > maxLessonRunes || slices.Contains(lessons, text) {
				continue
			}
			lessons = append(lessons, text)
		}
	}
	return lessons[:min(len(lessons), maxLessons)]
}
