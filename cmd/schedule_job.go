package cmd

import (
	"context"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/steps"
	"github.com/sessctl/sessctl/internal/unattended"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/pkg/operate/schedule"
	"github.com/spf13/cobra"
)

// asAccount makes this run one for another account: its home directory is where
// the configuration, the data and the stores are. As root that is the account of
// --run-as, or the one that has called sudo.
func asAccount(a *app, c *cobra.Command) error {
	flag := c.Flags().Lookup("run-as")
	if flag == nil {
		return nil
	}
	ofUser, _ := c.Flags().GetBool("user")
	all, _ := c.Flags().GetBool("all") // false where there is no such flag
	if called := a.Getenv("SUDO_USER"); !flag.Changed && called != "" && os.Geteuid() == 0 && !ofUser && !all {
		if err := flag.Value.Set(called); err != nil {
			return err
		}
	}
	name := flag.Value.String()
	if name == "" {
		return nil
	}
	account, err := user.Lookup(name)
	if err != nil {
		return failure.Usage("name an account of this machine", "--run-as: %w", err)
	}
	if unattended.AccountOf(account).UID == os.Geteuid() {
		return nil // this one: where its things are, its variables say
	}
	before := a.Getenv
	a.Getenv = func(variable string) string {
		switch {
		case variable == "HOME":
			return account.HomeDir
		case strings.HasPrefix(variable, "XDG_"):
			return ""
		}
		return before(variable)
	}
	return nil
}

// job is what is asked for, with what is in force now.
func job(ctx context.Context, a *app, o unattended.ScheduleOptions, m schedule.Manager) (schedule.Job, error) {
	j := schedule.Job{
		Profile: o.Profile, When: schedule.When{Every: o.Intervals, Calendar: o.Calendar}, System: o.System,
		Log: filepath.Join(a.DataDir(), "schedule-"+o.Profile+".log"),
	}
	var err error
	if j.Account, err = unattended.JobAccount(&a.Run.Settings, o); err != nil {
		return j, err
	}
	if j.Program, err = unattended.JobProgram(a.Run, o); err != nil {
		return j, err
	}
	if err := checkScheduled(a, o.Profile); err != nil {
		return j, err
	}
	stores, err := a.OpenStores()
	if err != nil {
		return j, err
	}
	if err := unattended.CheckOwners(j, stores); err != nil {
		return j, err
	}
	options := unattended.JobOptions(a.Run, a.fileConfig().GetStringSlice)
	j.Arguments = append([]string{"run", o.Profile, "--lock-wait", "10m", "--quiet"}, options...)
	if o.Profile == schedule.Monitor {
		j.Arguments = append([]string{"monitor", "--quiet"}, options...)
		if !a.Config.Monitor.Compact {
			j.Deadline = lookDeadline
		}
	}
	if m == schedule.Systemd {
		j.Failed = append([]string{"schedule", "failed", o.Profile}, options...)
	}
	j.Environment = unattended.JobEnvironment(a.Run, j.Account, stores)
	j.Needs = unattended.JobNeeds(&a.Run.Settings, stores, o.Profile)
	if err := j.Check(); err != nil {
		return j, failure.Usage("see sessctl schedule --help", "%w", err)
	}
	return j, unattended.CheckCalendar(ctx, a.Run, j, m)
}

// lookDeadline is when a monitor that only looks is ended.
const lookDeadline = 10 * time.Minute

// checkScheduled refuses a profile that the configuration does not know, and one
// that a run would refuse: nobody looks when it is run.
func checkScheduled(a *app, profile string) error {
	if profile == schedule.Monitor {
		return nil
	}
	if slices.Contains(steps.ProfileNames(&a.Run.Settings), profile) {
		_, err := planProfile(a, profile, time.Time{})
		return err
	}
	known := append(steps.ProfileNames(&a.Run.Settings), schedule.Monitor)
	return failure.Usage(wording.DidYouMean(profile, known, "known: "+strings.Join(known, ", ")+"; the configuration describes profiles (docs/nightly.md)"), "unknown profile %q", profile)
}
