package summarize_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/summarize"
)

func text(s string) []session.Part { return []session.Part{{Kind: session.PartText, Text: []byte(s)}} }

func say(t *testing.T, e *summarize.Extractive, messages ...*session.Message) string {
	t.Helper()
	for i, m := range messages {
		if m.Line == 0 {
			m.Line = i + 2
		}
		if err := e.Add(m); err != nil {
			t.Fatal(err)
		}
	}
	return e.Summary().Text
}

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

// What a person would ask for after a compaction stands in the summary, with
// the line it came from.
func TestSummarySaysWhatMatters(t *testing.T) {
	got := say(t, summarize.NewExtractive(summarize.Options{}),
		user("Please fix the importer, it hangs on big files. Never touch the billing module."),
		agent("Looking.", call("c1", "read", `{"path":"import.go"}`), call("c2", "bash", `{"command":"go test ./importer"}`)),
		result("c1", "package importer", false),
		result("c2", "--- FAIL: TestBig\nerror: token too long\nexit status 1", true),
		agent("We decided to use a bufio.Reader instead of a Scanner.", call("c3", "edit", `{"path":"import.go","oldText":"a"}`)),
		result("c3", "ok", false),
		agent("Next: write the changelog. Which version should it name?"),
	)
	for _, want := range []string{
		"## Goals\n- Please fix the importer, it hangs on big files. Never touch the billing module. (line 2)",
		"- Never touch the billing module. (line 2)",
		"- We decided to use a bufio.Reader instead of a Scanner. (line 6)",
		"## Files changed\n- import.go (line 6, 2 times)",
		"- `go test ./importer`, exit code 1 (line 3)",
		"- error: token too long (line 5)",
		"## Open questions\n- Which version should it name? (line 8)",
		"- Next: write the changelog. (line 8)",
		"- Agent: Next: write the changelog. Which version should it name? (line 8)",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("missing %q in\n%s", want, got)
		}
	}
	if strings.Contains(got, "Files read") {
		t.Errorf("a changed file is listed as read too:\n%s", got)
	}
}

func TestSummaryCarriesTheEarlierOneForward(t *testing.T) {
	got := say(t, summarize.NewExtractive(summarize.Options{}),
		&session.Message{Role: session.RoleSummary, Parts: text("The port is 7443.")}, user("go on with the port work please"))
	if !strings.Contains(got, "## Earlier summary\nThe port is 7443. (line 2)") {
		t.Fatal(got)
	}
}

func TestSummaryPassesOverAbandonedBranches(t *testing.T) {
	m := user("please try the other way")
	m.Branch = session.Abandoned
	if got := say(t, summarize.NewExtractive(summarize.Options{}), m, user("please do this")); strings.Contains(got, "other way") {
		t.Fatal(got)
	}
}

func TestSummaryRepeatsNoSecret(t *testing.T) {
	secrets := []string{
		"sk-abcdefghijklmnopqrstuvwx", "ghp_abcdefghijklmnopqrstuvwxyz0123456789", "AKIAIOSFODNN7EXAMPLE",
		"xoxb-123456789012-abcdef", "hunter2hunter2", "-----BEGIN RSA PRIVATE KEY-----\nMIIabc",
	}
	say := say(t, summarize.NewExtractive(summarize.Options{}),
		user(strings.Join(secrets[:4], " ")+" please use password="+secrets[4]),
		agent("", call("c", "bash", `{"command":"curl -H token=`+secrets[1]+`"}`)), user("key: "+secrets[5]))
	for _, s := range secrets {
		if strings.Contains(say, s) {
			t.Errorf("%q stands in\n%s", s, say)
		}
	}
	if !strings.Contains(say, "[redacted]") {
		t.Fatal(say)
	}
}

func TestFocusComesFirst(t *testing.T) {
	messages := make([]*session.Message, 0, 60)
	for i := range 60 {
		messages = append(messages, user(fmt.Sprintf("please add feature number %d to the program", i)))
	}
	messages[30] = user("the heron lives by the lake")
	got := say(t, summarize.NewExtractive(summarize.Options{Focus: "heron"}), messages...)
	if !strings.Contains(got, "the heron lives by the lake (line 32)") {
		t.Fatal(got)
	}
}

// Property: the cap holds, the same messages give the same summary, and a
// session with a message never has an empty one.
func TestSummaryIsBoundedAndDeterministic(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		limit := rapid.IntRange(40, 3000).Draw(r, "limit")
		spoken := rapid.SliceOfN(rapid.String(), 1, 30).Draw(r, "texts")
		summary := func() summarize.Summary {
			e := summarize.NewExtractive(summarize.Options{MaxRunes: limit})
			for i, s := range spoken {
				m := user(s)
				if i%2 == 1 {
					m = agent(s, call("c", "write", fmt.Sprintf(`{"path":%q}`, s)))
				}
				m.Line = i + 1
				if err := e.Add(m); err != nil {
					r.Fatal(err)
				}
			}
			return e.Summary()
		}
		first, second := summary(), summary()
		if n := utf8.RuneCountInString(first.Text); n > limit || n == 0 || n != first.Chars || !utf8.ValidString(first.Text) {
			r.Fatalf("%d code points, limit %d, says %d", n, limit, first.Chars)
		}
		if first != second {
			r.Fatal("two summaries of the same messages differ")
		}
	})
}

// Memory does not grow with the log: what a long session leaves behind is
// bounded by what the sections keep.
func TestCollectorStaysSmall(t *testing.T) {
	e := summarize.NewExtractive(summarize.Options{})
	for i := range 20_000 {
		m := agent(fmt.Sprintf("We decided on variant %d. What next?", i), call("c", "write", fmt.Sprintf(`{"path":"dir/file%d.go"}`, i)))
		m.Line = i + 1
		if err := e.Add(m); err != nil {
			t.Fatal(err)
		}
	}
	got := e.Summary()
	if !strings.Contains(got.Text, "file19999.go") || strings.Contains(got.Text, "file3.go") || got.Chars > summarize.DefaultMaxRunes {
		t.Fatalf("%d characters:\n%s", got.Chars, got.Text)
	}
}
