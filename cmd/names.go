package cmd

import (
	"slices"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/front/web"
	"github.com/sessctl/sessctl/internal/selection"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// checkNames refuses a flag that names something and is empty, and a runtime
// that nobody knows. An empty name comes from a variable of a script that is not
// set, and without its name a command would mean another thing, or all of them.
func checkNames(c *cobra.Command) error {
	var err error
	c.Flags().Visit(func(f *pflag.Flag) {
		switch {
		case err != nil || !takesName(f):
		case f.Value.String() == "":
			what, _ := pflag.UnquoteUsage(f)
			err = failure.Usage("leave the flag out if you do not need it", "--%s: empty %s", f.Name, what)
		case f.Name == "runtime":
			err = web.CheckRuntime(f.Value.String())
		}
	})
	return err
}

// takePair lets --agent name an agent and its runtime, "pi/main": it is --runtime pi
// --agent main. Beside another --runtime it is a name as it is.
func takePair(c *cobra.Command) error {
	agent, runtime := c.Flags().Lookup("agent"), c.Flags().Lookup("runtime")
	if agent == nil || runtime == nil {
		return nil
	}
	pair := selection.AgentNamed(agent.Value.String())
	if named := runtime.Value.String(); pair.Runtime == "" || named != "" && named != pair.Runtime {
		return nil
	}
	if err := runtime.Value.Set(pair.Runtime); err != nil {
		return err
	}
	return agent.Value.Set(string(pair.Agent))
}

// takePart lets --agent name an agent by the only part of a name, or directory, that
// it can mean: a command that ends because no agent has the name, before it has done
// anything, is run for the one that is meant.
func (a *app) takePart(c *cobra.Command) {
	agent, run := c.Flags().Lookup("agent"), c.RunE
	if agent == nil || run == nil || c.Name() == "mcp" { // which says what it may show at most
		return
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		return selection.ForAgentMeant(c.Context(), a.Run, agent.Value, func() error { return run(c, args) })
	}
}

// takesName reports whether the value of a flag says which session, archive,
// record, run, receipt, agent or runtime is meant: its help calls the value so.
func takesName(f *pflag.Flag) bool {
	what, _ := pflag.UnquoteUsage(f)
	return slices.Contains([]string{"id", "receipt", "agent", "runtime"}, what)
}
