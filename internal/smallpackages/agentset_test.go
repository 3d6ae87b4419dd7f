package smallpackages

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/sessctl/sessctl/pkg/agentset"
)

func TestAgentSet(t *testing.T) {
	t.Parallel()
	pi, claude, other := agentset.ID{Runtime: "pi", Agent: "w-my.app"}, agentset.ID{Runtime: "claude", Agent: "w-my-app"}, agentset.ID{Runtime: "pi", Agent: "w-my-app"}
	project := agentset.Of("w-my.app", []agentset.ID{pi, claude, pi})
	if project != agentset.Of("w-my.app", []agentset.ID{claude, pi}) {
		t.Error("sets of the same agents differ")
	}
	for _, c := range []struct {
		set  agentset.Set
		id   agentset.ID
		want bool
	}{
		{"", pi, true}, {"w-my-app", claude, true}, {"w-my-app", other, true}, {"w-my-app", pi, false}, {"w-my", claude, false},
		{project, pi, true}, {project, claude, true}, {project, other, false}, {project, agentset.ID{Agent: "w-my-app"}, false},
		{agentset.Of("p", []agentset.ID{{Agent: "own"}}), agentset.ID{Agent: "own"}, true},
	} {
		if got := c.set.Holds(c.id.Runtime, c.id.Agent); got != c.want {
			t.Errorf("%q holds %v: %v", c.set.Pairs(), c.id, got)
		}
	}
	if got := project.Names(); !slices.Equal(got, []string{"w-my-app", "w-my.app"}) {
		t.Error(got)
	}
	if text, err := json.Marshal(project); string(text) != `"w-my.app"` || err != nil {
		t.Errorf("%s, %v", text, err)
	}
}

// A set is not typed: what a caller sends is a name, whatever it looks like.
func TestAgentSetIsNotTyped(t *testing.T) {
	t.Parallel()
	typed := agentset.Named(string(agentset.Of("own", []agentset.ID{{Runtime: "pi", Agent: "another"}})))
	if typed != "own" || typed.Holds("pi", "another") {
		t.Errorf("%q", typed)
	}
}

func TestAgentSetWithin(t *testing.T) {
	t.Parallel()
	a, b := agentset.ID{Runtime: "pi", Agent: "a"}, agentset.ID{Runtime: "claude", Agent: "b"}
	both := agentset.Of("p", []agentset.ID{a, b})
	for _, c := range []struct {
		x, y, want agentset.Set
		fits       bool
	}{
		{"", "", "", true}, {"", "a", "a", true}, {"a", "", "a", true}, {"a", "b", "a", false}, {"a", "a", "a", true},
		{both, "a", agentset.Of("p", []agentset.ID{a}), true}, {"b", both, agentset.Of("p", []agentset.ID{b}), true},
		{both, "c", both, false}, {both, agentset.Of("q", []agentset.ID{b}), agentset.Of("p", []agentset.ID{b}), true},
	} {
		if got, fits := c.x.Within(c.y); fits != c.fits || fits && got != c.want {
			t.Errorf("%q within %q: %q, %v", c.x, c.y, got, fits)
		}
	}
}
