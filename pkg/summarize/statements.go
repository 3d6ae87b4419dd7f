package summarize

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/sessctl/sessctl/pkg/statements"
)

// mostRefused is how many statements a refusal names.
const mostRefused = 5

// refusedStatement is a statement of a summary that does not hold.
type refusedStatement struct {
	number    int // from 1
	text, why string
}

// refusedError names the statements for which an answer was refused. Its text has no
// word of the conversation: it goes to receipts, and what is forgotten is to be gone.
type refusedError struct {
	of      int // statements of the answer
	refused []refusedStatement
}

// Error implements error.
func (e *refusedError) Error() string {
	return e.list(func(r refusedStatement) string { return fmt.Sprintf("statement %d: %s", r.number, r.why) })
}

// quoted is for the model, which has to know what it is to mend.
func (e *refusedError) quoted() string {
	return e.list(func(r refusedStatement) string { return fmt.Sprintf("%q: %s", cutRunes([]byte(r.text), 120), r.why) })
}

func (e *refusedError) list(name func(refusedStatement) string) string {
	var all []string
	for _, r := range e.refused[:min(len(e.refused), mostRefused)] {
		all = append(all, name(r))
	}
	return fmt.Sprintf("%d of its %d statements do not hold: %s", len(e.refused), e.of, strings.Join(all, "; "))
}

// Unwrap implements errors.Is.
func (e *refusedError) Unwrap() error { return errUnusable }

// told is why an answer was refused, for the model that gave it.
func told(why error) string {
	var refused *refusedError
	if errors.As(why, &refused) {
		return refused.quoted() + ". Write only what the conversation says"
	}
	return why.Error()
}

// checkStatements holds each statement of an answer against the conversation.
func checkStatements(o order, text string) error {
	source := sourceOf(o)
	all := statementsOf(text)
	refused := &refusedError{of: len(all)}
	var whole strings.Builder
	for i, one := range all {
		whole.WriteString(one.Text + "\n")
		if why := source.Check(one); why != "" {
			refused.refused = append(refused.refused, refusedStatement{i + 1, one.Text, why})
		}
	}
	if foreign := source.Foreign(whole.String()); foreign != "" {
		return unusable("it is in %s, which is no language of the conversation", foreign)
	}
	if len(refused.refused) > 0 {
		return refused
	}
	return nil
}

// sourceOf is what an answer may say: the conversation, and the summary of what was
// before it.
func sourceOf(o order) *statements.Source {
	s := statements.NewSource()
	at := label().FindAllStringSubmatchIndex(o.text, -1)
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
	s.Printed(o.state) // it quotes what was said, and counts
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
