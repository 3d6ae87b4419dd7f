package memory_test

import (
	"context"
	"slices"
	"testing"

	"github.com/sessctl/sessctl/pkg/memory"
)

// pieceAt is a piece of a log.
func pieceAt(id string, position int, from, to int64) memory.Record {
	return memory.Record{ID: id, Text: "text of " + id, Category: "session_history", Agent: "a", Session: "s", Branch: "active", Position: position, FirstByte: from, EndByte: to}
}

// A piece that has a part of one that was forgotten is forgotten too: of the same
// archive, and of a longer one that is said to begin with its bytes. One that only
// lies beside it is stored, whichever of them comes first.
func TestPartOfForgottenIsForgotten(t *testing.T) {
	ctx := context.Background()
	s, err := memory.Open(ctx, t.TempDir(), memory.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	put := func(archive string, begun []string, list ...memory.Record) memory.PutResult {
		t.Helper()
		result, err := s.Put(ctx, memory.Source{Runtime: "r", Agent: "a", Session: "s", Archive: archive}, func(yield func(memory.Record, error) bool) {
			for _, r := range list {
				if !yield(r, nil) {
					return
				}
			}
		}, begun...)
		if err != nil {
			t.Fatal(err)
		}
		return result
	}
	put("short", nil, pieceAt("one", 0, 0, 100), pieceAt("two", 1, 100, 200))
	if _, err := s.Forget(ctx, memory.Selection{ID: "two"}); err != nil {
		t.Fatal(err)
	}
	beside := pieceAt("beside", 2, 150, 250) // touches what comes again under its own id
	if r := put("short", nil, pieceAt("one", 0, 0, 100), beside, pieceAt("two", 1, 100, 200)); r.Stored != 1 || r.Buried != 1 || r.Existing != 1 {
		t.Errorf("%+v", r)
	}
	long := []memory.Record{pieceAt("one", 0, 0, 100), pieceAt("two and more", 1, 100, 300), pieceAt("three", 2, 300, 400)}
	if r := put("other", nil, long...); r.Buried != 0 || r.Stored != 2 {
		t.Errorf("of another log: %+v", r)
	}
	if _, err := s.Withdraw(ctx, memory.Withdrawal{Runtime: "r", Agent: "a", Session: "s", From: []string{"short", "other"}}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if r := put("long", []string{"short"}, long...); r.Buried != 1 {
			t.Errorf("%+v", r)
		}
	}
	c, err := s.Coverage(ctx, memory.Source{Runtime: "r", Agent: "a", Session: "s"}, "session_history", []string{"short", "long"})
	if err != nil || c.Records != 2 || c.Bytes != 400 || c.Missing(3) != 0 {
		t.Errorf("%+v %v", c, err)
	}
	if ids, err := s.ForgottenArchives(ctx); err != nil || !slices.Equal(ids, []string{"long", "short"}) {
		t.Error(ids, err)
	}
	if problems, err := s.Verify(ctx); err != nil || len(problems) > 0 {
		t.Error(problems, err)
	}
}
