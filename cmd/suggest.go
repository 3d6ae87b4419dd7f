package cmd

import (
	"cmp"
	"errors"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

var unknownFlag = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^unknown flag: --([\w-]+)`) })

// flagError explains a flag that cannot be used.
func flagError(c *cobra.Command, err error) error {
	hint := "see " + c.CommandPath() + " --help"
	if m := unknownFlag().FindStringSubmatch(err.Error()); m != nil {
		var names []string
		c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, "--"+f.Name) })
		hint = wording.DidYouMean("--"+m[1], names, hint)
	}
	var invalid *pflag.InvalidValueError
	if errors.As(err, &invalid) {
		return valueError(hint, invalid)
	}
	return failure.Usage(hint, "%w", err)
}

// valueError says what a flag takes that was given something else.
func valueError(hint string, invalid *pflag.InvalidValueError) error {
	name, value := invalid.GetFlag().Name, invalid.GetValue()
	if errors.Is(invalid, strconv.ErrRange) {
		return failure.Usage(hint, "--%s: %q is too large a number", name, value)
	}
	if kind := kindOfFlag(invalid.GetFlag()); kind != "" {
		return failure.Usage(hint, "--%s takes %s, not %q", name, kind, value)
	}
	return failure.Usage(hint, "--%s: %w", name, invalid.Unwrap())
}

// kindOfFlag says what a flag takes, "" for one that is not known.
func kindOfFlag(f *pflag.Flag) string {
	switch f.Value.Type() {
	case "int", "int64":
		return workspace.AWholeNumber
	case "float64":
		return "a number"
	case "duration":
		return workspace.ADuration
	case "bool":
		return "true or false"
	}
	return ""
}

// noCommand is the error for a word that is no command of c. The hint names the
// command that does it: by what other programs call that, the one of that name below
// others, or the one that is written almost so.
func noCommand(c *cobra.Command, word string) error {
	nearest := wording.DidYouMean(word, commandNames(c), "see "+c.CommandPath()+" --help")
	hint := cmp.Or(wording.CommandFor(word), commandBelow(c.Root(), word), nearest)
	return failure.Usage(hint, "unknown command %q for %q", word, c.CommandPath())
}

// commandBelow asks for the commands of that name below others, "" if there are none.
func commandBelow(root *cobra.Command, word string) string {
	var meant []string
	for _, c := range root.Commands() {
		for _, below := range c.Commands() {
			if c.Name() != "help" && below.IsAvailableCommand() && below.Name() == word {
				meant = append(meant, below.CommandPath())
			}
		}
	}
	if len(meant) == 0 {
		return ""
	}
	return "did you mean " + strings.Join(meant, " or ") + "?"
}

func commandNames(c *cobra.Command) (names []string) {
	for _, below := range c.Commands() {
		if below.IsAvailableCommand() || below.Name() == "help" {
			names = append(names, below.Name())
		}
	}
	return names
}

// checkCompletionArguments makes a shell that cobra's own command does not know
// an error, which it takes for a wish for help.
func checkCompletionArguments(root *cobra.Command) {
	for _, c := range root.Commands() {
		if c.Name() != "completion" {
			continue
		}
		c.Args = usageArgs(cobra.NoArgs)
		c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
		for _, shell := range c.Commands() {
			shell.Args = usageArgs(cobra.NoArgs)
		}
	}
}
