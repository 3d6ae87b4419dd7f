package summarize

import (
	"strings"
	"testing"
)

// Seed 004: two to five sentences; lessons are rules that people gave.
func TestProseAndLessons(t *testing.T) {
	s := Summary{Sections: []Section{
		{Title: "Goals", Items: []Item{{Text: "Plan the board update"}, {Text: "second"}}},
		{Title: constraintsTitle, Items: []Item{{Text: "- You must never  delete backups."}, {Text: "never"}, {Text: "You must never delete backups."}, {Text: strings.Repeat("x", 400)}}},
		{Title: "Decisions and findings", Items: []Item{{Text: "We will use `four` sections."}, {Text: "Financials come last!"}, {Text: "third"}}},
		{Title: "Next steps", Items: []Item{{Text: "Send the numbers"}}},
		{Title: "Last exchanges", Items: []Item{{Text: "**User**: thanks"}}},
	}}
	want := "Asked: Plan the board update. Decided: We will use four sections. Decided: Financials come last! Next: Send the numbers. To keep in mind: - You must never  delete backups."
	if got := s.Prose(); got != want {
		t.Errorf("prose %q, want %q", got, want)
	}
	if got := s.Lessons(); len(got) != 1 || got[0] != "You must never delete backups." {
		t.Errorf("lessons %q", got)
	}
	if got := (Summary{}).Prose(); got != "" {
		t.Errorf("prose of nothing: %q", got)
	}
}
