package cmd

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/removal"
	"github.com/sessctl/sessctl/internal/selection"
	"github.com/sessctl/sessctl/internal/steps"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/agentset"
	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func addArchiveFlags(o *steps.ArchiveOptions, fs *pflag.FlagSet) {
	fs.StringVar((*string)(&o.Agent), "agent", "", "archive the sessions of this `agent` or runtime/agent")
	fs.BoolVar(&o.All, "all", false, "archive the sessions of every agent that is found")
	fs.StringVar(&o.Session, "session", "", "archive only this session (`id` or key)")
	fs.StringVar(&o.File, "file", "", "archive this `file`: a trajectory, or a conversation that was handed on")
	fs.BoolVar(&o.Remember, "remember", false, "put what was said in them into memory too")
	fs.BoolVar(&o.Supersede, "supersede", false, "keep older archives that the new ones begin with only in these")
	fs.BoolVar(&o.DryRun, "dry-run", false, "print the plan and change nothing")
}

func newArchiveCommand(a *app) *cobra.Command {
	var o steps.ArchiveOptions
	c := &cobra.Command{
		Use:   "archive",
		Short: "Make verified copies of sessions",
		Long: `Copy sessions into the archive, byte for byte, and read every copy back. The
sessions are not changed. A session whose bytes are in the archive already is
not copied again.

With --remember the sessions are put into memory too, with a summary, whatever
their size: also those that compact skips or finds too small to cut,
older ones, and logs that the runtime has closed. The next run passes over what
has not changed.

--file archives one file in which a conversation was handed on, wherever it lies:
an agent trajectory (ATIF), conversations of OpenAI's APIs or ShareGPT, a trace.

With --supersede, as in run and hooks, older archives that a new one begins with are
kept only in it, once it was read back and compared: their ids work as before.`,
		Example: `  sessctl archive --agent coordinator
  sessctl archive --all
  sessctl archive --all --remember --dry-run
  sessctl archive --all --remember
  sessctl archive --file trajectory.json --remember`,
		RunE: func(c *cobra.Command, _ []string) error {
			if o.Agent == "" && !o.All && o.Session == "" && o.File == "" {
				return failure.Usage("sessctl archive --all; what is archived is in sessctl archives list", "which sessions? --agent, --all, --session or --file is needed")
			}
			if o.File != "" && (o.All || o.Agent+agentset.Set(o.Session) != "") {
				return failure.Usage("one of them", "--file goes with none of --agent, --all and --session")
			}
			return runArchive(c.Context(), a, o)
		},
	}
	addArchiveFlags(&o, c.Flags())
	return c
}

func runArchive(ctx context.Context, a *app, o steps.ArchiveOptions) error {
	sessions, err := steps.SessionsToArchive(ctx, a.Run, o)
	if err != nil {
		return err
	}
	if o.DryRun {
		return planArchive(ctx, a, o, sessions)
	}
	w, err := steps.OpenToArchive(ctx, a.Run, &o, sessions)
	if err != nil {
		return err
	}
	defer w.Close()
	if w.Outdated() {
		if sessions, err = steps.SessionsToArchive(ctx, a.Run, o); err != nil {
			return err
		}
	}
	copies, err := workspace.CopiesOffSite(a.Run)
	if err != nil {
		return err
	}
	if copies != nil {
		w.Archives = w.Archives.CountingCopies(copies.Known)
	}
	keeper, err := steps.NewKeeper(ctx, a.Run, w, o)
	if err != nil {
		return err
	}
	doc := steps.ArchiveDocument{Schema: 1, Archives: []selection.ArchiveRow{}, Folds: o.All || a.Quiet, Counts: o.All && !a.JSON}
	var bytes, before int64
	for i := range sessions {
		bytes += sessions[i].Bytes
	}
	for i := range sessions {
		s := &sessions[i]
		if s.Bytes == 0 && s.Kind != session.KindDatabase {
			continue
		}
		w.Progress.OfBytes(i+1, len(sessions), before, s.Bytes, bytes)
		before += s.Bytes
		w.Progress.Show(s.Ref, removal.StageRead, 0, 1)
		row := keeper.Keep(ctx, s)
		w.Progress.Clear()
		if ctx.Err() != nil {
			return errors.Join(ctx.Err(), renderArchives(ctx, a, doc)) // what is done is told
		}
		doc.Add(row)
	}
	keeper.KeepDamaged(ctx, sessions, &doc)
	w.Progress.Of(1, 1)
	left := keeper.Supersede(ctx, o, sessions, &doc)
	if err := errors.Join(keeper.End(ctx), renderArchives(ctx, a, doc)); err != nil {
		return err
	}
	w.Progress.End(wording.Plural(doc.Sessions(), "session") + " (" + wording.Bytes(bytes) + ")")
	return w.Ends(cmp.Or(doc.Outcome(), left))
}

func renderArchives(ctx context.Context, a *app, doc steps.ArchiveDocument) error {
	doc.NameProjects(selection.ShownNames(ctx, a.Run, a.OutTTY))
	doc.Notes = a.Notes
	if a.JSON {
		return a.printJSON(doc)
	}
	t := table{empty: "no archives", columns: []column{
		{name: "ID"}, {name: "RUNTIME", drop: 2}, {name: "AGENT", least: 8, middle: true}, {name: "SESSION", least: 12, middle: true}, {name: "TITLE", least: 16, drop: 3}, {name: "MADE", drop: 1},
		{name: "SIZE", right: true}, {name: "STORED", right: true, drop: 4}, {name: "OFF-SITE", drop: 6}, {name: "FILE", least: 20, drop: 5, middle: true},
	}}
	const offSite = 8
	somewhere := slices.ContainsFunc(doc.Archives, func(r selection.ArchiveRow) bool { return r.OffSite != "" })
	if !somewhere {
		t.columns = slices.Delete(t.columns, offSite, offSite+1)
	}
	rows := make([][]string, 0, len(doc.Archives))
	for _, r := range doc.Archives {
		if doc.Folds && r.Unchanged {
			continue
		}
		last := r.Path
		if r.Reason != "" && r.Outcome != "archived" || r.Outcome == string(compact.Planned) {
			last = strings.TrimSuffix(r.Outcome+": "+r.Reason, ": ")
		}
		rows = append(rows, []string{r.ID, wording.Visible(r.Agent), wording.Visible(r.Session), r.CreatedAt, strconv.FormatInt(r.Bytes, 10), wording.Visible(last)})
		cells := []string{r.ID, r.Runtime, cmp.Or(r.ProjectName, r.Agent), r.Session, r.Title, wording.ShownTime(r.CreatedAt), wording.Bytes(r.Bytes), wording.Bytes(r.StoredBytes), offSiteCell(r), a.Tilde(last)}
		if !somewhere {
			cells = slices.Delete(cells, offSite, offSite+1)
		}
		t.rows = append(t.rows, cells)
	}
	if told := doc.Folded(); told != "" {
		a.Notice(workspace.Note{Message: told})
	}
	if len(rows) == 0 {
		if doc.Sessions() == 0 {
			a.Notice(workspace.Note{Message: "no archives"})
		}
		return nil
	}
	return a.printList(t, rows)
}

// offSiteCell says where an archive is beside this disk, and when that was last seen:
// the catalogue does not know what has become of a copy since.
func offSiteCell(r selection.ArchiveRow) string {
	switch {
	case r.OffSite == "":
		return selection.UnknownFigure
	case r.CheckedAt == "":
		return r.OffSite
	}
	day, _, _ := strings.Cut(wording.ShownTime(r.CheckedAt), " ")
	return r.OffSite + ", seen " + day
}
