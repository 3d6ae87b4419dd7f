package cmd

import (
	"context"
	"io"

	"github.com/sessctl/sessctl/internal/steps"
	"github.com/spf13/cobra"
)

func newBriefCommand(a *app) *cobra.Command {
	var o steps.BriefOptions
	c := &cobra.Command{
		Use:   "brief",
		Short: "Say where an agent's work stands: its open plan, the last request, what failed",
		Long: `Say from the log where the work of an agent stands: what of its own plan is open,
what was asked last, what the agent said last, what failed and was not put right,
which files it has in hand, and its last steps. Each line is quoted or counted, and
names its place in the log. A session that starts again can be given it: see
hooks.brief in docs/hooks.md.

It is about the newest session of the agent, or without --agent of all, in which
somebody has asked for something; after a compaction that started fresh, about its
archive.`,
		Example: `  sessctl brief
  sessctl brief --agent coordinator
  sessctl brief --agent coordinator --chars 800
  sessctl brief --agent coordinator --json`,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := o.Validate(); err != nil {
				return err
			}
			o.Runtime = a.Global.Runtime
			return runBrief(c.Context(), a, o)
		},
	}
	c.Flags().StringVar((*string)(&o.Agent), "agent", "", "whose work: the newest session of this `agent` or runtime/agent")
	c.Flags().StringVar(&o.Session, "session", "", "the session with this `id` or key")
	c.Flags().IntVar(&o.Runes, "chars", 0, "how many `characters` at most, 200 to 4000 (default 1200)")
	return c
}

func runBrief(ctx context.Context, a *app, o steps.BriefOptions) error {
	doc, err := steps.Brief(ctx, a.Run, o)
	if err != nil {
		return err
	}
	if doc.Notes = a.Notes; a.JSON {
		return a.printJSON(doc)
	}
	text := steps.DescribeBrief(doc.Standing)
	if !a.streams.OutTTY { // a model may read it
		text = steps.Quoted(text+"\n") + "\n"
	}
	_, err = io.WriteString(a.Out, text)
	return err
}
