package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Where things of lea are, and of the schedules that are installed for lea.
const (
	leaData   = "/home/lea/.local/share/sessctl"
	leaUnit   = "sessctl-nightly-lea"
	unitsDir  = "/etc/systemd/system"
	leaLocker = "flock --close " + leaData + "/lock sleep 300" // another sessctl at work
)

// scheduleState is what `schedule status --json` says of one schedule.
type scheduleState struct {
	Profile, Manager, Scope, Last, Outcome, Run, Next string
	Active                                            bool
}

// status is the schedule of a profile as `sessctl schedule status` has it.
func (m *machine) status(text, profile, manager string) (found scheduleState) {
	var doc struct{ Schedules []scheduleState }
	_, text, _ = strings.Cut("\n"+text, "\n{")
	m.must("read the status", json.Unmarshal([]byte("{"+text), &doc))
	for _, s := range doc.Schedules {
		if s.Profile == profile && s.Manager == manager {
			found = s
		}
	}
	return found
}

// runs are the outcomes of the runs of lea, the newest first.
func (m *machine) runs(ctx context.Context) (all []string) {
	var doc struct{ Runs []struct{ Outcome string } }
	m.must("read the runs", json.Unmarshal([]byte(m.lea(ctx, "sessctl", "log", "--runs", "--json")), &doc))
	for _, r := range doc.Runs {
		all = append(all, r.Outcome)
	}
	return all
}

// property is one that systemd says of a unit of the system.
func (m *machine) property(ctx context.Context, unit, name string) string {
	return m.run(ctx, "systemctl", "show", "--value", "--property="+name, unit)
}

// override changes a unit as systemctl edit does.
func (m *machine) override(ctx context.Context, unit, text string) {
	m.sh(ctx, fmt.Sprintf("mkdir -p %[1]s/%[2]s.d; printf '%%s\n' '%[3]s' > %[1]s/%[2]s.d/override.conf; systemctl daemon-reload", unitsDir, unit, text))
}

// playScheduleSystemd is a job of the system, for another account.
func playScheduleSystemd(ctx context.Context, s *stage) {
	m := boot(ctx, s)
	defer m.shutDown()
	m.installForLea(ctx)
	m.startedByHand(ctx)
	m.startedByItsTimer(ctx)
	m.busyAndStopped(ctx)
	m.killed(ctx)
	m.removed(ctx)
}

func (m *machine) installForLea(ctx context.Context) {
	said, err := m.try(ctx, "sessctl", "schedule", "install", "--system", "--run-as", "lea")
	_, hint, _ := strings.Cut(said, "as the account: ")
	same(m.stage, "without a data directory nothing is installed, and a command is named that makes it", err != nil && hint != "", true)
	m.sh(ctx, hint)
	same(m.stage, "what that command makes belongs to the account", m.sh(ctx, "find /home/lea/.local ! -user lea"), "")
	m.run(ctx, "sessctl", "schedule", "install", "--system", "--run-as", "lea")
	again := m.run(ctx, "sessctl", "schedule", "install", "--system", "--run-as", "lea")
	same(m.stage, "a second install changes nothing", strings.Contains(again, "nothing to change"), true)
	units := fmt.Sprintf("%[1]s/%[2]s.service %[1]s/%[2]s.timer %[1]s/%[2]s-failed.service", unitsDir, leaUnit)
	same(m.stage, "systemd-analyze verify says nothing", m.sh(ctx, "systemd-analyze verify --man=no "+units+" 2>&1"), "")
}

func (m *machine) startedByHand(ctx context.Context) {
	m.override(ctx, leaUnit+".service", "[Service]\nExecStartPre=-/usr/bin/touch /home/lea/outside /usr/local/bin/outside\nExecStartPre=/usr/bin/touch /home/lea/.openclaw/inside")
	m.run(ctx, "systemctl", "start", leaUnit+".service")
	same(m.stage, "systemd has run the unit", m.property(ctx, leaUnit+".service", "Result"), "success")
	same(m.stage, "the run is recorded", fmt.Sprint(m.runs(ctx)), "[ok]")
	same(m.stage, "sessions are archived", m.sh(ctx, "ls "+leaData+"/archives | grep -c ."+" | sed 's/[1-9][0-9]*/some/'"), "some")
	same(m.stage, "the sandbox writes to stores alone", m.sh(ctx, "ls /home/lea/.openclaw/inside /home/lea/outside /usr/local/bin/outside 2>/dev/null || true"), "/home/lea/.openclaw/inside")
	now := m.status(m.run(ctx, "sessctl", "schedule", "status", "--json"), "nightly", "systemd")
	same(m.stage, "status tells root of the run", line(now.Active, now.Outcome, now.Last != "", now.Run != "", now.Next != ""), "true ok true true true")
}

// startedByItsTimer lets systemd make up for a run that was missed.
func (m *machine) startedByItsTimer(ctx context.Context) {
	m.override(ctx, leaUnit+".timer", "[Timer]\nRandomizedDelaySec=0\nAccuracySec=1s")
	timer := leaUnit + ".timer"
	m.sh(ctx, "systemctl stop "+timer+"; touch -d '2 days ago' /var/lib/systemd/timers/stamp-"+timer+"; systemctl start "+timer)
	same(m.stage, "the timer makes up for a run that was missed", until(ctx, time.Minute, func() bool { return len(m.runs(ctx)) == 2 }), true)
	same(m.stage, "and it ends well", until(ctx, time.Minute, func() bool { return m.property(ctx, leaUnit+".service", "ActiveState") == "inactive" }), true)
	m.run(ctx, "sessctl", "schedule", "install", "--system", "--run-as", "lea")
	same(m.stage, "what systemctl edit has changed stays", m.property(ctx, timer, "AccuracyUSec"), "1s")
}

// busyAndStopped ends the unit with 75 and with a stop, which are no failures.
func (m *machine) busyAndStopped(ctx context.Context) {
	unit := leaUnit + ".service"
	m.sh(ctx, "runuser -u lea -- "+leaLocker+" >/dev/null 2>&1 &")
	command := strings.Replace(m.sh(ctx, "sed -n s/^ExecStart=//p "+unitsDir+"/"+unit), " --quiet ", " ", 1)
	m.override(ctx, unit, "[Service]\nExecStart=\nExecStart="+strings.Replace(command, "--lock-wait 10m", "--lock-wait 1s", 1))
	m.run(ctx, "systemctl", "start", unit)
	same(m.stage, "busy is no failure", m.property(ctx, unit, "ExecMainStatus")+" "+m.property(ctx, unit, "Result"), "75 success")
	m.override(ctx, unit, "[Service]\nExecStart=\nExecStart="+command)
	m.run(ctx, "systemctl", "start", "--no-block", unit)
	m.waits(ctx)
	m.run(ctx, "systemctl", "stop", unit)
	same(m.stage, "nor is a stop", m.property(ctx, unit, "Result"), "success")
	same(m.stage, "nothing was reported as failed", m.sh(ctx, "systemctl list-units --failed --plain --no-legend"), "")
}

// waits lets the unit come to where it waits for the lock.
func (m *machine) waits(ctx context.Context) {
	unit := leaUnit + ".service"
	same(m.stage, "a run waits for the lock", until(ctx, 20*time.Second, func() bool {
		out, _ := m.try(ctx, "journalctl", "--no-pager", "_SYSTEMD_INVOCATION_ID="+m.property(ctx, unit, "InvocationID")) // it may not have begun
		return strings.Contains(out, "waiting up to 10m")
	}), true)
}

// killed lets the unit be killed, of which OnFailure= tells.
func (m *machine) killed(ctx context.Context) {
	unit := leaUnit + ".service"
	m.run(ctx, "systemctl", "start", "--no-block", unit)
	m.waits(ctx)
	m.run(ctx, "systemctl", "kill", "--signal=KILL", unit)
	same(m.stage, "OnFailure= starts what tells of it", until(ctx, time.Minute, func() bool {
		return strings.Contains(m.lea(ctx, "sessctl", "events", "list"), "run.failed")
	}), true)
	now := m.status(m.run(ctx, "sessctl", "schedule", "status", "--json"), "nightly", "systemd")
	same(m.stage, "status tells that it was killed", now.Outcome, "signal")
	same(m.stage, "and the journal", strings.Contains(m.run(ctx, "journalctl", "--no-pager", "-u", leaUnit+"-failed.service"), "signal killed KILL"), true)
	m.run(ctx, "pkill", "-x", "flock")
	m.run(ctx, "systemctl", "start", unit)
	same(m.stage, "the next run goes on", m.runs(ctx)[0], "ok")
}

// removed looks for anything that is left.
func (m *machine) removed(ctx context.Context) {
	m.sh(ctx, "systemctl revert "+leaUnit+".service "+leaUnit+".timer")
	m.run(ctx, "sessctl", "schedule", "remove", "--all", "--system")
	same(m.stage, "remove leaves no file", m.sh(ctx, "find /etc /run/systemd /var/lib/systemd /usr/lib/systemd -name '*sessctl-nightly*'"), "")
	same(m.stage, "and no unit", m.sh(ctx, "systemctl list-units --all --plain --no-legend 'sessctl-nightly*'"), "")
}

// playScheduleUser is a monitor of a user, who is not logged in.
func playScheduleUser(ctx context.Context, s *stage) {
	m := boot(ctx, s)
	defer m.shutDown()
	if out, err := m.try(ctx, "loginctl", "enable-linger", "lea"); err != nil {
		m.skip("no manager of a user starts here: " + lastLines(out))
	}
	if !until(ctx, time.Minute, func() bool { return m.property(ctx, "user@"+m.uid+".service", "SubState") == "running" }) {
		m.skip("the manager of the user does not start here")
	}
	m.lea(ctx, "sessctl", "schedule", "install", "monitor", "--every", "1m")
	m.lea(ctx, "sh", "-euc", "cd; mkdir -p .config/systemd/user/sessctl-monitor.timer.d; printf '[Timer]\nOnActiveSec=1s\nRandomizedDelaySec=0\nAccuracySec=1s\n' > .config/systemd/user/sessctl-monitor.timer.d/override.conf; systemctl --user daemon-reload; systemctl --user restart sessctl-monitor.timer")
	var now scheduleState
	until(ctx, time.Minute, func() bool {
		now = m.status(m.lea(ctx, "sessctl", "schedule", "status", "--json"), "monitor", "systemd")
		return now.Last != "" && now.Next != ""
	})
	same(s, "the timer fires, and again", line(now.Active, now.Outcome, now.Scope, now.Next > now.Last), "true success user true")
	same(s, "the monitor has looked", m.sh(ctx, "ls "+leaData+"/monitor.json"), leaData+"/monitor.json")
	m.lea(ctx, "sh", "-euc", "systemctl --user revert sessctl-monitor.timer; sessctl schedule install; systemctl --user start sessctl-nightly.service")
	same(s, "the nightly run is recorded", fmt.Sprint(m.runs(ctx)), "[ok]")
	m.lea(ctx, "sessctl", "schedule", "remove", "--all")
	same(s, "remove leaves nothing", m.sh(ctx, "find /home/lea/.config /home/lea/.local/share/systemd -name '*sessctl*' 2>/dev/null || true")+m.lea(ctx, "systemctl", "--user", "list-units", "--all", "--plain", "--no-legend", "sessctl*"), "")
}

// playScheduleCron is a line of a crontab and one for the system.
func playScheduleCron(ctx context.Context, s *stage) {
	m := boot(ctx, s)
	defer m.shutDown()
	if out, err := m.try(ctx, "sh", "-c", "command -v cron && command -v crontab"); err != nil {
		m.skip("there is no cron, and no package of it to be had: " + out)
	}
	m.lea(ctx, "sh", "-euc", "printf 'MAILTO=\"\"\n# mine\n7 7 * * * true\n' | crontab -; crontab -l > ~/before; mkdir -p "+leaData)
	said := m.lea(ctx, "sessctl", "schedule", "install", "--manager", "cron", "--every", "1m")
	same(s, "install says that no cron runs", strings.Contains(said, "cron does not run here"), true)
	now := m.status(m.lea(ctx, "sessctl", "schedule", "status", "--json"), "nightly", "cron")
	same(s, "so does status", now.Active, false)
	m.run(ctx, "systemctl", "start", "cron.service")
	same(s, "the line fires", until(ctx, 90*time.Second, func() bool { return len(m.runs(ctx)) == 1 && m.runs(ctx)[0] == "ok" }), true)
	now = m.status(m.lea(ctx, "sessctl", "schedule", "status", "--json"), "nightly", "cron")
	same(s, "status tells", line(now.Active, now.Outcome, now.Last != "", now.Next > now.Last), "true ok true true")
	m.lea(ctx, "sessctl", "schedule", "remove", "--manager", "cron")
	same(s, "remove leaves the other lines as they were", m.lea(ctx, "sh", "-euc", "crontab -l | cmp - ~/before"), "")
	m.run(ctx, "sessctl", "schedule", "install", "--manager", "cron", "--system", "--run-as", "lea", "--every", "1m")
	same(s, "the line for the system fires", until(ctx, 90*time.Second, func() bool { return len(m.runs(ctx)) == 2 && m.runs(ctx)[0] == "ok" }), true)
	now = m.status(m.run(ctx, "sessctl", "schedule", "status", "--json"), "nightly", "cron")
	same(s, "status tells root of it", line(now.Active, now.Outcome, now.Run != ""), "true ok true")
	m.run(ctx, "sessctl", "schedule", "remove", "--manager", "cron", "--system", "--run-as", "lea")
	same(s, "remove leaves nothing", m.sh(ctx, "ls /etc/cron.d | grep sessctl || true"), "")
}

// line is values with spaces between them.
func line(values ...any) string { return strings.TrimSuffix(fmt.Sprintln(values...), "\n") }
