package cmd

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// freeFlags take what nobody can guess: numbers, texts, and ids that are found
// by asking.
const freeFlags = " chars threshold keep-recent-tokens focus quiet-period max-llm-calls limit min-score neighbors keep lines query min-relevance budget " +
	"keep-tool-results max last min-confidence idle workers id run-as command error new-ledger "

// argumentName is what the usage of a command calls what it takes.
var argumentName = regexp.MustCompile(`\b[A-Z]{2,}\b`)

// freeArguments are what nobody can guess, and directories.
const freeArguments = " QUERY DIR LINE HOST "

// Every flag that takes a value says what is offered for it, and every entry of
// the table is of a flag that there is.
func TestEveryFlagIsCompleted(t *testing.T) {
	a := testApp(&streams{}, workspace.Run{Settings: workspace.Settings{Getenv: func(string) string { return "" }}})
	root := newRootCommand(a)
	used := map[string]bool{}
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		path := strings.TrimPrefix(strings.TrimPrefix(c.CommandPath(), "sessctl"), " ")
		look := func(f *pflag.Flag) {
			table := completeFlags()
			for _, key := range []string{path + " " + f.Name, f.Name} {
				if _, known := table[key]; known {
					used[key] = true
					return
				}
			}
			if f.Value.Type() != "bool" && !strings.Contains(freeFlags, " "+f.Name+" ") {
				t.Errorf("nothing says what is offered for %s --%s", c.CommandPath(), f.Name)
			}
		}
		if strings.HasPrefix(path, "completion") {
			return
		}
		c.LocalFlags().VisitAll(look)
		if _, known := completeArguments()[path]; known {
			used[path] = true
		} else if name := argumentName.FindString(c.Use); name != "" && !strings.Contains(freeArguments, " "+name+" ") {
			t.Errorf("%s takes %s, which is not completed", c.CommandPath(), name)
		}
		for _, below := range c.Commands() {
			visit(below)
		}
	}
	visit(root)
	for key := range completeFlags() {
		if !used[key] {
			t.Errorf("%q is of no flag", key)
		}
	}
	for path := range completeArguments() {
		if !used[path] {
			t.Errorf("%q is no command", path)
		}
	}
}

func TestClosest(t *testing.T) {
	known := []string{"sizes", "stores", "compact", "config", "log", "coordinator"}
	for typed, want := range map[string]string{
		"szies": "sizes", "size": "sizes", "compcat": "compact", "Cordinator": "coordinator", "frobnicate": "", "x": "", "lgo": "log", "dog": "log", "pig": "", "": "",
	} {
		if got := wording.Closest(typed, known); got != want {
			t.Errorf("closest(%q) = %q, want %q", typed, got, want)
		}
	}
}

// What a key takes is said in words, of every key.
func TestKindOfKeys(t *testing.T) {
	for key := range workspace.Defaults() {
		kind := workspace.KindOf(key)
		if _, targets := workspace.ListKeys()[key]; targets || key == workspace.SchedulesKey {
			if kind != "a list" || fits(key, "many") {
				t.Errorf("%s takes %s, and a word fits", key, kind)
			}
			continue
		}
		none := []string{"a whole number", "a number", "true or false"} // of them takes a word
		if word := fits(key, "many"); word == (slices.Contains(none, kind) || strings.HasPrefix(kind, "a duration")) {
			t.Errorf("%s takes %s, and a word fits: %v", key, kind, word)
		}
	}
	for key, want := range map[string]string{"workers": "a whole number", "compaction.quiet_period": "a duration such as 30s or 5m", "stores": "a list", "archive.dir": "a text", "recall.limit": "a whole number"} {
		if got := workspace.KindOf(key); got != want {
			t.Errorf("%s takes %s, want %s", key, got, want)
		}
	}
}
