package summarize

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sessctl/sessctl/pkg/session"
	"pgregory.net/rapid"
)

// However the items are written, the prose of a summary has two to five
// sentences.

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
		for _, heading := range checkpointHeadings() {
			i := strings.Index(text[at:]+"\n", "\n"+heading+"\n")
			if i < 0 || strings.Count(text+"\n", "\n"+heading+"\n") != 1 {
				t.Fatalf("the heading %q is missing, twice there or not in its place:\n%s", heading, text)
			}
			at += i
		}
	})
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

// moved is a session in the middle of its work, with a plan.
func moved() []*session.Message {
	fine, failed := saying(session.RoleToolResult, "edited"), saying(session.RoleToolResult, "Error: permission denied")
	fine.CallID = []byte("1")
	failed.CallID, failed.IsError = []byte("2"), true
	return []*session.Message{
		saying(session.RoleUser, "Please move the importer to another port. You must never restart the database."),
		using("0", "TodoWrite", `{"todos":[{"content":"Find a free port","status":"completed"},{"content":"Change the config","status":"in_progress"},{"content":"Update the dashboard","status":"pending"}]}`),
		using("1", "edit", `{"path":"importer/config.yaml"}`), fine, using("2", "bash", `{"command":"systemctl restart importer"}`), failed,
		saying(session.RoleAssistant, "Port 7443 is free, and 7444 is not. Shall I take 7443?"),
		saying(session.RoleUser, "Yes, take 7443 for it."),
		saying(session.RoleAssistant, "It is 7443 now. Which dashboard do you mean?"),
	}
}

// A summary without a model has the sections of a checkpoint too, where a
// runtime goes on from it; what belongs into each stands in it.
func TestCheckpointWithoutAModel(t *testing.T) {
	text := checkpointOf(t, 3000, moved()...)
	const want = `## Goal
- Please move the importer to another port.
- Yes, take 7443 for it. [9]
## Constraints & Preferences
- You must never restart the database. [2]
## Progress
### Done
- [x] Find a free port [3]
- [x] importer/config.yaml edited [4]
### In Progress
- [ ] Change the config [3]
- [ ] It is 7443 now. Which dashboard do you mean? [10]
### Blocked
- $ systemctl restart importer → failed: Error: permission denied [6]
## Key Decisions
- Yes, take 7443 for it. (asked: Shall I take 7443?) [9]
## Next Steps
1. Update the dashboard [3]
1. Which dashboard do you mean? [10]
## Critical Context`
	rest := text
	for line := range strings.Lines(want) {
		_, after, found := strings.Cut(rest, strings.TrimSpace(line))
		if !found {
			t.Fatalf("%q is missing or not in its place:\n%s", line, text)
		}
		rest = after
	}
}

// summedUp is the summary of messages, a line each from 2 on.
func summedUp(t *testing.T, o Options, messages ...*session.Message) Summary {
	t.Helper()
	e := NewExtractive(o)
	for i, m := range messages {
		m.Ordinal, m.Line = i, i+2
		if err := e.Add(m); err != nil {
			t.Fatal(err)
		}
	}
	return e.Summary()
}

// TestStateComesFirst: whoever reads the first 800 characters knows where the work stands.
func TestStateComesFirst(t *testing.T) {
	for _, n := range []int{800, 2000, 10_000} {
		text := summedUp(t, Options{MaxRunes: n}, moved()...).Text
		head := text[:min(len(text), 800)]
		for _, want := range []string{"## Where it stands", "[>] Change the config", "[ ] Update the dashboard", "Yes, take 7443 for it.", "It is 7443 now."} {
			if !strings.Contains(head, want) {
				t.Errorf("%d: no %q in\n%s", n, want, head)
			}
		}
	}
}

// TestLaterWord: what people said later on the same is told with what they said.
func TestLaterWord(t *testing.T) {
	text := summedUp(t, Options{},
		saying(session.RoleUser, "The backups of the falcon shop must always be kept for 90 days."),
		saying(session.RoleAssistant, "They are kept."), saying(session.RoleUser, "What is the weather like in the town?"), saying(session.RoleAssistant, "It rains."),
		saying(session.RoleUser, "I changed my mind: keep the backups of the falcon shop for 7 days."), saying(session.RoleAssistant, "Good."), saying(session.RoleUser, "And who closes?"), saying(session.RoleAssistant, "Lea.")).Text
	if want := "must always be kept for 90 days. → line 6: I changed my mind: keep the backups"; !strings.Contains(text, want) {
		t.Errorf("no %q in\n%s", want, text)
	}
}

// TestBeside: what stays beside a summary is not told again, and the state is that
// after it.
func TestBeside(t *testing.T) {
	e := NewExtractive(Options{})
	all := moved()
	for i, m := range all {
		m.Ordinal, m.Line = i, i+2
		add := e.Add
		if i >= 6 {
			add = e.Beside
		}
		if err := add(m); err != nil {
			t.Fatal(err)
		}
	}
	text := e.Summary().Text
	for _, want := range []string{"[>] Change the config", "Please move the importer", "systemctl restart importer"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	for _, no := range []string{"7444", "Which dashboard", "take 7443"} {
		if strings.Contains(text, no) {
			t.Errorf("%q stays, and stands in\n%s", no, text)
		}
	}
}

// TestPlacesAreTrue: whatever a summary quotes stands in the line that it names.
func TestPlacesAreTrue(t *testing.T) {
	messages := moved()
	for _, section := range summedUp(t, Options{}, messages...).Sections {
		for _, item := range section.Items {
			text, _, _ := strings.Cut(item.Text, " (asked")
			text = strings.TrimPrefix(strings.TrimPrefix(text, "User: "), "Agent: ")
			m := messages[item.Line-2]
			if m.Role <= session.RoleAssistant && len(m.Parts) == 1 && m.Parts[0].Kind == session.PartText && !strings.Contains(string(m.Parts[0].Text), text) {
				t.Errorf("%s: line %d does not say %q", section.Title, item.Line, text)
			}
		}
	}
}

// TestFocus: what has the words of the focus is in the summary.
func TestFocus(t *testing.T) {
	messages := func() (all []*session.Message) {
		for i := range 200 {
			all = append(all, saying(session.RoleUser, fmt.Sprintf("Please implement feature number %d of the program.", i)), saying(session.RoleAssistant, fmt.Sprintf("Feature%d is implemented in the file feature_%d.go of the program.", i, i)))
		}
		all[60] = saying(session.RoleUser, "The heron lives by the lake of the little town.")
		return all
	}
	if text := summedUp(t, Options{MaxRunes: 900}, messages()...).Text; strings.Contains(text, "heron lives") {
		t.Error("the test does not test: the heron is there without a focus")
	}
	if text := summedUp(t, Options{MaxRunes: 900, Focus: "Heron"}, messages()...).Text; !strings.Contains(text, "The heron lives by the lake") {
		t.Error(text)
	}
}

// TestLoss: the names that the summary lacks are counted, those that were used last and
// most are named below it, and no secret is.
func TestLoss(t *testing.T) {
	var messages []*session.Message
	for i := range 400 {
		done := saying(session.RoleToolResult, fmt.Sprintf("found part%d.csv in hot_cache_%d, password=hunter2222", i, i))
		done.CallID = fmt.Append(nil, i)
		messages = append(messages, saying(session.RoleUser, "Please look once more."), using(fmt.Sprint(i), "lookup", fmt.Sprintf(`{"where":"/srv/data/part%d.csv lib/core_%d.go"}`, i, i)), done)
	}
	s := summedUp(t, Options{MaxRunes: 2500}, messages...)
	_, index, found := strings.Cut(s.Text, "## Also in the log")
	if !found || s.Indexed == 0 || s.Lost < s.Indexed || s.Identifiers < s.Lost || s.Identifiers < 1200 {
		t.Errorf("%d names, %d lost, %d in the index:\n%s", s.Identifiers, s.Lost, s.Indexed, s.Text)
	}
	if strings.Count(index, ",")+1 != s.Indexed || strings.Contains(s.Text, "hunter") {
		t.Errorf("%d in the index:\n%s", s.Indexed, s.Text)
	}
}

// TestProse: two to five sentences in the third person, none of them twice, with what is
// open; and the rules that people set.
func TestProse(t *testing.T) {
	s := summedUp(t, Options{}, moved()...)
	prose := s.Prose()
	for _, want := range []string{"The user asked:", "Unfinished: “Change the config”.", "The assistant said last: “It is 7443 now;"} {
		if !strings.Contains(prose, want) {
			t.Errorf("no %q in %s", want, prose)
		}
	}
	if got := s.Lessons(); len(got) != 1 || got[0] != "You must never restart the database." {
		t.Errorf("lessons %q", got)
	}
	if got := (Summary{}).Prose(); got != "" {
		t.Errorf("prose of nothing: %q", got)
	}
}

// However people write, the prose of a talk has two to five sentences.
func TestProseHasTwoToFiveSentences(t *testing.T) {
	words := rapid.SampledFrom([]string{
		"We decided to use four sections", "Is that ok? We decided on four. It is done!", "First this. Then that. Then more; e.g. a file. And so on.",
		"thanks. Good. Great. Fine. Yes.", "ok", "`x.go`: it fails… Always", "我们决定用四个部分。很好！明天继续。", strings.Repeat("Long words. ", 60), "You must never do “that”. Never!",
	})
	rapid.Check(t, func(t *rapid.T) {
		e := NewExtractive(Options{})
		for i := range rapid.IntRange(2, 9).Draw(t, "messages") {
			m := saying(session.RoleUser, words.Draw(t, "text"))
			if i%2 == 1 {
				m = saying(session.RoleAssistant, words.Draw(t, "text"))
			}
			m.Line, m.Ordinal = i+1, i
			if err := e.Add(m); err != nil {
				t.Fatal(err)
			}
		}
		prose := e.Summary().Prose()
		if n := len(splitSentences(prose)); n > maxSentences || n < 1 {
			t.Fatalf("%d sentences: %s", n, prose)
		}
	})
}

// TestThirdPersonWithoutAModel: a summary in prose has no heading, tells who said what, and no sentence
// twice.
func TestThirdPersonWithoutAModel(t *testing.T) {
	text := summedUp(t, Options{ThirdPerson: true, MaxRunes: 3000}, moved()...).Text
	_, prose, _ := strings.Cut(text, "\n\n")
	for _, want := range []string{"The user asked: “Please move the importer", "The user answered: “Yes, take 7443", "Unfinished are: “Change the config” (line 3); “Update the dashboard”", "The assistant said last: “It is 7443 now."} {
		if !strings.Contains(prose, want) {
			t.Errorf("no %q in\n%s", want, prose)
		}
	}
	if body, _, _ := strings.Cut(prose, indexTitle); strings.Contains(body, "\n#") || strings.Contains(body, "\n- ") {
		t.Errorf("there are headings or lists in\n%s", prose)
	}
}

// TestCommonplaceNames: what every log has tells nothing of this one.
func TestCommonplaceNames(t *testing.T) {
	for name, want := range map[string]bool{
		"/dev/null": true, "text/html": true, "HTTP/2": true, "http/1.1": true, "UTF-8": true, "application/json": true, "image/svg+xml": true,
		"/dev/shm/cache": false, "text/intro.md": false, "application/web/main": false, "/text/html": false, "http/server": false, "dev/null": false, "config.yaml": false, "utf8.go": false,
	} {
		if got := isCommonplace(name); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
