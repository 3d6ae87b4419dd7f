package memory_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sessctl/sessctl/pkg/memory"
)

// dump is what a tool printed, with words of questions in it.
func dump(words string, lines int) string {
	var b strings.Builder
	b.WriteString("[Tool]: ")
	for i := range lines {
		fmt.Fprintf(&b, "%04d  const %s_%d = registry.lookup(%q, %d)\n", i, words, i, words, 7*i)
	}
	return b.String()
}

// What somebody said in words comes before what a tool printed with the same
// words, and more of them.
func TestWordsBeforeDumps(t *testing.T) {
	s, _ := newStore(t)
	said := record(10, "[Human]: the heading colour of the theme is amber, as we settle it now.\n\n[Agent]: I will write it down.")
	records := []memory.Record{said}
	for i := range 30 {
		records = append(records, record(200+10*i, fmt.Sprintf("[Agent]: I read file%d, the colour stands there.", i)))
	}
	for i := range 8 {
		records = append(records, record(20+10*i, fmt.Sprintf("[Tool]: line %d: settle = the heading colour of the theme: blue%d, green\n", i, i)))
	}
	put(t, s, records...)
	embedAll(t, s, "a")
	hits := recall(t, s, memory.Query{Text: "which heading colour did we settle on for the theme"}).Hits
	if len(hits) == 0 || hits[0].ID != said.ID {
		t.Errorf("positions %v, want 10 first", positions(hits))
	}
}

// Records of which nobody knows who said them are ranked as they were before
// voices counted: they lose nothing.
func TestRecordsWithoutAVoiceLoseNothing(t *testing.T) {
	s, _ := newStore(t)
	put(t, s, record(10, "theme heading colour amber, settled"), record(20, "[Tool]: theme heading colour amber, settled\nand more of the theme"))
	embedAll(t, s, "a")
	hits := recall(t, s, memory.Query{Text: "theme heading colour amber settled"}).Hits
	if len(hits) != 2 || hits[0].Position != 10 || hits[0].Relevance < 0.99 {
		t.Errorf("positions %v", positions(hits))
	}
}

// The same output again is one hit, with the newest of them, unless only one of
// them has a word that is asked for.
func TestCopiesOfOutputAreOneHit(t *testing.T) {
	s, _ := newStore(t)
	var records []memory.Record
	for i := range 4 {
		r := record(10*i, dump("importer", 30)+fmt.Sprintf("took%d", i))
		r.CreatedAt = int64(1_700_000_000_000 + 1000*i)
		records = append(records, r)
	}
	odd := record(100, dump("importer", 30)+"heron")
	odd.CreatedAt = 1_600_000_000_000
	put(t, s, append(records, odd)...)
	embedAll(t, s, "a")
	hits := recall(t, s, memory.Query{Text: "importer registry lookup"}).Hits
	if len(hits) != 1 || hits[0].Duplicates != 4 || hits[0].Position != 30 {
		t.Errorf("%d hits, positions %v", len(hits), positions(hits))
	}
	hits = recall(t, s, memory.Query{Text: "importer registry lookup heron"}).Hits
	if len(hits) != 2 || hits[0].Position != 100 && hits[1].Position != 100 {
		t.Errorf("asked for the heron: positions %v", positions(hits))
	}
}

// A summary under hybrid is not lifted over what was said; its record keeps its
// importance.
func TestSummariesCountLess(t *testing.T) {
	s, _ := newStore(t)
	summary := record(-1, "They talked of theme colours and of other things, and of the roof.")
	summary.Category, summary.Importance, summary.Position = memory.CategorySummary, 0.7, -1
	put(t, s, summary, record(10, "[Human]: amber is the colour of headings in the theme"))
	embedAll(t, s, "a")
	for _, h := range recall(t, s, memory.Query{Text: "theme colours"}).Hits {
		if want := 0.7*h.Relevance + 0.3*min(h.Importance, 0.4); h.Score < want-1e-9 || h.Score > want+1e-9 {
			t.Errorf("%s: score %.3f, want %.3f", h.Category, h.Score, want)
		}
		if h.Category == memory.CategorySummary && h.Importance != 0.7 {
			t.Errorf("importance %.2f", h.Importance)
		}
	}
}

// A date near which nothing was said is looked for by its words: somebody may
// have named it.
func TestDatesWithoutRecords(t *testing.T) {
	s, _ := newStore(t)
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC).UnixMilli()
	var records []memory.Record
	for i := range 40 {
		r := record(10*i, fmt.Sprintf("[Human]: the meeting of Annabelle was in session%d and long", i))
		r.CreatedAt = at
		records = append(records, r)
	}
	named := record(1000, "[Human]: DATE: 25 May 2022. The meeting of Annabelle was short and in the garden, before all the others came")
	named.CreatedAt = at
	put(t, s, append(records, named)...)
	embedAll(t, s, "a")
	hits := recall(t, s, memory.Query{Text: "the meeting of Annabelle on 25 May 2022"}).Hits
	if len(hits) == 0 || hits[0].Position != 1000 {
		t.Errorf("positions %v, want 1000 first", positions(hits))
	}
}
