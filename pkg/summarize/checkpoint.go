package summarize

import (
	"strings"
	"unicode/utf8"
)

// checkpointPart is a heading of the structured summary of seed 001, section
// 7.5.4, and what the rules find for it.
type checkpointPart struct {
	heading string
	mark    string   // of its items
	titles  []string // of the plans; the start of the title for the ones with a line
}

// checkpointParts are the headings in their order. All of them always stand in
// the summary, as a model would write it.
func checkpointParts() []checkpointPart {
	return []checkpointPart{
		{"## Goal", "- ", []string{"Goals"}},
		{"## Constraints & Preferences", "- ", []string{constraintsTitle}},
		{"## Progress", "", nil},
		{"### Done", "- [x] ", []string{"Files changed", "Commands"}},
		{"### In Progress", "- [ ] ", []string{"Last exchanges"}},
		{"### Blocked", "- ", []string{"Errors", "Open questions"}},
		{"## Key Decisions", "- ", []string{decisionsTitle}},
		{"## Next Steps", "1. ", []string{"Next steps"}},
		{"## Critical Context", "- ", []string{"About ", findingsTitle, "Files read", "Earlier summary"}},
	}
}

const nothing = "- (none)\n"

// checkpointFrame is the length of all headings with nothing under them, in
// code points.
func checkpointFrame() (runes int) {
	var b strings.Builder
	for _, part := range checkpointParts() {
		part.write(&b, nil)
	}
	return utf8.RuneCountInString(b.String())
}

// writeCheckpoint writes what was chosen under the headings of seed 001.
func writeCheckpoint(text *strings.Builder, plans []*plan) []Section {
	var sections []Section
	for _, part := range checkpointParts() {
		part.write(text, plans)
	}
	for _, p := range plans {
		if len(p.chosen) > 0 {
			sections = append(sections, p.section())
		}
	}
	return sections
}

func (part checkpointPart) write(text *strings.Builder, plans []*plan) {
	text.WriteString("\n" + part.heading + "\n")
	if part.mark == "" {
		return
	}
	empty := true
	for _, p := range plans {
		if !part.takes(p.title) {
			continue
		}
		for _, c := range p.chosen {
			mark := part.mark
			if strings.HasSuffix(c.text, " failed") { // a command: it is not done
				mark = strings.Replace(mark, "[x]", "[ ]", 1)
			}
			text.WriteString(p.marked(c, mark))
			empty = false
		}
	}
	if empty {
		text.WriteString(nothing)
	}
}

func (part checkpointPart) takes(title string) bool {
	for _, t := range part.titles {
		if strings.HasPrefix(title, t) {
			return true
		}
	}
	return false
}
