package summarize_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/summarize"
)

// TestWhatIsADecision: a reader must agree with each line, so guesses, plans,
// what is said between calls and what says nothing are not listed.
func TestWhatIsADecision(t *testing.T) {
	working := func(s string) *session.Message { return agent(s, call("c", "read", `{"path":"a.go"}`)) }
	for name, tt := range map[string]struct {
		said               *session.Message
		decision, findings []string
	}{
		"a decision":               {said: agent("We decided to keep SQLite until December."), decision: []string{"We decided to keep SQLite until December. (2)"}},
		"a decision between calls": {said: working("We will use port 8090 instead of 8081."), decision: []string{"We will use port 8090 instead of 8081. (2)"}},
		"a person's":               {said: user("Let's use the small printer."), decision: []string{"Let's use the small printer. (2)"}},
		"a list":                   {said: agent("Decisions:\n- four sections\n- no logo at all"), decision: []string{"four sections (2)", "no logo at all (2)"}},
		"a result":                 {said: agent("Fixed! The footer now uses the dim colour."), findings: []string{"Fixed! The footer now uses the dim colour. (2)"}},
		"a cause":                  {said: agent("The root cause was the stale cache of the proxy."), findings: []string{"The root cause was the stale cache of the proxy. (2)"}},

		"a guess":                   {said: agent("**VS Code** might be converting it because of the terminal instead of showing it.")},
		"a guess with if":           {said: agent("If the terminal is light, the problem is the wrong theme being loaded.")},
		"a cause between calls":     {said: working("The exports are there! The issue is that the package was rebuilt too late.")},
		"a cause that says nothing": {said: agent("Ah! There's the problem!")},
		"a proposal":                {said: agent("I propose to switch to the other scanner, because it has a cable.")},
		"an intention":              {said: agent("Let me fix the bug in the loader of the themes first.")},
		"a question":                {said: agent("Have we decided to stay with the old printer?")},
		"a list of results":         {said: agent("Fixed all of the colours:\n- `mdLink`: `#81a2be` (blue)\n- `mdCode`: `#8abeb7`")},
		"an agreement with nothing": {said: agent("Noted. Stock of spelt flour is 14 sacks today.")},
		"a person's doubt":          {said: user("Maybe we should go with the small one, not sure.")},
	} {
		t.Run(name, func(t *testing.T) {
			tt.said.Line = 0
			got := sum(t, summarize.Options{}, tt.said)
			if diff := cmp.Diff(tt.decision, section(got, "Decisions")); diff != "" {
				t.Errorf("decisions: %s", diff)
			}
			if diff := cmp.Diff(tt.findings, section(got, "Findings and results")); diff != "" {
				t.Errorf("findings: %s", diff)
			}
		})
	}
}

// TestReportsAndAborts: what somebody does not know is no rule, what a person
// broke off is no error, and an app for TODOs is not a thing to do.
func TestReportsAndAborts(t *testing.T) {
	aborted, failed := agent("Looking."), agent("Looking again.")
	aborted.ErrorText, aborted.StopReason = []byte("Request was aborted."), []byte("aborted")
	failed.ErrorText, failed.StopReason = []byte("529 overloaded"), []byte("error")
	stopped := agent("", call("s", "bash", `{"command":"sleep 500"}`), call("g", "bash", `{"command":"grep -A 5 \"a\\|b\" x.go"}`))
	got := sum(t, summarize.Options{}, user("Please fix it. I don't think the cache must work that way."), aborted, failed,
		stopped, result("s", "Command aborted", true), result("g", "(no output)\n\nCommand exited with code 1", true), agent("The TODO app is ready for use."))
	if c, n := section(got, "Constraints and preferences"), section(got, "Next steps"); len(c)+len(n) > 0 {
		t.Errorf("constraints %q, next steps %q", c, n)
	}
	if diff := cmp.Diff([]string{"model call: `529 overloaded` (4)"}, section(got, "Errors")); diff != "" {
		t.Error(diff)
	}
}
