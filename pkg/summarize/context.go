package summarize

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// part is a line that begins one of the two sections of seed 003, as models
// write it: as a heading, in bold, or with a colon and the text behind it.
var part = regexp.MustCompile(`(?i)^[\s#*_\d.)]*(context|lessons)(?: learned)?[*_ ]*(?::[*_ ]*(.*)|[#*_ ]*)$`)

// contextAndLessons takes the two sections of seed 003 apart, in whichever
// order they come. Other headings belong to the section that they stand in.
func contextAndLessons(text string) (context string, lessons []string) {
	section := ""
	var body strings.Builder
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if m := part.FindStringSubmatch(line); m != nil {
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
	line = strings.Join(strings.Fields(bullet.ReplaceAllString(line, "")), " ")
	n := utf8.RuneCountInString(line)
	same := func(known string) bool { return sameLesson(known) == sameLesson(line) }
	if n < minLessonRunes || n > maxLessonRunes || len(lessons) >= maxLessons || blank(line) || refusal.MatchString(line) || slices.ContainsFunc(lessons, same) {
		return lessons
	}
	return append(lessons, line)
}

var bullet = regexp.MustCompile(`^\s*(?:[-*•]\s+(?:\[[ xX]\]\s+)?|\d{1,2}[.)]\s+)?`)

// sameLesson is a lesson as it is compared: its words alone.
func sameLesson(line string) string {
	return strings.Join(strings.FieldsFunc(strings.ToLower(line), func(r rune) bool { return !wordRune(r) }), " ")
}
