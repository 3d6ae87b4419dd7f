package logfile

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// What is appended never repeats an item, and appending twice adds nothing.
func TestItemsAreNotRepeated(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		item := rapid.SampledFrom([]string{"Use tabs.", "use tabs", "- Use  tabs!", "Ask first", "", "  ", "Never delete"})
		known := strings.Join(rapid.SliceOf(item).Draw(t, "known"), "\n")
		items := rapid.SliceOf(item).Draw(t, "items")
		all := known + newItems(known, items)
		if again := newItems(all, items); again != "" {
			t.Fatalf("%q and then %q would be appended again", all, again)
		}
		if !strings.HasPrefix(all, known) || strings.Contains(all[len(known):], "\n\n") {
			t.Fatalf("%q became %q", known, all)
		}
	})
}
