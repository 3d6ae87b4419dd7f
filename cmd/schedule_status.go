package cmd

import (
	"cmp"
	"context"
	"errors"
	"io/fs"

	"github.com/sessctl/sessctl/internal/audit"
	"github.com/sessctl/sessctl/internal/unattended"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/operate"
	"github.com/sessctl/sessctl/pkg/operate/schedule"
	"github.com/spf13/cobra"
)

func newScheduleStatusCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "List the schedules that are installed, when they ran and when they run next",
		Long: `List every schedule that sessctl has installed, for this user and for the system,
with systemd, launchd and cron: whether it is active, when it ran last and how
that ended (from the records of runs, or from the manager), and when it runs
next, where the manager tells.`,
		Example: `  sessctl schedule status
  sessctl schedule status --json`,
		RunE: func(c *cobra.Command, _ []string) error { return runScheduleStatus(c.Context(), a) },
	}
}

func runScheduleStatus(ctx context.Context, a *app) error {
	states, err := unattended.Host(&a.Run.Settings).States(ctx, a.Now())
	if err != nil {
		return err
	}
	records := map[string][]operate.RunRecord{} // by data directory: schedules may be for others
	doc := unattended.ScheduleStatusDocument{Schema: 1, Schedules: []unattended.ScheduleRow{}}
	for _, s := range states {
		row := unattended.ScheduleRow{
			Profile: s.Profile, Manager: s.Manager, Scope: unattended.ScopeName(s.System), Account: s.Account, Name: s.Name, When: s.When, Path: s.Path,
			Active: s.Active, Last: unattended.UTC(s.Last), Outcome: s.Result, Next: unattended.UTC(s.Next),
		}
		data := cmp.Or(s.Data, a.DataDir())
		if _, read := records[data]; !read {
			if records[data], err = audit.ListedRunsIn(ctx, a.Run, data); errors.Is(err, fs.ErrPermission) {
				a.Notice(workspace.Note{Path: workspace.RunsIn(data), Message: "the records of its runs are not yours to read"})
			} else if err != nil {
				return err
			}
		}
		row.Take(records[data])
		doc.Schedules = append(doc.Schedules, row)
		switch {
		case s.Offline && s.Manager == schedule.Cron:
			a.Tell(workspace.Note{Path: s.Path, Message: "cron does not run here, and starts nothing", Hint: unattended.CronHint})
		case s.Offline:
			a.Tell(workspace.Note{Path: s.Path, Message: "systemd does not run here, or cannot be asked: whether it starts this is not known"})
		case !s.Active:
			a.Tell(workspace.Note{Path: s.Path, Message: "it is not active: " + string(s.Manager) + " does not start it", Hint: "sessctl schedule install " + s.Profile + " --" + unattended.ScopeName(s.System)})
		}
	}
	return renderScheduleStatus(a, doc)
}

func renderScheduleStatus(a *app, doc unattended.ScheduleStatusDocument) error {
	doc.Notes = a.Notes
	if a.JSON {
		return a.printJSON(doc)
	}
	rows := make([][]string, 0, len(doc.Schedules))
	t := table{empty: "no schedule is installed; sessctl schedule install makes one", columns: []column{
		{name: "PROFILE"}, {name: "MANAGER"}, {name: "SCOPE", drop: 2}, {name: "WHEN", least: 10}, {name: "ACTIVE"}, {name: "LAST"}, {name: "OUTCOME"}, {name: "NEXT", drop: 1},
	}}
	for _, s := range doc.Schedules {
		active := "no"
		if s.Active {
			active = "yes"
		}
		rows = append(rows, []string{s.Profile, string(s.Manager), s.Scope, wording.Visible(s.When), active, s.Last, s.Outcome, s.Next, wording.Visible(s.Path)})
		t.rows = append(t.rows, []string{s.Profile, string(s.Manager), s.Scope, s.When, active, wording.ShownTime(s.Last), s.Outcome, wording.ShownTime(s.Next)})
	}
	t.warn = func(row, column int) bool { return column == 4 && t.rows[row][4] == "no" }
	return a.printList(t, rows)
}

// newScheduleFailedCommand is what systemd starts when the unit of a schedule has
// failed (OnFailure=).
func newScheduleFailedCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "failed PROFILE",
		Short: "Tell that a scheduled run could not be run to its end; systemd starts this",
		Long: `Tell by an event, and by a line in the journal, that the run of a schedule was ended
from outside, or could not be started. A run that ends by itself tells that
itself, and is not told again; what a schedule fails of is told once a day.`,
		Example: "  sessctl schedule failed nightly",
		Hidden:  true,
		Args:    usageArgs(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			return unattended.RunScheduleFailed(c.Context(), a.Run, args[0])
		},
	}
}
