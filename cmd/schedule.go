package cmd

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/unattended"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/operate/schedule"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func addPlace(o *unattended.ScheduleOptions, fs *pflag.FlagSet) {
	fs.BoolVar(&o.System, "system", false, "a job of the system (the default as root)")
	fs.BoolVar(&o.User, "user", false, "a job of this user (the default unless root)")
	fs.StringVar(&o.Manager, "manager", "", "what starts it: `systemd`, launchd or cron (default: the one of this machine)")
	fs.StringVar(&o.RunAs, "run-as", "", "the `account` that a job of the system runs as, whose stores it is for (default: who called sudo)")
}

func addTimes(o *unattended.ScheduleOptions, fs *pflag.FlagSet) {
	fs.StringVar(&o.Every, "every", "", "how often, as a `duration`: 30m, 6h, 1d")
	fs.StringVar(&o.Calendar, "on-calendar", "", "when, as a calendar `expression` of systemd: daily, \"*-*-* 03:00\", \"Mon..Fri 22:30\"")
	fs.StringVar(&o.Program, "program", "", "the `path` of the sessctl to run (default: this one)")
}

func newScheduleCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "schedule",
		Short: "Install timers that run a profile or the monitor (systemd, launchd, cron)",
		Long: `Install a timer of systemd, a job of launchd or a line for cron that runs a
profile (sessctl run PROFILE) or the monitor (sessctl monitor); see what is
installed, and remove it. show prints what install would write.`,
		Example: `  sessctl schedule install
  sessctl schedule install monitor --every 5m
  sessctl schedule status`,
		// Whose stores and configuration are meant is known before they are read.
		PersistentPreRunE: func(c *cobra.Command, _ []string) error {
			if err := asAccount(a, c); err != nil {
				return err
			}
			return a.prepare(c)
		},
	}
	c.AddCommand(newScheduleInstallCommand(a), newScheduleShowCommand(a), newScheduleRemoveCommand(a), newScheduleStatusCommand(a), newScheduleFailedCommand(a))
	return c
}

func newScheduleInstallCommand(a *app) *cobra.Command {
	var o unattended.ScheduleOptions
	c := &cobra.Command{
		Use:   "install [PROFILE]",
		Short: "Install a schedule, or change one to what is asked for",
		Long: `Install a schedule for PROFILE (nightly if none is named), or for the monitor. The
data directory, the configuration file, the stores and the SESSCTL_ variables
that are in force now are written into it. A second install changes nothing; one
that would change something shows what. Only files that an install has written
are ever replaced. Room for the record of a run on a full disk is kept in the data
directory, as every run keeps it.

With systemd the job is confined: it can write only the data directory and the
stores that sessctl changes, and has a network only if the configuration names a
server. Install again after you change the stores or the configuration. A job of
a user is confined less: systemd cannot keep it from other paths without hiding
the runtimes that are running.`,
		Example: `  sessctl schedule install
  sessctl schedule install nightly --on-calendar "*-*-* 02:30"
  sessctl schedule install monitor --every 5m
  sudo sessctl schedule install --system --run-as lea
  sessctl schedule install --manager cron --every 6h --dry-run`,
		Args: usageArgs(cobra.MaximumNArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			if err := o.Validate(args); err != nil {
				return err
			}
			return runScheduleInstall(c.Context(), a, o)
		},
	}
	addTimes(&o, c.Flags())
	addPlace(&o, c.Flags())
	c.Flags().BoolVar(&o.DryRun, "dry-run", false, "print what would change and change nothing")
	return c
}

func newScheduleShowCommand(a *app) *cobra.Command {
	var o unattended.ScheduleOptions
	c := &cobra.Command{
		Use:   "show [PROFILE]",
		Short: "Print the units, the property list or the line that install would write",
		Long: `Print what install would write, whatever is installed, and write nothing: also for
a manager that this machine does not have.`,
		Example: `  sessctl schedule show
  sessctl schedule show monitor --every 5m --manager cron
  sessctl schedule show --system --json`,
		Args: usageArgs(cobra.MaximumNArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			if err := o.Validate(args); err != nil {
				return err
			}
			return runScheduleShow(c.Context(), a, o)
		},
	}
	addTimes(&o, c.Flags())
	addPlace(&o, c.Flags())
	return c
}

func newScheduleRemoveCommand(a *app) *cobra.Command {
	var o unattended.ScheduleOptions
	c := &cobra.Command{
		Use:   "remove [PROFILE]",
		Short: "Remove a schedule",
		Long: `Stop the schedule of PROFILE (nightly if none is named) and remove everything that
install has written. A run that is under way goes on to its end. What runs did,
their records, and the room that is kept for these, stay.`,
		Example: `  sessctl schedule remove
  sessctl schedule remove monitor --dry-run
  sessctl schedule remove --all`,
		Args: usageArgs(cobra.MaximumNArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			if err := o.Validate(args); err != nil {
				return err
			}
			if o.All && len(args) > 0 {
				return failure.Usage("one of the two", "--all and a profile cannot go together")
			}
			return runScheduleRemove(c.Context(), a, o)
		},
	}
	addPlace(&o, c.Flags())
	c.Flags().BoolVar(&o.All, "all", false, "every schedule of this user, or with --system of the system")
	c.Flags().BoolVar(&o.DryRun, "dry-run", false, "print what would be removed and change nothing")
	return c
}

func runScheduleInstall(ctx context.Context, a *app, o unattended.ScheduleOptions) error {
	h := unattended.Host(&a.Run.Settings)
	m, err := unattended.Manager(ctx, a.Run, h, o)
	if err != nil {
		return err
	}
	job, err := job(ctx, a, o, m)
	if err != nil {
		return err
	}
	if err := unattended.CheckInstall(ctx, a.Run, h, m, job); err != nil && !o.DryRun {
		return err
	}
	plan, err := h.PlanInstall(ctx, job, m)
	if err != nil {
		return unattended.ExplainSchedule(err)
	}
	if !o.DryRun && !plan.Nothing() {
		if m == schedule.Launchd { // it starts nothing whose log it cannot make
			if err := durable.MakeDir(a.DataDir(), 0o700); err != nil {
				return err
			}
		}
		if err := h.Execute(ctx, plan); err != nil {
			return unattended.ScheduleFailed(plan, err)
		}
	}
	row := unattended.PlanRow(plan, job.When.String())
	kept := unattended.KeepReserve(ctx, a.Run, job, &row, o.DryRun)
	unattended.NoteInstalled(ctx, a.Run, h, plan, job)
	return renderSchedules(a, o, []unattended.SchedulePlan{row}, kept || !plan.Nothing())
}

// renderSchedules prints what was done, or would be.
func renderSchedules(a *app, o unattended.ScheduleOptions, rows []unattended.SchedulePlan, changed bool) error {
	if a.JSON {
		return a.printJSON(unattended.ScheduleDocument{Schema: 1, DryRun: o.DryRun, Changed: changed, Schedules: rows, Notes: a.Notes})
	}
	for _, row := range rows {
		if err := printSchedule(a, o, row, changed); err != nil {
			return err
		}
	}
	return nil
}

func printSchedule(a *app, o unattended.ScheduleOptions, row unattended.SchedulePlan, changed bool) error {
	if !changed && a.Quiet {
		return nil
	}
	_, err := io.WriteString(a.Out, shownText(a, unattended.Describe(row, changed, o.DryRun)))
	return err
}

// shownText is a text as it goes to a terminal, or exactly as it is to a program.
func shownText(a *app, text string) string {
	if !a.OutTTY {
		return text
	}
	return strings.TrimRight(wording.VisibleText(text), "\n") + "\n"
}

func runScheduleShow(ctx context.Context, a *app, o unattended.ScheduleOptions) error {
	h := unattended.Host(&a.Run.Settings)
	m, err := unattended.Manager(ctx, a.Run, h, o)
	if err != nil {
		return err
	}
	job, err := job(ctx, a, o, m)
	if err != nil {
		return err
	}
	files, err := h.Files(job, m)
	if err != nil {
		return unattended.ExplainSchedule(err)
	}
	if a.JSON {
		all := make([]unattended.ScheduleFile, 0, len(files))
		for _, f := range files {
			all = append(all, unattended.ScheduleFile(f))
		}
		return a.printJSON(map[string]any{"schema": 1, "profile": job.Profile, "manager": m, "scope": unattended.ScopeName(job.System), "name": job.Name(), "when": job.When.String(), "files": all, "notes": a.Notes})
	}
	var b strings.Builder
	for i, f := range files {
		if f.Path != "" && len(files) > 1 {
			fmt.Fprintf(&b, "%s# %s\n", strings.Repeat("\n", min(i, 1)), f.Path)
		}
		b.WriteString(f.Text)
	}
	_, err = io.WriteString(a.Out, shownText(a, b.String()))
	return err
}

func runScheduleRemove(ctx context.Context, a *app, o unattended.ScheduleOptions) error {
	h := unattended.Host(&a.Run.Settings)
	states, err := h.States(ctx, a.Now())
	if err != nil {
		return err
	}
	var plans []*schedule.Plan
	rows, changed := []unattended.SchedulePlan{}, false
	for _, s := range states {
		if !o.Means(s) {
			continue
		}
		job := schedule.Job{Profile: s.Profile, System: s.System, Account: schedule.Account{Name: s.Account}}
		plan, err := h.PlanRemove(ctx, job, s.Manager)
		if err != nil {
			return unattended.ExplainSchedule(err)
		}
		plans = append(plans, plan)
		changed = changed || !plan.Nothing()
		rows = append(rows, unattended.PlanRow(plan, ""))
	}
	for _, plan := range plans {
		if !o.DryRun {
			if err := h.Execute(ctx, plan); err != nil {
				return unattended.ScheduleFailed(plan, err)
			}
		}
		for _, path := range plan.Left {
			a.Notice(workspace.Note{Path: path, Message: "kept: sessctl schedule did not write it"})
		}
	}
	if len(rows) == 0 {
		a.Notice(workspace.Note{Message: "no schedule of " + o.Named() + " is installed", Hint: "sessctl schedule status lists all"})
	}
	return renderSchedules(a, o, rows, changed)
}
