package summarize

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/sessctl/sessctl/pkg/session"
)

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

// S7.14: a summary without a model has the sections of seed 001 too, where a
// runtime goes on from it; what belongs into each stands in it.
func TestS7_14WithoutAModel(t *testing.T) {
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

// S7.14: what a model wrote is refused if one of the sections is missing.
func TestS7_14SectionsAreRequired(t *testing.T) {
	whole := "## Goal\nMove the importer.\n## Progress\n### Done\n- [x] read it\n## Key Decisions\n- port 7443\n## Next Steps\n1. test it\n## Critical Context\n- (none)\n"
	if err := checkStyle(order{style: StyleCheckpoint}, whole); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"Goal", "Progress", "Key Decisions", "Next Steps", "Critical Context"} {
		if err := checkStyle(order{style: StyleCheckpoint}, strings.Replace(whole, "## "+name+"\n", "", 1)); err == nil {
			t.Errorf("a summary without %q is taken", name)
		}
	}
}
