package cmd

import (
	"context"
	"fmt"
	"slices"

	"github.com/sessctl/sessctl/internal/failure"
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
	fs.StringVar(&o.Receipt, "undo", "", "reverse the compaction of this `receipt` (id, its start or end, or path)")
	fs.BoolVar(&o.KeepMemory, "keep-memory", false, "with --undo: leave in memory what the compaction stored")
}

func undoAsked(o *removal.UndoOptions, c *cobra.Command) bool {
	return c.Flags().Changed("undo") || c.Flags().Changed("keep-memory")
}

// validateUndo refuses the flags of compact that say nothing to an undo.
func validateUndo(o *removal.UndoOptions, fs *pflag.FlagSet) error {
	if o.Receipt == "" {
		return failure.Usage("sessctl compact --undo RECEIPT --keep-memory", "--keep-memory goes with --undo RECEIPT only")
	}
	var err error
	fs.Visit(func(f *pflag.Flag) {
		known := []string{"undo", "keep-memory", "dry-run", "force", "quiet-period"}
		if !slices.Contains(known, f.Name) && !isGlobal(f.Name) && err == nil {
			err = failure.Usage("the receipt says which session is meant", "--%s does not go with --undo", f.Name)
		}
	})
	return err
}

// isGlobal reports whether a flag is one of the root's.
func isGlobal(name string) bool {
	a := app{Run: &workspace.Run{}}
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	a.addGlobalFlags(fs)
	return fs.Lookup(name) != nil
}

func runUndo(ctx context.Context, a *app, o removal.UndoOptions, fs *pflag.FlagSet) error {
	if err := validateUndo(&o, fs); err != nil {
		return err
	}
	u, err := newUndo(a, o, fs)
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
func newUndo(a *app, o removal.UndoOptions, fs *pflag.FlagSet) (*removal.UndoRun, error) {
	receipt, err := selection.FindReceipt(a.Run, o.Receipt)
	if err != nil {
		return nil, err
	}
	dryRun, _ := fs.GetBool("dry-run")
	force, _ := fs.GetBool("force")
	quiet, _ := fs.GetDuration("quiet-period")
	u := &removal.UndoRun{Run: a.Run, Request: compact.UndoRequest{
		Receipt: receipt, Force: force, KeepMemory: o.KeepMemory, Policy: compact.Policy{Quiet: quiet, LongestTurn: a.Config.Compaction.LongestTurn, OutputLimit: a.OutputLimit(), Pins: a.Pins},
	}}
	u.Doc = removal.UndoDocument{Schema: 1, DryRun: dryRun, Undoes: receipt.ID, PutAway: []selection.CompactedSession{}}
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
