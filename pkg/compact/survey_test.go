package compact

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/sessctl/sessctl/pkg/session"
	"pgregory.net/rapid"
)

// said is a message as the tests write it: who, how many tokens, the calls it
// makes or the call it answers.
type said struct {
	role   session.Role
	tokens int
	calls  []string
	answer string
	kept   string // of a compaction: the id of the first message it kept
}

func user(tokens int) said { return said{role: session.RoleUser, tokens: tokens} }
func agent(tokens int, calls ...string) said {
	return said{role: session.RoleAssistant, tokens: tokens, calls: calls}
}
func result(call string, tokens int) said {
	return said{role: session.RoleToolResult, answer: call, tokens: tokens}
}
func compaction(kept string) said {
	return said{role: session.RoleSummary, kept: kept, tokens: 5}
}

// outlineOf reads messages whose ids are "m0", "m1", ... by their place.
func outlineOf(keep session.Keep, log []said) *outline {
	o := newOutline(keep)
	for i, s := range log {
		_ = o.add(messageOf(i, s))
	}
	return o
}

func messageOf(i int, s said) *session.Message {
	m := &session.Message{
		Ordinal: i, Line: i + 2, Offset: int64(100 * i), ID: fmt.Appendf(nil, "m%d", i), Role: s.role,
		CallID: []byte(s.answer), Compaction: s.role == session.RoleSummary, FirstKept: []byte(s.kept),
	}
	text := make([]byte, 3*s.tokens) // three characters of ASCII are estimated as one token
	for j := range text {
		text[j] = 'x'
	}
	m.Parts = append(m.Parts, session.Part{Kind: session.PartText, Text: text})
	for _, id := range s.calls {
		m.Parts = append(m.Parts, session.Part{Kind: session.PartToolCall, CallID: []byte(id)})
	}
	return m
}

// Compaction never cuts between a tool call and its result.
func TestCutPoints(t *testing.T) {
	tokens := func(n int64) session.Keep { return session.Keep{Tokens: n} }
	for name, c := range map[string]struct {
		keep  session.Keep
		log   []said
		first int // ordinal of the first message kept; -1: nothing to cut
		open  bool
	}{
		"at the message that fills the budget": {tokens(20), []said{user(10), agent(10), user(10), agent(10)}, 2, false},
		"moves on from a tool result":          {tokens(25), []said{user(10), agent(10, "a"), result("a", 20), agent(10), user(9)}, 3, false},
		"not between parallel calls":           {tokens(22), []said{user(10), agent(9, "a", "b"), result("a", 9), result("b", 9), agent(9)}, 4, false},
		"not before a late second result":      {tokens(15), []said{user(9), agent(9, "a", "b"), result("a", 9), user(9), result("b", 9)}, 1, false},
		"not at a result without its call":     {tokens(20), []said{user(10), agent(10), result("lost", 10), agent(9), user(9)}, 3, false},
		"back from a result at the end":        {tokens(5), []said{user(10), agent(10, "a"), result("a", 10)}, 1, false},
		"one turn that is nothing but calls":   {tokens(5), []said{agent(10, "a"), result("a", 10)}, -1, false},
		"an unanswered call is no bar":         {tokens(10), []said{user(10), agent(10, "a"), user(10), agent(10)}, 3, false},
		"the budget ends at the first message": {tokens(25), []said{user(10), agent(10), user(10)}, -1, false},
		"nothing more than the last one kept":  {tokens(20), []said{user(10), agent(10), user(10), agent(10), compaction("m2")}, -1, false},
		"the first message cannot be parted":   {tokens(25), []said{user(10), agent(10), user(10), compaction("m1"), agent(10)}, -1, false},
		"everything fits":                      {tokens(100), []said{user(10), agent(10)}, -1, false},
		"an empty session":                     {tokens(10), nil, -1, false},
		"nothing since the last compaction":    {tokens(1), []said{user(10), agent(10), compaction("")}, -1, false},
		"from what the last one kept":          {tokens(10), []said{user(10), agent(10), user(10), compaction("m1"), agent(10)}, 4, false},
		"the last two turns":                   {session.Keep{Turns: 2}, []said{user(1), agent(1), user(1), agent(1), user(1), agent(1)}, 2, false},
		"keep nothing":                         {session.Keep{}, []said{user(1), agent(1)}, 2, false},
		"broken off in a call":                 {tokens(10), []said{user(10), agent(10), user(10), agent(10, "a")}, 4, true},
		"broken off in one of two calls":       {tokens(10), []said{user(10), agent(10), agent(10, "a", "b"), result("a", 10)}, 4, true},
		"broken off before the answer":         {tokens(10), []said{user(10), agent(10, "a"), result("a", 10), user(10)}, 3, true},
		"broken off, an earlier open call":     {tokens(10), []said{user(10), agent(10, "a"), user(10), agent(10), user(10)}, 4, true},
		"broken off, all is to be kept":        {tokens(90), []said{user(10), agent(10, "a")}, -1, true},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := outlineOf(c.keep, c.log).cut(c.open)
			if c.first < 0 {
				if !errors.Is(err, errNothingToCut) {
					t.Fatalf("cut %+v, error %v; want nothing to cut", got, err)
				}
				return
			}
			if err != nil || got.FirstKept != c.first {
				t.Fatalf("first kept %d, error %v; want %d", got.FirstKept, err, c.first)
			}
		})
	}
}

// After any number of compactions every message is in what was summed up or in
// the tail, and no call is parted from its result.
func TestNoMessageIsInNeitherSummaryNorTail(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		keep := session.Keep{Tokens: rapid.Int64Range(1, 60).Draw(t, "keep")}
		forget := rapid.SampledFrom([]int{2, 5, outlineLimit}).Draw(t, "forget")
		var log []said
		summed := map[int]bool{}
		for range rapid.IntRange(1, 5).Draw(t, "compactions") {
			log = append(log, drawTurns(t, len(log))...)
			o := newOutline(keep)
			o.limit = forget
			for i, s := range log {
				_ = o.add(messageOf(i, s))
			}
			open := rapid.Bool().Draw(t, "open")
			cut, err := o.cut(open)
			if err != nil {
				continue
			}
			for i := cut.From; i < cut.FirstKept; i++ {
				summed[i] = true
			}
			checkCut(t, log, cut, summed)
			if open {
				checkClosed(t, log[cut.FirstKept:])
			}
			log = append(log, compaction(cut.KeptID))
		}
	})
}

func checkCut(t *rapid.T, log []said, cut session.Cut, summed map[int]bool) {
	call := map[string]int{}
	for i, s := range log {
		for _, id := range s.calls {
			call[id] = i
		}
		if s.role == session.RoleSummary {
			continue
		}
		if i < cut.FirstKept && !summed[i] {
			t.Fatalf("message %d is before the cut at %d and was never summed up: %v", i, cut.FirstKept, log)
		}
		if opener, ok := call[s.answer]; s.answer != "" && ok && opener < cut.FirstKept && cut.FirstKept <= i {
			t.Fatalf("the cut at %d parts call %d from its result %d: %v", cut.FirstKept, opener, i, log)
		}
	}
	if cut.Summarized == 0 {
		t.Fatalf("nothing was cut away: %+v of %v", cut, log)
	}
}

// drawTurns makes messages in which up to three calls are answered in any
// order, late, or never.
func drawTurns(t *rapid.T, start int) []said {
	var log []said
	var open []string
	for i := range rapid.IntRange(1, 12).Draw(t, "messages") {
		tokens := rapid.IntRange(1, 20).Draw(t, "tokens")
		switch kind := rapid.IntRange(0, 3).Draw(t, "kind"); {
		case kind == 0:
			log = append(log, user(tokens))
		case kind == 1:
			log = append(log, agent(tokens))
		case kind == 2:
			var calls []string
			for j := range rapid.IntRange(1, 3).Draw(t, "calls") {
				calls = append(calls, fmt.Sprintf("c%d.%d.%d", start, i, j))
			}
			log, open = append(log, agent(tokens, calls...)), append(open, calls...)
		case len(open) > 0:
			j := rapid.IntRange(0, len(open)-1).Draw(t, "answer")
			log = append(log, result(open[j], tokens))
			open = append(open[:j], open[j+1:]...)
		}
	}
	return log
}

// calling is a message with one call of a file tool.
func calling(id, tool, path string) *session.Message {
	return &session.Message{Role: session.RoleAssistant, Parts: []session.Part{{
		Kind: session.PartToolCall, CallID: []byte(id), Name: []byte(tool), Text: fmt.Appendf(nil, `{"path":%q}`, path),
	}}}
}

func answering(id string, failed bool) *session.Message {
	return &session.Message{Role: session.RoleToolResult, CallID: []byte(id), IsError: failed}
}

// earlier is the summary of the compaction before.
func earlier(text string) *session.Message {
	return &session.Message{Role: session.RoleSummary, Compaction: true, Parts: []session.Part{{Kind: session.PartText, Text: []byte(text)}}}
}

// The lists of a second compaction include those of the first, also after a
// third; old tags do not pile up in the text.
func TestCumulativeFiles(t *testing.T) {
	text := "## Goal\nfirst"
	for i, want := range []struct{ read, modified []string }{
		{[]string{"a0.go"}, []string{"m0.go"}},
		{[]string{"a0.go", "a1.go"}, []string{"m0.go", "m1.go"}},
		{[]string{"a0.go", "a1.go", "a2.go"}, []string{"m0.go", "m1.go", "m2.go"}},
	} {
		f := newFileOperations()
		f.add(earlier(text))
		f.add(calling("r", "read_file", fmt.Sprintf("a%d.go", i)))
		f.add(answering("r", false))
		f.add(calling("w", "Write", fmt.Sprintf("m%d.go", i)))
		f.add(answering("w", false))
		// A model may have repeated the tags that it was shown.
		made := f.summed(Summary{Text: text})
		if diff := cmp.Diff(want.read, made.ReadFiles); diff != "" {
			t.Errorf("compaction %d, read (-want +got)\n%s", i, diff)
		}
		if diff := cmp.Diff(want.modified, made.ModifiedFiles); diff != "" {
			t.Errorf("compaction %d, modified (-want +got)\n%s", i, diff)
		}
		text = made.Text
	}
	if want := "## Goal\nfirst\n\n<read-files>\na0.go\na1.go\na2.go\n</read-files>\n\n<modified-files>\nm0.go\nm1.go\nm2.go\n</modified-files>"; text != want {
		t.Errorf("the text is\n%s", text)
	}
}

// A file that was read and changed is listed as changed only, in whichever
// order, and also where one of the two was before the last compaction. A call
// that failed changed nothing.
func TestModifiedOnly(t *testing.T) {
	f := newFileOperations()
	f.add(earlier("x\n\n<read-files>\nold.go\n</read-files>\n\n<modified-files>\nchanged.go\n</modified-files>"))
	for i, c := range []struct{ tool, path string }{{"read", "both.go"}, {"edit", "both.go"}, {"write", "back.go"}, {"read", "back.go"}, {"edit", "old.go"}, {"read", "changed.go"}} {
		f.add(calling(fmt.Sprint(i), c.tool, c.path))
		f.add(answering(fmt.Sprint(i), false))
	}
	f.add(calling("bad", "write", "never.go"))
	f.add(answering("bad", true))
	made := f.summed(Summary{Text: "x"})
	if diff := cmp.Diff([]string{}, made.ReadFiles); diff != "" {
		t.Errorf("read (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff([]string{"back.go", "both.go", "changed.go", "old.go"}, made.ModifiedFiles); diff != "" {
		t.Errorf("modified (-want +got)\n%s", diff)
	}
}

// checkClosed fails if a call among the messages has no result.
func checkClosed(t *rapid.T, log []said) {
	for i, m := range log {
		for _, call := range m.calls {
			if !slices.ContainsFunc(log[i:], func(later said) bool { return later.answer == call }) {
				t.Fatalf("call %q is kept and its result is not", call)
			}
		}
	}
}
