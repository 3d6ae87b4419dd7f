package cmd

import (
	"slices"
	"testing"

	"github.com/sessctl/sessctl/internal/steps"
	"github.com/spf13/cobra"
)

// unattendedForce says, of each command with --force, which key of a profile lifts its
// limit where nobody is asked, or why none is needed.
var unattendedForce = map[string]struct{ key, why string }{
	"sessctl compact":        {key: "compact.threshold"},
	"sessctl clean":          {key: "clean.force"},
	"sessctl archives prune": {key: "archives_prune.force"},
	"sessctl extract-facts":  {key: "extract_facts.max"},
	"sessctl restore":        {why: "puts one log in the place of another, which a person chooses"},
	"sessctl undo":           {why: "takes one compaction back, which a person chooses"},
	"sessctl resummarize":    {why: "replaces summaries that a person names"},
	"sessctl prove":          {why: "replaces a file that a person names"},
	"sessctl memory export":  {why: "replaces a file that a person names"},
}

// A limit that a person lifts with --force has a key of the profile.
func TestEveryLimitHasAKeyOfTheProfile(t *testing.T) {
	known := steps.ProfileKeysLike("profiles.x.y")
	seen := 0
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			visit(sub)
		}
		if c.Flags().Lookup("force") == nil {
			return
		}
		seen++
		answer, ok := unattendedForce[c.CommandPath()]
		if !ok || answer.why == "" && !slices.Contains(known, "profiles.x."+answer.key) {
			t.Errorf("%s --force has no key of a profile, of %q", c.CommandPath(), known)
		}
	}
	visit(CommandTree())
	if seen != len(unattendedForce) {
		t.Errorf("%d commands have --force, %d have an answer", seen, len(unattendedForce))
	}
}
