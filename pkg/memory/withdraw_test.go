package memory_test

import (
	"context"
	"errors"
	"testing"

	"github.com/sessctl/sessctl/pkg/memory"
)

// What was withdrawn is not found, and stored again by the next Put.
func TestWithdraw(t *testing.T) {
	s, _ := newStore(t)
	one, two, fact := record(0, "the heron by the lake"), record(1, "the heron in the reeds"), record(2, "herons are grey")
	one.Archive, two.Archive, fact.Category = "first", "second", "fact"
	put(t, s, one, two, fact)
	embedAll(t, s, one.Agent)
	what := memory.Withdrawal{Runtime: one.Runtime, Agent: one.Agent, Session: one.Session, Categories: []string{one.Category}, Keep: []string{"first"}}
	if n, err := s.Withdraw(context.Background(), what); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	if hits := recall(t, s, memory.Query{Text: "heron", Rank: memory.RankText}).Hits; len(hits) != 2 {
		t.Errorf("%v", hits)
	}
	if got, want := put(t, s, one, two), (memory.PutResult{Stored: 1, Existing: 1}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	what.Keep = nil
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
	if _, err := s.Withdraw(context.Background(), memory.Withdrawal{Runtime: source.Runtime, Agent: source.Agent, Session: source.Session}); err != nil {
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
