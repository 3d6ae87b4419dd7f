package memory_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sessctl/sessctl/pkg/memory"
)

// Of many records with the same words, the one of the day that the question
// names comes first, and those of the week after before others.
func TestDatesInQuestions(t *testing.T) {
	s, _ := newStore(t)
	start := time.Date(2025, 1, 1, 12, 0, 0, 0, time.UTC)
	var records []memory.Record
	for day := range 600 {
		r := record(10*day, fmt.Sprintf("Annabelle and the coordinator met and looked at the invoice of number%d.", day))
		r.CreatedAt = start.AddDate(0, 0, day).UnixMilli()
		records = append(records, r)
	}
	put(t, s, records...)
	embedAll(t, s, "a")
	position := func(day time.Time) int { return 10 * int(day.Sub(start)/(24*time.Hour)) }
	date := func(year int, month time.Month, day int) time.Time {
		return time.Date(year, month, day, 12, 0, 0, 0, time.UTC)
	}
	now := time.Date(2026, 3, 4, 15, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"which invoice did Annabelle look at on 25 May 2025": date(2025, 5, 25),
		"what happened on 2026-02-03":                        date(2026, 2, 3),
		"the invoice of yesterday":                           date(2026, 3, 3),
	} {
		hits := recall(t, s, memory.Query{Text: text, Now: now, Limit: 8}).Hits
		if len(hits) != 8 || hits[0].Position != position(want) {
			t.Errorf("%q: positions %v, want %d first", text, positions(hits), position(want))
			continue
		}
		if strings.Contains(text, "May") && !slices.Contains(positions(hits), position(want.AddDate(0, 0, 3))) {
			t.Errorf("%q: the days after are not there: %v", text, positions(hits))
		}
	}
	for _, h := range recall(t, s, memory.Query{Text: "Annabelle in July", Limit: 10}).Hits {
		if at := time.UnixMilli(h.CreatedAt).UTC(); at.Month() != time.July {
			t.Errorf("a record of %s", at)
		}
	}
	hits := recall(t, s, memory.Query{Text: "invoice on 25 May 2025", Until: date(2025, 3, 1).UnixMilli(), Limit: 10}).Hits
	for _, h := range hits {
		if h.CreatedAt >= date(2025, 3, 1).UnixMilli() {
			t.Errorf("the filter does not hold: %v", h.Record)
		}
	}
}

// A summary that repeats a piece of its session is one hit with it; one that
// says more is a hit of its own.
func TestSummariesAreFolded(t *testing.T) {
	s, _ := newStore(t)
	summary := func(session, text string) memory.Record {
		r := record(-1, text)
		r.Category, r.Session, r.Importance = memory.CategorySummary, session, 0.7
		return r
	}
	piece := record(1, "Maren says that the heron ladder stands in the cellar since Monday.")
	second := record(20, "A marigold was planted beside the gate, not far from the pond.")
	put(t, s, piece, second, summary("s1", "# Summary\n- the heron ladder stands in the cellar"), record(40, "nothing else of interest"))
	embedAll(t, s, "a")
	hits := recall(t, s, memory.Query{Text: "heron ladder"}).Hits
	if len(hits) == 0 || hits[0].Position != 1 || hits[0].Duplicates != 1 {
		t.Fatalf("hits %+v", hits)
	}
	for _, h := range hits {
		if h.Category == memory.CategorySummary {
			t.Errorf("the summary is a hit of its own: %+v", h)
		}
	}
	if hits := recall(t, s, memory.Query{Text: "heron ladder", Category: memory.CategorySummary}).Hits; len(hits) != 1 {
		t.Errorf("asked for summaries: %+v", hits)
	}
	// words of two pieces stand in no single one
	put(t, s, summary("s1", "# Summary of both\n- the heron ladder stands in the cellar\n- a marigold was planted"))
	embedAll(t, s, "a")
	hits = recall(t, s, memory.Query{Text: "heron ladder marigold"}).Hits
	if !slices.ContainsFunc(hits, func(h memory.Hit) bool { return h.Category == memory.CategorySummary }) {
		t.Errorf("the summary that says more is gone: %+v", hits)
	}
}
