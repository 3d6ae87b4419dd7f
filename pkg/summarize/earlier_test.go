package summarize

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sessctl/sessctl/pkg/session"
)

// Of an earlier summary that was picked by rule, what still counts is carried
// on; what it says of itself, and what was last said then, is not.
func TestEarlierExtractiveSummary(t *testing.T) {
	say := func(e *Extractive, line int, role session.Role, text string) {
		_ = e.Add(&session.Message{Ordinal: line, Line: line, Role: role, Parts: []session.Part{{Kind: session.PartText, Text: []byte(text)}}})
	}
	first := NewExtractive(Options{})
	say(first, 1, session.RoleUser, "Please plan the move of the office. You must never use the goods lift on a Sunday.")
	say(first, 2, session.RoleAssistant, "The weather was nice when I looked out of the window.")
	once := first.Summary().Text
	second := NewExtractive(Options{})
	older := strings.Replace(once, ", → line N where it comes up later", "", 1) // as earlier versions wrote it
	say(second, 3, session.RoleSummary, older)
	say(second, 4, session.RoleUser, "Now book the van for Tuesday, please.")
	twice := second.Summary().Text
	if !strings.Contains(once, "weather was nice") || !strings.Contains(twice, "never use the goods lift") || !strings.Contains(twice, "> **Goals**") {
		t.Fatalf("the first summary is\n%s\n\nthe second\n%s", once, twice)
	}
	for _, gone := range []string{"weather was nice", "> **Session summary", "**Last exchanges**"} {
		if strings.Contains(twice, gone) {
			t.Errorf("%q is carried on:\n%s", gone, twice)
		}
	}
	if n := strings.Count(twice, extractivePick); n != 1 || older == once {
		t.Errorf("the note stands there %d times:\n%s", n, twice)
	}
}

// A short session has all of the summary before, as far as that has about the
// length that a compaction leaves room for beside the headings (640 and its own).
func TestEarlierSummaryOfAShortSession(t *testing.T) {
	for n := 1; n <= 8; n++ {
		earlier := "## Goal\n"
		for i := range n {
			earlier += fmt.Sprintf("- the falcon-ridge shop number %d opens at seven, not at eight\n", i)
		}
		text := checkpointOf(t, 640+min(len(earlier), 1000),
			saying(session.RoleSummary, earlier),
			saying(session.RoleUser, "And who closes on Sunday? "+strings.Repeat("The mill sends spelt on Monday. We decided to take it. ", 20)),
			saying(session.RoleAssistant, "Next I will ask Lea. "+strings.Repeat("The van leaves at 06:40, and the rye goes in second. ", 20)))
		if got := strings.Count(text, "falcon-ridge shop number"); got != n {
			t.Errorf("of %d lines of the earlier summary %d stand in\n%s", n, got, text)
		}
	}
}
