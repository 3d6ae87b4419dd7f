package cmd

import (
	"context"
	"fmt"

	"github.com/sessctl/sessctl/internal/removal"
	"github.com/sessctl/sessctl/internal/selection"
	"github.com/sessctl/sessctl/internal/steps"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func addUndoFlags(o *removal.UndoOptions, fs *pflag.FlagSet) {
	fs.BoolVar(&o.KeepMemory, "keep-memory", false, "leave in memory what the compaction stored")
	fs.BoolVar(&o.DryRun, "dry-run", false, "print the plan and change nothing")
	fs.BoolVar(&o.Force, "force", false, "archive and remember what is newer first, and then undo")
	fs.DurationVar(&o.Quiet, "quiet-period", 0, "change no session that changed within this `duration` (default 1m)")
	fromConfig(fs, "quiet-period", "compaction.quiet_period")
}

func newUndoCommand(a *app) *cobra.Command {
	var o removal.UndoOptions
	c := &cobra.Command{
		Use:   "undo RECEIPT",
		Short: "Take a compaction back",
		Long: `Reverse a compaction: the log is byte for byte what it was, the runtime continues
it, and memory drops what the compaction stored. RECEIPT is the id of its receipt,
the start or the end of one, or its path; compact prints it, and log lists them.

If the session has continued since, nothing is changed. With --force what is newer
is archived and remembered first.`,
		Example: `  sessctl log
  sessctl undo 9k2x7q4m --dry-run
  sessctl undo 9k2x7q4m`,
		Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			o.Receipt = args[0]
			return runUndo(c.Context(), a, o)
		},
	}
	addUndoFlags(&o, c.Flags())
	return c
}

func runUndo(ctx context.Context, a *app, o removal.UndoOptions) error {
	u, err := newUndo(a, o)
	if err != nil {
		return err
	}
	r := u.Request.Receipt
	of := session.Ref{Runtime: r.Runtime, Agent: r.Agent, ID: r.Session, Path: r.Source.Path}
	w, err := workspace.Open(ctx, a.Run, workspace.Mode{
		DryRun: u.Doc.DryRun, Memory: true, Reason: "undo", Undoing: r.ID, Recover: workspace.RecoveryOf(a.Run, of, u.Request.Policy.Quiet),
	})
	if err != nil {
		return err
	}
	defer w.Close()
	u.Compactor = w.Compactor
	plan, err := u.Plan(ctx)
	if err != nil {
		return u.Failure(err)
	}
	u.Doc.Take(plan)
	u.NoteLessons(plan)
	if !u.Doc.DryRun && plan.Outcome == compact.Planned {
		receipt, err := w.Compactor.Undo(ctx, u.Store, plan)
		if err != nil {
			return u.Failure(err)
		}
		u.Doc.Session = selection.NewCompactedSession(compact.Result{Compaction: receipt.Compaction})
		u.Doc.Memory.Withdrawn = receipt.Undo.Withdrawn
		if err := steps.UndoAttached(ctx, a.Run, w, r); err != nil {
			return err
		}
	}
	return renderUndo(a, u.Doc)
}

// newUndo finds the receipt that is meant and the store of its session.
func newUndo(a *app, o removal.UndoOptions) (*removal.UndoRun, error) {
	receipt, err := selection.FindReceipt(a.Run, o.Receipt)
	if err != nil {
		return nil, err
	}
	u := &removal.UndoRun{Run: a.Run, Request: compact.UndoRequest{
		Receipt: receipt, Force: o.Force, KeepMemory: o.KeepMemory, Policy: compact.Policy{Quiet: o.Quiet, LongestTurn: a.Config.Compaction.LongestTurn, OutputLimit: a.OutputLimit(), Pins: a.Pins},
	}}
	u.Doc = removal.UndoDocument{Schema: 1, DryRun: o.DryRun, Undoes: receipt.ID, PutAway: []selection.CompactedSession{}}
	u.Store, err = removal.StoreOf(a.Run, receipt)
	return u, err
}

// renderUndo prints the document, or a few lines.
func renderUndo(a *app, d removal.UndoDocument) error {
	d.Notes = a.Notes
	if a.JSON {
		return a.printJSON(d)
	}
	_, err := fmt.Fprint(a.Out, removal.DescribePutAway(d)+removal.DescribeUndo(d))
	return err
}
