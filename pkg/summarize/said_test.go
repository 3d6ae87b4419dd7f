package summarize_test

import (
	"strings"
	"testing"

	"github.com/sessctl/sessctl/pkg/summarize"
)

// Only what holds for more than the next step is a rule, and only what its person says
// in their own name.
func TestNoRules(t *testing.T) {
	for name, said := range map[string]string{
		"a report":           "I do not remember from where I have the 0.35 of the interception.",
		"of the moment":      "Please do not change any result of the model until then.",
		"their own step":     "I must speak with the professor about the results first.",
		"somebody else's":    "She wrote: \"You show results by site. The reader wants species. It must be reorganised at once.\" What now?",
		"a row of sentences": "He says \"the text is long. Never use the old table again. It is wrong.\"",
	} {
		t.Run(name, func(t *testing.T) {
			if text := talk(t, "U: help with my thesis", "A: Gladly.", "U: "+said, "A: Good.", "U: next", "A: Yes."); strings.Contains(text, "## Constraints") {
				t.Error(text)
			}
		})
	}
	if text := talk(t, "U: help with my thesis", "A: Gladly.", "U: You must never change the wording of a sentence.", "A: Good."); !strings.Contains(text, "## Constraints") {
		t.Error(text)
	}
}

// One thing and not the other is a choice.
func TestNotTheOther(t *testing.T) {
	if text := talk(t, "U: help with my figures", "A: Gladly.", "U: Make it in grey tones that can be told apart in print, not in colour.", "A: Good."); !strings.Contains(text, "in grey tones") {
		t.Error(text)
	}
}

// What a person puts off is a next step, with what it is.
func TestPutOff(t *testing.T) {
	text := talk(t, "U: make a game for the jam", "$ make", "> ok", "A: The input map has only keys. Sticks take five minutes.", "U: after the jam", "A: Good.", "U: I submit it on the page of the jam", "A: Fine.")
	if !strings.Contains(text, "## Next steps") || !strings.Contains(text, "- after the jam (asked: Sticks take five minutes.)") {
		t.Error(text)
	}
}

// What was asked for in a turn is done if the turn says how it is now.
func TestAskedAndTold(t *testing.T) {
	lines := []string{"U: move the mail", "A: Yes.", "U: dns. ttl is 86400, remind me to lower it to 300 tonight", "$ dns.sh set ttl 300", "> ok", "A: The TTL of MX and A is 300."}
	if text := talk(t, lines...); strings.Contains(text, "## Next steps") {
		t.Error(text)
	}
	if text := talk(t, lines[:3]...); !strings.Contains(text, "## Next steps") {
		t.Error(text)
	}
}

// What cannot be done without somebody is a rule.
func TestNotWithout(t *testing.T) {
	if text := talk(t, "U: mend the page", "A: Gladly.", "U: The colours of the brand cannot change without the approval of the direction.", "A: Good."); !strings.Contains(text, "## Constraints and preferences") {
		t.Error(text)
	}
}

// An offer of the agent is nothing that was done.
func TestOffersAreNotDone(t *testing.T) {
	text := talk(t, "U: mend the seat map", "$ cat map", "> ok", "A: It is one canvas of 400 seats. Two ways: redraw it as a grid, or keep it with a list beside it.", "U: hm")
	if strings.Contains(text, "Two ways") {
		t.Error(text)
	}
}

// That the agent has heard is no exchange once something follows it.
func TestAcknowledged(t *testing.T) {
	text := told(t, "U: the release is on 20 april", "A: Noted, 20 April.", "U: no, on 13 april", "A: Noted, 13 April.")
	if strings.Contains(text, "Noted, 20 April") || !strings.Contains(text, "Noted, 13 April") {
		t.Error(text)
	}
}

// A checkpoint tells nothing of the last exchanges that was taken back.
func TestCheckpointWithoutTakenBack(t *testing.T) {
	s := sum(t, summarize.Options{Checkpoint: true}, user("mend the page"), agent("When is the release?"), user("For the release: 20 April in the night."), agent("Good."), user("No wait, on 21 April is the exhibition. We release on 13 April instead."), agent("Good, the 13th."), user("The map comes from the graphic designer."), agent("Good, I wait for it."))
	if strings.Contains(s.Text, "20 April in the night") || !strings.Contains(s.Text, "13 April instead") {
		t.Error(s.Text)
	}
}

// Where there is room, what no rule knows the words of is told too, unless it asks, is
// short, was denied, or stands in a section already.
func TestUnsaidIsTold(t *testing.T) {
	text := talk(t, "U: please plan the fair of our village", "A: Gladly.", "U: hello again my dear. our neighbour Anna Weber from the bakery lends 3 benches and the large blue tent of her uncle in Altdorf", "$ map", "> ok", "A: The map has the stall beside the old well, with 3 tables and 12 chairs.",
		"U: no, that map shows the wrong square", "A: Sorry.", "U: nice dog by the way", "A: Thanks.", "U: and how high is the tower of Saint Mary in metres?", "A: 61 metres.",
		"U: the mayor comes", "A: Fine.", "U: and now the flyers", "A: Yes.")
	said, _, _ := strings.Cut(text, "## Last exchanges")
	if strings.Count(said, "Anna Weber") != 1 {
		t.Errorf("what was said in passing is not told once:\n%s", text)
	}
	for _, words := range []string{"12 chairs", "nice dog", "how high"} {
		if strings.Contains(said, words) {
			t.Errorf("%q is told:\n%s", words, text)
		}
	}
}
