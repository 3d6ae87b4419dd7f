package cmd

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/oklog/ulid/v2"
	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/front/web"
	"github.com/sessctl/sessctl/internal/removal"
	"github.com/sessctl/sessctl/internal/selection"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/spf13/cobra"
)

func newShrinkCommand(a *app) *cobra.Command {
	var o removal.ShrinkOptions
	c := &cobra.Command{
		Use:   "shrink [sessions] [journal] [deleted] [vacuum]",
		Short: "Make the databases of OpenCode, Kilo, Hermes and Cline's hub smaller",
		Long: `Without an argument: say what a database would be without old sessions, without
the superseded part of its journal, and without free pages. Nothing is changed.

With sessions, journal or vacuum that is archived, remembered, checked, and then
removed, while the program does not run; of Hermes by its own program. Without
vacuum the file stays as large as it is, and its free pages are used again. deleted
takes out what Cline's own delete left in the databases of its hub. restore brings
all of it back. --runtime and --only-store choose databases.`,
		Example: `  sessctl shrink
  sessctl shrink sessions journal vacuum --older-than 30d
  sessctl shrink deleted vacuum --runtime cline`,
		Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			o.What = args
			if err := validateShrink(&o); err != nil {
				return err
			}
			return runShrink(c.Context(), a, o)
		},
	}
	fs := c.Flags()
	fs.StringVar(&o.OlderThan, "older-than", "30d", "with sessions: those that nobody has used for this `age`: 30d, 8w")
	fs.BoolVar(&o.DryRun, "dry-run", false, "print the plan and change nothing")
	fs.DurationVar(&o.Quiet, "quiet-period", 0, "remove no session that changed within this `duration` (default 1m)")
	fromConfig(fs, "quiet-period", "compaction.quiet_period")
	return c
}

func validateShrink(o *removal.ShrinkOptions) (err error) {
	for _, what := range o.What {
		if !slices.Contains(removal.Shrinkable(), what) {
			return failure.Usage("sessctl shrink "+strings.Join(removal.Shrinkable(), " ")+", or some of these", "nothing called %q can be taken out", what)
		}
	}
	if o.MinAge, err = workspace.ParseAgo(o.OlderThan); err != nil || o.MinAge < 0 {
		return failure.Usage("write 30d, 8w or 720h", "--older-than: %q is not an age", o.OlderThan)
	}
	if o.MinAge < removal.LeastAge {
		return failure.Usage("a session that was used within the last day is never deleted", "--older-than %s is less than a day", o.OlderThan)
	}
	return nil
}

func runShrink(ctx context.Context, a *app, o removal.ShrinkOptions) error {
	doc := removal.ShrinkDocument{Schema: 1, DryRun: !o.Changes(), Databases: []removal.ShrinkDatabase{}}
	stores, err := a.OpenStores()
	if err != nil {
		return err
	}
	workspace.TellStores(a.Run)
	if !o.Changes() {
		if doc.Databases, err = weighDatabases(ctx, a, stores, o); err != nil {
			return err
		}
		return renderShrink(a, doc, o)
	}
	web.KeepSmall(&a.Run.Settings) // journals of tens of gigabytes pass through
	w, err := workspace.Open(ctx, a.Run, workspace.Mode{Memory: true, Reason: "shrink", Recover: &workspace.Recovery{Policy: a.RecoveryPolicy()}})
	if err != nil {
		return err
	}
	defer w.Close()
	if err := removal.SettleShrinks(ctx, a.Run, stores); err != nil {
		return err
	}
	if doc.Databases, err = weighDatabases(ctx, a, stores, o); err != nil {
		return err
	}
	w.Sweep(ctx, a.Run, removal.SessionsOf(doc.Databases))
	for i := range doc.Databases {
		d := &doc.Databases[i]
		if err := shrinkOne(ctx, a, w, d, o); err != nil {
			if p := (*session.ProgramError)(nil); errors.As(err, &p) && d.Removed.Sessions == 0 && ctx.Err() == nil {
				w.Progress.Clear()
				d.TypeYourself(a.Run, p)
				continue
			}
			d.Outcome, d.Reason = "failed", err.Error()
			if errors.Is(err, session.ErrBusy) {
				d.Outcome = "busy"
			}
			if ctx.Err() != nil {
				return errors.Join(ctx.Err(), renderShrink(a, doc, o))
			}
			w.Progress.Clear()
			a.Failed(d.Path, err)
		}
	}
	w.Progress.Clear()
	return errors.Join(selection.EmbedWaiting(ctx, w, w.Unchanged), renderShrink(a, doc, o), removal.ShrinkOutcome(doc.Databases))
}

// weighDatabases says of each database what could be taken out.
func weighDatabases(ctx context.Context, a *app, stores []session.Store, o removal.ShrinkOptions) (all []removal.ShrinkDatabase, err error) {
	pinned, err := removal.ReadPinned(ctx, a.Run)
	if err != nil {
		return nil, err
	}
	all = []removal.ShrinkDatabase{}
	able := 0
	for _, store := range stores {
		shrinker := store.Capabilities().Shrinker
		if shrinker == nil {
			continue
		}
		able++
		unread := unreadDatabases(ctx, a, store)
		weights, err := shrinker.Weigh(ctx)
		if err != nil && unread && ctx.Err() == nil {
			continue // it was told why
		}
		if err != nil {
			return nil, fmt.Errorf("weigh the databases of %s: %w", store.Root(), err)
		}
		for _, found := range removal.Whole(weights) {
			d := removal.ShrinkDatabase{Runtime: store.Runtime(), Path: found.Path, Outcome: "planned", Store: store, Found: found}
			d.Keep(pinned, a.Now(), o)
			d.Weigh(a.Now(), o)
			if found.Err != nil {
				d.Outcome, d.Reason = "failed", found.Err.Error()
			}
			if d.Before, err = removal.Measured(ctx, found.Path); err != nil && found.Err == nil {
				return nil, err
			}
			all = append(all, d)
		}
	}
	if err = nil; able == 0 {
		err = &failure.Error{Code: "no_store", Exit: failure.ExitFailed, Path: a.Home(), Hint: "--store opencode=PATH names a data directory", Err: errors.New("no store of OpenCode, Kilo, Hermes or Cline was found")}
	}
	return all, workspace.TellPassedOver(a.Run, err)
}

// unreadDatabases tells which databases of a store cannot be read, and reports whether
// there are any: nothing is known of what could be taken out of them.
func unreadDatabases(ctx context.Context, a *app, store session.Store) bool {
	listing, err := a.List(ctx, store)
	if err != nil {
		return false // who weighs them says so
	}
	unread := slices.DeleteFunc(listing.Notices, func(n session.Notice) bool { return !n.Unread })
	a.ShowNotices(unread)
	return len(unread) > 0
}

// shrinkOne archives and remembers what is to go, and takes it out.
func shrinkOne(ctx context.Context, a *app, w *workspace.Workspace, d *removal.ShrinkDatabase, o removal.ShrinkOptions) error {
	if d.Found.Err != nil {
		return d.Found.Err
	}
	if d.Found.Program != "" && d.Old.Count == 0 && !o.Does(removal.ShrinkVacuum) {
		d.Outcome, d.Reason = "nothing-to-do", o.Nothing()
		return nil
	}
	if d.Pinned != nil {
		return d.Pinned
	}
	order, intent, err := removal.SecureShrink(ctx, a.Run, w, d, o)
	if err != nil {
		return err
	}
	gains := len(order.Sessions) + len(order.Journals)
	if gains == 0 && !o.Does(removal.ShrinkVacuum) {
		d.Outcome, d.Reason = "nothing-to-do", o.Nothing()
		return nil
	}
	path := filepath.Join(a.ShrinkDir(), ulid.Make().String()+".json")
	if gains > 0 {
		if err := removal.NoteShrink(a.Run, path, intent); err != nil {
			return err
		}
	}
	done, err := d.Store.Capabilities().Shrinker.Shrink(ctx, order)
	d.Removed.Sessions, d.Removed.Events, d.Removed.Deleted, d.Removed.Rows = done.Sessions, done.Events, done.Deleted, done.Rows
	if gains > 0 {
		err = errors.Join(err, removal.EndShrink(ctx, a.Run, path, intent, d.Store))
	}
	if done.Sessions+done.Events+done.Rows > 0 || done.Vacuumed {
		after, measureErr := removal.Measured(ctx, d.Path)
		d.Outcome, d.After = "shrunk", &after
		err = errors.Join(err, measureErr)
	}
	return err
}

// renderShrink prints what each way would free, or has freed.
func renderShrink(a *app, doc removal.ShrinkDocument, o removal.ShrinkOptions) error {
	if len(doc.Databases) == 0 && a.Incomplete == 0 {
		a.Notice(workspace.Note{Message: "there is no database here that shrink makes smaller"})
	}
	doc.Notes = a.Notes
	if a.JSON {
		return a.printJSON(doc)
	}
	for _, d := range doc.Databases {
		text := fmt.Sprintf("%s %s: %s (%s in use, %s free), %s in its write-ahead log\n", d.Runtime, wording.Visible(a.Tilde(d.Path)),
			wording.Bytes(d.Before.Disk), wording.Bytes(d.Before.Live), wording.Bytes(d.Before.Free), wording.Bytes(d.Before.Log))
		if d.After == nil {
			text += d.DescribePlan(o)
		} else {
			text += "  removed   " + d.DescribeRemoved() + "\n"
			text += fmt.Sprintf("  now       %s, %s less\n", wording.Bytes(d.After.Disk), wording.Bytes(max(d.Before.Disk-d.After.Disk, 0)))
			text += d.DescribeFree(a.Run, o)
		}
		if d.Reason != "" {
			text += "  " + d.Outcome + ": " + wording.VisibleText(d.Reason) + "\n"
		}
		if _, err := fmt.Fprint(a.Out, text); err != nil {
			return err
		}
	}
	if advice := doc.Advice(o); doc.DryRun && advice != "" {
		a.Hint(advice)
	}
	return nil
}
