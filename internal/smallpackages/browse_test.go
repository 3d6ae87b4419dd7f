package smallpackages_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/sessctl/sessctl/pkg/browse"
	"github.com/sessctl/sessctl/pkg/printable"
)

var browseNow = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

// home is two runtimes with three agents.
func home() browse.Home {
	at := func(days int) time.Time { return browseNow.AddDate(0, 0, -days) }
	return browse.Home{Now: browseNow, Complete: true, Archives: 1 << 20, Sessions: []browse.Session{
		{Runtime: "pi", Agent: "web", ID: "w1", Name: "w1", Path: "/w1", Bytes: 100, Tokens: 900, Measured: true, Used: at(1)},
		{Runtime: "openclaw", Agent: "desk", ID: "d1", Name: "agent:desk:main", Path: "/d1", Bytes: 5000, Tokens: 10, Measured: true, Used: at(9), State: "idle"},
		{Runtime: "openclaw", Agent: "desk", ID: "d2", Name: "d2", Path: "/d2", Bytes: 900, Tokens: 20, Measured: true, Used: at(2)},
		{Runtime: "openclaw", Agent: "lib", ID: "l1", Name: "l1", Archive: "0123456789abcdef", Bytes: 10, Used: at(30), State: "in the archive"},
	}}
}

// started is a browser that shows a home.
func started(t *testing.T, h browse.Home) *browse.Model {
	t.Helper()
	m, first := browse.New(browse.ByBytes)
	if first.Do != browse.Load {
		t.Fatal(first)
	}
	m.Loaded(first.Serial, h)
	return m
}

// press presses keys and returns the last request.
func press(m *browse.Model, keys ...string) (r browse.Request) {
	for _, k := range keys {
		text := ""
		if len([]rune(k)) == 1 {
			text = k
		}
		r = m.Press(browse.Key{Name: k, Text: text})
		m.Screen(80, 24) // a terminal draws after every key
	}
	return r
}

func screen(m *browse.Model, width, height int) string {
	var b strings.Builder
	for _, line := range m.Screen(width, height) {
		for _, s := range line {
			b.WriteString(s.Text)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// cursor is the row of the tree that the cursor is on, without its figures.
func cursor(m *browse.Model) string {
	for line := range strings.Lines(screen(m, 80, 24)) {
		if name, ok := strings.CutPrefix(line, ">"); ok {
			name, _, _ = strings.Cut(strings.TrimSpace(name), "  ")
			return name
		}
	}
	return ""
}

func TestBrowseKeysOfTheTree(t *testing.T) {
	for _, c := range []struct {
		keys   string
		cursor string
		do     browse.Do
	}{
		{"", "▾ openclaw", browse.Nothing},
		{"down", "▾ desk", browse.Nothing},
		{"down down", "agent:desk:main", browse.Nothing},
		{"down down down down down", "l1", browse.Nothing},
		{"G", "w1", browse.Nothing},
		{"G g", "▾ openclaw", browse.Nothing},
		{"down enter", "▸ desk (2 sessions)", browse.Nothing},
		{"down enter right", "▾ desk", browse.Nothing},
		{"down down left", "▾ desk", browse.Nothing},
		{"down down left left", "▸ desk (2 sessions)", browse.Nothing},
		{"down down left left left", "▾ openclaw", browse.Nothing},
		{"down down enter", "agent:desk:main", browse.Read},
		{"s", "▾ openclaw", browse.Nothing}, // the cursor stays on what it was on
		{"down c", "▾ desk", browse.MakePlan},
		{"c", "▾ openclaw", browse.MakePlan},
		{"u", "▾ openclaw", browse.List},
		{"f", "▾ openclaw", browse.Nothing}, // of a runtime nothing is forgotten
		{"down f", "▾ desk", browse.MakePlan},
		{"down p", "▾ desk", browse.Nothing},
		{"down down p", "agent:desk:main", browse.MakePlan},
		{"down down down down down c", "l1", browse.Nothing}, // an archive is not compacted
		{"down down down down down enter", "l1", browse.Read},
		{"down down d", "agent:desk:main", browse.MakePlan},
		{"down d", "▾ desk", browse.Nothing}, // one points at what is deleted
		{"down down down down down d", "l1", browse.Nothing},
		{"down down x G x d", "* w1", browse.MakePlan},
		{"down down i", "agent:desk:main", browse.Copy},
		{"T", "▾ openclaw", browse.MakePlan},
		{"v esc", "▾ openclaw", browse.Nothing},
		{"r", "▾ openclaw", browse.Load},
		{"q", "▾ openclaw", browse.Quit},
		{"ctrl+c", "▾ openclaw", browse.Quit},
		{"ctrl+z", "▾ openclaw", browse.Suspend},
		{"esc", "▾ openclaw", browse.Nothing},
		{"z", "▾ openclaw", browse.Nothing},
		{"x", "▾ openclaw", browse.Nothing},
		{"down down x", "d2", browse.Nothing},
		{"down down x c", "d2", browse.MakePlan},
		{"down down x u", "d2", browse.Nothing},
		{"G x esc", "w1", browse.Nothing},
	} {
		t.Run(c.keys, func(t *testing.T) {
			m := started(t, home())
			screen(m, 80, 24)
			r := press(m, strings.Fields(c.keys)...)
			if r.Do != c.do || cursor(m) != c.cursor {
				t.Errorf("asks for %d with the cursor on %q, want %d on %q\n%s", r.Do, cursor(m), c.do, c.cursor, screen(m, 80, 24))
			}
		})
	}
}

// The tree has the largest first in every order, and its sums are those of what
// is below.
func TestBrowseOrderOfTheTree(t *testing.T) {
	m := started(t, home())
	for i, want := range [][]string{
		{"openclaw", "desk", "agent:desk:main", "d2", "lib", "l1", "pi", "web", "w1"}, // bytes
		{"pi", "web", "w1", "openclaw", "desk", "d2", "agent:desk:main", "lib", "l1"}, // tokens
		{"openclaw", "lib", "l1", "desk", "agent:desk:main", "d2", "pi", "web", "w1"}, // age: by the newest of each
		{"openclaw", "desk", "agent:desk:main", "d2", "lib", "l1", "pi", "web", "w1"}, // name
	} {
		var got []string
		for line := range strings.Lines(screen(m, 80, 24)) {
			if words := strings.Fields(strings.Trim(line, "> ▾▸")); len(words) > 3 && !strings.Contains(line, "sessctl") && !strings.Contains(line, "NAME") && strings.ContainsAny(line, "█░") {
				got = append(got, words[0])
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("order %s: %v, want %v", browse.Sorts()[i], got, want)
		}
		press(m, "s")
	}
	if text := screen(m, 80, 24); !strings.Contains(text, "5.9 KiB") { // 5,000 + 900 + 10 bytes
		t.Errorf("no sum of openclaw:\n%s", text)
	}
}

// The tree calls agents by their projects, and two of one runtime's by their own names too.
func TestBrowseProjectsOfTheTree(t *testing.T) {
	at := home()
	for i, agent := range []string{"w-a-b", "w-a-b--claude-worktrees-c", "w-a.b", "main"} {
		at.Sessions[i].Agent, at.Sessions[i].Project = agent, []string{"w-a.b", "main"}[i/3]
		at.Sessions[i].Runtime = []string{"claude", "claude", "pi", "pi"}[i]
	}
	text := screen(started(t, at), 120, 24)
	for _, want := range []string{" w-a.b (w-a-b) ", " w-a.b (w-a-b--claude-worktrees-c) ", " w-a.b  ", " main  "} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// What is marked is deleted by one plan, and what is copied is the id.
func TestBrowseDeletesAndCopies(t *testing.T) {
	m := started(t, home())
	r := press(m, "G", "x", "g", "down", "x", "d")
	if len(r.Parts) != 3 || r.Action != browse.Delete {
		t.Errorf("%+v", r)
	}
	m = started(t, home())
	if r := press(m, "down", "down", "i"); r.Text != "d1" {
		t.Errorf("%+v", r)
	}
	read := press(m, "enter")
	m.Opened(read.Serial, browse.Page{Place: read.Place, First: 1, Last: 40, Lines: []browse.Text{
		{Text: "Human  line 1", Asks: true}, {Text: strings.Repeat("word ", 300)}, {Text: "Agent  line 2"}, {Text: "Human  line 3", Asks: true}, {Text: strings.Repeat("more ", 900)},
	}})
	if r := press(m, "i"); r.Do != browse.Copy || r.Text != "d1" {
		t.Errorf("%+v", r)
	}
	press(m, "]")
	if lines := strings.Split(screen(m, 80, 24), "\n"); !strings.Contains(lines[1], "Human  line 3") {
		t.Error(lines[1])
	}
	press(m, "[")
	if lines := strings.Split(screen(m, 80, 24), "\n"); !strings.Contains(lines[1], "Human  line 1") {
		t.Error(lines[1])
	}
}

// A session goes on in a runtime that is chosen, never in its own; what only archives
// are left of goes on from its archive.
func TestBrowseGoesOnElsewhere(t *testing.T) {
	h := home()
	h.Into = []string{"claude", "pi"}
	for _, s := range h.Sessions {
		h.Into = append(h.Into, s.Runtime)
	}
	m := started(t, h)
	if r := press(m, "o"); r.Do != browse.Nothing || !strings.Contains(screen(m, 80, 24), "choose a session") {
		t.Errorf("%+v", r)
	}
	press(m, "down", "down", "o")
	if text := screen(m, 80, 24); !strings.Contains(text, "> claude") || !strings.Contains(text, "go on with") {
		t.Error(text)
	}
	r := press(m, "enter")
	if r.Do != browse.MakePlan || r.Action != browse.Continue || r.Target.Into != "claude" || r.Target.Session != "d1" {
		t.Errorf("%+v", r)
	}
}

// Columns are shown and hidden, as long as a name has room.
func TestBrowseColumns(t *testing.T) {
	h := home()
	h.Sessions[0].Title, h.Sessions[0].Project = "what the importer does", "the web shop"
	m := started(t, h)
	at := func(width int) string { return screen(m, width, 24) }
	for _, c := range []struct {
		keys         string
		width        int
		has, hasNone []string
	}{
		{"", 80, []string{"SIZE", "TOKENS", "IDLE", "w1"}, []string{"STATE", "PROJECT"}},
		{"v down down x esc", 80, []string{"TOKENS"}, []string{"SIZE"}},
		{"v G x esc", 80, []string{"STATE", "in the archive"}, []string{"SIZE"}},
		{"v r esc", 80, []string{"SIZE"}, []string{"STATE"}},
		{"v G up x esc", 140, []string{"PROJECT", "the web shop      "}, nil},
		{"v x esc", 140, []string{"w1"}, []string{"what the importer"}},
		{"v enter down enter esc", 140, []string{"what the importer"}, []string{"w1"}},
		{"", 40, []string{"SIZE"}, []string{"PROJECT", "IDLE"}},
	} {
		press(m, strings.Fields(c.keys)...)
		text := at(c.width)
		for _, want := range c.has {
			if !strings.Contains(text, want) {
				t.Errorf("%q: no %q in\n%s", c.keys, want, text)
			}
		}
		for _, bad := range c.hasNone {
			if strings.Contains(text, bad) {
				t.Errorf("%q: %q is in\n%s", c.keys, bad, text)
			}
		}
	}
}

// A plan is carried out only with y, after all of it was on the screen, and as it
// was shown.
func TestBrowseAPlanIsShownAndAccepted(t *testing.T) {
	long := "first\n" + strings.Repeat("line\n", 60) + "last"
	for _, c := range []struct {
		plan browse.Plan
		keys string
		do   browse.Do
	}{
		{browse.Plan{Text: "one session", Question: "do it?"}, "y", browse.Carry},
		{browse.Plan{Text: "one session", Question: "do it?"}, "enter", browse.Nothing},
		{browse.Plan{Text: "one session", Question: "do it?"}, "c", browse.Nothing},
		{browse.Plan{Text: "one session", Question: "do it?"}, "n", browse.Nothing},
		{browse.Plan{Text: "one session", Question: "do it?"}, "n y", browse.Nothing},
		{browse.Plan{Text: "one session", Question: "do it?"}, "esc y", browse.Nothing},
		{browse.Plan{Text: "one session", Question: "do it?"}, "Y", browse.Nothing},
		{browse.Plan{Text: "nothing to do"}, "y", browse.Nothing},
		{browse.Plan{Text: "below", Force: "all the same"}, "y", browse.Nothing},
		{browse.Plan{Text: "below", Force: "all the same"}, "F", browse.MakePlan},
		{browse.Plan{Text: "below"}, "F", browse.Nothing},
		{browse.Plan{Text: long, Question: "do it?"}, "y", browse.Nothing}, // its end was not shown yet
		{browse.Plan{Text: long, Question: "do it?"}, "down y", browse.Nothing},
		{browse.Plan{Text: long, Question: "do it?", Of: []string{"d1"}}, "G y", browse.Carry},
		{browse.Plan{Text: long, Question: "do it?"}, "space space space space g y", browse.Carry},
	} {
		t.Run(c.keys, func(t *testing.T) {
			m := started(t, home())
			screen(m, 80, 24)
			ask := press(m, "down", "down", "c")
			m.Planned(ask.Serial, ask, c.plan)
			screen(m, 80, 24)
			r := press(m, strings.Fields(c.keys)...)
			if r.Do != c.do {
				t.Fatalf("asks for %d, want %d\n%s", r.Do, c.do, screen(m, 80, 24))
			}
			if r.Do == browse.Carry && (!slices.Equal(r.Of, c.plan.Of) || r.Target != ask.Target || r.Action != browse.Compact || r.Target.Session != "d1") {
				t.Errorf("carries out %+v, the plan was of %+v", r, ask)
			}
			if r.Do == browse.MakePlan && !r.Force {
				t.Error("the other plan is the same plan")
			}
		})
	}
}

// What a compaction has done can be undone from the screen that says so, as the
// plan had promised.
func TestBrowseUndoFromTheResult(t *testing.T) {
	for _, c := range []struct {
		key  string
		list bool
	}{{"c", true}, {"d", true}, {"a", false}, {"f", false}} {
		t.Run(c.key, func(t *testing.T) {
			m := started(t, home())
			screen(m, 80, 24)
			ask := press(m, "down", "down", c.key)
			m.Planned(ask.Serial, ask, browse.Plan{Text: "one session", Question: "do it?"})
			screen(m, 80, 24)
			m.Ended(press(m, "y").Serial, browse.Result{Title: "done", Text: "done"})
			if shown := strings.Contains(screen(m, 80, 24), "u undo"); shown != c.list {
				t.Errorf("the screen offers u: %t, want %t\n%s", shown, c.list, screen(m, 80, 24))
			}
			r := press(m, "u")
			if (r.Do == browse.List) != c.list || c.list && r.Target != ask.Target {
				t.Errorf("u asks for %+v, the action was of %+v", r, ask)
			}
		})
	}
}

// Whatever keys are pressed, and whatever is answered in whatever order, a plan is
// carried out only by a y on the screen that asks for it, and the screen fits.
func TestBrowseNothingChangesWithoutAPlan(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same run every time
	keys := []string{"up", "down", "enter", "esc", "y", "Y", "n", "F", "a", "c", "u", "f", "p", "s", "/", "?", "q", "r", "G", "g", "space", "left", "right", "x", "&", "L", "N", "m", "backspace", "d", "T", "i", "v", "]", "["}
	for range 60 {
		m := started(t, home())
		var asked []browse.Request
		for range 60 {
			asking := strings.Contains(screen(m, 80, 24), "y: yes, n: no")
			key := keys[random.IntN(len(keys))]
			r := m.Press(browse.Key{Name: key, Text: key})
			if r.Do == browse.Carry && (key != "y" || !asking) {
				t.Fatalf("%q carries out %+v:\n%s", key, r, screen(m, 80, 24))
			}
			if r.Do != browse.Nothing {
				asked = append(asked, r)
			}
			if len(asked) > 0 && random.IntN(2) == 0 {
				browseAnswer(m, asked[random.IntN(len(asked))])
			}
			fits(t, m, 1+random.IntN(130), 1+random.IntN(45))
		}
	}
}

func browseAnswer(m *browse.Model, r browse.Request) {
	switch r.Do {
	case browse.Load:
		m.Loaded(r.Serial, home())
	case browse.Read:
		m.Opened(r.Serial, browse.Page{Place: r.Place, Lines: []browse.Text{{Text: "Human  line 1"}, {Text: "  hello"}}, First: 1, Last: 9, After: true})
	case browse.Recall:
		m.Answered(r.Serial, r.Question, []browse.Hit{{Heading: "h", Excerpt: "e", Place: browse.Place{Archive: "a", First: 3, Last: 4}}}, "")
	case browse.List:
		m.Listed(r.Serial, r.Target, []browse.Doing{{When: "now", What: "compacted"}})
	case browse.MakePlan:
		m.Planned(r.Serial, r, browse.Plan{Title: "plan", Text: "would", Parts: r.Parts, Question: "do it?", Force: "more"})
	case browse.Carry:
		m.Ended(r.Serial, browse.Result{Title: "done", Text: "done"})
	default:
	}
}

// fits fails if a screen is too large for its terminal, or does something to it.
func fits(t *testing.T, m *browse.Model, width, height int) {
	t.Helper()
	lines := m.Screen(width, height)
	if len(lines) > height {
		t.Fatalf("%d lines on %d", len(lines), height)
	}
	for _, line := range lines {
		text := ""
		for _, s := range line {
			text += s.Text
		}
		if w := ansi.StringWidth(text); w > width {
			t.Fatalf("%d columns on %d: %q", w, width, text)
		}
		for _, r := range text {
			if printable.Hidden(r) {
				t.Fatalf("a terminal gets %q of %q", r, text)
			}
		}
	}
}

// Names, texts and notes that would do something to a terminal are shown instead.
func TestBrowseHostileTexts(t *testing.T) {
	bad := "\x1b[2J\x1b]0;owned\a\u202eevil\r\n\x00\x9b31m\tx" + strings.Repeat("字🦞é", 40)
	h := home()
	for i := range h.Sessions {
		s := &h.Sessions[i]
		s.Name, s.Agent, s.State, s.Place, s.Runtime = bad, bad, bad, bad, bad
	}
	h.Notes = []string{bad, bad}
	everywhere := func(m *browse.Model) {
		for _, size := range [][2]int{{80, 24}, {40, 10}, {120, 40}, {7, 3}, {1, 1}} {
			fits(t, m, size[0], size[1])
		}
	}
	m := started(t, h)
	everywhere(m)
	press(m, "n")
	everywhere(m)
	press(m, "esc")
	for _, r := range []browse.Request{press(m, "down", "down", "enter")} {
		m.Opened(r.Serial, browse.Page{Place: browse.Place{Title: bad}, Lines: []browse.Text{{Text: bad}, {Text: bad, Indent: 9}}, First: 1, Last: 2})
		everywhere(m)
		press(m, "esc")
	}
	press(m, "/")
	m.Paste(bad)
	everywhere(m)
	r := press(m, "enter")
	m.Answered(r.Serial, bad, []browse.Hit{{Heading: bad, Excerpt: bad, Text: bad}}, bad)
	everywhere(m)
	press(m, "enter")
	everywhere(m)
	press(m, "esc", "esc")
	r = press(m, "c")
	m.Planned(r.Serial, r, browse.Plan{Title: bad, Text: bad, Question: bad, Force: bad})
	everywhere(m)
	r = press(m, "F")
	m.Failed(r.Serial, browse.Failure{Message: bad, Hint: bad})
	everywhere(m)
}

// A session is read on where a page ends, and a hit is opened at its line.
func TestBrowseReading(t *testing.T) {
	m := started(t, home())
	screen(m, 80, 24)
	page := browse.Page{First: 100, Last: 200, Before: true, After: true}
	for i := range 100 {
		page.Lines = append(page.Lines, browse.Text{Text: fmt.Sprintf("text %d", i)})
	}
	page.At = 30
	open := func() {
		r := press(m, "/", "p", "enter")
		m.Answered(r.Serial, "p", []browse.Hit{{Heading: "h", Place: browse.Place{Archive: "a", First: 150, Last: 152}}}, "")
		if r = press(m, "enter"); r.Do != browse.Read || r.Place.First != 150 || r.Place.Archive != "a" {
			t.Fatalf("%+v", r)
		}
		page.Place = r.Place
		m.Opened(r.Serial, page)
		screen(m, 80, 24)
	}
	open()
	if text := screen(m, 80, 12); !strings.Contains(text, "text 30\n") || strings.Contains(text, "text 29\n") {
		t.Errorf("not at the hit:\n%s", text)
	}
	for _, c := range []struct {
		keys        string
		from, until int
		end         bool
	}{{"G", 0, 0, true}, {"g", 1, 0, false}, {"space space space space", 201, 0, false}, {"b b b", 0, 99, false}} {
		m = started(t, home())
		open()
		r := press(m, strings.Fields(c.keys)...)
		if r.Do != browse.Read || r.Place.From != c.from || r.Place.Until != c.until || r.Place.End != c.end || r.Place.First != 0 {
			t.Errorf("%s reads %+v", c.keys, r.Place)
		}
	}
}

// What is under way can be broken off; an answer that comes afterwards is not
// taken, but for that of an action: it says how far that came.
func TestBrowseBreakingOff(t *testing.T) {
	m := started(t, home())
	screen(m, 80, 24)
	r := press(m, "/", "p", "enter")
	if press(m, "down", "x").Do != browse.Nothing || press(m, "esc").Do != browse.Cancel {
		t.Fatal("esc does not break off")
	}
	m.Answered(r.Serial, "p", []browse.Hit{{Heading: "late"}}, "")
	if text := screen(m, 80, 24); strings.Contains(text, "late") {
		t.Errorf("a late answer is shown:\n%s", text)
	}
	ask := press(m, "c")
	m.Planned(ask.Serial, ask, browse.Plan{Text: "plan", Question: "do it?"})
	screen(m, 80, 24)
	carry := press(m, "y")
	m.Progress(carry.Serial, "archive", 1, 2)
	if text := screen(m, 80, 24); !strings.Contains(text, "archive 50%") {
		t.Errorf("no progress:\n%s", text)
	}
	if press(m, "esc").Do != browse.Cancel {
		t.Fatal("esc does not break off")
	}
	if next := m.Ended(carry.Serial, browse.Result{Title: "broken off", Text: "so far"}); next.Do != browse.Load {
		t.Error("the tree is not read again")
	}
	if text := screen(m, 80, 24); !strings.Contains(text, "so far") {
		t.Errorf("what was done is not said:\n%s", text)
	}
}

// A home without sessions says why, and answers to every key.
func TestBrowseEmptyHome(t *testing.T) {
	m := started(t, browse.Home{Now: browseNow, Complete: true, Problem: "no session store found", Hint: "name one"})
	if text := screen(m, 80, 24); !strings.Contains(text, "no session store found") || !strings.Contains(text, "name one") {
		t.Error(text)
	}
	for _, key := range []string{"up", "down", "enter", "c", "a", "u", "f", "p", "s", "left", "G", "?"} {
		press(m, key)
		fits(t, m, 30, 8)
	}
}
