package cmd

import (
	"embed"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/spf13/cobra"
)

// topicFiles are the texts of `sessctl help TOPIC`. The first line of each says
// what it is about; indented lines are shown as they stand.
//
//go:embed topics/*.txt
var topicFiles embed.FS

// topic is a concept that help explains, which is no command.
type topic struct {
	name  string
	short string
	below string // what stands below the first line
}

// text is what stands below the first line, with the table of the runtimes. That
// opens a store of each, so it is made only for who reads it.
func (t topic) text() string {
	if !strings.Contains(t.below, "{{runtimes}}") {
		return t.below
	}
	return strings.ReplaceAll(t.below, "{{runtimes}}", runtimeTable())
}

// topics are all of them, by name.
func topics() (all []topic) {
	entries, err := topicFiles.ReadDir("topics")
	if err != nil {
		panic(err) // they are part of the program
	}
	for _, entry := range entries {
		text, err := topicFiles.ReadFile("topics/" + entry.Name())
		if err != nil {
			panic(err)
		}
		short, rest, _ := strings.Cut(strings.ReplaceAll(string(text), "\r\n", "\n"), "\n\n")
		all = append(all, topic{name: strings.TrimSuffix(entry.Name(), ".txt"), short: short, below: rest})
	}
	return all
}

// Topic is a page of help about a subject: sessctl help archives.
type Topic struct {
	Name  string
	Short string // one line
	Text  string // below that line
}

// Topics returns all of them, by name.
func Topics() (all []Topic) {
	for _, t := range topics() {
		all = append(all, Topic{Name: t.name, Short: t.short, Text: t.text()})
	}
	return all
}

// runtimeTable is what may be changed of each runtime, the default first, and
// where its sessions are looked for.
func runtimeTable() string {
	rows := []string{fmt.Sprintf("  %-10s %-17s %s", "RUNTIME", "CHANGES", "FOUND AT")}
	for _, kind := range workspace.Runtimes() {
		traits := kind.Traits()
		places := slices.Clone(traits.Homes)
		for _, name := range traits.Variables {
			places = append(places, "$"+name)
		}
		if kind.Remote {
			places = []string{"its database (" + kind.Name + ".dsn)"}
		}
		var changes []string
		for _, s := range kind.Open("", workspace.Config{}).Capabilities().Strategies {
			changes = append(changes, string(s))
		}
		for i, place := range places {
			if i > 0 {
				rows = append(rows, strings.Repeat(" ", 31)+place)
				continue
			}
			rows = append(rows, fmt.Sprintf("  %-10s %-17s %s", kind.Name, strings.Join(changes, ", "), place))
		}
	}
	return strings.Join(rows, "\n")
}

// topicNamed finds a topic.
func topicNamed(name string) (topic, bool) {
	all := topics()
	if i := slices.IndexFunc(all, func(t topic) bool { return t.name == name }); i >= 0 {
		return all[i], true
	}
	return topic{}, false
}

// print writes a topic as help shows it.
func (t topic) print(w io.Writer) error {
	_, err := fmt.Fprintf(w, "%s: %s\n\n%s", t.name, t.short, t.text())
	return err
}

// listTopics puts the topics below the list of commands in the root's help.
func listTopics(root *cobra.Command) {
	rows := []string{"", "Help topics:"}
	for _, t := range topics() {
		rows = append(rows, fmt.Sprintf("  %-14s %s", t.name, t.short))
	}
	rows = append(rows, "", `Use "sessctl help [topic]" to read one.`)
	usage := strings.TrimRight(root.UsageTemplate(), "\n")
	root.SetUsageTemplate(usage + "{{if not .HasParent}}\n" + strings.Join(rows, "\n") + "{{end}}\n")
}

// newHelpCommand is cobra's, but it knows topics too, and a word that is neither
// command nor topic is an error.
func newHelpCommand(a *app, all *bool) *cobra.Command {
	c := &cobra.Command{
		Use:               "help [command | topic]",
		Short:             "Show the help of a command or a topic",
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: completeHelp,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 1 {
				if t, known := topicNamed(args[0]); known {
					return helpTopic(a, c.Root(), t)
				}
			}
			return helpCommand(c.Root(), args)
		},
	}
	c.Flags().BoolVar(all, "all", false, "every command with its whole line, the options of all commands, and the topics")
	return c
}

// helpTopic prints a topic, and the help of the command of the same name after it.
func helpTopic(a *app, root *cobra.Command, t topic) error {
	if err := t.print(a.Out); err != nil {
		return err
	}
	if c, _, err := root.Find([]string{t.name}); err == nil && c != root {
		if _, err := fmt.Fprintf(a.Out, "\nThe command %s:\n\n", c.CommandPath()); err != nil {
			return err
		}
		return helpCommand(root, []string{t.name})
	}
	return nil
}

// helpCommand prints the help of the command that args name.
func helpCommand(root *cobra.Command, args []string) error {
	about, rest, err := root.Find(args)
	if len(rest) > 0 && about != nil {
		if about == root {
			return noHelp(root, rest[0])
		}
		return noCommand(about, rest[0])
	}
	if err != nil || about == nil {
		return fmt.Errorf("find the command: %w", err)
	}
	about.InitDefaultHelpFlag()
	return about.Help()
}

// noHelp is the error for a word that is neither a command nor a topic.
func noHelp(root *cobra.Command, word string) error {
	names := commandNames(root)
	for _, t := range topics() {
		names = append(names, t.name)
	}
	return failure.Usage(wording.DidYouMean(word, names, "see sessctl --help"), "unknown command or help topic %q", word)
}

// completeHelp offers the commands below those that were typed, and the topics.
func completeHelp(c *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	about, rest, err := c.Root().Find(args)
	if err != nil || len(rest) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	names := commandNames(about)
	if about == c.Root() {
		for _, t := range topics() {
			if !slices.Contains(names, t.name) {
				names = append(names, cobra.CompletionWithDesc(t.name, t.short))
			}
		}
	}
	names = slices.DeleteFunc(names, func(name string) bool { return !strings.HasPrefix(name, word) })
	return names, cobra.ShellCompDirectiveNoFileComp
}
