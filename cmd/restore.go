package cmd

import (
	"context"
	"fmt"

	"github.com/sessctl/sessctl/internal/selection"
	"github.com/sessctl/sessctl/internal/steps"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/spf13/cobra"
)

func newRestoreCommand(a *app) *cobra.Command {
	var o steps.RestoreOptions
	c := &cobra.Command{
		Use:   "restore ID",
		Short: "Put an archived log back where it came from",
		Long: `Put an archived log back, byte for byte, where it came from, or into a file of
your choice. ID is an archive's id, its start, or a session's: of several archives
the newest is taken if it begins with all others, and if not, they are listed. The
bytes are checked against their hash while they are copied, and read back.

A log with other bytes is not overwritten. With --force it is archived first,
and the two change places in one step; if somebody may be writing it, the exit
code is 75 and nothing is changed. Memory is not changed. The restored file has
the time of the restore, so that no runtime takes it for an old one.

A session of OpenCode, Kilo or Hermes goes back into its database row by row,
with its journal and the sessions of its sub-agents; the program must not run.
Rows that were archived from several databases or homes go back into each of
them that lacks them; --only-store chooses one.

A session that was archived in another home, for example on another host, goes
into the store that --store names, to the place that it had in the earlier one.`,
		Example: `  sessctl restore 3f9a2c --dry-run
  sessctl restore 3f9a2c
  sessctl restore 3f9a2c --to /tmp/session.jsonl`,
		Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, args []string) error { return runRestore(c.Context(), a, args[0], o) },
	}
	c.Flags().StringVar(&o.To, "to", "", "put it into this `file` instead")
	c.Flags().BoolVar(&o.Force, "force", false, "archive other bytes that are there, and put these in their place")
	c.Flags().BoolVar(&o.DryRun, "dry-run", false, "print what would be done and change nothing")
	c.Flags().DurationVar(&o.Quiet, "quiet-period", 0, "replace no log that changed within this `duration` (default 1m)")
	fromConfig(c.Flags(), "quiet-period", "compaction.quiet_period")
	return c
}

func runRestore(ctx context.Context, a *app, id string, o steps.RestoreOptions) error {
	archives, err := a.OpenArchive()
	if err != nil {
		return err
	}
	entry, err := selection.FindWholeArchive(ctx, archives, id)
	if err != nil {
		return err
	}
	if err := steps.CheckArchive(ctx, a.Run, entry); err != nil {
		return err
	}
	if err := steps.WarnOfLonger(ctx, a.Run, archives, entry); err != nil {
		return err
	}
	if o.To == "" {
		if done, err := restoreRows(ctx, a, steps.ArchivedRows{Archives: archives, Entry: entry, DryRun: o.DryRun}); done {
			return err
		}
	}
	into, err := selection.RestorePath(ctx, a.Run, entry)
	if err != nil {
		return err
	}
	log := session.Ref{Runtime: entry.Runtime, Agent: entry.Agent, ID: entry.Session, Path: into}
	w, err := workspace.Open(ctx, a.Run, workspace.Mode{
		DryRun: o.DryRun, Reason: "restore", Recover: workspace.RecoveryOf(a.Run, log, o.Quiet),
	})
	if err != nil {
		return err
	}
	defer w.Close()
	request, err := steps.RestoreRequest(ctx, a.Run, entry, compact.Destination{Log: log, To: o.To}, o)
	if err != nil {
		return err
	}
	plan, err := w.Compactor.PlanRestore(ctx, request)
	if err != nil {
		return steps.RestoreFailure(err)
	}
	doc := steps.NewRestoreDocument(entry, plan)
	doc.DryRun = o.DryRun
	attached := steps.RestoreAttached
	if o.DryRun {
		attached = steps.CountAttached
	}
	if doc.Files, err = attached(ctx, a.Run, w, entry, request); err != nil {
		return err
	}
	if _, dir := steps.Attachments(request); doc.Files > 0 && o.To != "" {
		doc.FilesIn = dir
	}
	if !o.DryRun {
		if err := steps.Restore(ctx, a.Run, w, plan, &doc); err != nil {
			return err
		}
	}
	return renderRestore(ctx, a, doc, plan, entry)
}

// restoreRows puts an archive back into the databases that it is of. It is false if
// the archive is of a file.
func restoreRows(ctx context.Context, a *app, rows steps.ArchivedRows) (done bool, err error) {
	if err := selection.RefusePrompts(rows.Entry); err != nil {
		return true, err
	}
	into, err := steps.DepositsOf(a.Run, rows.Entry)
	if err != nil || len(into) == 0 {
		return err != nil, err
	}
	return true, runDeposit(ctx, a, rows, into)
}

// renderRestore prints what was done, and what the runtime will make of it.
func renderRestore(ctx context.Context, a *app, doc steps.RestoreDocument, p *compact.RestorePlan, entry archive.Entry) error {
	if p.Place.Note != "" {
		hint := ""
		if session.CapabilitiesOf(p.Store).Undoer != nil {
			var err error
			if hint, err = steps.UndoHint(ctx, a.Run, entry); err != nil {
				return err
			}
		}
		a.Notice(workspace.Note{Path: p.Place.Path, Message: p.Place.Note, Hint: hint})
	}
	doc.Notes = a.Notes
	if a.JSON {
		return a.printJSON(doc)
	}
	_, err := fmt.Fprint(a.Out, steps.DescribeRestore(doc))
	return err
}
