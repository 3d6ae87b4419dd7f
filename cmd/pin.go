package cmd

import (
	"cmp"
	"context"
	"io"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/removal"
	"github.com/sessctl/sessctl/internal/selection"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func addPinFlags(o *removal.PinOptions, fs *pflag.FlagSet) {
	fs.StringVar((*string)(&o.Agent), "agent", "", "the sessions are of this `agent` or runtime/agent")
	fs.BoolVar(&o.Remove, "remove", false, "unpin these sessions")
	fs.BoolVar(&o.DryRun, "dry-run", false, "print what would be pinned and change nothing")
}

func newPinCommand(a *app) *cobra.Command {
	var o removal.PinOptions
	c := &cobra.Command{
		Use:   "pin [SESSION...]",
		Short: "Keep sessions: clean, archives prune and shrink never delete them",
		Long: `Pin sessions: clean does not delete their logs, archives prune does not delete
their archives, and shrink removes nothing of them from a database. What
belongs to them, sub-agents and long outputs, is kept with them. They are
compacted like others, which deletes nothing. What is in a trash already is not
brought back by a pin.

SESSION is a session's id, the start of one, or its key. Without one, the pinned
sessions are listed.`,
		Example: `  sessctl pin
  sessctl pin 4f0c1d2e
  sessctl pin 4f0c1d2e --agent coordinator --dry-run
  sessctl pin --remove 4f0c1d2e`,
		Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			o.Sessions = args
			if len(args) == 0 && (o.Remove || o.DryRun || o.Agent != "") {
				return failure.Usage("sessctl pin lists the pinned sessions", "which session? its id is missing")
			}
			return runPin(c.Context(), a, o)
		},
	}
	addPinFlags(&o, c.Flags())
	return c
}

func runPin(ctx context.Context, a *app, o removal.PinOptions) error {
	known, err := removal.ReadPinned(ctx, a.Run)
	if err != nil {
		return err
	}
	if len(o.Sessions) == 0 {
		return renderPins(a, removal.PinDocument{Schema: 1, Asked: []removal.AskedPin{}, Pinned: removal.NewPinRows(known.Sessions)})
	}
	doc, _, err := removal.PlanPins(ctx, a.Run, o, known)
	if err != nil {
		return err
	}
	if o.DryRun {
		return renderPins(a, doc)
	}
	w, err := workspace.Open(ctx, a.Run, workspace.Mode{Reason: "archive", Recover: &workspace.Recovery{Policy: a.RecoveryPolicy(), Optional: true}})
	if err != nil {
		return err
	}
	defer w.Close()
	if known, err = removal.ReadPinned(ctx, a.Run); err != nil { // another sessctl may have pinned some
		return err
	}
	doc, after, err := removal.PlanPins(ctx, a.Run, o, known)
	if err != nil {
		return err
	}
	if o.Agree != nil {
		if err := o.Agree(doc); err != nil {
			return err
		}
	}
	if doc.Changed > 0 {
		if err := removal.WritePinned(a.Run, after); err != nil {
			return err
		}
		doc.Pinned = removal.NewPinRows(after.Sessions)
	}
	return renderPins(a, doc)
}

func renderPins(a *app, doc removal.PinDocument) error {
	doc.Notes = a.Notes
	if a.JSON {
		return a.printJSON(doc)
	}
	if len(doc.Asked) > 0 {
		_, err := io.WriteString(a.Out, removal.DescribePins(doc))
		return err
	}
	t := table{empty: "no session is pinned", columns: []column{{name: "RUNTIME"}, {name: "AGENT", least: 8}, {name: "SESSION", least: 12}, {name: "KEY", drop: 1}, {name: "SINCE", drop: 2}}}
	var rows [][]string
	for _, s := range doc.Pinned {
		rows = append(rows, []string{wording.Visible(s.Runtime), wording.Visible(s.Agent), wording.Visible(s.Session), wording.Visible(s.Key), wording.Visible(s.At)})
		t.rows = append(t.rows, []string{s.Runtime, s.Agent, s.Session, cmp.Or(s.Key, selection.UnknownFigure), wording.ShownTime(s.At)})
	}
	return a.printList(t, rows)
}
