package unattended

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/steps"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/operate"
	"github.com/sessctl/sessctl/pkg/operate/schedule"
)

// ScheduleOptions are the flags of the commands below schedule.
type ScheduleOptions struct {
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

	Intervals time.Duration
}

// defaultCalendar is when a profile runs if nobody says.
const defaultCalendar = "*-*-* 03:00"

// defaultEvery is how often the monitor looks if nobody says.
const defaultEvery = "5m"

// Validate refuses options that contradict each other.
func (o *ScheduleOptions) Validate(args []string) (err error) {
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
	case o.Manager != "" && !slices.Contains(ManagerNames(), o.Manager):
		return failure.Usage(wording.DidYouMean(o.Manager, ManagerNames(), "known managers: "+strings.Join(ManagerNames(), ", ")), "unknown manager %q", o.Manager)
	}
	if o.Every == "" && o.Calendar == "" {
		if o.Calendar = defaultCalendar; o.Profile == schedule.Monitor {
			o.Every, o.Calendar = defaultEvery, ""
		}
	}
	if o.Every != "" {
		if o.Intervals, err = workspace.ParseAgo(o.Every); err != nil || o.Intervals < time.Minute || o.Intervals > 366*24*time.Hour {
			return failure.Usage("write 5m, 6h or 1d: from a minute to a year", "--every: %q is not such a duration", o.Every)
		}
	}
	o.System = o.System || o.RunAs != "" || !o.User && os.Geteuid() == 0
	return nil
}

// ManagerNames are the names of the managers of schedules.
func ManagerNames() (names []string) {
	for _, m := range schedule.Managers() {
		names = append(names, string(m))
	}
	return names
}

// Host is this machine, or this user of it.
func Host(a *workspace.Settings) schedule.Host {
	account, _ := currentAccount()
	return schedule.Host{
		Programs: managerPrograms{}, UID: os.Geteuid(), Account: account.Name,
		Places: schedule.PlacesOf(a.Home(), a.Xdg("XDG_CONFIG_HOME", ".config")),
	}
}

// Manager is the one that is asked for, or that of this machine.
func Manager(ctx context.Context, a *workspace.Run, h schedule.Host, o ScheduleOptions) (schedule.Manager, error) {
	if o.Manager != "" {
		return schedule.Manager(o.Manager), nil
	}
	m, err := h.Default(ctx, runtime.GOOS)
	if errors.Is(err, schedule.ErrNoManager) {
		return "", &failure.Error{Code: "no_manager", Exit: failure.ExitFailed, Hint: "start sessctl run from what starts jobs on this machine, or let sessctl serve run profiles; schedule show --manager cron prints a line", Err: err}
	}
	return m, err
}

// ExplainSchedule gives an error of package schedule its hint and exit code.
func ExplainSchedule(err error) error {
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

// ScheduleDocument is `schedule install --json` and `schedule remove --json`.
type ScheduleDocument struct {
	Schema    int              `json:"schema"`
	DryRun    bool             `json:"dry_run"`
	Changed   bool             `json:"changed"` // or would be
	Schedules []SchedulePlan   `json:"schedules"`
	Notes     []workspace.Note `json:"notes"`
}

// SchedulePlan is what is done for one schedule.
type SchedulePlan struct {
	Profile  string           `json:"profile"`
	Manager  schedule.Manager `json:"manager"`
	Scope    string           `json:"scope"` // system or user
	Name     string           `json:"name"`  // of the job, as the manager knows it
	When     string           `json:"when"`  // "" where it is removed
	Changes  []scheduleChange `json:"changes"`
	Commands []string         `json:"commands"` // that the manager is told with
	Left     []string         `json:"left"`     // that belong to it, are not ours, and stay
}

// PlanRow is the plan of a schedule as JSON.
func PlanRow(p *schedule.Plan, when string) SchedulePlan {
	row := SchedulePlan{
		Profile: p.Profile, Manager: p.Manager, Scope: ScopeName(p.System), Name: p.Name, When: when,
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

// KeepReserve adds to what an install does the room for the record of a first run on a full
// disk, and with dryRun only says so. A job of another account makes it itself: nothing is
// made in its name.
func KeepReserve(ctx context.Context, run *workspace.Run, j schedule.Job, row *SchedulePlan, dryRun bool) (changes bool) {
	path := workspace.LacksReserve(run)
	if path == "" {
		return false
	}
	kept, err := j.Account.UID == os.Geteuid(), error(nil)
	if kept && !dryRun {
		kept, err = workspace.KeepFirstReserve(ctx, run)
	}
	if err != nil || j.Account.UID != os.Geteuid() {
		run.Notice(workspace.Note{Path: path, Message: "room for the record of a run on a full disk is kept from the first run on", Hint: asAccount(j.Account.Name) + command(j) + " is the first"})
	}
	if kept {
		row.Changes = append(row.Changes, scheduleChange{Path: path, Action: schedule.Create})
	}
	return kept
}

// ScopeName names whose schedule it is.
func ScopeName(system bool) string {
	if system {
		return "system"
	}
	return "user"
}

// ScheduleFailed is the error of a schedule that could not be changed.
func ScheduleFailed(p *schedule.Plan, err error) error {
	if errors.Is(err, os.ErrPermission) && p.System {
		return &failure.Error{Code: "permission", Exit: failure.ExitFailed, Hint: "a job of the system is changed by root: put sudo before it, or say --user", Err: err}
	}
	if errors.Is(err, schedule.ErrChanged) {
		return &failure.Error{Code: "changed", Exit: failure.ExitBusy, Hint: "try again", Err: err}
	}
	return ExplainSchedule(err)
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

// Describe says what was done for a schedule, or would be.
func Describe(row SchedulePlan, changed, dryRun bool) string {
	var b strings.Builder
	what := fmt.Sprintf("%s (%s, %s)", row.Name, row.Manager, row.Scope)
	if !changed {
		fmt.Fprintf(&b, "%s is installed and runs %s: nothing to change\n", what, row.When)
	}
	for _, c := range row.Changes {
		if c.Action != schedule.Keep {
			fmt.Fprintf(&b, "%s %s\n%s", doing(c.Action, dryRun), c.Path, c.Diff)
		}
	}
	for _, c := range row.Commands {
		if dryRun {
			fmt.Fprintf(&b, "would run %s\n", c)
		}
	}
	switch {
	case changed && row.When != "" && !dryRun:
		fmt.Fprintf(&b, "%s runs %s\n", what, row.When)
	case changed && !dryRun:
		fmt.Fprintf(&b, "%s is removed\n", what)
	}
	return b.String()
}

// ScheduleFile is one text of `schedule show --json`.
type ScheduleFile struct {
	Path string `json:"path"` // "" for lines of a crontab
	Text string `json:"text"`
}

// Named is the name of a schedule.
func (o *ScheduleOptions) Named() string {
	if o.All {
		return "any profile"
	}
	return o.Profile
}

// Means reports whether an installed schedule is one that is to be removed.
func (o *ScheduleOptions) Means(s schedule.State) bool {
	return s.System == o.System && (o.All || s.Profile == o.Profile) && (o.Manager == "" || s.Manager == schedule.Manager(o.Manager)) && (o.RunAs == "" || s.Account == o.RunAs)
}
