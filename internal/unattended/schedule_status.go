package unattended

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/sessctl/sessctl/internal/audit"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/operate"
	"github.com/sessctl/sessctl/pkg/operate/outbox"
	"github.com/sessctl/sessctl/pkg/operate/schedule"
	"github.com/sessctl/sessctl/pkg/session/process"
)

// ScheduleRow is one schedule of `schedule status --json`. Times are RFC 3339, UTC,
// or "" where nobody knows.
type ScheduleRow struct {
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

// ScheduleStatusDocument is `schedule status --json`.
type ScheduleStatusDocument struct {
	Schema    int              `json:"schema"`
	Schedules []ScheduleRow    `json:"schedules"`
	Notes     []workspace.Note `json:"notes"`
}

// UTC writes a time in UTC.
func UTC(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

// Take fills in the newest run of the profile. A record that is older than what
// the manager says of its last start is of an earlier run.
func (r *ScheduleRow) Take(records []operate.RunRecord) {
	for _, record := range records {
		if record.Profile != r.Profile {
			continue
		}
		if at := UTC(record.Started); at >= r.Last || r.Outcome == "" || r.Outcome == "success" {
			r.Last, r.Outcome, r.Run = at, string(record.Outcome), record.ID
		}
		return
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

// RunScheduleFailed tells of runs that were killed, by the event that the next run
// would make of them; and where there is no record of a run, that of the unit.
func RunScheduleFailed(ctx context.Context, a *workspace.Run, profile string) error {
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
		e := outbox.Event{ID: outbox.DeriveID(r.Started, "run "+r.ID), Type: outbox.RunFailed, Subject: profile}
		if err := workspace.EmitOnce(ctx, a, e, audit.NewRunRow(r)); err != nil {
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
	id := outbox.DeriveID(day, "unit "+profile+" "+unitResult(&a.Settings))
	return workspace.EmitOnce(ctx, a, outbox.Event{ID: id, Type: outbox.RunFailed, Subject: profile}, failed)
}

// unitResult is what systemd says of the unit that has failed.
func unitResult(a *workspace.Settings) string {
	words := []string{a.Getenv("MONITOR_SERVICE_RESULT"), a.Getenv("MONITOR_EXIT_CODE"), a.Getenv("MONITOR_EXIT_STATUS")}
	if text := strings.TrimSpace(strings.Join(words, " ")); text != "" {
		return text
	}
	return "systemd does not say why"
}
