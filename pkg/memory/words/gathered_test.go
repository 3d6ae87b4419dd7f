package words

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// What was gathered of each term is what was posted, however many pieces it takes.
func TestGatheredPostings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var g gatheredPostings
		var terms [3]gatheredTerm
		for range 2 {
			var want [3][]byte
			clear(terms[:])
			for record := range int64(rapid.SampledFrom([]int{1, 30, 3000}).Draw(t, "records")) {
				n := rapid.IntRange(0, 2).Draw(t, "term")
				times := rapid.Uint32Range(1, 1<<20).Draw(t, "times")
				want[n] = appendPosting(want[n], terms[n].last, record+1, times)
				g.post(&terms[n], record+1, times)
			}
			for n := range terms {
				if got := g.appendAll(nil, &terms[n]); !slices.Equal(got, want[n]) {
					t.Fatalf("%d bytes, want %d", len(got), len(want[n]))
				}
			}
			g.reset()
		}
	})
}

// Postings that were forgotten leave their room to those that follow.
func TestGatheredRoomIsUsedAgain(t *testing.T) {
	var g gatheredPostings
	for round := range 3 {
		pages, term := len(g.pages), gatheredTerm{}
		for record := range int64(60_000) {
			g.post(&term, record+1, 7)
		}
		if round > 0 && len(g.pages) != pages || g.used < 2 {
			t.Errorf("%d pages, %d before, %d in use", len(g.pages), pages, g.used)
		}
		g.reset()
	}
}

// Postings that were written are not held.
func TestWrittenPostingsAreNotHeld(t *testing.T) {
	tx, err := open(t).Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	w := recordWords().NewWriter(t.Context(), tx)
	for record, text := range []string{"crane", "heron"} {
		if err := w.Add(int64(record+1), text); err != nil {
			t.Fatal(err)
		}
	}
	if w.gathered.used == 0 || !w.has(2) {
		t.Error("nothing is gathered")
	}
	if err := w.Flush(); err != nil || w.gathered.used != 0 || w.has(2) {
		t.Errorf("%d pages are held (%v)", w.gathered.used, err)
	}
}
