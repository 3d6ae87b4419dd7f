package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/sessctl/sessctl/internal/audit"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/operate"
	"github.com/sessctl/sessctl/pkg/operate/outbox"
	"github.com/sessctl/sessctl/pkg/operate/schedule"
	"github.com/sessctl/sessctl/pkg/session/process"
	"github.com/spf13/cobra"
)

func newScheduleStatusCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "List the schedules that are installed, when they ran and when they run next",
		Long: `List every schedule that sessctl has installed, for this user and for the system,
with systemd, launchd and cron: whether it is active, when it ran last and how
that ended (from the records of runs, or from the manager), and when it runs
next, where the manager tells.
` + exitHelp,
		Example: `  sessctl schedule status
  sessctl schedule status --json`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error { return runScheduleStatus(c.Context(), a) },
	}
}

// scheduleRow is one schedule of `schedule status --json`. Times are RFC 3339, UTC,
// or "" where nobody knows.
type scheduleRow struct {
	Profile string           `json:"profile"`
	Manager schedule.Manager `json:"manager"`
	Scope   string           `json:"scope"`   // system or user
	Account string           `json:"account"` // of a job of the system, else ""
	Name    string           `json:"name"`
	When    string           `json:"when"`
	Path    string           `json:"path"`
	Active  bool             `json:"active"`
	Last    string           `json:"last"`
	Outcome string           `json:"outcome"` // of the last run, or ""
	Run     string           `json:"run"`     // id of its record, or ""
	Next    string           `json:"next"`
}

// scheduleStatusDocument is `schedule status --json`.
type scheduleStatusDocument struct {
	Schema    int              `json:"schema"`
	Schedules []scheduleRow    `json:"schedules"`
	Notes     []workspace.Note `json:"notes"`
}

func runScheduleStatus(ctx context.Context, a *app) error {
	states, err := host(&a.Run.Settings).States(ctx, a.Now())
	if err != nil {
		return err
	}
	records := map[string][]operate.RunRecord{} // by data directory: schedules may be for others
	doc := scheduleStatusDocument{Schema: 1, Schedules: []scheduleRow{}}
	for _, s := range states {
		row := scheduleRow{
			Profile: s.Profile, Manager: s.Manager, Scope: scopeName(s.System), Account: s.Account, Name: s.Name, When: s.When, Path: s.Path,
			Active: s.Active, Last: utc(s.Last), Outcome: s.Result, Next: utc(s.Next),
		}
		data := cmp.Or(s.Data, a.DataDir())
		if _, read := records[data]; !read {
			if records[data], err = audit.ListedRunsIn(ctx, a.Run, data); errors.Is(err, fs.ErrPermission) {
				a.Notice(workspace.Note{Path: workspace.RunsIn(data), Message: "the records of its runs are not yours to read"})
			} else if err != nil {
				return err
			}
		}
		row.take(records[data])
		doc.Schedules = append(doc.Schedules, row)
		switch {
		case s.Offline && s.Manager == schedule.Cron:
			a.Tell(workspace.Note{Path: s.Path, Message: "cron does not run here, and starts nothing", Hint: cronHint})
		case s.Offline:
			a.Tell(workspace.Note{Path: s.Path, Message: "systemd does not run here, or cannot be asked: whether it starts this is not known"})
		case !s.Active:
			a.Tell(workspace.Note{Path: s.Path, Message: "it is not active: " + string(s.Manager) + " does not start it", Hint: "sessctl schedule install " + s.Profile + " --" + scopeName(s.System)})
		}
	}
	return a.renderScheduleStatus(doc)
}

func utc(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

// take fills in the newest run of the profile. A record that is older than what
// the manager says of its last start is of an earlier run.
func (r *scheduleRow) take(records []operate.RunRecord) {
	for _, record := range records {
		if record.Profile != r.Profile {
			continue
		}
		if at := utc(record.Started); at >= r.Last || r.Outcome == "" || r.Outcome == "success" {
			r.Last, r.Outcome, r.Run = at, string(record.Outcome), record.ID
		}
		return
	}
}

func (a *app) renderScheduleStatus(doc scheduleStatusDocument) error {
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
itself, and is not told again; what a schedule fails of is told once a day.
` + exitHelp,
		Example: "  sessctl schedule failed nightly",
		Hidden:  true,
		Args:    usageArgs(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			return runScheduleFailed(c.Context(), a.Run, args[0])
		},
	}
}

// justNow is how long ago a run may have ended that a failed unit is about, where
// systemd does not say which of its invocations failed (before version 251).
const justNow = 2 * time.Minute

// toldItself reports whether a run came to an end that it has told itself, and is
// the one that the failed unit was.
func toldItself(a *workspace.Settings, r operate.RunRecord) bool {
	if failed := a.Getenv("MONITOR_INVOCATION_ID"); failed != "" {
		return r.Ended() && r.Invocation == failed
	}
	return r.Ended() && a.Now().Sub(r.Finished) < justNow
}

// runScheduleFailed tells of runs that were killed, by the event that the next run
// would make of them; and where there is no record of a run, that of the unit.
func runScheduleFailed(ctx context.Context, a *workspace.Run, profile string) error {
	records, err := audit.OpenRuns(a).List(ctx)
	if err != nil {
		return err
	}
	told := false
	for _, r := range records {
		if r.Profile != profile {
			continue
		}
		told = told || toldItself(&a.Settings, r)
		if r.Ended() || r.Told || process.Runs(r.Process, r.Started.Add(justNow)) {
			continue
		}
		if err := workspace.EmitOnce(ctx, a, outbox.DeriveID(r.Started, "run "+r.ID), outbox.RunFailed, profile, r); err != nil {
			return err
		}
		a.Tell(workspace.Note{Message: fmt.Sprintf("the run %s of %s was ended from outside: %s", r.ID, profile, unitResult(&a.Settings))})
		told = true
	}
	if told {
		return nil
	}
	day := a.Now().UTC().Truncate(24 * time.Hour)
	failed := map[string]any{"profile": profile, "unit": a.Getenv("MONITOR_UNIT"), "result": a.Getenv("MONITOR_SERVICE_RESULT"), "exit_status": a.Getenv("MONITOR_EXIT_STATUS"), "reason": "the schedule could not start a run: " + unitResult(&a.Settings)}
	a.Tell(workspace.Note{Message: fmt.Sprintf("the schedule of %s failed: %s", profile, unitResult(&a.Settings)), Hint: "journalctl shows why"})
	return workspace.EmitOnce(ctx, a, outbox.DeriveID(day, "unit "+profile+" "+unitResult(&a.Settings)), outbox.RunFailed, profile, failed)
}

// unitResult is what systemd says of the unit that has failed.
func unitResult(a *workspace.Settings) string {
	words := []string{a.Getenv("MONITOR_SERVICE_RESULT"), a.Getenv("MONITOR_EXIT_CODE"), a.Getenv("MONITOR_EXIT_STATUS")}
	if text := strings.TrimSpace(strings.Join(words, " ")); text != "" {
		return text
	}
	return "systemd does not say why"
}
