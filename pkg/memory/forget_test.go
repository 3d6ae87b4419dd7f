package memory_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sessctl/sessctl/pkg/memory"
)

// What was forgotten is not found, not in the files, and does not come back.
func TestForget(t *testing.T) {
	s, dir := newStore(t)
	keep, drop := record(0, "the heron by the lake"), record(1, "the heron is codenamed xylograph")
	drop.Session = "s2"
	put(t, s, keep, drop)
	embedAll(t, s, "a")
	if _, err := s.Forget(context.Background(), memory.Selection{}); !errors.Is(err, memory.ErrNothingSelected) {
		t.Fatal(err)
	}
	if n, err := s.Forget(context.Background(), memory.Selection{Agent: "a", Session: "s2"}); n.Marked != 1 || err != nil {
		t.Fatal(n, err)
	}
	for _, rank := range []string{memory.RankHybrid, memory.RankText, memory.RankVector, memory.RankSeed} {
		if hits := recall(t, s, memory.Query{Text: "heron xylograph", Rank: rank}).Hits; len(hits) != 1 || hits[0].ID != keep.ID {
			t.Errorf("%s: %v", rank, hits)
		}
	}
	if got, want := put(t, s, keep, drop), (memory.PutResult{Existing: 1, Buried: 1}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if problems, err := s.Verify(context.Background()); err != nil || len(problems) > 0 {
		t.Error(problems, err)
	}
	for _, file := range []string{"memory.db", "memory.db-wal"} {
		raw, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		if strings.Contains(string(raw), "xylograph") {
			t.Errorf("%s still has the forgotten text", file)
		}
	}
}

// A reader that began before a writer sees what was there, all of it, while
// the writer is at work, and the new when it is done.
func TestReaderWhileWriting(t *testing.T) {
	s, dir := newStore(t)
	put(t, s, record(0, "heron one"))
	reader, err := memory.Open(context.Background(), dir, memory.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	_, err = s.Put(context.Background(), memory.Source{}, func(yield func(memory.Record, error) bool) {
		for i := range 500 {
			if i%100 == 0 {
				if hits := recall(t, reader, memory.Query{Text: "heron", Limit: 100}).Hits; len(hits) != 1 {
					t.Errorf("the reader sees %d records of an unfinished session", len(hits)-1)
				}
			}
			if !yield(record(i+1, "heron "+strings.Repeat("again ", i)), nil) {
				return
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if n, err := reader.CountRecords(context.Background(), "a"); n != 501 || err != nil {
		t.Fatalf("the reader sees %d records, %v", n, err)
	}
	if _, err := reader.Put(context.Background(), memory.Source{}, all(record(900, "x"))); err == nil {
		t.Fatal("a store opened for reading was written")
	}
}
