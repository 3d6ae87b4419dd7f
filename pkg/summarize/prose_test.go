package summarize

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Seed 004: two to five sentences; lessons are rules that people gave.
func TestProseAndLessons(t *testing.T) {
	s := Summary{Sections: []Section{
		{Title: "Goals", Items: []Item{{Text: "Plan the board update"}, {Text: "second"}}},
		{Title: constraintsTitle, Items: []Item{{Text: "- You must never  delete backups."}, {Text: "never"}, {Text: "You must never delete backups."}, {Text: strings.Repeat("x", 400)}}},
		{Title: decisionsTitle, Items: []Item{{Text: "We will use `four` sections."}, {Text: "Financials come last!"}, {Text: "third"}}},
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

// However the items are written, the prose of a summary has two to five
// sentences (seed 004, Change 1).
func TestProseHasTwoToFiveSentences(t *testing.T) {
	text := rapid.SampledFrom([]string{
		"We decided to use four sections", "Is that ok? We decided on four. It is done!", "First this. Then that. Then more; e.g. a file. And so on.",
		"**User**: thanks. Good. Great. Fine. Yes.", "ok", "`x.go`: it fails… Always", "我们决定用四个部分。很好！明天继续。", strings.Repeat("Long words. ", 60),
	})
	titles := []string{"Goals", decisionsTitle, "Open questions", "Next steps", constraintsTitle, "Last exchanges"}
	rapid.Check(t, func(t *rapid.T) {
		var s Summary
		items := 0
		for _, title := range titles {
			section := Section{Title: title}
			for _, item := range rapid.SliceOfN(text, 0, 4).Draw(t, title) {
				section.Items = append(section.Items, Item{Text: item})
				items++
			}
			s.Sections = append(s.Sections, section)
		}
		prose := s.Prose()
		if n := len(splitSentences(prose)); n > maxSentences || n < min(items, minSentences) {
			t.Fatalf("%d sentences of %d items: %s", n, items, prose)
		}
	})
}

func TestSplitSentences(t *testing.T) {
	for text, want := range map[string]int{
		"": 0, "one": 1, "One. Two": 2, "One.Two": 1, "See e.g. this file.": 1, "It costs 1.50 and no. 7 is out. Next!": 2,
		"他来了。我走了。": 2, `He said "No." Then he left.`: 2, "What?! Yes…": 2, "v1.2.3 is out": 1,
	} {
		if got := splitSentences(text); len(got) != want {
			t.Errorf("%q: %q, want %d", text, got, want)
		}
	}
}

// A model's summary is refused unless it has two to five sentences.
func TestSentencesOfAModel(t *testing.T) {
	for text, ok := range map[string]bool{
		"The user asked for a plan.":                                 false,
		"The user asked for a plan. It was agreed on, e.g. in June.": true,
		strings.Repeat("The user asked for one more plan. ", 5):      true,
		strings.Repeat("The user asked for one more plan. ", 6):      false,
	} {
		if err := checkStyle(order{style: StyleSentences}, strings.TrimSpace(text)); (err == nil) != ok {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// What was said last is the last thing, in its first sentence that says something.
func TestProseOfTheLastExchange(t *testing.T) {
	s := Summary{Sections: []Section{{Title: "Last exchanges", Items: []Item{{Text: "**User**: the oldest of the exchanges"}, {Text: "**Agent**: Ok. The invoice is paid on Friday. Anything else?"}}}}}
	if got, want := s.Prose(), "Last said: The invoice is paid on Friday. Last said: User: the oldest of the exchanges."; got != want {
		t.Errorf("prose %q, want %q", got, want)
	}
}
