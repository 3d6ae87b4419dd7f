package summarize_test

import (
	"strings"
	"testing"

	"github.com/sessctl/sessctl/pkg/summarize"
)

// An answer early in a talk is quoted with its question; late in it, it is a decision.
func TestEarlyAnswersAreSaid(t *testing.T) {
	begin := []string{"U: make the height map of the valley", "A: It fits at 5 m, or in parts at 2 m. Which one do you want?", "U: at five metres please, like the confederation", "A: Good."}
	more := []string{"U: the disk is new", "A: Good.", "U: the bridge too", "A: Good.", "U: the gauge as well", "A: Good."}
	if text := talk(t, append(begin, more...)...); strings.Contains(text, "## Decisions") || !strings.Contains(text, "- at five metres please, like the confederation (asked: ") {
		t.Error(text)
	}
	if text := talk(t, append(append([]string{"U: help me with the map"}, more[1:]...), begin[1:]...)...); !strings.Contains(text, "## Decisions") {
		t.Error(text)
	}
}

// The time of something is no step: a step is what a person says that they will do.
func TestTimesAreNoSteps(t *testing.T) {
	for said, step := range map[string]bool{
		"coolblue has the disk in stock, tomorrow at noon":                     false,
		"the papers are on the server, I can't get them from the car tomorrow": false,
		"I'll ask the agency for the contract tomorrow":                        true,
		"I ask Wei for the node group on thursday":                             true,
	} {
		text := talk(t, "U: help me with the move of the server", "A: Gladly.", "U: "+said, "A: Good.")
		if strings.Contains(text, "## Next steps") != step {
			t.Errorf("%q is a step: %v\n%s", said, !step, text)
		}
	}
}

// What was never done is a report, and what goes on behind "and" no rule.
func TestNeverDoneIsNoRule(t *testing.T) {
	for said, rule := range map[string]bool{
		"we have the other primers, which we bought and never used":      false,
		"barter happens between two players and never with the bank":     false,
		"you may rename the cards and never change the numbers on them":  true,
		"i selected the theme and got a crash, that should never happen": false,
	} {
		text := talk(t, "U: help me with the page", "A: Gladly.", "U: "+said, "A: Good.")
		if strings.Contains(text, "## Constraints") != rule {
			t.Errorf("%q is a rule: %v\n%s", said, !rule, text)
		}
	}
}

// What stood in the way is told as a result only at the end of a talk; the sentences
// beside it are.
func TestPastHurdles(t *testing.T) {
	lines := []string{"U: apply the plan", "$ apply", "> ok", "A: The six teams of the plan are created. The nine repositories have to be placed by Ines."}
	if text := talk(t, lines...); !strings.Contains(text, "have to be placed by Ines") {
		t.Error(text)
	}
	for range 7 {
		lines = append(lines, "U: and the owners?", "A: They are listed.")
	}
	results, _, _ := strings.Cut(talk(t, lines...), "## Commands")
	if strings.Contains(results, "have to be placed by Ines") || !strings.Contains(results, "The six teams of the plan are created.") {
		t.Error(results)
	}
}

// A task from the middle of a talk is answered there, and no goal.
func TestLaterTasksAreNoGoals(t *testing.T) {
	lines := []string{"U: good"}
	for range 6 {
		lines = append(lines, "A: Good.", "U: fine")
	}
	lines = append(lines, "A: Good.", "U: we need a budget with sixteen sessions for both of the trainers of the project", "A: Good.")
	goals := func(lines []string) string {
		text, _, _ := strings.Cut(talk(t, lines...), "## Last exchanges")
		return text
	}
	if text := goals(lines); !strings.Contains(text, "## Goals") { // asked in the last two messages
		t.Error(text)
	}
	if text := goals(append(lines, "U: fine", "A: Good.", "U: fine", "A: Good.", "U: fine", "A: Good.")); strings.Contains(text, "## Goals") {
		t.Error(text)
	}
}

// What somebody only shows is no later word on anything: a program's trace, a log, code,
// a text with its title.
func TestShownIsNoLaterWord(t *testing.T) {
	for name, shown := range map[string]string{
		"a trace of JavaScript": "U: it crashed\n/home/lea/app/oauth/selector.ts:213\n        throw new Error(`the oauth selector theme is missing`);\n        ^\n\nError: the oauth selector theme is missing\n    at selector (/home/lea/app/oauth/selector.ts:213:9)\n    at main (/home/lea/app/main.ts:3:1)",
		"a trace of Python":     "U: it crashed\nTraceback (most recent call last):\n  File \"/app/oauth.py\", line 3, in selector\n    raise KeyError('oauth selector theme')",
		"a log":                 "U: it says\n2026-03-01 12:13:14 ERROR oauth selector theme not found",
		"code":                  "A: Like this:\n```\nconst oauth = selector(theme)\n```",
		"a document":            "A: Here it is:\n\n# The oauth selector\n\nThe theme of the oauth selector is dark.",
	} {
		t.Run(name, func(t *testing.T) {
			lines := []string{"U: look at the pages", "A: Good.", "U: the deadline of the oauth selector with its theme is 3 march", "A: Good.", shown, "U: mend it", "A: Good."}
			if text := talk(t, lines...); !strings.Contains(text, "its theme is 3 march (line 4)") {
				t.Error(text)
			}
		})
	}
}

// A question of the agent says nothing of what came of something.
func TestQuestionsAreNoLaterWord(t *testing.T) {
	text := talk(t, "U: the texts", "A: Yes.", "U: the deadline of the truncated texts is friday, talk to Wei", "A: Good.", "U: go on", "A: Should truncated texts end with dots, or does Wei know?", "U: hm", "A: Good.")
	if !strings.Contains(text, "talk to Wei (line 4)") {
		t.Error(text)
	}
}

// What the agent said before the last word of its person is not in progress.
func TestAnsweredIsNotInProgress(t *testing.T) {
	s := sum(t, summarize.Options{Checkpoint: true}, user("why is it silent?"), agent("Chrome suspends the audio of hidden tabs."), user("mend that before 20:00"))
	progress := s.Text[strings.Index(s.Text, "### In Progress"):strings.Index(s.Text, "### Blocked")]
	if strings.Contains(progress, "Chrome suspends") || !strings.Contains(progress, "before 20:00") {
		t.Error(s.Text)
	}
}

// The last word of a person is in progress if it asks for something or puts it off.
// What it only tells is to be known.
func TestToldIsNotInProgress(t *testing.T) {
	for said, progress := range map[string]bool{
		"Send the list to Karin":                 true,
		"does the bank have to be told?":         true,
		"the prices I look up tomorrow":          true,
		"The money goes to her son in Valencia":  false,
		"Stop rule: one bad evening is the end.": false,
	} {
		s := sum(t, summarize.Options{Checkpoint: true}, user("how much is it?"), agent("It is 400 euro."), user(said))
		at, blocked := strings.Index(s.Text, "### In Progress"), strings.Index(s.Text, "### Blocked")
		if strings.Contains(s.Text[at:blocked], said) != progress || !strings.Contains(s.Text, said) {
			t.Errorf("%q is in progress: %v\n%s", said, !progress, s.Text)
		}
	}
}

// A line that names a statement later is told by its number alone, unless it only asks.
func TestNamedLater(t *testing.T) {
	lines := []string{"U: look at the pages", "A: Good.", "U: the flume gets a new sluice by 3 march, from Jonas", "A: Good.", "U: and the dog?", "A: It sleeps.", "U: now the paint", "A: Blue."}
	for last, want := range map[string]string{
		"U: Wendy lost a shoe in the sluice": "Jonas → line 10 (line 4)",
		"U: is the sluice wet?":              "Jonas (line 4)",
		"U: the shoes are wet":               "Jonas (line 4)",
	} {
		if text := talk(t, append(lines[:8:8], last, "A: Oh.", "U: well", "A: Yes.")...); !strings.Contains(text, want) {
			t.Errorf("after %q:\n%s", last, text)
		}
	}
}

// Of the lines that name a statement later the two likeliest are told: near ones before
// far ones that say as much of it.
func TestLikelyLines(t *testing.T) {
	lines := []string{"U: look at the pages", "A: Good.", "U: the flume gets a new sluice by 3 march, from Jonas", "A: Good.", "U: and the dog?", "A: It sleeps.", "U: now the paint", "A: Blue.",
		"U: Wendy lost a shoe in the sluice", "A: Oh.", "U: Mara liked the sluice a lot", "A: Fine.", "U: the sluice squeaks at night", "A: Oh.", "U: well", "A: Yes."}
	if text := talk(t, lines...); !strings.Contains(text, "from Jonas → line 10 → line 12 (line 4)") {
		t.Error(text)
	}
	lines[12] = "U: the sluice of the flume squeaks since Jonas"
	if text := talk(t, lines...); !strings.Contains(text, "from Jonas → line 14: the sluice of the flume squeaks since Jonas → line 10 → line 12 (line 4)") {
		t.Error(text)
	}
}
