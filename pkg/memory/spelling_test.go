package memory_test

import (
	"strings"
	"testing"

	"github.com/sessctl/sessctl/pkg/memory"
)

// If nothing fits, a word that nobody said is looked for as one that was said, a name
// at once, and the notice says so. What was said as it is typed, numbers and what resembles nothing stay.
func TestWordsTypedWrongly(t *testing.T) {
	s, _ := newStore(t)
	put(t, s,
		record(10, "[Human]: the validation of the importer rejects empty headings in packages/tui/src/index.ts"),
		record(20, "[Agent]: I call getMarkdownTheme() again when the colour changes, release v1.20.4"),
		record(30, "[Human]: the heron stands beside the cellar"))
	embedAll(t, s, "a")
	for question, want := range map[string]struct {
		position int
		notice   string
	}{
		"validaton":                      {10, `nobody said "validaton": looked for "validation"`},
		"headigns":                       {10, `nobody said "headigns": looked for "headings"`},
		"packges/tui/src/index.ts":       {10, `nobody said "packges/tui/src/index.ts": looked for "packages/tui/src/index.ts"`},
		"who calls \"getMarkdwonTheme\"": {20, `nobody said "getMarkdwonTheme": looked for "getMarkdownTheme"`},
		"heron beside the cellarx":       {30, ""}, // it fits as it is
		"which color changes":            {20, ""}, // it is English
		"release v1.20.5":                {20, ""},
		"heron of the xylophone":         {30, ""},
	} {
		found := recall(t, s, memory.Query{Text: question, LeastFit: memory.LeastFit})
		if len(found.Hits) == 0 || found.Hits[0].Position != want.position || found.Notice != want.notice {
			t.Errorf("%s: positions %v, notice %q", question, positions(found.Hits), found.Notice)
		}
	}
}

// Of two words that are as near, the one that was said more often is meant; a first
// letter is never wrong; and vectors alone are asked as it was typed.
func TestWhichWordWasMeant(t *testing.T) {
	s, _ := newStore(t)
	put(t, s, record(10, "[Human]: the table is set"), record(20, "[Human]: the tablet is charged"), record(30, "[Human]: the tablet fell"), record(40, "[Human]: a cable"),
		record(50, "[Human]: the part is abc12def, of Marlonik"), record(60, "[Human]: Torlonik"), record(70, "[Human]: Torlonik again"), record(80, "[Human]: Tarlonix"))
	embedAll(t, s, "a")
	if got := recall(t, s, memory.Query{Text: "tablex", LeastFit: memory.LeastFit}); !strings.Contains(got.Notice, `"tablet"`) || len(got.Hits) == 0 || got.Hits[0].Position < 20 || got.Hits[0].Position > 30 {
		t.Errorf("%v, %q", positions(got.Hits), got.Notice)
	}
	for name, q := range map[string]memory.Query{
		"the first letter":           {Text: "xablet", LeastFit: memory.LeastFit},
		"vectors alone":              {Text: "tablex", LeastFit: memory.LeastFit, Rank: memory.RankVector},
		"a word of English":          {Text: "fable", LeastFit: memory.LeastFit, Rank: memory.RankText},
		"a number":                   {Text: "abc12dfe", LeastFit: memory.LeastFit},
		"whatever fits, no name":     {Text: "marlonki", Rank: memory.RankText},
		"a word that says nothing":   {Text: "which", LeastFit: memory.LeastFit, Rank: memory.RankText},
		"four letters":               {Text: "cabl", LeastFit: memory.LeastFit, Rank: memory.RankText},
		"two slips, not one of them": {Text: "marlnoi", LeastFit: memory.LeastFit, Rank: memory.RankText},
	} {
		if got := recall(t, s, q); got.Notice != "" {
			t.Errorf("%s: %q", name, got.Notice)
		}
	}
	for typed, meant := range map[string]string{"tbalet": `"tablet"`, "tarlonik": `"torlonik"`} { // the second letter may be wrong
		if got := recall(t, s, memory.Query{Text: typed, LeastFit: memory.LeastFit}); !strings.Contains(got.Notice, meant) {
			t.Errorf("%s: %q", typed, got.Notice)
		}
	}
	if got := recall(t, s, memory.Query{Text: "marlonki", LeastFit: memory.LeastFit, Rank: memory.RankText}); got.Notice == "" || len(got.Hits) != 1 {
		t.Error(positions(got.Hits), got.Notice)
	}
}
