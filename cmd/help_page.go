package cmd

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// group is what a person wants, and the commands for that.
type group struct {
	title    string
	commands []*cobra.Command
}

// groups are the commands below the root, in the order in which help lists them.
func (a *app) groups() []group {
	return []group{
		{"Look", []*cobra.Command{
			inBrief(newStatusCommand(a), "is all well, what is due"), inBrief(newBrowseCommand(a), "all on one screen"),
			inBrief(newSizesCommand(a), "how full each context is"), inBrief(newUsageCommand(a), "what takes room"),
			inBrief(newLogCommand(a), "what was done"), inBrief(newReportCommand(a), "all on one page"),
			inBrief(newStoresCommand(a), "where sessions are found"), inBrief(newDoctorCommand(a), "what is wrong"),
		}},
		{"Keep", []*cobra.Command{
			inBrief(newArchiveCommand(a), "copy every byte, checked"), inBrief(newRestoreCommand(a), "put a log back"),
			inBrief(newArchivesCommand(a), "list, show, check, prune"), inBrief(newPinCommand(a), "never delete these"),
			inBrief(newProveCommand(a), "what was kept"), inBrief(newPushCommand(a), "to a shared memory"),
		}},
		{"Make small", []*cobra.Command{
			inBrief(newCompactCommand(a), "archive, remember, cut"), inBrief(newUndoCommand(a), "take that back"),
			inBrief(newShrinkCommand(a), "databases of runtimes"), inBrief(newCleanCommand(a), "delete old logs"),
		}},
		{"Find", []*cobra.Command{
			inBrief(newRecallCommand(a), "what was said, and where"), inBrief(newExtractFactsCommand(a), "facts from logs"),
			inBrief(newMemoryCommand(a), "what is remembered"), inBrief(newResummarizeCommand(a), "better summaries"),
		}},
		{"Every night", []*cobra.Command{
			inBrief(newRunCommand(a), "all of it, by a profile"), inBrief(newScheduleCommand(a), "at which time"),
			inBrief(newMonitorCommand(a), "watch, and tell others"), inBrief(newEventsCommand(a), "what was told"),
		}},
		{"Agents", []*cobra.Command{
			inBrief(newHookCommand(a), "act when sessions end"), inBrief(newReplayContextCommand(a), "what a model gets"),
			inBrief(newMCPCommand(a), "memory as a tool"), inBrief(newServeCommand(a), "answer over HTTP"),
			inBrief(newBriefCommand(a), "what to know at a start"), inBrief(newContinueCommand(a), "in another agent"),
		}},
		{"Many hosts", []*cobra.Command{
			inBrief(newFleetCommand(a), "one memory for all"), inBrief(newMetricsCommand(a), "for Prometheus"),
		}},
		{"Settings", []*cobra.Command{
			inBrief(newConfigCommand(a), "what is set, and where"), inBrief(newVersionCommand(a), "of this program"),
		}},
	}
}

// briefly is the annotation of a command with the few words that [printHelpPage]
// says of it.
const briefly = "briefly"

func inBrief(c *cobra.Command, words string) *cobra.Command {
	c.Annotations = map[string]string{briefly: words}
	return c
}

// rareOptions are those of all commands that only help --all shows.
func rareOptions() []string { return []string{"allow-root", "pprof", "workers"} }

// shortenHelp makes the page that fits on a screen the help of the program, and leaves
// rare options out of that of its commands. What is all says whether cobra's is wanted,
// with every option.
func shortenHelp(a *app, root *cobra.Command, groups []group, all *bool) {
	whole := root.HelpFunc()
	root.SetHelpFunc(func(c *cobra.Command, args []string) {
		switch {
		case *all:
			whole(c, args)
			return
		case c.HasParent():
			helpWithout(whole, c, args)
			return
		}
		_ = printHelpPage(a.Out, groups) // cobra asks for no error
	})
}

// helpWithout prints the help of a command without rare options.
func helpWithout(whole func(*cobra.Command, []string), c *cobra.Command, args []string) {
	for _, name := range rareOptions() {
		if option := c.Root().PersistentFlags().Lookup(name); option != nil {
			option.Hidden = true
			defer func() { option.Hidden = false }()
		}
	}
	whole(c, args)
	_, _ = fmt.Fprintf(c.OutOrStdout(), "\nRare options: sessctl help --all %s\n", strings.TrimPrefix(c.CommandPath(), "sessctl ")) // cobra asks for no error
}

// printHelpPage prints every command in two columns, grouped by what a person wants.
func printHelpPage(out io.Writer, groups []group) error {
	var page strings.Builder
	page.WriteString("sessctl keeps the session logs of LLM agents small without losing a word.\n\n")
	for _, g := range groups {
		title := g.title
		for i, c := range g.commands {
			if i%2 == 0 {
				fmt.Fprintf(&page, "%-12s%-9s%-25s", title, c.Name(), c.Annotations[briefly])
				title = ""
			} else {
				fmt.Fprintf(&page, "%-15s%s", c.Name(), c.Annotations[briefly])
			}
			if i%2 == 1 || i == len(g.commands)-1 {
				page.WriteString("\n")
			}
		}
	}
	page.WriteString("\nBegin with: sessctl browse, or sessctl archive --all --remember\n" +
		"More: sessctl COMMAND --help, sessctl help --all (every option, topics)\n")
	_, err := io.WriteString(out, page.String())
	return err
}
