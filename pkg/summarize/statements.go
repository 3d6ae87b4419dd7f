package summarize

import (
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/sessctl/sessctl/pkg/statements"
)

// mostRefused is how many statements a refusal names.
const mostRefused = 5

// checkStatements holds each statement of an answer against the conversation, and names
// those that do not hold: the model is told of them, and a person is if it does no
// better.
func checkStatements(o order, text string) error {
	source := sourceOf(o)
	all := statementsOf(text)
	var whole strings.Builder
	var refused []string
	for _, one := range all {
		whole.WriteString(one.Text + "\n")
		if why := source.Check(one); why != "" {
			refused = append(refused, fmt.Sprintf("%q: %s", cutRunes([]byte(one.Text), 120), why))
		}
	}
	if foreign := source.Foreign(whole.String()); foreign != "" {
		return unusable("it is in %s, which is no language of the conversation", foreign)
	}
	if len(refused) == 0 {
		return nil
	}
	return unusable("%d of its %d statements do not hold: %s", len(refused), len(all), strings.Join(refused[:min(len(refused), mostRefused)], "; "))
}

// sourceOf is what an answer may say: the conversation, and the summary of what was
// before it.
func sourceOf(o order) *statements.Source {
	s := statements.NewSource()
	at := speaker().FindAllStringSubmatchIndex(o.text, -1)
	for i, m := range at {
		end := len(o.text)
		if i+1 < len(at) {
			end = at[i+1][0]
		}
		text := o.text[m[1]:end]
		switch label := o.text[m[4]:m[5]]; label {
		case "Tool result", "Tool error", "Context":
			s.Printed(text)
		default:
			s.Said(text, label != "User")
		}
	}
	if len(at) == 0 {
		s.Said(o.text, true) // a digest
	}
	s.Said(o.previous, true)
	return s
}

// marks are those of a list item before its text, and of bold text.
var marks = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\s*(?:[-*+•]\s+|\d{1,2}[.)]\s+)?(?:\[[ xX]\]\s*)?|\*\*`)
})

// openSections are the headings under which what is still to be done stands.
var openSections = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`next|in progress|block|open|pending|remain|todo|goal|original request`)
})

// statementsOf are the statements of a summary: its lines without headings and marks.
func statementsOf(text string) (all []statements.Statement) {
	open := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if m := headingLine().FindStringSubmatch(line); m != nil {
			open = openSections().MatchString(strings.ToLower(m[1] + m[2] + m[3]))
			continue
		}
		if line = strings.TrimSpace(marks().ReplaceAllString(line, "")); !blank(line) {
			all = append(all, statements.Statement{Text: line, Open: open})
		}
	}
	return all
}
