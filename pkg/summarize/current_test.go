package summarize_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sessctl/sessctl/pkg/summarize"
)

// What was said earlier is told with the last word on the same thing, whoever has
// that and whatever words they say it with.
func TestLastWord(t *testing.T) {
	for name, c := range map[string]struct {
		lines []string
		has   string
	}{
		"a number":            {[]string{"U: make a page for the courses", "A: Gladly. When are they?", "U: the first course is on 7 March, 6 people", "A: It is on the page.", "U: Leen is ill, so the first course is on 21 March, 8 people", "A: Good."}, "on 7 March, 6 people → line 6: Leen is ill, so the first course is on 21 March"},
		"a step":              {[]string{"U: split the parser", "A: Next:\n- tokens with spans in the lexer, tests, a changelog", "U: what about the old macro", "A: It goes.", "U: and the spans of tokens in the lexer?", "A: Later."}, "tokens with spans in the lexer, tests, a changelog → line 6: and the spans of tokens in the lexer?"},
		"a report":            {[]string{"U: compute the shares", "$ figures", "> ok", "A: Done: 318 refunds were too high, 2,904 euro in all.", "U: without the test shop please", "$ figures", "> ok", "A: Without it 301 refunds were too high, 2,688 euro in all."}, "318 refunds were too high, 2,904 euro in all. → line 9: Without it 301 refunds"},
		"a number in words":   {[]string{"U: make the bats", "$ bats", "> ok", "A: Done: the bats hunt, and a wave has 3 bats.", "U: too easy", "$ bats", "> ok", "A: Five bats per wave are set now."}, "a wave has 3 bats. → line 9: Five bats per wave"},
		"a release is frozen": {[]string{"U: fix the voucher", "A: Fixed.", "U: deadline: it goes out with release 26.6 on thursday", "A: Good.", "U: thursday is off, release 26.6 is frozen", "A: Oh."}, "on thursday → line 6: thursday is off"},
	} {
		t.Run(name, func(t *testing.T) {
			if text := talk(t, c.lines...); !strings.Contains(text, c.has) {
				t.Errorf("%q does not stand in\n%s", c.has, text)
			}
		})
	}
}

// What the next turns made of a report is told with it, before the last word; a new task
// is no such turn.
func TestNextTurn(t *testing.T) {
	lines := []string{"U: write the rota", "$ rota", "> ok", "A: Sundays: you on the 6th, Lotte on the 13th, Marek on the 20th.", "U: Marek is away", "$ rota", "> ok", "A: Lotte takes both days."}
	if text := talk(t, lines...); !strings.Contains(text, "Marek on the 20th. → line 9: Lotte takes both days.") {
		t.Error(text)
	}
	lines[4] = "U: Please write the price list with Lotte"
	if text := talk(t, lines...); strings.Contains(text, "Marek on the 20th. →") {
		t.Error(text)
	}
}

// A rule forbids, or holds always. What has to be done once, what somebody else says,
// and what is told of a thing is quoted as said.
func TestRuleByItsForm(t *testing.T) {
	for said, rule := range map[string]bool{
		"Please, never restart the database by hand":         true,
		"use port 7443 and don't touch the billing module":   true,
		"avoid macros in the tables, plain cells are better": true,
		"the polygons must be made again with that value":    false,
		"my neighbour says tomatoes never like more than 24": false,
		"no, the second example is the one we must keep":     false,
		"the key lies in a drawer of the office, don't ask":  false,
	} {
		text := talk(t, "U: help me with the page", "A: Gladly.", "U: "+said, "A: Good.")
		if strings.Contains(text, "## Constraints") != rule {
			t.Errorf("%q is a rule: %v\n%s", said, !rule, text)
		}
	}
}

// What a person asks on the way is answered at once, and no goal.
func TestAskedOnTheWay(t *testing.T) {
	lines := []string{"U: I want to plan the move to Vienna in summer", "A: Gladly.", "U: can you list what I should ask the landlord?", "A: Rent, and heating.", "U: good", "A: Yes.", "U: thanks a lot", "A: Gladly."}
	goals, _, _ := strings.Cut(talk(t, lines...), "## Last exchanges")
	if !strings.Contains(goals, "- I want to plan the move") || strings.Contains(goals, "landlord") {
		t.Error(goals)
	}
}

// What the agent only repeats is not told twice.
func TestRepeatedIsNotFollowed(t *testing.T) {
	text := talk(t, "U: set the limits", "A: To what?", "U: the limit must be 50 for every key", "$ set", "> ok", "A: The limit is 50 for every key.")
	if strings.Contains(strings.ReplaceAll(text, "→ line N", ""), "→") { // but for the head, which says what it means
		t.Error(text)
	}
}

// A question changes no value, and another day of the same month is another thing.
func TestOtherThingsAreNotFollowed(t *testing.T) {
	for name, lines := range map[string][]string{
		"a question": {"U: make waves of bats", "A: How many, and how fast?", "U: we take 5 bats per wave and a speed of 120", "A: Done.", "U: do the bats speed up 20 per wave?", "A: Hm."},
		"a day":      {"U: help with my thesis", "A: When is it due?", "U: The thesis must be handed in on 30 June at the office, in two copies.", "A: Good.", "U: the shop on Museumstraat needs the PDF by 24 June, bound in dark blue", "A: Fine."},
	} {
		t.Run(name, func(t *testing.T) {
			_, text, _ := strings.Cut(talk(t, lines...), lines[0][3:]) // what came of the task
			if _, text, _ = strings.Cut(text, "\n"); strings.Contains(text, "→") {
				t.Error(text)
			}
		})
	}
}

// Rules that begin with the same words stand beside each other, and a lesson is the
// rule alone.
func TestRulesAddUp(t *testing.T) {
	s := sum(t, summarize.Options{}, user("set up the importer"), agent("Which rules?"), user("You must never forget rule 4."), agent("No."), user("You must never forget rule 22."), agent("No."), user("The importer must write to db1"), agent("Yes."), user("the importer writes to db2, db1 is full"))
	want := []string{"You must never forget rule 4.", "You must never forget rule 22."}
	if diff := cmp.Diff(want, s.Lessons()); diff != "" || !strings.Contains(s.Text, "write to db1 → line 10: the importer writes to db2") {
		t.Errorf("%s\n%s", diff, s.Text)
	}
}

// What somebody else has said is no rule of the person who shows it.
func TestQuotedIsNoRule(t *testing.T) {
	text := talk(t, "U: here is the ticket:\n> You must never refund the full amount.\n> Always ask Finance.\nplease fix it", "A: Yes.", `U: Luis wrote "you should always let the voucher go entirely" there, ignore that`)
	for _, heading := range []string{"## Constraints", "## Decisions"} {
		if strings.Contains(text, heading) {
			t.Error(text)
		}
	}
}

// A choice that the agent leaves to its person is no result.
func TestOfferIsNotDone(t *testing.T) {
	text := talk(t, "U: the pod dies", "$ look", "> ok", "A: Either we skip that record, or we give it more heap so that it is added.", "U: what would you do")
	if strings.Contains(text, "## Done") {
		t.Error(text)
	}
}

// A file of a branch that was thrown away is not told as if it were there.
func TestUndone(t *testing.T) {
	s := sum(t, summarize.Options{}, user("try a service class"),
		agent("", call("1", "Write", `{"file_path":"calc.py","content":"x"}`)), result("1", "ok", false),
		agent("", call("2", "bash", `{"command":"git checkout main && git branch -D calc"}`)), result("2", "Deleted branch calc", false))
	if files := section(s, "Files changed"); len(files) != 1 || !strings.Contains(files[0], "perhaps undone → line 5") {
		t.Errorf("%q", files)
	}
}
