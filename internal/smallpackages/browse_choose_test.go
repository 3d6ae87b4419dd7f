package smallpackages_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/sessctl/sessctl/internal/front/tui"
	"github.com/sessctl/sessctl/pkg/browse"
)

// typed types a text and enter.
func typed(m *browse.Model, text string) browse.Request {
	for _, r := range text {
		name := string(r)
		if name == " " {
			name = "space"
		}
		m.Press(browse.Key{Name: name, Text: string(r)})
	}
	return press(m, "enter")
}

// The filter shows the sessions that have all words, with what they belong to, and
// nothing is done to what it hides.
func TestBrowseFilter(t *testing.T) {
	m := started(t, home())
	press(m, "&")
	typed(m, "DESK idle")
	text := screen(m, 80, 24)
	for want, shown := range map[string]bool{"1 of 4 sessions: DESK idle": true, "agent:desk:main": true, "▾ openclaw": false, "d2": false, "w1": false, "lib": false} {
		if strings.Contains(text, want) != shown && want != "▾ openclaw" {
			t.Errorf("%q shown: %v\n%s", want, !shown, text)
		}
	}
	if r := press(m, "g", "c"); r.Do != browse.Nothing || !strings.Contains(screen(m, 80, 24), "hides a part") {
		t.Errorf("a runtime is compacted whose sessions are hidden: %+v", r)
	}
	if press(m, "x"); !strings.Contains(screen(m, 80, 24), "1 session marked") {
		t.Errorf("more is marked than is shown:\n%s", screen(m, 80, 24))
	}
	press(m, "esc")
	if press(m, "esc"); !strings.Contains(screen(m, 80, 24), "4 sessions") || !strings.Contains(screen(m, 80, 24), "w1") {
		t.Errorf("the filter does not end:\n%s", screen(m, 80, 24))
	}
	press(m, "&")
	if typed(m, "nosuch"); !strings.Contains(screen(m, 80, 24), "nothing has all of these words: nosuch") {
		t.Errorf("no word about an empty list:\n%s", screen(m, 80, 24))
	}
	if r := press(m, "c", "x", "enter", "left", "down"); r.Do != browse.Nothing {
		t.Errorf("%+v", r)
	}
}

// The browser counts sessions as sizes and the report do, and says what else it lists.
func TestBrowseCounts(t *testing.T) {
	all := home()
	all.Sessions[1].Beside = true
	text := screen(started(t, all), 100, 24)
	if !strings.Contains(text, " 3 sessions and 1 other, ") || !strings.Contains(text, "openclaw: ") {
		t.Errorf("what is listed is not told apart:\n%s", text)
	}
}

// What is marked gets one plan and one question, and is carried out as it was agreed
// to, one session after the other.
func TestBrowseMarked(t *testing.T) {
	m := started(t, home())
	screen(m, 80, 24)
	r := press(m, "down", "x", "G", "x", "c") // both sessions of desk, and w1
	var names []string
	for _, p := range r.Parts {
		names = append(names, p.Target.Session)
	}
	if slices.Sort(names); r.Do != browse.MakePlan || r.Action != browse.Compact || fmt.Sprint(names) != "[d1 d2 w1]" {
		t.Fatalf("%+v", r)
	}
	if text := screen(m, 80, 24); strings.Count(text, " * ") != 3 {
		t.Errorf("marks are not shown:\n%s", text)
	}
	var asked []browse.Request
	plan := tui.PlanParts(r, func(one browse.Request) browse.Plan {
		asked = append(asked, one)
		if one.Target.Session == "d2" {
			return browse.Plan{Text: "there is nothing to do"}
		}
		return browse.Plan{Text: "would be compacted", Of: []string{one.Target.Session}, Question: "Compact?"}
	})
	if len(asked) != 3 || asked[0].Parts != nil || asked[0].Do != browse.MakePlan {
		t.Errorf("%+v", asked)
	}
	m.Planned(r.Serial, r, plan)
	if text := screen(m, 80, 24); !strings.Contains(text, "Compact 2 sessions?  y: yes, n: no") || !strings.Contains(text, "agent:desk:main\n") {
		t.Errorf("the plan is not shown:\n%s", text)
	}
	r = press(m, "y")
	if r.Do != browse.Carry || len(r.Parts) != 2 || fmt.Sprint(r.Parts[0].Of) != "["+r.Parts[0].Target.Session+"]" {
		t.Fatalf("%+v", r)
	}
	begun := 0
	result := tui.CarryParts(r, func() bool { return begun == 1 }, func(one browse.Request) browse.Result {
		begun++
		return browse.Result{Text: one.Of[0] + " compacted"}
	})
	result.When = "09:30"
	if !result.Failed || result.Title != "compact: 1 of 2 sessions" || !strings.Contains(result.Text, "was not begun") || begun != 1 {
		t.Errorf("%+v", result)
	}
	if again := m.Ended(r.Serial, result); again.Do != browse.Load || strings.Contains(screen(m, 80, 24), "u undo") {
		t.Errorf("%+v\n%s", again, screen(m, 80, 24))
	}
	press(m, "esc")
	if text := screen(m, 80, 24); strings.Contains(text, " * ") {
		t.Errorf("the marks stay:\n%s", text)
	}
	press(m, "L")
	if text := screen(m, 80, 24); !strings.Contains(text, "since the start: 1 action") || !strings.Contains(text, "09:30  compact: 1 of 2 sessions") || !strings.Contains(text, "d1 compacted") {
		t.Errorf("what was done is not listed:\n%s", text)
	}
}

// A mark on a session that is gone is taken off: nobody sees it.
func TestBrowseMarksFollowTheHome(t *testing.T) {
	m := started(t, home())
	screen(m, 80, 24)
	press(m, "G", "x")
	r := press(m, "r")
	left := home()
	left.Sessions = left.Sessions[1:]
	m.Loaded(r.Serial, left)
	if r = press(m, "g", "c"); r.Do != browse.MakePlan || len(r.Parts) != 0 {
		t.Errorf("%+v", r)
	}
}

// In a text / searches, n and N go to the next and the one before, and beyond the end
// of a part the next part is read and searched.
func TestBrowseSearchInAText(t *testing.T) {
	m := started(t, home())
	screen(m, 80, 24)
	r := press(m, "down", "down", "enter")
	page := browse.Page{Place: r.Place, First: 1, Last: 100, After: true}
	for i := range 100 {
		text := fmt.Sprintf("text %d", i)
		if i%30 == 20 {
			text += " The Port is here, in a line that is longer than the screen is wide: " + strings.Repeat("word ", 20) + "port"
		}
		page.Lines = append(page.Lines, browse.Text{Text: text})
	}
	m.Opened(r.Serial, page)
	screen(m, 80, 24)
	press(m, "/")
	typed(m, "the port")
	for _, c := range []struct{ keys, says, row string }{
		{"", "1 of 3", ">text 20 The Port"}, {"n", "2 of 3", ">text 50 The Port"}, {"n", "3 of 3", ">text 80 The Port"},
		{"N", "2 of 3", ">text 50 The Port"}, {"N N N", "not found above", ">text 20 The Port"},
	} {
		if c.keys != "" {
			press(m, strings.Fields(c.keys)...)
		}
		if text := screen(m, 80, 24); !strings.Contains(text, c.says) || !strings.Contains(text, c.row) {
			t.Errorf("%s: not %q at %q:\n%s", c.keys, c.says, c.row, text)
		}
	}
	press(m, "n", "n")
	r = press(m, "n")
	if r.Do != browse.Read || r.Place.From != 101 {
		t.Fatalf("the next part is not read: %+v", r)
	}
	m.Opened(r.Serial, browse.Page{Place: r.Place, First: 101, Last: 200, Before: true, Lines: []browse.Text{{Text: "nothing"}, {Text: "the PORT again"}}})
	if text := screen(m, 80, 24); !strings.Contains(text, "1 of 1") || !strings.Contains(text, ">the PORT again") {
		t.Errorf("the next part is not searched:\n%s", text)
	}
	if r = press(m, "n"); r.Do != browse.Nothing || !strings.Contains(screen(m, 80, 24), "not found below") {
		t.Errorf("%+v", r)
	}
	if r = press(m, "N"); r.Do != browse.Read || r.Place.Until != 100 {
		t.Errorf("the part before is not read: %+v", r.Place)
	}
}

// The new screens, to be looked at: SESSCTL_SCREENS names a file that they are written
// to.
func TestBrowseScreens(t *testing.T) {
	var all strings.Builder
	for _, size := range [][2]int{{80, 24}, {160, 50}} {
		m := started(t, home())
		draw := func(what string) {
			text := screen(m, size[0], size[1])
			fmt.Fprintf(&all, "==== %s, %d x %d\n%s", what, size[0], size[1], text)
			if n := strings.Count(text, "\n"); n != size[1] {
				t.Errorf("%s: %d lines", what, n)
			}
		}
		draw("tree")
		press(m, "down", "x")
		draw("marked")
		press(m, "?")
		draw("keys")
		press(m, "esc", "esc", "&")
		draw("filter")
		typed(m, "desk")
		draw("filtered")
	}
	if path := os.Getenv("SESSCTL_SCREENS"); path != "" {
		if err := os.WriteFile(path, []byte(all.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
