package memory_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/sessctl/sessctl/pkg/memory"
)

func TestNeighbors(t *testing.T) {
	s, _ := newStore(t)
	var records []memory.Record
	for i := range 6 {
		records = append(records, record(i, fmt.Sprintf("part %d", i)))
	}
	other, summary, again := record(3, "of another session"), record(-1, "in short"), record(2, "part 2, cut again")
	other.Session, summary.Category, again.Archive = "s2", "session_summary", "later"
	put(t, s, append(records, other, summary, again)...)
	for name, c := range map[string]struct {
		of            memory.Record
		n             int
		before, after string
	}{
		"none":      {records[3], 0, "[]", "[]"},
		"one":       {records[3], 1, "[part 2]", "[part 4]"},
		"two":       {records[1], 2, "[part 0]", "[part 2 part 3]"},
		"all":       {records[5], 100, "[part 0 part 1 part 2 part 3 part 4]", "[]"},
		"a summary": {summary, 3, "[]", "[]"},
	} {
		before, after, err := s.Neighbors(context.Background(), c.of, c.n)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(texts(before), texts(after)); got != c.before+" "+c.after {
			t.Errorf("%s: %s, want %s %s", name, got, c.before, c.after)
		}
	}
}

func texts(records []memory.Record) []string {
	list := []string{}
	for _, r := range records {
		list = append(list, r.Text)
	}
	return list
}
