package cmd

import (
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

// noCommand is the error for a word that is no command of c.
func noCommand(c *cobra.Command, word string) error {
	hint := wording.DidYouMean(word, commandNames(c), "see "+c.CommandPath()+" --help")
	if meant := meantCommands(c.Root(), word); len(meant) > 0 {
		hint = "did you mean " + strings.Join(meant, " or ") + "? see sessctl --help"
	}
	return failure.Usage(hint, "unknown command %q for %q", word, c.CommandPath())
}

// meantCommands are the commands that do what a word says which is none: those of
// that name below others, and those that other programs call so.
func meantCommands(root *cobra.Command, word string) (meant []string) {
	for _, c := range root.Commands() {
		for _, below := range c.Commands() {
			if c.Name() != "help" && below.IsAvailableCommand() && below.Name() == word {
				meant = append(meant, c.Name()+" "+word)
			}
		}
	}
	if len(meant) > 0 {
		return meant
	}
	switch word {
	case "facts":
		return []string{"extract-facts"}
	case "find", "search", "ask":
		return []string{"recall"}
	case "remember":
		return []string{"archive --remember"}
	case "undo", "shrink":
		return []string{"compact --" + word}
	}
	return nil
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
