package claude

import (
	"bytes"
	"slices"

	"github.com/sessctl/sessctl/pkg/session"
)

// What the runtime adds to texts for the model's eyes (research/formats.md
// section 13).
var (
	reminderStart = []byte("<system-reminder>")
	reminderEnd   = []byte("</system-reminder>")
)

// stripReminders leaves out the runtime's reminders. A reminder begins and
// ends on lines of its own; the same words within a line are somebody's text.
func (d *decoder) stripReminders() {
	m := &d.message
	for i := 0; i < len(m.Parts); i++ {
		p := &m.Parts[i]
		if p.Kind != session.PartText {
			continue
		}
		from, to := reminder(p.Text)
		if from == to {
			continue
		}
		before, after := bytes.TrimRight(p.Text[:from], "\n"), p.Text[to:]
		p.Text = before
		if len(after) > 0 {
			m.Parts = slices.Insert(m.Parts, i+1, session.Part{Kind: session.PartText, Text: after})
		}
	}
	m.Parts = slices.DeleteFunc(m.Parts, func(p session.Part) bool { return p.Kind == session.PartText && len(p.Text) == 0 })
}

// reminder returns where the first reminder of a text stands; from == to if
// there is none.
func reminder(text []byte) (from, to int) {
	for at := 0; ; {
		i := bytes.Index(text[at:], reminderStart)
		if i < 0 {
			return 0, 0
		}
		from = at + i
		at = from + len(reminderStart)
		end := bytes.Index(text[at:], reminderEnd)
		if end < 0 {
			return 0, 0
		}
		to = at + end + len(reminderEnd)
		if (from == 0 || text[from-1] == '\n') && (to == len(text) || text[to] == '\n') {
			return from, to
		}
	}
}
