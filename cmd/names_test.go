package cmd

import (
	"os"
	"slices"
	"testing"

	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// An empty name is refused for every flag that names something, whatever its
// help comes to say.
func TestFlagsThatTakeNames(t *testing.T) {
	names := []string{"agent", "give-up", "id", "runtime", "session", "undelete"}
	found := map[string]bool{}
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		check := func(f *pflag.Flag) {
			if slices.Contains(names, f.Name) {
				found[f.Name] = true
				if !takesName(f) {
					t.Errorf("%s --%s takes an empty name", c.CommandPath(), f.Name)
				}
			}
		}
		c.Flags().VisitAll(check)
		c.PersistentFlags().VisitAll(check)
		for _, below := range c.Commands() {
			walk(below)
		}
	}
	walk(newRootCommand(testApp(&streams{}, workspace.Run{Settings: workspace.Settings{Getenv: os.Getenv}})))
	if len(found) != len(names) {
		t.Errorf("found %v of %v", found, names)
	}
}
