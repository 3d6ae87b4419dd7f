package adapters_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sessctl/sessctl/pkg/session/logfile"
)

// What is appended never repeats an item, and appending twice adds nothing.
func TestLogfileItemsAreNotRepeated(t *testing.T) {
	dir := t.TempDir()
	logs := &logfile.Logs{Store: dir, Base: dir}
	path := filepath.Join(dir, "lessons.md")
	appended := func(t *rapid.T, items []string) string {
		if err := logs.AppendList(path, "lessons", items); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		return string(text)
	}
	rapid.Check(t, func(t *rapid.T) {
		item := rapid.SampledFrom([]string{"Use tabs.", "use tabs", "- Use  tabs!", "Ask first", "", "  ", "Never delete"})
		known := strings.Join(rapid.SliceOf(item).Draw(t, "known"), "\n")
		items := rapid.SliceOf(item).Draw(t, "items")
		if err := os.WriteFile(path, []byte(known), 0o600); err != nil {
			t.Fatal(err)
		}
		all := appended(t, items)
		if again := appended(t, items); again != all {
			t.Fatalf("%q and then %q would be appended again", all, strings.TrimPrefix(again, all))
		}
		if !strings.HasPrefix(all, known) || strings.Contains(all[len(known):], "\n\n") {
			t.Fatalf("%q became %q", known, all)
		}
	})
}
