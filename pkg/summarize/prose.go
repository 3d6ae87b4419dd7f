package summarize

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/sessctl/sessctl/pkg/summarize/state"
)

// The length of a summary in prose (docs/dev/decisions.md D18).
const (
	minSentences = 2
	maxSentences = 5
	proseRunes   = 220 // of one sentence, in code points
)

// Prose returns the summary as two to five sentences in a row, in the third person:
// what was asked for, what people answered, what is unfinished, and what the agent said
// last. It is "" if nothing was said.
func (s Summary) Prose() string { return s.Sentences }

// Lessons returns what people said must never be done, or always: the rules
// that hold beyond the session. Each is one line without Markdown of its own.
func (s Summary) Lessons() []string { return s.Learned[:min(len(s.Learned), maxLessons)] }

// prose are the sentences of [Summary.Prose]. What one of them quotes no other one
// quotes again.
func (w *writer) prose() string {
	s := &w.state
	var all []string
	add := func(lead, text string) {
		text = quotable(text)
		told := slices.ContainsFunc(all, func(one string) bool { return strings.Contains(one, strings.Trim(text, "…")) })
		if text != "" && !told && len(all) < maxSentences {
			all = append(all, lead+" “"+text+"”.")
		}
	}
	if s.Before != nil {
		add("The user asked:", s.Before.Text)
	} else if s.Request != nil {
		add("The user asked:", s.Request.Text)
	}
	for _, choice := range choicesOf(w.e.events)[:min(1, len(choicesOf(w.e.events)))] {
		add("The user answered:", redact(choice.text))
	}
	if open := s.Plan.Open(); len(open) > 0 {
		add("Unfinished:", open[0].Text)
	} else if s.Before != nil && s.Request != nil {
		add("Then the user said:", s.Request.Text)
	}
	if s.Word != nil {
		add("The assistant said last:", s.Word.Text)
	}
	for _, q := range s.Unanswered {
		if strings.HasSuffix(q.Text, "?") {
			add("Not answered yet:", q.Text)
		}
	}
	if len(all) == 1 {
		for _, rule := range rulesOf(w.e.events) {
			add("To keep in mind:", redact(rule.text))
		}
	}
	return strings.Join(all, " ")
}

// quotable is a text as a part of one sentence: without Markdown, and with nothing in it
// that ends a sentence.
func quotable(text string) string {
	text = strings.NewReplacer("**", "", "`", "", "“", "\"", "”", "\"", "。", "; ", "！", "; ", "？", "? ").Replace(text)
	sentences := splitSentences(text)
	if len(sentences) == 0 {
		return ""
	}
	first := sentences[0]
	for _, more := range sentences[1:] {
		if utf8.RuneCountInString(first)+utf8.RuneCountInString(more) > proseRunes/2 {
			break
		}
		first = strings.TrimRight(first, ".!") + "; " + more
	}
	return strings.TrimRight(state.Cut(first, proseRunes), ".!")
}

// thirdPerson writes prose without headings: what the person asked for, answered and
// wants kept to, what is unfinished, what was done, and what was said last. What one
// sentence quotes no other one quotes again.
func (w *writer) thirdPerson() {
	e := w.e
	w.sentences("The user asked: ", w.goals(min(w.share(16), 1500)))
	w.sentences("The user wants kept: ", e.said(w.u, rulesOf(e.events), min(w.share(10), 1000)))
	w.sentences("The user answered: ", e.said(w.u, choicesOf(e.events), min(w.share(12), 1200)))
	var open []Item
	for _, item := range w.state.Plan.Open() {
		open = append(open, Item{Text: item.Text, Line: w.state.Plan.Line, Place: placeName(w.state.Plan.Place)})
	}
	w.sentences("Unfinished are: ", open)
	w.sentences("The user also said: ", e.people(w.u, min(w.share(30), 3000), w.told.String()))
	w.sentences("The assistant worked on these files: ", filesIn(&w.state, min(w.share(8), 800), w.told.String()))
	w.sentences("The assistant said last: ", quotesIn(min(w.share(8), 700), w.state.Word))
	w.sentences("Not answered yet is: ", w.questions(min(w.share(5), 300)))
	w.sentences("Before the end these were said: ", e.messages(min(w.share(15), 1500), w.told.String()))
}

// questions are those that nobody has answered.
func (w *writer) questions(runes int) (items []Item) {
	for _, q := range w.state.Unanswered {
		if strings.HasSuffix(q.Text, "?") && utf8.RuneCountInString(q.Text) < runes {
			items = append(items, quotesIn(runes, &q)...)
		}
	}
	return items
}

// sentences write quotations in a row, as far as there is room.
func (w *writer) sentences(lead string, items []Item) {
	first := true
	var kept []Item
	for _, x := range items {
		text := "; "
		if first {
			text = "\n\n" + lead
		}
		text += "“" + strings.NewReplacer("“", "\"", "”", "\"").Replace(strings.TrimRight(x.Text, ".")) + "” (" + x.Place + ")"
		if strings.Contains(w.told.String(), x.Text) || utf8.RuneCountInString(text)+1 > w.left {
			continue
		}
		w.write(text)
		w.told.WriteString("\n" + x.Text)
		first = false
		kept = append(kept, x)
	}
	if !first {
		w.write(".")
		w.sections = append(w.sections, Section{Title: strings.TrimSuffix(lead, ": "), Items: kept})
	}
}

// Bounds of lessons: how many a summary gives, and how long one is, in code
// points. Shorter ones say nothing; longer ones are no rule but a story.
const (
	maxLessons     = 8
	minLessonRunes = 12
	maxLessonRunes = 280
)

// lessons are the newest rules that people set.
func (w *writer) lessons() (all []string) {
	for _, rule := range rulesOf(w.e.events) {
		text := strings.Join(strings.Fields(redact(rule.text)), " ")
		n := utf8.RuneCountInString(text)
		if n >= minLessonRunes && n <= maxLessonRunes && !slices.Contains(all, text) && len(all) < maxLessons && w.e.later(w.u, rule) == "" {
			all = append(all, text)
		}
	}
	slices.Reverse(all)
	return all
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
