package memory_test

import (
	"testing"
)

// TestBrief: without any vector all records wait, with one those of the queue,
// and it agrees with Stats.
func TestBrief(t *testing.T) {
	s, _ := newStore(t)
	put(t, s, record(0, "the importer listens on port 7433"), record(1, "the backup runs at night"))
	brief := func(want int) {
		t.Helper()
		b, err := s.Brief(t.Context())
		if err != nil || b.Records < 2 || b.Bytes == 0 {
			t.Fatalf("%+v, %v", b, err)
		}
		n := 0
		for _, w := range b.Waiting {
			if w.Runtime != "pi" || w.Agent != "a" {
				t.Errorf("%+v", w)
			}
			n += w.Records
		}
		stats, err := s.Stats(t.Context())
		if err != nil || n != want || len(stats.Agents) != 1 || stats.Agents[0].Unembedded != want {
			t.Errorf("%d wait, want %d; %+v, %v", n, want, stats, err)
		}
	}
	brief(2)
	e, model := builtin(t)
	if _, err := s.EmbedPending(t.Context(), e, model, "a", nil); err != nil {
		t.Fatal(err)
	}
	brief(0)
	put(t, s, record(2, "the key lies under the mat"))
	brief(1)
}
