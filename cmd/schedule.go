package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/steps"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/operate"
	"github.com/sessctl/sessctl/pkg/operate/schedule"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// scheduleOptions are the flags of the commands below schedule.
type scheduleOptions struct {
	Profile  string
	Every    string
	Calendar string
	System   bool
	User     bool
	Manager  string
	RunAs    string
	Program  string
	DryRun   bool
	All      bool

	every time.Duration
}

func (o *scheduleOptions) addPlace(fs *pflag.FlagSet) {
	fs.BoolVar(&o.System, "system", false, "a job of the system (the default as root)")
	fs.BoolVar(&o.User, "user", false, "a job of this user (the default unless root)")
	fs.StringVar(&o.Manager, "manager", "", "what starts it: `systemd`, launchd or cron (default: the one of this machine)")
	fs.StringVar(&o.RunAs, "run-as", "", "the `account` that a job of the system runs as, whose stores it is for (default: who called sudo)")
}

func (o *scheduleOptions) addTimes(fs *pflag.FlagSet) {
	fs.StringVar(&o.Every, "every", "", "how often, as a `duration`: 30m, 6h, 1d")
	fs.StringVar(&o.Calendar, "on-calendar", "", "when, as a calendar `expression` of systemd: daily, \"*-*-* 03:00\", \"Mon..Fri 22:30\"")
	fs.StringVar(&o.Program, "program", "", "the `path` of the sessctl to run (default: this one)")
}

// defaultCalendar is when a profile runs if nobody says.
const defaultCalendar = "*-*-* 03:00"

// defaultEvery is how often the monitor looks if nobody says.
const defaultEvery = "5m"

func (o *scheduleOptions) validate(args []string) (err error) {
	if o.Profile = operate.DefaultProfile; len(args) > 0 {
		o.Profile = strings.ToLower(args[0])
	}
	switch {
	case o.System && o.User:
		return failure.Usage("one of the two", "--system and --user cannot go together")
	case o.RunAs != "" && o.User:
		return failure.Usage("a job of a user runs as that user", "--run-as and --user cannot go together")
	case o.Every != "" && o.Calendar != "":
		return failure.Usage("one of the two", "--every and --on-calendar cannot go together")
	case o.Manager != "" && !slices.Contains(managerNames(), o.Manager):
		return failure.Usage(wording.DidYouMean(o.Manager, managerNames(), "known managers: "+strings.Join(managerNames(), ", ")), "unknown manager %q", o.Manager)
	}
	if o.Every == "" && o.Calendar == "" {
		if o.Calendar = defaultCalendar; o.Profile == schedule.Monitor {
			o.Every, o.Calendar = defaultEvery, ""
		}
	}
	if o.Every != "" {
		if o.every, err = workspace.ParseAgo(o.Every); err != nil || o.every < time.Minute || o.every > 366*24*time.Hour {
			return failure.Usage("write 5m, 6h or 1d: from a minute to a year", "--every: %q is not such a duration", o.Every)
		}
	}
	o.System = o.System || o.RunAs != "" || !o.User && os.Geteuid() == 0
	return nil
}

func managerNames() (names []string) {
	for _, m := range schedule.Managers() {
		names = append(names, string(m))
	}
	return names
}

func newScheduleCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "schedule",
		Short: "Install timers that run a profile or the monitor (systemd, launchd, cron)",
		Long: `Install a timer of systemd, a job of launchd or a line for cron that runs a
profile (sessctl run PROFILE) or the monitor (sessctl monitor); see what is
installed, and remove it. show prints what install would write.
` + exitHelp,
		Example: `  sessctl schedule install
  sessctl schedule install monitor --every 5m
  sessctl schedule status`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
		// Whose stores and configuration are meant is known before they are read.
		PersistentPreRunE: func(c *cobra.Command, _ []string) error {
			if err := a.asAccount(c); err != nil {
				return err
			}
			return a.prepare(c)
		},
	}
	c.AddCommand(newScheduleInstallCommand(a), newScheduleShowCommand(a), newScheduleRemoveCommand(a), newScheduleStatusCommand(a), newScheduleFailedCommand(a))
	return c
}

func newScheduleInstallCommand(a *app) *cobra.Command {
	var o scheduleOptions
	c := &cobra.Command{
		Use:   "install [PROFILE]",
		Short: "Install a schedule, or change one to what is asked for",
		Long: `Install a schedule for PROFILE (nightly if none is named), or for the monitor. The
data directory, the configuration file, the stores and the SESSCTL_ variables
that are in force now are written into it. A second install changes nothing; one
that would change something shows what. Only files that an install has written
are ever replaced.

With systemd the job is confined: it can write only the data directory and the
stores that sessctl changes, and has a network only if the configuration names a
server. Install again after you change the stores or the configuration. A job of
a user is confined less: systemd cannot keep it from other paths without hiding
the runtimes that are running.
` + exitHelp,
		Example: `  sessctl schedule install
  sessctl schedule install nightly --on-calendar "*-*-* 02:30"
  sessctl schedule install monitor --every 5m
  sudo sessctl schedule install --system --run-as lea
  sessctl schedule install --manager cron --every 6h --dry-run`,
		Args: usageArgs(cobra.MaximumNArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			if err := o.validate(args); err != nil {
				return err
			}
			return runScheduleInstall(c.Context(), a, o)
		},
	}
	o.addTimes(c.Flags())
	o.addPlace(c.Flags())
	c.Flags().BoolVar(&o.DryRun, "dry-run", false, "print what would change and change nothing")
	return c
}

func newScheduleShowCommand(a *app) *cobra.Command {
	var o scheduleOptions
	c := &cobra.Command{
		Use:   "show [PROFILE]",
		Short: "Print the units, the property list or the line that install would write",
		Long: `Print what install would write, whatever is installed, and write nothing: also for
a manager that this machine does not have.
` + exitHelp,
		Example: `  sessctl schedule show
  sessctl schedule show monitor --every 5m --manager cron
  sessctl schedule show --system --json`,
		Args: usageArgs(cobra.MaximumNArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			if err := o.validate(args); err != nil {
				return err
			}
			return runScheduleShow(c.Context(), a, o)
		},
	}
	o.addTimes(c.Flags())
	o.addPlace(c.Flags())
	return c
}

func newScheduleRemoveCommand(a *app) *cobra.Command {
	var o scheduleOptions
	c := &cobra.Command{
		Use:   "remove [PROFILE]",
		Short: "Remove a schedule",
		Long: `Stop the schedule of PROFILE (nightly if none is named) and remove everything that
install has written. A run that is under way goes on to its end. What runs did,
and their records, stay.
` + exitHelp,
		Example: `  sessctl schedule remove
  sessctl schedule remove monitor --dry-run
  sessctl schedule remove --all`,
		Args: usageArgs(cobra.MaximumNArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			if err := o.validate(args); err != nil {
				return err
			}
			if o.All && len(args) > 0 {
				return failure.Usage("one of the two", "--all and a profile cannot go together")
			}
			return runScheduleRemove(c.Context(), a, o)
		},
	}
	o.addPlace(c.Flags())
	c.Flags().BoolVar(&o.All, "all", false, "every schedule of this user, or with --system of the system")
	c.Flags().BoolVar(&o.DryRun, "dry-run", false, "print what would be removed and change nothing")
	return c
}

// host is this machine, or this user of it.
func host(a *workspace.Settings) schedule.Host {
	account, _ := currentAccount()
	return schedule.Host{
		Programs: managerPrograms{}, UID: os.Geteuid(), Account: account.Name,
		Places: schedule.PlacesOf(a.Home(), a.Xdg("XDG_CONFIG_HOME", ".config")),
	}
}

// manager is the one that is asked for, or that of this machine.
func manager(ctx context.Context, a *workspace.Run, h schedule.Host, o scheduleOptions) (schedule.Manager, error) {
	if o.Manager != "" {
		return schedule.Manager(o.Manager), nil
	}
	m, err := h.Default(ctx, runtime.GOOS)
	if errors.Is(err, schedule.ErrNoManager) {
		return "", &failure.Error{Code: "no_manager", Exit: failure.ExitFailed, Hint: "start sessctl run from what starts jobs on this machine, or let sessctl serve run profiles; schedule show --manager cron prints a line", Err: err}
	}
	return m, err
}

// explainSchedule gives an error of package schedule its hint and exit code.
func explainSchedule(err error) error {
	switch {
	case errors.Is(err, schedule.ErrInterval):
		return failure.Usage(schedule.CronIntervals+"; or use --on-calendar", "%w", err)
	case errors.Is(err, schedule.ErrCalendar):
		return failure.Usage("other managers can do "+schedule.Translatable, "--on-calendar: %w", err)
	case errors.Is(err, schedule.ErrForeign):
		return &failure.Error{Code: "foreign", Exit: failure.ExitFailed, Hint: "move it away, or choose another profile; nothing was changed", Err: err}
	}
	return err
}

// scheduleChange is one file of an install or a remove.
type scheduleChange struct {
	Path   string          `json:"path"`
	Action schedule.Action `json:"action"` // create, replace, keep or remove
	Diff   string          `json:"diff"`   // of what is replaced, else ""
}

// scheduleDocument is `schedule install --json` and `schedule remove --json`.
type scheduleDocument struct {
	Schema    int              `json:"schema"`
	DryRun    bool             `json:"dry_run"`
	Changed   bool             `json:"changed"` // or would be
	Schedules []schedulePlan   `json:"schedules"`
	Notes     []workspace.Note `json:"notes"`
}

// schedulePlan is what is done for one schedule.
type schedulePlan struct {
	Profile  string           `json:"profile"`
	Manager  schedule.Manager `json:"manager"`
	Scope    string           `json:"scope"` // system or user
	Name     string           `json:"name"`  // of the job, as the manager knows it
	When     string           `json:"when"`  // "" where it is removed
	Changes  []scheduleChange `json:"changes"`
	Commands []string         `json:"commands"` // that the manager is told with
	Left     []string         `json:"left"`     // that belong to it, are not ours, and stay
}

func planRow(p *schedule.Plan, when string) schedulePlan {
	row := schedulePlan{
		Profile: p.Profile, Manager: p.Manager, Scope: scopeName(p.System), Name: p.Name, When: when,
		Changes: []scheduleChange{}, Commands: []string{}, Left: append([]string{}, p.Left...),
	}
	for _, c := range p.Changes {
		change := scheduleChange{Path: c.Path, Action: c.Action}
		if c.Action == schedule.Replace {
			change.Diff = steps.Difference(c.Path, strings.Split(c.Before, "\n"), strings.Split(c.After, "\n"))
		}
		row.Changes = append(row.Changes, change)
	}
	for _, c := range slices.Concat(p.Before, p.After) {
		row.Commands = append(row.Commands, c.String())
	}
	return row
}

func scopeName(system bool) string {
	if system {
		return "system"
	}
	return "user"
}

func runScheduleInstall(ctx context.Context, a *app, o scheduleOptions) error {
	h := host(&a.Run.Settings)
	m, err := manager(ctx, a.Run, h, o)
	if err != nil {
		return err
	}
	job, err := a.job(ctx, o, m)
	if err != nil {
		return err
	}
	if err := checkInstall(ctx, a.Run, h, m, job); err != nil && !o.DryRun {
		return err
	}
	plan, err := h.PlanInstall(ctx, job, m)
	if err != nil {
		return explainSchedule(err)
	}
	if !o.DryRun && !plan.Nothing() {
		if m == schedule.Launchd { // it starts nothing whose log it cannot make
			if err := durable.MakeDir(a.DataDir(), 0o700); err != nil {
				return err
			}
		}
		if err := h.Execute(ctx, plan); err != nil {
			return scheduleFailed(plan, err)
		}
	}
	noteInstalled(ctx, a.Run, h, plan, job)
	return a.renderSchedules(o, []schedulePlan{planRow(plan, job.When.String())}, !plan.Nothing())
}

func scheduleFailed(p *schedule.Plan, err error) error {
	if errors.Is(err, os.ErrPermission) && p.System {
		return &failure.Error{Code: "permission", Exit: failure.ExitFailed, Hint: "a job of the system is changed by root: put sudo before it, or say --user", Err: err}
	}
	if errors.Is(err, schedule.ErrChanged) {
		return &failure.Error{Code: "changed", Exit: failure.ExitBusy, Hint: "try again", Err: err}
	}
	return explainSchedule(err)
}

// renderSchedules prints what was done, or would be.
func (a *app) renderSchedules(o scheduleOptions, rows []schedulePlan, changed bool) error {
	if a.JSON {
		return a.printJSON(scheduleDocument{Schema: 1, DryRun: o.DryRun, Changed: changed, Schedules: rows, Notes: a.Notes})
	}
	for _, row := range rows {
		if err := a.printSchedule(o, row, changed); err != nil {
			return err
		}
	}
	return nil
}

func (a *app) printSchedule(o scheduleOptions, row schedulePlan, changed bool) error {
	var b strings.Builder
	what := fmt.Sprintf("%s (%s, %s)", row.Name, row.Manager, row.Scope)
	switch {
	case !changed && a.Quiet:
		return nil
	case !changed:
		fmt.Fprintf(&b, "%s is installed and runs %s: nothing to change\n", what, row.When)
	}
	for _, c := range row.Changes {
		if c.Action != schedule.Keep {
			fmt.Fprintf(&b, "%s %s\n", doing(c.Action, o.DryRun), c.Path)
			b.WriteString(c.Diff)
		}
	}
	for _, c := range row.Commands {
		if o.DryRun {
			fmt.Fprintf(&b, "would run %s\n", c)
		}
	}
	switch {
	case changed && row.When != "" && !o.DryRun:
		fmt.Fprintf(&b, "%s runs %s\n", what, row.When)
	case changed && row.When == "" && !o.DryRun:
		fmt.Fprintf(&b, "%s is removed\n", what)
	}
	_, err := io.WriteString(a.Out, a.shownText(b.String()))
	return err
}

// shownText is a text as it goes to a terminal, or exactly as it is to a program.
func (a *app) shownText(text string) string {
	if !a.OutTTY {
		return text
	}
	return strings.TrimRight(wording.VisibleText(text), "\n") + "\n"
}

// doing is an action as a word.
func doing(action schedule.Action, dryRun bool) string {
	done := map[schedule.Action]string{schedule.Create: "wrote", schedule.Replace: "changed", schedule.Remove: "removed"}
	will := map[schedule.Action]string{schedule.Create: "would write", schedule.Replace: "would change", schedule.Remove: "would remove"}
	if dryRun {
		return will[action]
	}
	return done[action]
}

// scheduleFile is one text of `schedule show --json`.
type scheduleFile struct {
	Path string `json:"path"` // "" for lines of a crontab
	Text string `json:"text"`
}

func runScheduleShow(ctx context.Context, a *app, o scheduleOptions) error {
	h := host(&a.Run.Settings)
	m, err := manager(ctx, a.Run, h, o)
	if err != nil {
		return err
	}
	job, err := a.job(ctx, o, m)
	if err != nil {
		return err
	}
	files, err := h.Files(job, m)
	if err != nil {
		return explainSchedule(err)
	}
	if a.JSON {
		all := make([]scheduleFile, 0, len(files))
		for _, f := range files {
			all = append(all, scheduleFile(f))
		}
		return a.printJSON(map[string]any{"schema": 1, "profile": job.Profile, "manager": m, "scope": scopeName(job.System), "name": job.Name(), "when": job.When.String(), "files": all, "notes": a.Notes})
	}
	var b strings.Builder
	for i, f := range files {
		if f.Path != "" && len(files) > 1 {
			fmt.Fprintf(&b, "%s# %s\n", strings.Repeat("\n", min(i, 1)), f.Path)
		}
		b.WriteString(f.Text)
	}
	_, err = io.WriteString(a.Out, a.shownText(b.String()))
	return err
}

func runScheduleRemove(ctx context.Context, a *app, o scheduleOptions) error {
	h := host(&a.Run.Settings)
	states, err := h.States(ctx, a.Now())
	if err != nil {
		return err
	}
	var plans []*schedule.Plan
	rows, changed := []schedulePlan{}, false
	for _, s := range states {
		if !o.means(s) {
			continue
		}
		job := schedule.Job{Profile: s.Profile, System: s.System, Account: schedule.Account{Name: s.Account}}
		plan, err := h.PlanRemove(ctx, job, s.Manager)
		if err != nil {
			return explainSchedule(err)
		}
		plans = append(plans, plan)
		changed = changed || !plan.Nothing()
		rows = append(rows, planRow(plan, ""))
	}
	for _, plan := range plans {
		if !o.DryRun {
			if err := h.Execute(ctx, plan); err != nil {
				return scheduleFailed(plan, err)
			}
		}
		for _, path := range plan.Left {
			a.Notice(workspace.Note{Path: path, Message: "kept: sessctl schedule did not write it"})
		}
	}
	if len(rows) == 0 {
		a.Notice(workspace.Note{Message: "no schedule of " + o.named() + " is installed", Hint: "sessctl schedule status lists all"})
	}
	return a.renderSchedules(o, rows, changed)
}

func (o *scheduleOptions) named() string {
	if o.All {
		return "any profile"
	}
	return o.Profile
}

// means reports whether an installed schedule is one that is to be removed.
func (o *scheduleOptions) means(s schedule.State) bool {
	return s.System == o.System && (o.All || s.Profile == o.Profile) && (o.Manager == "" || s.Manager == schedule.Manager(o.Manager)) && (o.RunAs == "" || s.Account == o.RunAs)
}
