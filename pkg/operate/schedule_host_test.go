package operate_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/adhocore/gronx"

	"github.com/sessctl/sessctl/pkg/operate/schedule"
)

// programs answers as managers do. What is not named is not installed.
type programs struct {
	says  map[string]string // by the first word of the command, or the command
	fails map[string]error
	ran   []string
	input []byte
}

// Run implements [schedule.Programs].
func (p *programs) Run(_ context.Context, input []byte, name string, arguments ...string) ([]byte, error) {
	command := name + " " + strings.Join(arguments, " ")
	p.ran, p.input = append(p.ran, command), bytes.Clone(input)
	for _, key := range []string{command, name} {
		if err := p.fails[key]; err != nil {
			return []byte(p.says[key]), err
		}
		if said, ok := p.says[key]; ok {
			return []byte(said), nil
		}
	}
	return nil, fmt.Errorf("exec: %q: %w", name, exec.ErrNotFound)
}

// The manager of a machine is the one that runs there.
func TestScheduleDefault(t *testing.T) {
	offline := map[string]error{"systemctl --user is-system-running": errors.New("exit status 1"), "systemctl is-system-running": errors.New("exit status 1")}
	for what, c := range map[string]struct {
		system string
		p      programs
		want   schedule.Manager
	}{
		"macOS":                            {"darwin", programs{}, schedule.Launchd},
		"systemd runs":                     {"linux", programs{says: map[string]string{"systemctl": "running\n", "crontab": ""}}, schedule.Systemd},
		"systemd is degraded":              {"linux", programs{says: map[string]string{"systemctl": "degraded\n"}, fails: map[string]error{"systemctl --user is-system-running": errors.New("exit status 1")}}, schedule.Systemd},
		"systemd is installed, cron too":   {"linux", programs{says: map[string]string{"systemctl": "offline\n", "crontab": ""}, fails: offline}, schedule.Cron},
		"systemd is installed and nothing": {"linux", programs{says: map[string]string{"systemctl": "offline\n"}, fails: offline}, schedule.Systemd},
		"the user has no session":          {"linux", programs{says: map[string]string{"systemctl": "running\n", "systemctl --user is-system-running": "offline\n", "crontab": ""}}, schedule.Systemd},
		"cron":                             {"freebsd", programs{says: map[string]string{"crontab": ""}}, schedule.Cron},
		"cron of a user without a crontab": {"linux", programs{fails: map[string]error{"crontab": errors.New("no crontab for lea")}}, schedule.Cron},
		"nothing":                          {"linux", programs{}, ""},
	} {
		got, err := schedule.Host{Programs: &c.p, UID: 1000}.Default(t.Context(), c.system)
		if got != c.want || errors.Is(err, schedule.ErrNoManager) != (c.want == "") {
			t.Errorf("%s: %q, %v", what, got, err)
		}
	}
}

// systemHost has the places of the system below a directory of the test.
func systemHost(t *testing.T, p *programs) schedule.Host {
	t.Helper()
	h := host(t)
	dir := t.TempDir()
	h.Programs, h.UID = p, 0
	h.Places.SystemUnits, h.Places.SystemAgents, h.Places.CronDir = filepath.Join(dir, "system"), filepath.Join(dir, "LaunchDaemons"), filepath.Join(dir, "cron.d")
	h.Places.UserUnits, h.Places.UserAgents = filepath.Join(dir, "user"), filepath.Join(dir, "LaunchAgents")
	for _, d := range []string{h.Places.SystemUnits, h.Places.SystemAgents, h.Places.CronDir} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

func everything(t *testing.T, h schedule.Host) (names []string) {
	t.Helper()
	for _, d := range []string{h.Places.SystemUnits, h.Places.SystemAgents, h.Places.CronDir} {
		entries, err := os.ReadDir(d)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			names = append(names, e.Name())
		}
	}
	return names
}

// A job of the system is installed, found again, and removed; the job of another
// account stays as it is.
func TestScheduleSystemJobs(t *testing.T) {
	for _, m := range schedule.Managers() {
		p := &programs{says: map[string]string{"systemctl": "running\n", "systemctl is-enabled sessctl-nightly-lea.timer": "enabled\n", "systemctl is-active sessctl-nightly-lea.timer": "active\n",
			"systemctl is-enabled sessctl-nightly-bob.timer": "enabled\n", "systemctl is-active sessctl-nightly-bob.timer": "active\n", "launchctl": "", "crontab": ""}}
		h := systemHost(t, p)
		lea, bob := scheduleJobs()["system"], scheduleJobs()["system"]
		bob.Account.Name = "bob"
		for _, job := range []schedule.Job{lea, bob} {
			plan, err := h.PlanInstall(t.Context(), job, m)
			if err == nil {
				err = h.Execute(t.Context(), plan)
			}
			if err != nil {
				t.Fatalf("%s: %v", m, err)
			}
		}
		states, err := h.States(t.Context(), time.Now())
		if err != nil || len(states) != 2 || states[1].Account != "lea" || states[1].Profile != "nightly" || !states[1].System || !states[1].Active {
			t.Errorf("%s: %+v, %v", m, states, err)
		}
		again, err := h.PlanInstall(t.Context(), lea, m)
		if err != nil || !again.Nothing() {
			t.Errorf("%s: a second install does %+v, %v", m, again, err)
		}
		plan, err := h.PlanRemove(t.Context(), schedule.Job{Profile: "nightly", System: true, Account: schedule.Account{Name: "lea"}}, m)
		if err == nil {
			err = h.Execute(t.Context(), plan)
		}
		if left := everything(t, h); err != nil || len(left) == 0 || slices.ContainsFunc(left, func(name string) bool { return strings.Contains(name, "lea") }) {
			t.Errorf("%s: %q, %v", m, left, err)
		}
	}
}

// Without systemctl the link that enables a timer is removed all the same, and
// files of others in the place of ours stay.
func TestScheduleRemoveWithoutSystemctl(t *testing.T) {
	p := &programs{}
	h := systemHost(t, p)
	job := scheduleJobs()["system"]
	for _, f := range job.Units(h.Places.SystemUnits) {
		if err := os.WriteFile(f.Path, []byte(f.Text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	wants := filepath.Join(h.Places.SystemUnits, "timers.target.wants")
	foreign := filepath.Join(h.Places.SystemUnits, "sessctl-nightly-lea-failed.service")
	dropIn := filepath.Join(h.Places.SystemUnits, "sessctl-nightly-lea.service.d")
	if err := errors.Join(os.Mkdir(wants, 0o755), os.Symlink("../sessctl-nightly-lea.timer", filepath.Join(wants, "sessctl-nightly-lea.timer")), os.WriteFile(foreign, []byte("[Service]\n"), 0o600), os.Mkdir(dropIn, 0o755)); err != nil {
		t.Fatal(err)
	}
	plan, err := h.PlanRemove(t.Context(), job, schedule.Systemd)
	if err == nil {
		err = h.Execute(t.Context(), plan)
	}
	if err != nil || !slices.Equal(plan.Left, []string{foreign, dropIn}) {
		t.Fatalf("%v, left %q", err, plan.Left)
	}
	if _, err := os.Lstat(filepath.Join(wants, "sessctl-nightly-lea.timer")); err == nil {
		t.Error("the timer is still enabled")
	}
	if left := everything(t, h); slices.Contains(left, "sessctl-nightly-lea.timer") || !slices.Contains(left, filepath.Base(foreign)) {
		t.Errorf("%q", left)
	}
}

// A timer that is not there after it was installed is an error, not a success.
func TestScheduleWhatWasInstalledIsLookedAt(t *testing.T) {
	p := &programs{says: map[string]string{"systemctl": "running\n", "systemctl is-enabled sessctl-nightly-lea.timer": "masked\n"}}
	h := systemHost(t, p)
	plan, err := h.PlanInstall(t.Context(), scheduleJobs()["system"], schedule.Systemd)
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Execute(t.Context(), plan); err == nil || !strings.Contains(err.Error(), "is not active") {
		t.Error(err)
	}
}

// A crontab that somebody has changed since it was read is not overwritten.
func TestScheduleCrontabChangedMeanwhile(t *testing.T) {
	p := &programs{says: map[string]string{"crontab -l": "1 1 * * * /bin/one\n", "crontab": ""}}
	h := host(t)
	h.Programs = p
	plan, err := h.PlanInstall(t.Context(), scheduleJobs()["user"], schedule.Cron)
	if err != nil {
		t.Fatal(err)
	}
	p.says["crontab -l"] = "1 1 * * * /bin/one\n2 2 * * * /bin/two\n"
	if err := h.Execute(t.Context(), plan); err == nil || slices.Contains(p.ran, "crontab -") {
		t.Errorf("%v; it ran %q", err, p.ran)
	}
}

// When cron starts a job next is what another reader of its fields says.
func TestScheduleNextOfCron(t *testing.T) {
	for _, expression := range []string{"*-*-* 03:00", "Mon..Fri 22:30", "*:0/15", "*-*-01 04:00", "*-02-29 00:00", "8..17:05"} {
		for _, now := range []time.Time{time.Date(2026, 2, 28, 22, 30, 0, 0, time.UTC), time.Date(2026, 12, 31, 23, 59, 30, 0, time.UTC)} {
			job := scheduleJobs()["user"]
			job.When = schedule.When{Calendar: expression}
			lines, err := job.CronLines()
			if err != nil {
				t.Fatal(err)
			}
			h := host(t)
			h.Programs = &programs{says: map[string]string{"crontab -l": "# mine\n" + lines}}
			states, err := h.States(t.Context(), now)
			if err != nil || len(states) != 1 {
				t.Fatalf("%+v, %v", states, err)
			}
			want, err := gronx.NextTickAfter(states[0].When, now, false)
			if err != nil || !states[0].Next.Equal(want) {
				t.Errorf("%s after %s: %s, want %s (%v)", expression, now, states[0].Next, want, err)
			}
		}
	}
}

// The data directory of a job is found in what any manager was told, however it is
// written there.
func TestScheduleStatesKnowTheDataDirectory(t *testing.T) {
	for _, data := range []string{"/home/lea/.local/share/sessctl", `/srv/it's 100% "dear" $HOME\x & <more>`} {
		for _, m := range schedule.Managers() {
			p := &programs{says: map[string]string{"systemctl": "", "launchctl": "", "crontab": ""}}
			h := systemHost(t, p)
			for _, system := range []bool{true, false} {
				job := scheduleJobs()["system"]
				job.Arguments = []string{"run", "nightly", "--quiet", "--data-dir", data, "--config", "/etc/x"}
				if job.System = system; m == schedule.Cron && !system {
					lines, err := job.CronLines()
					if err != nil {
						t.Fatal(err)
					}
					p.says["crontab -l"] = lines
					continue
				}
				files, err := h.Files(job, m)
				if err != nil {
					t.Fatal(err)
				}
				for _, f := range files {
					if err := errors.Join(os.MkdirAll(filepath.Dir(f.Path), 0o755), os.WriteFile(f.Path, []byte(f.Text), 0o600)); err != nil {
						t.Fatal(err)
					}
				}
			}
			states, err := h.States(t.Context(), time.Now())
			if err != nil || len(states) != 2 || states[0].Data != data || states[1].Data != data {
				t.Errorf("%s: %+v, %v", m, states, err)
			}
		}
	}
}

// systemd tells of a start by hand too, and of how it ended.
func TestScheduleStatesKnowAStartByHand(t *testing.T) {
	p := &programs{says: map[string]string{"systemctl": ""}}
	h := systemHost(t, p)
	for _, f := range scheduleJobs()["system"].Units(h.Places.SystemUnits) {
		if err := os.WriteFile(f.Path, []byte(f.Text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p.says["systemctl show --property=Result,ExecMainStartTimestamp sessctl-nightly-lea.service"] = "Result=signal\nExecMainStartTimestamp=Sun 2026-11-22 15:30:08 UTC\n"
	states, err := h.States(t.Context(), time.Now())
	if err != nil || len(states) != 1 || states[0].Result != "signal" || !states[0].Last.Equal(time.Date(2026, 11, 22, 15, 30, 8, 0, time.UTC)) {
		t.Errorf("%+v, %v", states, err)
	}
	p.says["systemctl show --property=Result,ExecMainStartTimestamp sessctl-nightly-lea.service"] = "Result=success\nExecMainStartTimestamp=\n"
	if states, err = h.States(t.Context(), time.Now()); err != nil || len(states) != 1 || states[0].Result != "" {
		t.Errorf("a unit that was never started: %+v, %v", states, err)
	}
}
