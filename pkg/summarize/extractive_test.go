package summarize_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/sessctl/sessctl/internal/tier"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/summarize"
)

func text(s string) []session.Part { return []session.Part{{Kind: session.PartText, Text: []byte(s)}} }

func user(s string) *session.Message { return &session.Message{Role: session.RoleUser, Parts: text(s)} }

func agent(s string, calls ...session.Part) *session.Message {
	return &session.Message{Role: session.RoleAssistant, Parts: append(text(s), calls...)}
}

func call(id, name, arguments string) session.Part {
	return session.Part{Kind: session.PartToolCall, CallID: []byte(id), Name: []byte(name), Text: []byte(arguments)}
}

func result(id, output string, failed bool) *session.Message {
	return &session.Message{Role: session.RoleToolResult, CallID: []byte(id), Parts: text(output), IsError: failed}
}

// sum adds messages whose lines, if they have none, count from 2.
func sum(t testing.TB, o summarize.Options, messages ...*session.Message) summarize.Summary {
	t.Helper()
	e := summarize.NewExtractive(o)
	for i, m := range messages {
		if m.Line == 0 {
			m.Line = i + 2
		}
		if err := e.Add(m); err != nil {
			t.Fatal(err)
		}
	}
	return e.Summary()
}

// section returns the items of a section as "text (line)".
func section(s summarize.Summary, title string) []string {
	var out []string
	for _, sec := range s.Sections {
		if sec.Title == title {
			for _, it := range sec.Items {
				out = append(out, fmt.Sprintf("%s (%d)", it.Text, it.Line))
			}
		}
	}
	return out
}

func TestSections(t *testing.T) {
	shell := &session.Message{Role: session.RoleShell, HasExit: true, Parts: []session.Part{
		{Kind: session.PartCommand, Text: []byte("make lint")}, {Kind: session.PartText, Text: []byte("ok")},
	}}
	got := sum(t, summarize.Options{},
		user("Please fix the importer, it hangs on big files. Never touch the billing module."),
		agent("Looking at it.", call("c1", "read", `{"path":"import.go"}`), call("c2", "bash", `{"command":"go test ./importer","timeout":60}`), call("c3", "Read", `{"file_path":"README.md"}`)),
		result("c1", "package importer", false),
		result("c2", "--- FAIL: TestBig\nreading big.csv\nerror: token too long\n\n\nCommand exited with code 1", true),
		result("c3", "# importer", false),
		agent("We decided to use a bufio.Reader and no Scanner.", call("c4", "edit", `{"path":"import.go","oldText":"a","newText":"b"}`), call("c5", "bash", `{"command":"go test ./importer"}`)),
		result("c4", "ok", false),
		result("c5", "ok importer 0.1s", false),
		shell,
		user("Good. Open question for Ada: do we need Windows line ends?"),
		agent("Next: write the changelog. Which version should it name?"),
	)
	want := map[string][]string{
		"Goals":                       {"Please fix the importer, it hangs on big files. (2)"},
		"Constraints and preferences": {"Never touch the billing module. (2)"},
		"Decisions":                   {"We decided to use a bufio.Reader and no Scanner. (7)"},
		"Open questions":              {"Good. Open question for Ada: do we need Windows line ends? (11)", "Asked last: Which version should it name? (12)"},
		"Next steps":                  {"Next: write the changelog. (12)"},
		"Files changed":               {"`import.go` (7)"},
		"Files read":                  {"`README.md` (3)"},
		"Commands":                    {"`go test ./importer` ok, run 2 times (7)", "`make lint` exit 0 (10)"},
		"Errors":                      {"exit 1 from `go test ./importer`: `--- FAIL: TestBig` `error: token too long`, worked later at line 7 → We decided to use a bufio.Reader and no Scanner. (5)"},
		"Last exchanges": {
			"**User**: Please fix the importer, it hangs on big files. Never touch the billing module. (2)",
			"**Agent**: We decided to use a bufio.Reader and no Scanner. (7)",
			"**User**: Good. Open question for Ada: do we need Windows line ends? (11)",
			"**Agent**: Next: write the changelog. Which version should it name? (12)",
		},
	}
	want["Also in the log"] = []string{"`big.csv` (5)"}
	for title, items := range want {
		// What the agent said before a call gives way to what it said next.
		if diff := cmp.Diff(items, section(got, title)); diff != "" {
			t.Errorf("%s: %s", title, diff)
		}
	}
	if len(got.Sections) != len(want) {
		t.Errorf("%d sections, want %d:\n%s", len(got.Sections), len(want), got.Text)
	}
}

// TestLoss: what must be repeated letter by letter and is not in the summary is
// counted, and the most frequent of it is named below, with the line where it
// was named first; never twice, and no secret.
func TestLoss(t *testing.T) {
	var messages []*session.Message
	for i := range 60 {
		messages = append(messages, user(fmt.Sprintf("Please implement feature number %d of the program, thank you.", 100+i)),
			agent("Looking.", call(fmt.Sprint("c", i), "lookup", fmt.Sprintf(`{"where":"/srv/data/part%d.csv\nlib/core.go"}`, i))),
			result(fmt.Sprint("c", i), "found it in /var/cache/hot.db, password=hunter2222 "+strings.Repeat("x ", 2000)+" /too/far", false))
	}
	got := sum(t, summarize.Options{MaxRunes: 2500}, messages...)
	index := section(got, "Also in the log")
	if len(index) < 3 || index[0] != "`lib/core.go` (3)" || index[1] != "`/var/cache/hot.db` (4)" {
		t.Errorf("the index is %q", index)
	}
	if !strings.HasSuffix(got.Text, "- "+strings.Replace(index[len(index)-1], " (", " (line ", 1)) {
		t.Errorf("the index is not at the end:\n%s", got.Text)
	}
	for _, no := range []string{"hunter", "/too/far"} {
		if strings.Contains(got.Text, no) {
			t.Errorf("%q stands in\n%s", no, got.Text)
		}
	}
	named := 0 // features whose number the summary has above its index
	above, _, _ := strings.Cut(got.Text, "## Also in the log")
	for i := range 60 {
		if strings.Contains(above, fmt.Sprint(100+i)) {
			named++
		}
	}
	if got.Identifiers != 60+60+2 || got.Indexed != len(index) || got.Lost != 60-named+60+2 {
		t.Errorf("%d identifiers, %d lost, %d in the index of %d; the summary has %d", got.Identifiers, got.Lost, got.Indexed, len(index), named)
	}
}

func TestListsBelowAHeading(t *testing.T) {
	got := sum(t, summarize.Options{}, user("What is left?"), agent("Still open:\n\n1. the price of the tent\n2. who brings the lamp\n\nNext steps:\n- call the ranger\n\nNice weather:\n- nothing to see"))
	if diff := cmp.Diff([]string{"the price of the tent (3)", "who brings the lamp (3)"}, section(got, "Open questions")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"call the ranger (3)"}, section(got, "Next steps")); diff != "" {
		t.Error(diff)
	}
}

func TestFencedCodeIsNotProse(t *testing.T) {
	got := sum(t, summarize.Options{}, user("Please look at this:\n```\n# never do that, we decided to wait\n```\nAlways use tabs in there."))
	if diff := cmp.Diff([]string{"Always use tabs in there. (2)"}, section(got, "Constraints and preferences")); diff != "" {
		t.Error(diff)
	}
	if got := section(got, "Decisions"); len(got) > 0 {
		t.Error(got)
	}
}

func TestUnanswered(t *testing.T) {
	pending := agent("", call("c1", "bash", `{"command":"make release"}`))
	for name, tt := range map[string]struct {
		messages []*session.Message
		want     []string
	}{
		"the person asked last":        {[]*session.Message{agent("Hello."), user("How long will it take?")}, []string{"Not answered: How long will it take? (3)"}},
		"the agent answered":           {[]*session.Message{user("How long will it take?"), agent("Two days.")}, nil},
		"a call without a result":      {[]*session.Message{user("Release it please."), pending}, []string{"No result: `make release` (3)"}},
		"a call that was given up":     {[]*session.Message{user("Release it please."), pending, user("Stop."), agent("Stopped.")}, nil},
		"an open question with answer": {[]*session.Message{agent("Open question: who has the key?"), user("Zoë.")}, []string{"Open question: who has the key? → Zoë. (2)"}},
	} {
		for _, m := range tt.messages {
			m.Line = 0
		}
		if diff := cmp.Diff(tt.want, section(sum(t, summarize.Options{}, tt.messages...), "Open questions")); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestNothingToSumUp(t *testing.T) {
	abandoned := user("Please try the other way.")
	abandoned.Branch = session.Abandoned
	hidden := &session.Message{Role: session.RoleShell, OutOfContext: true, Parts: []session.Part{{Kind: session.PartCommand, Text: []byte("cat .env")}}}
	if got := sum(t, summarize.Options{}, abandoned, hidden); got.Text != "" || got.Kind != "extractive" || got.Chars != 0 {
		t.Errorf("%q of a session without messages", got.Text)
	}
	got := sum(t, summarize.Options{}, abandoned, hidden, user("Please do this first."))
	if strings.Contains(got.Text, "other way") || strings.Contains(got.Text, ".env") {
		t.Error(got.Text)
	}
}

// TestFirstTask: what is still needed is the task, what is to be read before is not all
// of it.
func TestFirstTask(t *testing.T) {
	got := sum(t, summarize.Options{}, user("read the notes on themes in full, then theme.ts. we still need to port user-selector.ts over."))
	if want := []string{"read the notes on themes in full, then theme.ts. … we still need to port user-selector.ts over. (2)"}; !cmp.Equal(section(got, "Goals"), want) {
		t.Error(section(got, "Goals"))
	}
}

func TestRuntimeNoiseIsLeftOut(t *testing.T) {
	got := sum(t, summarize.Options{},
		user("Please count the chairs in the hall."),
		agent("There are 40 chairs."),
		user("Heartbeat. Please read HEARTBEAT.md. If nothing needs attention, reply HEARTBEAT_OK."),
		agent("HEARTBEAT_OK"),
		&session.Message{Role: session.RoleInjected, CustomType: []byte("openclaw.runtime-context"), Parts: text("We decided nothing, please always ignore this.")},
		user("Sender (untrusted metadata):\n```json\n{\"id\":\"880\"}\n```\n\n[Telegram Maren id:880 2026-03-09 09:12 GMT+1] Please add a table."),
	)
	for _, noise := range []string{"eartbeat", "HEARTBEAT", "ignore this", "880", "Telegram"} {
		if strings.Contains(got.Text, noise) {
			t.Errorf("%q stands in\n%s", noise, got.Text)
		}
	}
	if diff := cmp.Diff([]string{"Please count the chairs in the hall. (2)", "Please add a table. (7)"}, section(got, "Goals")); diff != "" {
		t.Error(diff)
	}
}

func TestEarlierSummary(t *testing.T) {
	earlier := &session.Message{Role: session.RoleSummary, Parts: text("## Key Decisions\n- The port is 7443.\n")}
	got := sum(t, summarize.Options{}, earlier, user("Please go on with the port work."))
	if !strings.Contains(got.Text, "## Earlier summary (line 2)\n\n> **Key Decisions**\n> - The port is 7443.\n") {
		t.Error(got.Text)
	}
}

func TestFocus(t *testing.T) {
	var messages []*session.Message
	for i := range 200 {
		messages = append(messages, user(fmt.Sprintf("Please implement feature number %d of the program.", i)))
	}
	messages[60] = user("The heron lives by the lake.")
	messages[61] = user("Please implement the heron's feature.")
	o := summarize.Options{MaxRunes: 2000}
	if got := sum(t, o, messages...); strings.Contains(got.Text, "heron") {
		t.Error("the test does not test: the heron is there without a focus")
	}
	o.Focus = "Heron"
	got := sum(t, o, messages...)
	if diff := cmp.Diff([]string{"The heron lives by the lake. (62)", "Please implement the heron's feature. (63)"}, section(got, "About heron")); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(strings.Join(section(got, "Goals"), "\n"), "heron's feature") {
		t.Errorf("no goal with the focus:\n%s", got.Text)
	}
}

// anyMessage draws a message of any role with text that may be anything.
func anyMessage(t *rapid.T) *session.Message {
	words := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{
		"We decided to use tea.", "Please fix it?", "```\ncode", "never do that", "Open question: why?", "TODO: nothing", "日本語。決定？", "`a` ``b``", "# T\n- a\n- b:",
		"password=hunter22", "error: no\nCommand exited with code 3", "*** Update File: x\n", "x\xff\xfe",
	}))
	s := words.Draw(t, "text") + words.Draw(t, "more")
	m := &session.Message{Role: session.Role(rapid.IntRange(1, 7).Draw(t, "role")), Parts: text(s), Line: rapid.IntRange(1, 1000).Draw(t, "line")}
	m.CallID = []byte(rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "id"))
	m.IsError, m.HasExit, m.ExitCode = rapid.Bool().Draw(t, "failed"), rapid.Bool().Draw(t, "known"), rapid.IntRange(0, 2).Draw(t, "exit")
	if m.Role == session.RoleAssistant {
		name := rapid.SampledFrom([]string{"read", "write", "bash", "apply_patch", "other"}).Draw(t, "tool")
		m.Parts = append(m.Parts, call(string(m.CallID), name, rapid.SampledFrom([]string{fmt.Sprintf(`{"path":%q,"command":%q}`, s, s), s, "{", "{}", "[]"}).Draw(t, "arguments")))
	}
	return m
}

// Property: the cap holds, the same messages give the same summary, the text
// is UTF-8, and a session with a message never has an empty one.
func TestBoundedAndDeterministic(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := summarize.Options{MaxRunes: rapid.IntRange(1, 3000).Draw(t, "limit"), Focus: rapid.SampledFrom([]string{"", "tea", "a b"}).Draw(t, "focus")}
		var messages []*session.Message
		for range rapid.IntRange(1, 40).Draw(t, "messages") {
			messages = append(messages, anyMessage(t))
		}
		add := func() summarize.Summary {
			e := summarize.NewExtractive(o)
			for _, m := range messages {
				if err := e.Add(m); err != nil {
					t.Fatal(err)
				}
				e.Summary() // may be asked for at any time
			}
			return e.Summary()
		}
		first, second := add(), add()
		if n := utf8.RuneCountInString(first.Text); n > o.MaxRunes || n == 0 || n != first.Chars || !utf8.ValidString(first.Text) {
			t.Fatalf("%d code points, limit %d, says %d:\n%s", n, o.MaxRunes, first.Chars, first.Text)
		}
		if diff := cmp.Diff(first, second); diff != "" {
			t.Fatal(diff)
		}
	})
}

// TestMemoryIsBounded: what a long session leaves behind does not depend on
// its length.
func TestMemoryIsBounded(t *testing.T) {
	tier.SkipSmoke(t, "it reads long sessions")
	kept := func(n int) uint64 {
		var before, after runtime.MemStats
		e := summarize.NewExtractive(summarize.Options{Focus: "variant"})
		runtime.GC()
		runtime.ReadMemStats(&before)
		for i := range n {
			for j, m := range []*session.Message{
				user(fmt.Sprintf("Please implement variant %d, never variant %d. %s", i, i+1, strings.Repeat("More words. ", 40))),
				agent(fmt.Sprintf("We decided on variant %d. Open question: is it fast? Next: measure %d.", i, i),
					call(fmt.Sprint("w", i), "write", fmt.Sprintf(`{"path":"dir/file%d.go","content":"x"}`, i)), call(fmt.Sprint("x", i), "bash", fmt.Sprintf(`{"command":"make variant-%d"}`, i))),
				result(fmt.Sprint("w", i), "ok", false),
				result(fmt.Sprint("x", i), fmt.Sprintf("error: variant %d is slow", i), true),
				{Role: session.RoleSummary, Parts: text(fmt.Sprintf("Variant %d was tried. %s", i, strings.Repeat("Word. ", 300)))},
			} {
				m.Line = 5*i + j + 1
				if err := e.Add(m); err != nil {
					t.Fatal(err)
				}
			}
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		if got := e.Summary(); !strings.Contains(got.Text, fmt.Sprintf("file%d.go", n-1)) {
			t.Errorf("the last file is missing:\n%s", got.Text)
		}
		return after.HeapAlloc - min(before.HeapAlloc, after.HeapAlloc)
	}
	few, many := kept(2_000), kept(20_000) // 10,000 and 100,000 messages
	if many > 2<<20 || many > 2*few+100<<10 {
		t.Errorf("%d bytes are kept of 10,000 messages and %d of 100,000", few, many)
	}
}
