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
	for _, said := range []string{"count the chairs", "Please add a table."} {
		if !strings.Contains(got.Text, said) {
			t.Errorf("%q is missing in\n%s", said, got.Text)
		}
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
	if many > 8<<20 || many > 2*few+100<<10 {
		t.Errorf("%d bytes are kept of 10,000 messages and %d of 100,000", few, many)
	}
}
