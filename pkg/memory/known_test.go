package memory_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sessctl/sessctl/pkg/embed"
	"github.com/sessctl/sessctl/pkg/memory"
)

// revision is the axis model at a revision, as a server would name it.
func revision(name string) embed.Model {
	m := (&axis{}).model()
	m.Revision = name
	return m
}

// TestKnown: while a server is away, its model is told by the vectors that are
// in memory.
func TestKnown(t *testing.T) {
	s, _ := twoAgents(t)
	expected := revision("")
	if m, found, err := s.Known(t.Context(), expected); err != nil || found {
		t.Fatalf("nothing has a vector: %v, %v, %v", m, found, err)
	}
	for agent, m := range map[string]embed.Model{"b": revision("old"), "a": revision("new")} {
		if _, err := s.EmbedPending(t.Context(), &axis{serves: 1000}, m, agent, nil); err != nil {
			t.Fatal(err)
		}
	}
	for _, dim := range []int{0, 8} {
		expected.Dim = dim
		if m, found, err := s.Known(t.Context(), expected); err != nil || !found || m != revision("new") {
			t.Errorf("dimension %d: %v, %v, %v, want the one with the most vectors", dim, m, found, err)
		}
	}
	expected.Dim = 9
	if m, found, err := s.Known(t.Context(), expected); err != nil || found {
		t.Errorf("another dimension: %v, %v, %v", m, found, err)
	}
}

// TestOtherModels: an agent's vectors are of another model, or not; a Reindex
// that is not done does not count.
func TestOtherModels(t *testing.T) {
	s, _ := newStore(t)
	for i := range 103 { // more than a batch of a
		r := record(i, fmt.Sprintf("record %d", i))
		if i >= 100 {
			r.Agent, r.ID = "b", memory.RecordID("b", "s1", i, "v1", "")
		}
		put(t, s, r)
	}
	others := func(agent string, m embed.Model) []string {
		t.Helper()
		names, err := s.OtherModels(t.Context(), agent, m)
		if err != nil {
			t.Fatal(err)
		}
		return names
	}
	if got := others("a", revision("new")); got != nil {
		t.Errorf("no vectors: %q", got)
	}
	if r, err := s.Reindex(t.Context(), &axis{serves: 70}, revision("new"), []string{"a"}, nil); err != nil || r.Done {
		t.Fatalf("%+v, %v", r, err)
	}
	if got := others("a", revision("new")); got != nil {
		t.Errorf("a reindex that is not done: %q", got)
	}
	if _, err := s.EmbedPending(t.Context(), &axis{serves: 1000}, revision("old"), "b", nil); err != nil {
		t.Fatal(err)
	}
	if got := others("b", revision("new")); !slices.Equal(got, []string{revision("old").String()}) {
		t.Errorf("vectors of another model: %q", got)
	}
	if got := others("b", revision("old")); got != nil {
		t.Errorf("vectors of the model: %q", got)
	}
}

// TestRecallSaysWhoHasOtherVectors: vectors of another model are not compared,
// and not passed over silently.
func TestRecallSaysWhoHasOtherVectors(t *testing.T) {
	s, _ := twoAgents(t)
	for agent, m := range map[string]embed.Model{"b": revision("old"), "a": revision("new")} {
		if _, err := s.EmbedPending(t.Context(), &axis{serves: 1000}, m, agent, nil); err != nil {
			t.Fatal(err)
		}
	}
	for agent, want := range map[string]bool{"": true, "a": false} {
		r, err := s.Recall(t.Context(), memory.Query{Text: "importer", Agent: agent}, &axis{serves: 1}, revision("new"))
		if err != nil || r.Rank != memory.RankHybrid || strings.Contains(r.Notice, "of b; found by words only until sessctl memory reindex") != want {
			t.Errorf("agent %q: %s, %q, %v", agent, r.Rank, r.Notice, err)
		}
	}
}
