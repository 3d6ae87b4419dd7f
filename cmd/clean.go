package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/removal"
	"github.com/sessctl/sessctl/internal/selection"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/retention"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func addCleanFlags(o *removal.CleanOptions, fs *pflag.FlagSet) {
	fs.StringVar(&o.MaxAge, "max-age", "", "only sessions that nobody has used for this `age`: 7d, 4w, 240h")
	fs.StringVar((*string)(&o.Agent), "agent", "", "only sessions of this `agent` or runtime/agent")
	fs.BoolVar(&o.Archives, "archives", false, "old archives too, by the rules of archives prune")
	fs.StringVar(&o.Grace, "grace", "7d", "how long deleted files can be brought back, as an `age`")
	fs.BoolVar(&o.DryRun, "dry-run", false, "print the plan and change nothing")
	fs.BoolVarP(&o.Yes, "yes", "y", false, "do not ask")
	fs.BoolVar(&o.Force, "force", false, "disable the safety limit: in one run at most half of an agent's sessions")
	fs.StringVar(&o.Undelete, "undelete", "", "bring back the session with this `id`, or \"all\", from the trash")
	fs.BoolVar(&o.EmptyTrash, "empty-trash", false, "remove for good what is in the trash now, and nothing else; the archives stay")
	fromConfig(fs, "max-age", "clean.max_age")
	fromConfig(fs, "grace", "clean.grace")
}

func newCleanCommand(a *app) *cobra.Command {
	var o removal.CleanOptions
	c := &cobra.Command{
		Use:   "clean",
		Short: "Delete old sessions, once they are archived and remembered",
		Long: `Delete sessions that nobody has used for an age: logs that a runtime has closed,
and old sessions that it will not go on with by itself. A session goes only once
it is in the archive, the archive was read back, and memory has what it says;
what is not archived or remembered is first. The newest session of an agent
stays, and so do sessions that an index names, that are open in a program, that
changed within a day, or that only their runtime may change. Files that belong
together go together. One run deletes at most half of the sessions of an agent,
the oldest first, and says how many wait for the next; --force deletes all.

Deleted files stay in a .sessctl-trash directory beside them for 7 days
(--grace). Restore them with --undelete; the next clean purges older ones, and
--empty-trash all. Every step is a line of audit.jsonl in the data directory.
Without a terminal --yes is needed.`,
		Example: `  sessctl clean --max-age 7d --dry-run
  sessctl clean --max-age 7d --yes
  sessctl clean --max-age 30d --archives --yes
  sessctl clean --undelete 4f0c2a`,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := o.Validate(); err != nil {
				return err
			}
			if o.Undelete != "" {
				return runCleanUndelete(c.Context(), a, o)
			}
			return runClean(c.Context(), a, o)
		},
	}
	addCleanFlags(&o, c.Flags())
	return c
}

func runClean(ctx context.Context, a *app, o removal.CleanOptions) error {
	c, err := removal.NewCleaner(a.Run, o)
	if err != nil {
		return err
	}
	if o.DryRun {
		return rehearseClean(ctx, a, c)
	}
	all, _, err := a.ListStores(ctx) // the plan says what is odd in them
	if err != nil {
		return workspace.TellPassedOver(a.Run, err)
	}
	w, err := workspace.Open(ctx, a.Run, workspace.Mode{Reason: "clean", Recover: &workspace.Recovery{Sessions: all.Sessions, Policy: a.RecoveryPolicy()}})
	if err != nil {
		return err
	}
	defer w.Close()
	c.Rules.Again = func(ctx context.Context, item retention.Item, s retention.TrashedSession) (archive.Entry, error) {
		return removal.ArchiveAgain(ctx, w, a.Run, item, s)
	}
	if err := c.Rules.Recover(); err != nil {
		return err
	}
	if err := c.Decide(ctx); err != nil {
		return err
	}
	if err := agreeToClean(a, c); err != nil {
		return err
	}
	if len(c.Plan.Going()) > 0 {
		if err := removal.NeedMemory(ctx, w, a.Run); err != nil {
			return err // nothing goes that could not be found again
		}
	}
	c.Rules.Remember = func(ctx context.Context, log retention.Session, e archive.Entry) error {
		return w.RememberOnce(ctx, a.Run, log, e, workspace.AboutToClean)
	}
	err = errors.Join(c.Execute(ctx), selection.EmbedWaiting(ctx, w, w.Unchanged))
	return errors.Join(err, renderClean(ctx, a, c), c.Outcome())
}

// rehearseClean is a dry run.
func rehearseClean(ctx context.Context, a *app, c *removal.Cleaner) error {
	if err := c.Decide(ctx); err != nil {
		return err
	}
	c.NoteWaiting()
	return renderClean(ctx, a, c)
}

// agreeToClean says what waits, and asks the user.
func agreeToClean(a *app, c *removal.Cleaner) error {
	going := len(c.Plan.Going()) + len(c.Plan.Purge)
	if c.Prune != nil {
		going += len(c.Prune.Going())
	}
	c.NoteWaiting()
	if going == 0 || c.Options.Yes {
		return nil
	}
	if !a.JSON {
		if err := listClean(a, c); err != nil {
			return err
		}
	}
	return a.confirm(fmt.Sprintf("delete %s?", c.Counted()))
}

func renderClean(ctx context.Context, a *app, c *removal.Cleaner) error {
	c.NameProjects(selection.ShownNames(ctx, a.Run, a.OutTTY))
	doc := c.NewDocument()
	for _, r := range c.Rows {
		if r.Outcome != removal.PruneKept {
			doc.Bytes += r.Bytes
		}
	}
	if c.Prune != nil {
		c.Prune.Doc.Notes = []workspace.Note{}
		doc.Archives = &c.Prune.Doc
	}
	if a.JSON {
		return a.printJSON(doc)
	}
	if err := listClean(a, c); err != nil {
		return err
	}
	what := "deleted"
	switch {
	case c.Options.DryRun && c.Options.MaxAge == "":
		what = "would be brought back"
	case c.Options.DryRun:
		what = "would be deleted"
	case c.Options.MaxAge == "":
		what = "brought back"
	}
	if c.Prune != nil {
		doc.Bytes += c.Prune.Doc.Bytes
	}
	counted := c.Counted()
	if counted == removal.CountedNothing && a.Quiet {
		return nil
	}
	if a.OutTTY {
		_, err := fmt.Fprintf(a.Out, "%s %s (%s)\n", counted, what, wording.Bytes(doc.Bytes))
		return err
	}
	return a.printRows([][]string{{counted, what, wording.Bytes(doc.Bytes)}})
}

// listClean prints the plan; with --quiet without what was to stay.
func listClean(a *app, c *removal.Cleaner) error {
	var rows [][]string
	t := table{empty: "no old sessions", columns: []column{
		{name: "WHAT"}, {name: "RUNTIME", drop: 1}, {name: "AGENT", least: 8, middle: true}, {name: "SESSION", least: 12, middle: true}, {name: "TITLE", least: 12, drop: 3}, {name: "LAST USE", drop: 2}, {name: "SIZE", right: true}, {name: "WHY", least: 16},
	}}
	for _, of := range wording.ByCause(c.Rows, func(r removal.CleanRow) string { return r.Cause(a.Every) }) {
		r := of.First
		if a.Quiet && r.Outcome == removal.PruneKept && !r.Left {
			continue
		}
		r.Reason += wording.More(of.Count - 1)
		rows = append(rows, []string{r.Outcome, r.Runtime, wording.Visible(r.Agent), wording.Visible(r.Session), r.LastUse, wording.Bytes(r.Bytes), wording.Visible(r.Why())})
		t.rows = append(t.rows, []string{r.Outcome, r.Runtime, cmp.Or(r.ProjectName, r.Agent), cmp.Or(r.Session, a.Tilde(r.Path)), r.Title, wording.ShownTime(r.LastUse), wording.Bytes(r.Bytes), r.Why()})
	}
	if err := a.printPlan(t, rows); err != nil || c.Prune == nil {
		return err
	}
	return listPrune(a, c.Prune)
}

// runCleanUndelete restores sessions from the trash.
func runCleanUndelete(ctx context.Context, a *app, o removal.CleanOptions) error {
	c, err := removal.NewCleaner(a.Run, removal.CleanOptions{DryRun: o.DryRun})
	if err != nil {
		return err
	}
	if o.DryRun {
		return bringBack(ctx, a, c, o.Undelete)
	}
	w, err := workspace.Open(ctx, a.Run, workspace.Mode{Reason: "clean"})
	if err != nil {
		return err
	}
	defer w.Close()
	if err := c.Rules.Recover(); err != nil {
		return err
	}
	return bringBack(ctx, a, c, o.Undelete)
}

// bringBack restores what the trash has of a session, or of all.
func bringBack(ctx context.Context, a *app, c *removal.Cleaner, name string) error {
	id, err := c.TrashedSession(name)
	if err != nil {
		return err
	}
	items, err := c.Rules.Trashed(id)
	if errors.Is(err, retention.ErrNotInTrash) && id == "all" {
		return renderClean(ctx, a, c) // the trash is empty: all of it is back
	}
	if errors.Is(err, retention.ErrNotInTrash) {
		return &failure.Error{Code: "unknown_session", Exit: failure.ExitUsage, Hint: "sessctl log --limit 0 shows what was deleted", Err: fmt.Errorf("%q is not in the trash", id)}
	}
	if err != nil {
		return err
	}
	stores, err := c.App.OpenStores()
	if err != nil {
		return err
	}
	for _, item := range items {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := c.Undelete(ctx, stores, item); err != nil {
			return err
		}
	}
	return errors.Join(renderClean(ctx, a, c), c.Outcome())
}
