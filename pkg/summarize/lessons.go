package summarize

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// Bounds of lessons: how many a summary gives, and how long one is, in code
// points. Shorter ones say nothing; longer ones are no rule but a story.
const (
	maxLessons     = 8
	minLessonRunes = 12
	maxLessonRunes = 280
)

// Lessons returns what people said must never be done, or always: the rules
// that hold beyond the session. Each is one line without Markdown of its own.
func (s Summary) Lessons() []string {
	lessons := slices.Clone(s.Learned)
	for _, section := range s.Sections {
		if section.Title != constraintsTitle {
			continue
		}
		for _, item := range section.Items {
			text := strings.Join(strings.Fields(withoutLast(item.Text)), " ")
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

// part is a line that begins CONTEXT or LESSONS, as models write it: as a
// heading, in bold, or with a colon and the text behind it.
var part = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)^[\s#*_\d.)]*(context|lessons)(?: learned)?[*_ ]*(?::[*_ ]*(.*)|[#*_ ]*)$`)
})

// contextAndLessons takes CONTEXT and LESSONS apart, in whichever order they
// come. Other headings belong to the section that they stand in.
func contextAndLessons(text string) (context string, lessons []string) {
	section := ""
	var body strings.Builder
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if m := part().FindStringSubmatch(line); m != nil {
			section, line = strings.ToLower(m[1]), m[2]
		}
		switch section {
		case "context":
			body.WriteString(line + "\n")
		case "lessons":
			lessons = addLesson(lessons, line)
		}
	}
	return strings.TrimSpace(body.String()), lessons
}

// addLesson keeps a lesson that says something and is not there already.
func addLesson(lessons []string, line string) []string {
	line = strings.Join(strings.Fields(bullet().ReplaceAllString(line, "")), " ")
	n := utf8.RuneCountInString(line)
	same := func(known string) bool { return sameLesson(known) == sameLesson(line) }
	if n < minLessonRunes || n > maxLessonRunes || len(lessons) >= maxLessons || blank(line) || refusal().MatchString(line) || slices.ContainsFunc(lessons, same) {
		return lessons
	}
	return append(lessons, line)
}

var bullet = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\s*(?:[-*•]\s+(?:\[[ xX]\]\s+)?|\d{1,2}[.)]\s+)?`)
})

// sameLesson is a lesson as it is compared: its words alone.
func sameLesson(line string) string {
	return strings.Join(strings.FieldsFunc(strings.ToLower(line), func(r rune) bool { return !wordRune(r) }), " ")
}
