package memory_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sessctl/sessctl/pkg/agentset"
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
		r, err := s.Recall(t.Context(), memory.Query{Text: "importer", Agent: agentset.Set(agent)}, &axis{serves: 1}, revision("new"))
		if err != nil || r.Rank != memory.RankHybrid || strings.Contains(r.Notice, "of b; found by words only until sessctl memory reindex") != want {
			t.Errorf("agent %q: %s, %q, %v", agent, r.Rank, r.Notice, err)
		}
	}
}

// What was withdrawn is not found, and stored again by the next Put.
func TestWithdraw(t *testing.T) {
	s, _ := newStore(t)
	one, two, fact := record(0, "the heron by the lake"), record(1, "the heron in the reeds"), record(2, "herons are grey")
	one.Archive, two.Archive, fact.Category = "first", "second", "fact"
	put(t, s, one, two, fact)
	embedAll(t, s, one.Agent)
	what := memory.Withdrawal{Runtime: one.Runtime, Agent: one.Agent, Session: one.Session, Categories: []string{one.Category}, From: []string{"second", "third"}}
	if n, err := s.Withdraw(context.Background(), what); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	if hits := recall(t, s, memory.Query{Text: "heron", Rank: memory.RankText}).Hits; len(hits) != 2 {
		t.Errorf("%v", hits)
	}
	if got, want := put(t, s, one, two), (memory.PutResult{Stored: 1, Existing: 1}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	what.From = []string{"first", "second"}
	if n, err := s.Withdraw(context.Background(), what); n != 2 || err != nil {
		t.Fatal(n, err)
	}
	if problems, err := s.Verify(context.Background()); err != nil || len(problems) > 0 {
		t.Error(problems, err)
	}
	for _, w := range []memory.Withdrawal{{}, {Runtime: "pi", Agent: "a"}, {Session: "s1"}} {
		if _, err := s.Withdraw(context.Background(), w); !errors.Is(err, memory.ErrNothingSelected) {
			t.Errorf("%+v: %v", w, err)
		}
	}
}

func TestCoverage(t *testing.T) {
	s, _ := newStore(t)
	var all []memory.Record
	for i, span := range [][2]int64{{0, 100}, {80, 200}, {300, 400}} {
		r := record(i, "twelve runes")
		r.FirstByte, r.EndByte, r.Archive = span[0], span[1], "x"
		all = append(all, r)
	}
	put(t, s, all...)
	source := memory.Source{Runtime: all[0].Runtime, Agent: all[0].Agent, Session: all[0].Session}
	look := func() memory.Coverage {
		t.Helper()
		c, err := s.Coverage(context.Background(), source, all[0].Category, []string{"x", "y"})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	if c := look(); c.Records != 3 || c.Bytes != 300 || c.Missing(3) != 0 || c.Missing(5) != 2 || c.Characters != 36 {
		t.Errorf("%+v", c)
	}
	if _, err := s.Withdraw(context.Background(), memory.Withdrawal{Runtime: source.Runtime, Agent: source.Agent, Session: source.Session, From: []string{"x"}}); err != nil {
		t.Fatal(err)
	}
	put(t, s, all[0], all[2])
	if c := look(); c.Bytes != 200 || c.Missing(3) != 1 {
		t.Errorf("%+v", c)
	}
	put(t, s, all[1])
	if _, err := s.Forget(context.Background(), memory.Selection{ID: all[1].ID}); err != nil {
		t.Fatal(err)
	}
	if c := look(); c.Records != 2 || c.Bytes != 300 || c.Missing(3) != 0 || c.Forgotten != 1 {
		t.Errorf("what was forgotten counts as missing: %+v", c)
	}
}
