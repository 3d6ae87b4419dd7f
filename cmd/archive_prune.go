package cmd

import (
	"context"
	"fmt"

	"github.com/sessctl/sessctl/internal/removal"
	"github.com/sessctl/sessctl/internal/selection"
	"github.com/sessctl/sessctl/internal/steps"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/retention"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func addPruneFlags(o *removal.PruneOptions, fs *pflag.FlagSet) {
	fs.StringVar(&o.MaxAge, "max-age", "", "only archives older than this `age`: 90d, 26w, 720h")
	fs.StringVar(&o.LocalKeep, "local-keep", "", "files of archives older than this `age` whose copy on object storage is whole leave this disk")
	fs.BoolVar(&o.Superseded, "superseded", false, "also archives of any age that a later one of their session begins with")
	fs.IntVar(&o.Keep, "keep", 3, "keep the newest `N` archives of every agent")
	fs.StringVar((*string)(&o.Agent), "agent", "", "only archives of this `agent` or runtime/agent")
	fs.BoolVar(&o.LastCopies, "last-copies", false, "also archives whose bytes are nowhere else; memory must have what they say")
	fs.StringVar(&o.Grace, "grace", "7d", "how long they can be brought back, as an `age`")
	fs.BoolVar(&o.DryRun, "dry-run", false, "print the plan and change nothing")
	fs.BoolVarP(&o.Yes, "yes", "y", false, "do not ask")
	fs.BoolVar(&o.Force, "force", false, "disable the safety limits: in one run at most half of an agent's archives, age < 1 day")
	fs.StringVar(&o.Undelete, "undelete", "", "bring the archive with this `id` back from the trash")
	fromConfig(fs, "local-keep", "archive.local_keep")
}

func newArchivePruneCommand(a *app) *cobra.Command {
	var o removal.PruneOptions
	c := &cobra.Command{
		Use:   "prune",
		Short: "Delete old archives whose bytes are somewhere else too",
		Long: `Delete archives that are older than an age, with rules that keep conversations
from being lost. The newest of every agent stay. An archive goes only if it
verifies, and if its bytes are also in a newer archive of the session, which is
read to its end, in the session's log, or in a copy on object storage whose
checksum was read back. --last-copies also deletes archives that have no other
copy, if every chunk of them is in memory.

An archive that a later one of its session begins with is read in that one, by its
own id, and does not count for the half. --superseded takes it at any age.

--local-keep is about room on this disk: the file of an older archive goes if its
copy on object storage is whole, and if it is encrypted, if archive.identity
opens it. The archive stays in the catalogue, is listed as off-site only, and is
fetched when it is read.

Deleted files stay in a .sessctl-trash directory beside them for 7 days
(--grace). Restore them with --undelete; the next prune purges older ones. Pages of
them that archives show --html keeps are removed at once. Every step is a line of
audit.jsonl in the data directory. Without a terminal --yes is needed.`,
		Example: `  sessctl archives prune --max-age 90d --dry-run
  sessctl archives prune --max-age 90d --keep 5 --yes
  sessctl archives prune --superseded --dry-run
  sessctl archives prune --local-keep 30d --dry-run
  sessctl archives prune --undelete 3f9a2c`,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := o.Validate(); err != nil {
				return err
			}
			if o.Undelete != "" {
				return runUndelete(c.Context(), a, o)
			}
			return runPrune(c.Context(), a, o)
		},
	}
	addPruneFlags(&o, c.Flags())
	return c
}

func runPrune(ctx context.Context, a *app, o removal.PruneOptions) error {
	p, err := removal.NewPruner(a.Run, o)
	if err != nil {
		return err
	}
	if o.DryRun {
		return rehearsePrune(ctx, a, p)
	}
	w, err := workspace.Open(ctx, a.Run, workspace.Mode{Reason: "archive", Recover: &workspace.Recovery{Policy: a.RecoveryPolicy()}})
	if err != nil {
		return err
	}
	defer w.Close()
	if err := p.Rules.Recover(ctx); err != nil {
		return err
	}
	if err := p.Decide(ctx); err != nil {
		return err
	}
	if err := agreeToPrune(a, p); err != nil {
		return err
	}
	if err := p.RemovePages(ctx); err != nil {
		return err
	}
	if err = p.Rules.Execute(ctx, p.Plan); err == nil {
		err = renderPrune(a, p)
	}
	return err
}

// rehearsePrune is a dry run.
func rehearsePrune(ctx context.Context, a *app, p *removal.Pruner) error {
	if err := p.Decide(ctx); err != nil {
		return err
	}
	removal.NoteWaiting(a.Run, "archive", p.Plan.Waiting)
	return renderPrune(a, p)
}

// agreeToPrune says what waits, and asks the user.
func agreeToPrune(a *app, p *removal.Pruner) error {
	going := p.Going()
	removal.NoteWaiting(a.Run, "archive", p.Plan.Waiting)
	if len(going) == 0 || p.Options.Yes {
		return nil
	}
	if !a.JSON {
		if err := listPrune(a, p); err != nil {
			return err
		}
	}
	return a.confirm(p.Question())
}

func renderPrune(a *app, p *removal.Pruner) error {
	p.Doc.Notes = a.Notes
	if a.JSON {
		return a.printJSON(p.Doc)
	}
	if err := listPrune(a, p); err != nil {
		return err
	}
	if len(p.Going()) == 0 && a.Quiet {
		return nil
	}
	what := map[bool]string{true: "would be deleted", false: "deleted"}[p.Doc.DryRun]
	files, bytes := p.Leaving()
	text := fmt.Sprintf("%s (%s) %s", wording.Plural(len(p.Going())-files, "archive"), wording.Bytes(p.Doc.Bytes-bytes), what)
	if files > 0 {
		what = map[bool]string{true: "would be", false: "now"}[p.Doc.DryRun]
		text += fmt.Sprintf("; %s (%s) %s only off-site", wording.Plural(files, "archive"), wording.Bytes(bytes), what)
	}
	_, err := fmt.Fprintln(a.Out, text)
	return err
}

// listPrune shows what goes, and of what is old enough why it stays: with --quiet
// only of what was to go.
func listPrune(a *app, p *removal.Pruner) error {
	var rows [][]string
	t := table{empty: "no old archives", columns: []column{
		{name: "WHAT"}, {name: "ID"}, {name: "RUNTIME", drop: 2}, {name: "AGENT", least: 8}, {name: "SESSION", least: 12}, {name: "MADE", drop: 1},
		{name: "STORED", right: true, drop: 3}, {name: "WHY", least: 16},
	}}
	for _, r := range p.Doc.Archives {
		if a.Quiet && r.Outcome == removal.PruneKept && !r.Left {
			continue
		}
		rows = append(rows, []string{r.Outcome, r.ID, wording.Visible(r.Agent), wording.Visible(r.Session), r.CreatedAt, wording.Visible(r.Reason)})
		t.rows = append(t.rows, []string{r.Outcome, r.ID, r.Runtime, r.Agent, r.Session, wording.ShownTime(r.CreatedAt), wording.Bytes(r.Bytes), r.Reason})
	}
	return a.printPlan(t, rows)
}

// printPlan is printList for a plan of deletions: with --quiet an empty one is
// no line.
func (a *app) printPlan(t table, rows [][]string) error {
	if a.Quiet && len(rows) == 0 {
		return nil
	}
	return a.printList(t, rows)
}

// runUndelete restores an archive from the trash.
func runUndelete(ctx context.Context, a *app, o removal.PruneOptions) error {
	p, err := removal.NewPruner(a.Run, removal.PruneOptions{})
	if err != nil {
		return err
	}
	if o.DryRun {
		return rehearseUndelete(ctx, a, p, o.Undelete)
	}
	w, err := workspace.Open(ctx, a.Run, workspace.Mode{Reason: "archive"})
	if err != nil {
		return err
	}
	defer w.Close()
	if err := p.Rules.Recover(ctx); err != nil {
		return err
	}
	item, _, err := p.Waits(ctx, o.Undelete)
	if err != nil {
		return err
	}
	entry, err := p.Rules.Undelete(ctx, item.ID)
	if err != nil {
		return err
	}
	return renderArchives(ctx, a, steps.ArchiveDocument{Schema: 1, Archives: []selection.ArchiveRow{steps.NewArchiveRow(entry)}})
}

// rehearseUndelete prints which archive would come back.
func rehearseUndelete(ctx context.Context, a *app, p *removal.Pruner, name string) error {
	item, entry, err := p.Waits(ctx, name)
	if err != nil {
		return err
	}
	if err := retention.PlaceFree(item); err != nil {
		return err
	}
	return renderArchives(ctx, a, steps.ArchiveDocument{Schema: 1, DryRun: true, Archives: []selection.ArchiveRow{steps.NewArchiveRow(entry)}})
}
