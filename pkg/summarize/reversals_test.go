package summarize_test

import (
	"strings"
	"testing"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/summarize"
)

// talk is the summary of a conversation, without what was said last: "U: ...",
// "A: ...", "$ command", "> output", "! error", a message a line.
func talk(t *testing.T, lines ...string) string {
	t.Helper()
	before, _, _ := strings.Cut(told(t, lines...), "## Last exchanges")
	return before
}

// told is the whole summary of such a log.
func told(t *testing.T, lines ...string) string {
	t.Helper()
	var messages []*session.Message
	for _, line := range lines {
		switch said := line[2:]; line[:2] {
		case "U:":
			messages = append(messages, user(said[1:]))
		case "A:":
			messages = append(messages, agent(said[1:]))
		case "$ ":
			messages = append(messages, &session.Message{Role: session.RoleAssistant, Parts: []session.Part{call("c", "bash", `{"command":"`+said+`"}`)}})
		default:
			messages = append(messages, result("c", said, line[0] == '!'))
		}
	}
	return sum(t, summarize.Options{}, messages...).Text
}

// What a person takes back is not told as if it held, however they say it.
func TestReversals(t *testing.T) {
	for name, c := range map[string]struct {
		lines     []string
		gone, has string
	}{
		"the other of two that were offered": {[]string{"U: the two modules need each other, what now", "A: I could move `Ledger` to a module of its own, or import inside the function. Which one do you want?", "U: import inside the function for now", "A: Done that way.", "U: give Ledger a module of its own after all"}, "import inside the function", "give Ledger a module"},
		"what was said last":                 {[]string{"U: please set up the alarm", "A: Gladly. From which temperature on?", "U: use 8 degrees inside", "A: It is set.", "U: make that 5 degrees"}, "8 degrees", "5 degrees"},
		"a thing that is forbidden":          {[]string{"U: clean up the table please", "A: Shall I begin?", "U: always delete the imported rows", "A: I write a task.", "U: don't delete anything, there is a legal hold"}, "delete the imported rows", "legal hold"},
		"only until it was said":             {[]string{"U: the slot fills the disk, find the owner", "A: It is that of the export.", "U: don't drop it yet, I call them first", "A: I wait.", "U: they say it is an old one. drop it", "A: Dropped."}, "don't drop it yet", ""},
		"most of its words, after all":       {[]string{"U: load the stock from the old tables", "A: What about the negatives?", "U: we go with negative stock set to 0", "A: Loaded.", "U: about the negative stock, set nothing to zero after all"}, "go with negative stock", "after all"},
		"a choice that does not do":          {[]string{"U: the second node has no certificate, help", "A: I can copy or renew.", "U: let's use the file of the first node", "A: That will not do: the name of the node is in it.", "U: then go with a renewal by hand"}, "file of the first node", "renewal by hand"},
		"a day that is called off":           {[]string{"U: move the mail of the company", "A: When is the cut-over?", "U: the cut-over is on saturday 10 oct 06:00", "A: Noted.", "U: saturday is off, the warehouse counts. sunday 11 oct 06:00", "A: Noted."}, "saturday 10 oct", "sunday 11 oct"},
		"of an offer, after all":             {[]string{"U: here are the remarks on my chapter", "A: Two ways: reorder the sections by species, or keep the sites and add a comparison.", "U: we keep the sites and add the comparison", "A: It is added.", "U: she does not want that; it has to be by species after all"}, "keep the sites", "by species after all"},
		"what somebody does not like":        {[]string{"U: mend the contrast of the buttons", "A: With white the orange has to be darker; I could also make the letters black.", "U: we take black letters then, the orange stays", "$ edit", "> ok", "A: The buttons have black letters.", "U: The director finds black terrible. They allow #B85500 with white.", "A: Good."}, "take black letters", "#B85500 with white"},
		"part of a message":                  {[]string{"U: write the loader", "A: Which rules?", "U: always use 14 workers. never write to the old host", "A: It has 14.", "U: make it 4 workers"}, "14 workers", "never write to the old host"},
	} {
		t.Run(name, func(t *testing.T) {
			text := talk(t, c.lines...)
			if strings.Contains(text, c.gone) || !strings.Contains(text, c.has) {
				t.Errorf("%q stands there, or %q does not:\n%s", c.gone, c.has, text)
			}
		})
	}
}

// An order that is given again about something else ends nothing, whatever else is
// said in that message.
func TestOrdersAddUp(t *testing.T) {
	text := talk(t, "U: set up the importer", "A: Which rules?", "U: You must never forget rule 4.", "A: I will not.", "U: You must never forget rule 22. The importer moved for a reason.", "A: Noted.")
	for _, rule := range []string{"rule 4", "rule 22"} {
		if !strings.Contains(text, rule) {
			t.Errorf("%s is not told:\n%s", rule, text)
		}
	}
}

// A long statement of which a part was overtaken says where.
func TestPartlyOvertaken(t *testing.T) {
	text := talk(t, "U: move the prices", "A: As what?", "U: always decimal(12,4) for the prices, a comma becomes a point, and an empty one means NULL and not zero", "A: Done.", "U: make it decimal(14,6)")
	if !strings.Contains(text, "means NULL and not zero → line 6: make it decimal(14,6)") {
		t.Error(text)
	}
}

// A step is done by any word that says so.
func TestStepsDone(t *testing.T) {
	list := "A: What is still missing:\n- the train tickets\n- the indexes after loading\n- remove the ignore in taxes\n- make the job idempotent"
	for name, c := range map[string]struct {
		lines []string
		gone  string
	}{
		"in few words, by the person": {[]string{"U: tickets booked, 756 euros", "A: Good."}, "train tickets"},
		"its time is no part of it":   {[]string{"U: go on with the indexes", "$ make indexes", "> ok", "A: 14 indexes are built."}, "indexes after loading"},
		"given up":                    {[]string{"U: for the ignore: leave it", "A: Good."}, "remove the ignore"},
		"it is so now":                {[]string{"U: the job please", "$ edit", "> ok", "A: The job is idempotent now, it claims the row."}, "make the job idempotent"},
		"not in a later list":         {[]string{"U: and now", "A: What is left before you send it: the room list."}, "train tickets"},
	} {
		t.Run(name, func(t *testing.T) {
			text := talk(t, append([]string{"U: plan it", list}, c.lines...)...)
			_, steps, _ := strings.Cut(text, "## Next steps")
			steps, _, _ = strings.Cut(steps, "\n## ")
			if strings.Contains(steps, c.gone) {
				t.Error(text)
			}
		})
	}
}

// What has nothing to do with an offer of the agent is not ended by another choice
// from it.
func TestOtherOfferIsOfTheOffer(t *testing.T) {
	text := talk(t, "U: mend the page", "A: Findings:\n- the contrast of the buttons\n- the timer has no extension of minutes", "U: They allow to darken the orange on the web: #B85500 with white.", "A: Done.", "U: Then extension of 5 minutes, so it is 10 + 50 = 60.", "A: Done.")
	if !strings.Contains(text, "#B85500") {
		t.Error(text)
	}
}

// A failure that nobody came back to is told if nobody ever spoke of it, and is
// over if somebody did.
func TestFailuresNobodySpokeOf(t *testing.T) {
	rest := []string{"U: next thing", "A: Yes.", "U: and the other", "A: Sure.", "U: and one more", "A: Fine.", "U: thanks for that", "A: Gladly.", "U: one for the road", "A: Here."}
	failed := []string{"U: check the backups", "$ ./verify-last db-main", "! ERROR backup of 4 November incomplete"}
	if text := talk(t, append(append(failed[:3:3], "A: The silence was removed."), rest...)...); !strings.Contains(text, "4 November incomplete`, not mentioned again") {
		t.Error(text)
	}
	if text := talk(t, append(append(failed[:3:3], "A: The backup of November is incomplete, we make a new one."), rest...)...); strings.Contains(text, "incomplete`") {
		t.Error(text)
	}
}

// Work that went on without a word about a program, a file or a host that was
// missing found another way: such a failure is over.
func TestFailuresOfMeans(t *testing.T) {
	rest := []string{"A: Next.", "U: next thing", "A: Yes.", "U: and the other", "A: Sure.", "U: and one more", "A: Fine.", "U: go on", "A: Gladly.", "U: one for the road", "A: Here."}
	for failed, over := range map[string]bool{
		"bash: python3: command not found":      true,
		"Error opening data file nld.train":     true,
		"curl: (6) Could not resolve host: x.y": true,
		"ERROR backup of 4 November incomplete": false,
	} {
		text := talk(t, append([]string{"U: check it", "$ ./check all", "! " + failed}, rest...)...)
		if strings.Contains(text, "## Errors") == over {
			t.Errorf("%q is over: %v\n%s", failed, !over, text)
		}
	}
}

// A call that failed and was made again is put right.
func TestCallsMadeAgain(t *testing.T) {
	edit := func(id string) *session.Message { return agent("", call(id, "Edit", `{"file_path":"/src/a.md"}`)) }
	s := sum(t, summarize.Options{}, user("bring a.md up to date"), edit("1"), result("1", "File has not been read yet.", true), edit("2"), result("2", "done", false))
	if errors := section(s, "Errors"); len(errors) != 1 || !strings.Contains(errors[0], "worked later at line 6") {
		t.Errorf("%q", errors)
	}
}

// A request is a goal, and no decision, whatever the agent has listed before.
func TestRequestsDecideNothing(t *testing.T) {
	text := talk(t, "U: make an app", "A: Complete:\n- a header\n- a list\n- a filter", "U: Please update NOTES.md for what has changed")
	if strings.Contains(text, "## Decisions") {
		t.Error(text)
	}
}

// What the agent has done is told although it goes on with a call at once.
func TestDoneInPassing(t *testing.T) {
	text := talk(t, "U: set the limit", "$ set 400", "> ok", "A: The limit is 400 GB now and `max_keep` was loaded.", "$ ls", "> x", "A: Let me look around.", "$ ls", "> x")
	if !strings.Contains(text, "The limit is 400 GB now") {
		t.Error(text)
	}
}
