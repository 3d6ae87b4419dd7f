package session_test

import (
	"testing"

	"github.com/sessctl/sessctl/pkg/session"
)

func TestUnsent(t *testing.T) {
	for _, c := range []struct{ name, shown, whole, want string }{
		{"nothing was printed", "ok", " \n", ""},
		{"all of it was sent", "Output:\none\ntwo\n", "one\ntwo\n", ""},
		{"nothing was sent", "", "one\ntwo\n", "one\ntwo"},
		{"the beginning was sent", "one\ntwo\n[cut]", "one\ntwo\nthree\nfour\n", "three\nfour"},
		{"both ends were sent", "one\n…3 lines…\nfive", "one\ntwo\nthree\nfour\nfive\n", "two\nthree\nfour"},
		{"a line in the middle was sent too", "one\n}\n…\nfive", "one\nif {\n}\nfour\nfive", "if {\n}\nfour"},
		{"a line was cut", "one\ntw", "one\ntwo\n", "two"},
		{"lines were numbered with an arrow", "     1→{\n    12→  \"a\": 1\n", "{\n  \"a\": 1", ""},
		{"lines were numbered with a tab", "1\tone\n2\ttwo", "one\ntwo", ""},
		{"spaces at the ends of lines", "one  \r\ntwo\r\n", "one\ntwo\n", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := string(session.Unsent([]byte(c.shown), []byte(c.whole))); got != c.want {
				t.Errorf("Unsent(%q, %q) = %q, want %q", c.shown, c.whole, got, c.want)
			}
		})
	}
}

// What was never sent is for memory alone: it takes no room in a context.
func TestUnsentTakesNoTokens(t *testing.T) {
	m := session.Message{Role: session.RoleToolResult, Parts: []session.Part{{Kind: session.PartText, Text: []byte("one\n[cut]")}}}
	before := m.EstimateTokens()
	m.AddUnsent([]byte("one\ntwo hundred lines more"))
	if got := string(m.AppendText(nil)); got != "one\n[cut]\ntwo hundred lines more" {
		t.Errorf("memory gets %q", got)
	}
	if m.EstimateTokens() != before {
		t.Errorf("the context grew from %d to %d tokens", before, m.EstimateTokens())
	}
}

// Why a model call failed is found again; that a person stopped one is not.
func TestFailedTurnIsRemembered(t *testing.T) {
	m := session.Message{Role: session.RoleAssistant, IsError: true, ErrorText: []byte("529 overloaded")}
	if got := string(m.AppendText(nil)); got != "[error] 529 overloaded" || !m.Embeddable() {
		t.Errorf("memory gets %q, embeddable %v", got, m.Embeddable())
	}
	m.StopReason = []byte("aborted")
	if m.Embeddable() {
		t.Error("a turn that was broken off is embedded")
	}
}
