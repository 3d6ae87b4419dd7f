package summarize

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sessctl/sessctl/pkg/session"
	"pgregory.net/rapid"
)

// Prose has two to five sentences; lessons are rules that people gave.
func TestProseAndLessons(t *testing.T) {
	s := Summary{Sections: []Section{
		{Title: "Goals", Items: []Item{{Text: "Plan the board update"}, {Text: "second"}}},
		{Title: constraintsTitle, Items: []Item{{Text: "- You must never  delete backups."}, {Text: "never"}, {Text: "You must never delete backups."}, {Text: strings.Repeat("x", 400)}}},
		{Title: decisionsTitle, Items: []Item{{Text: "We will use `four` sections."}, {Text: "Ads come first → line 9: no ads"}, {Text: "Financials come last! → line 9 → line 12"}, {Text: "third"}}},
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
// sentences.
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
		if err := checkStyle(order{style: session.StyleSentences}, strings.TrimSpace(text)); (err == nil) != ok {
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

func checkpointOf(t rapid.TB, most int, messages ...*session.Message) string {
	t.Helper()
	e := NewExtractive(Options{MaxRunes: most, Checkpoint: true})
	for i, m := range messages {
		m.Ordinal, m.Line = i, i+2
		if err := e.Add(m); err != nil {
			t.Fatal(err)
		}
	}
	return e.Summary().Text
}

func saying(role session.Role, text string) *session.Message {
	return &session.Message{Role: role, Parts: []session.Part{{Kind: session.PartText, Text: []byte(text)}}}
}

func using(id, tool, arguments string) *session.Message {
	return &session.Message{Role: session.RoleAssistant, Parts: []session.Part{{
		Kind: session.PartToolCall, CallID: []byte(id), Name: []byte(tool), Text: []byte(arguments),
	}}}
}

// A summary without a model has the sections of a checkpoint too, where a
// runtime goes on from it; what belongs into each stands in it.
func TestCheckpointWithoutAModel(t *testing.T) {
	fine, failed := saying(session.RoleToolResult, "edited"), saying(session.RoleToolResult, "Error: permission denied")
	fine.CallID = []byte("1")
	failed.CallID, failed.IsError = []byte("2"), true
	text := checkpointOf(t, 3000,
		saying(session.RoleUser, "Please move the importer to another port. You must never restart the database."),
		using("1", "edit", `{"path":"importer/config.yaml"}`), fine, using("2", "bash", `{"command":"systemctl restart importer"}`), failed,
		saying(session.RoleAssistant, "We decided to use port 7443 for the importer. Next step: update the monitoring dashboard."))
	const want = `## Goal
- Please move the importer
## Constraints & Preferences
- You must never restart the database.
## Progress
### Done
- [x] §importer/config.yaml§
- [ ] §systemctl restart importer§ failed
### In Progress
- [ ] **User**: Please move
### Blocked
permission denied
## Key Decisions
- We decided to use port 7443
## Next Steps
1. Next step: update
## Critical Context
- (none)`
	rest := text
	for _, line := range strings.Split(strings.ReplaceAll(want, "§", "`"), "\n") {
		_, after, found := strings.Cut(rest, line)
		if !found {
			t.Fatalf("%q is missing or not in its place:\n%s", line, text)
		}
		rest = after
	}
}

// Whatever is summed up, however short: all headings stand there once, in their
// order, within the length.
func TestCheckpointFits(t *testing.T) {
	words := rapid.SampledFrom([]string{
		"We decided to use port 7443.", "You must never restart it.", "Next I will look at the logs of it.", "## Goal", "- [x] done", "Is it open?",
		"日本語の文です。", strings.Repeat("a long tale ", 80), "Error: no such file or directory: x.go",
	})
	rapid.Check(t, func(t *rapid.T) {
		var messages []*session.Message
		for i := range rapid.IntRange(1, 30).Draw(t, "messages") {
			switch text := words.Draw(t, "text"); rapid.IntRange(0, 4).Draw(t, "kind") {
			case 0, 1:
				messages = append(messages, saying(session.RoleUser, text))
			case 2:
				messages = append(messages, saying(session.RoleAssistant, text))
			case 3:
				messages = append(messages, using(fmt.Sprint(i), rapid.SampledFrom([]string{"read", "edit", "bash"}).Draw(t, "tool"), fmt.Sprintf(`{"path":"dir/file%d.go","command":"make %d"}`, i, i)))
			case 4:
				messages = append(messages, saying(session.RoleSummary, checkpointOf(t, 1500, saying(session.RoleUser, text))))
			}
		}
		most := rapid.IntRange(600, 4000).Draw(t, "most")
		text := checkpointOf(t, most, messages...)
		if n := utf8.RuneCountInString(text); n > most {
			t.Fatalf("%d code points, bound %d", n, most)
		}
		at := 0
		for _, part := range checkpointParts() {
			i := strings.Index(text[at:], "\n"+part.heading+"\n")
			if i < 0 || strings.Count(text, "\n"+part.heading+"\n") != 1 {
				t.Fatalf("the heading %q is missing, twice there or not in its place:\n%s", part.heading, text)
			}
			at += i
		}
	})
}

// Marks of lists take up space too: with nothing but small items the last
// heading still fits.
func TestCheckpointOfManyItems(t *testing.T) {
	var messages []*session.Message
	for i := range 120 {
		done := saying(session.RoleToolResult, "edited")
		done.CallID = fmt.Append(nil, i)
		messages = append(messages, using(fmt.Sprint(i), "edit", fmt.Sprintf(`{"path":"f%d"}`, i)), done)
	}
	for most := 700; most < 2500; most += 7 {
		text := checkpointOf(t, most, messages...)
		if n := utf8.RuneCountInString(text); n > most || !strings.HasSuffix(text, "\n## Critical Context\n- (none)") {
			t.Fatalf("%d code points of %d, ends in %q", n, most, text[len(text)-60:])
		}
	}
}

// What a model wrote is refused if one of the sections is missing.
func TestCheckpointSectionsAreRequired(t *testing.T) {
	whole := "## Goal\nMove the importer.\n## Progress\n### Done\n- [x] read it\n## Key Decisions\n- port 7443\n## Next Steps\n1. test it\n## Critical Context\n- (none)\n"
	if err := checkStyle(order{style: session.StyleCheckpoint}, whole); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"Goal", "Progress", "Key Decisions", "Next Steps", "Critical Context"} {
		if err := checkStyle(order{style: session.StyleCheckpoint}, strings.Replace(whole, "## "+name+"\n", "", 1)); err == nil {
			t.Errorf("a summary without %q is taken", name)
		}
	}
}
