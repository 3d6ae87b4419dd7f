package cmd

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/spf13/cobra"
)

// The page of help fits on a terminal of 24 lines, the prompt below it, with every
// command and no word of one run into the next.
func TestHelpFitsOnAScreen(t *testing.T) {
	page, _, code := runMain("help")
	if lines := strings.Count(page, "\n"); code != 0 || lines > 23 {
		t.Errorf("exit code %d, %d lines", code, lines)
	}
	for line := range strings.Lines(page) {
		if n := utf8.RuneCountInString(line); n > 80 { // with its end
			t.Errorf("%d characters: %s", n, line)
		}
	}
	everyCommand(func(c *cobra.Command) {
		words := c.Annotations[briefly]
		if c.Parent().HasParent() || c.Name() == "completion" {
			return
		}
		if words == "" || len(words) > 24 || !strings.Contains(page, " "+c.Name()+" ") || !strings.Contains(page, " "+words) {
			t.Errorf("%s, %q, is not on the page as it should be", c.Name(), words)
		}
	})
}

// What is said to a word that is no command names commands that there are.
func TestTypedWordsAreAnswered(t *testing.T) {
	words := wording.TypedWords()
	for _, word := range words {
		root := newRootCommand(testApp(&streams{}, workspace.Run{}))
		sentence := wording.CommandFor(word)
		if c, _, err := root.Find([]string{word}); err == nil && c != root {
			t.Errorf("%s is a command", word)
		}
		if !strings.HasPrefix(sentence, "sessctl ") {
			t.Errorf("%s: %s", word, sentence)
		}
		for _, command := range strings.Split(sentence, "sessctl ")[1:] {
			c, rest, err := root.Find(strings.Fields(command))
			if err != nil || c == root || c.HasSubCommands() && !c.Runnable() {
				t.Errorf("%s: no command %q", word, command)
				continue
			}
			for _, flag := range rest {
				if name, is := strings.CutPrefix(flag, "--"); is && c.Flag(name) == nil {
					t.Errorf("%s: no flag %s of %s", word, flag, c.CommandPath())
				}
			}
		}
		var out, errs bytes.Buffer
		if code := Main([]string{word, "x"}, strings.NewReader(""), &out, &errs); code != 2 || !strings.Contains(errs.String(), "hint: "+sentence+"\n") {
			t.Errorf("sessctl %s x: exit code %d: %s", word, code, errs.String())
		}
	}
	for _, word := range []string{"ls", "search", "du", "top", "tui", "backup", "snapshots", "find", "rm", "gc", "verify"} {
		if wording.CommandFor(word) == "" {
			t.Errorf("nothing is said to %s", word)
		}
	}
	if _, errs, _ := runMain("szies"); !strings.Contains(errs, "did you mean sizes?") {
		t.Errorf("the nearest command is not named: %s", errs)
	}
}
