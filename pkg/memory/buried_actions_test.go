package memory_test

import (
	"context"
	"testing"

	"github.com/sessctl/sessctl/pkg/memory"
)

// What was done in a piece that was forgotten of another archive of the session is
// forgotten too, wherever else in this archive something was forgotten.
func TestActionsOfForgottenPieceBeforeAnother(t *testing.T) {
	ctx := context.Background()
	s, _ := newStore(t)
	of := func(archive string, list ...memory.Record) {
		t.Helper()
		if _, err := s.Put(ctx, memory.Source{Runtime: "r", Agent: "a", Session: "s", Archive: archive}, all(list...)); err != nil {
			t.Fatal(err)
		}
	}
	a := command("make secret")
	done := memory.Record{ID: memory.NewActionIDs("a", "s").Next(a, 1), Category: memory.CategoryWork, Agent: "a", Session: "s", FirstByte: 10, EndByte: 20, Action: &a}
	early, late := pieceAt("early", 0, 0, 100), pieceAt("late", 1, 100, 200)
	of("one", early)
	if _, err := s.Forget(ctx, memory.Selection{ID: "early"}); err != nil {
		t.Fatal(err)
	}
	of("other", late)
	if _, err := s.Forget(ctx, memory.Selection{ID: "late"}); err != nil {
		t.Fatal(err)
	}
	of("other", done, early, late)
	if hits := work(t, s, memory.WorkQuery{Command: "make secret"}); len(hits) > 0 {
		t.Errorf("%+v", hits)
	}
}

// What was done in a piece that is forgotten because it has a part of a forgotten one
// is not stored, as it is not by any later run.
func TestActionsOfGrownForgottenPiece(t *testing.T) {
	ctx := context.Background()
	s, _ := newStore(t)
	of := func(begun []string, list ...memory.Record) {
		t.Helper()
		archive := map[bool]string{true: "long", false: "short"}[begun != nil]
		if _, err := s.Put(ctx, memory.Source{Runtime: "r", Agent: "a", Session: "s", Archive: archive}, all(list...), begun...); err != nil {
			t.Fatal(err)
		}
	}
	a := command("make later")
	done := memory.Record{ID: memory.NewActionIDs("a", "s").Next(a, 1), Category: memory.CategoryWork, Agent: "a", Session: "s", FirstByte: 210, EndByte: 220, Action: &a}
	of(nil, pieceAt("one", 0, 0, 200))
	if _, err := s.Forget(ctx, memory.Selection{ID: "one"}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		of([]string{"short"}, done, pieceAt("one and more", 0, 0, 300))
		if hits := work(t, s, memory.WorkQuery{Command: "make later"}); len(hits) > 0 {
			t.Errorf("%+v", hits)
		}
	}
}
