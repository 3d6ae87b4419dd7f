package cmd

import (
	"github.com/sessctl/sessctl/internal/failure"
	"github.com/spf13/cobra"
)

// topCommand is the command below the root that c is, or belongs to.
func topCommand(c *cobra.Command) *cobra.Command {
	for c.Parent() != nil && c.Parent().HasParent() {
		c = c.Parent()
	}
	return c
}

// usageArgs makes cobra's complaints about arguments usage errors.
func usageArgs(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if err := check(c, args); err != nil {
			if len(args) > 0 && c.HasSubCommands() {
				return noCommand(c, args[0])
			}
			return argumentError(c, check, args)
		}
		return nil
	}
}

// argumentError says of which arguments a command has too many or too few.
func argumentError(c *cobra.Command, check cobra.PositionalArgs, args []string) error {
	hint := "write " + c.UseLine() + "; see " + c.CommandPath() + " --help"
	switch {
	case len(args) == 0:
		return failure.Usage(hint, "%s: an argument is missing", c.CommandPath())
	case check(c, nil) == nil && check(c, args[:1]) != nil:
		return failure.Usage(hint, "%s takes no argument, not %q", c.CommandPath(), args[0])
	}
	return failure.Usage(hint, "%s takes one argument: %q is one too many", c.CommandPath(), args[1])
}

// exitHelp is the same table for people; it ends every command's help.
const exitHelp = `
Exit codes: 0 done or nothing to do, 1 failed, 2 wrong usage, 3 some sessions
failed, 4 an archive or the memory is damaged, 75 busy (try again later),
130/143 interrupted.`
