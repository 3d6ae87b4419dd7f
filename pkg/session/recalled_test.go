package session_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sessctl/sessctl/pkg/session"
)

func TestCutRecalled(t *testing.T) {
	hits := "\n1. a  2026-01-02\n   sessctl archives show 3f --lines 1-2\n   | the heron\n\n2. b  2026-01-03\n   | more\n\n"
	document := "{\n  \"schema\": 1,\n  \"quoted\": \"" + session.RecallStamp + "\",\n  \"hits\": [{\"text\": \"a { brace\"}]\n}"
	for name, c := range map[string]struct{ text, want string }{
		"nothing":        {"plain text\n   indented\n1. list", "plain text\n   indented\n1. list"},
		"lines":          {"before\n" + session.RecallBegin + hits + session.RecallEnd + "\nafter", "before\n\nafter"},
		"twice":          {session.RecallBegin + hits + session.RecallEnd + " and " + session.RecallBegin + session.RecallEnd, " and "},
		"cut off":        {session.RecallBegin + hits + "   | the hero", ""},
		"cut off, then":  {session.RecallBegin + hits + "a line of somebody else\n   kept", "a line of somebody else\n   kept"},
		"escaped":        {`{"output":"` + session.RecallBegin + `\n1. a\n   | x\n` + session.RecallEnd + `\n","exit":0}`, `{"output":"\n","exit":0}`},
		"document":       {"$ sessctl recall --json x\n" + document + "\ndone", "$ sessctl recall --json x\n\ndone"},
		"torn document":  {document[:len(document)-3], document[:len(document)-3]},
		"only the stamp": {"it prints " + session.RecallStamp + " always", "it prints " + session.RecallStamp + " always"},
		"memories":       {"<relevant-memories>\n- x\n</relevant-memories>\nmy question", "\nmy question"},
		"open memories":  {"a <relevant-memories> tag", "a <relevant-memories> tag"},
	} {
		got, leftOut := session.CutRecalled([]byte(c.text))
		if string(got) != c.want || leftOut != int64(len(c.text)-len(c.want)) {
			t.Errorf("%s: %q, %d left out", name, got, leftOut)
		}
	}
}

// What stands around recall's output stays, whatever it is.
func TestCutRecalledKeepsTheRest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		part := rapid.SampledFrom([]string{"x", "\n", "   ", "1. ", "{", "}", "\"", "heron", "é", "["})
		text := func(name string) string { return strings.Join(rapid.SliceOfN(part, 0, 20).Draw(t, name), "") }
		before, quoted, after := text("before"), text("quoted"), text("after")
		got, _ := session.CutRecalled([]byte(before + session.RecallBegin + quoted + session.RecallEnd + after))
		if string(got) != before+after {
			t.Fatalf("%q, want %q", got, before+after)
		}
	})
}
