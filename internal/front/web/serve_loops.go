package web

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/sessctl/sessctl/internal/audit"
	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/operate/outbox"
)

// CheckScheduleList is the error for a list of schedules whose entries have keys
// that nobody knows.
func CheckScheduleList(a *workspace.Run, key string, value any) error {
	entries, isList := value.([]any)
	if key != workspace.SchedulesKey || !isList {
		return nil
	}
	fields := []string{"profile", "cron"}
	for i, entry := range entries {
		of, ok := entry.(map[string]any)
		if !ok {
			return failure.Usage(scheduleHint, "%s: %s: entry %d: it is not a mapping of profile and cron", workspace.OriginBelow(&a.Settings, key, fmt.Sprintf(".%d", i)), key, i+1)
		}
		for _, field := range slices.Sorted(maps.Keys(of)) {
			if !slices.Contains(fields, field) {
				return failure.Usage(wording.DidYouMean(field, fields, scheduleHint), "%s: %s: entry %d: unknown key %s", workspace.OriginBelow(&a.Settings, key, fmt.Sprintf(".%d.%s", i, field)), key, i+1, field)
			}
		}
	}
	return nil
}

// scheduleHint is the hint for an entry that is no schedule.
const scheduleHint = `for example {profile: nightly, cron: "30 3 * * *"}`

// ServeZone is the time zone in which schedules are meant.
func ServeZone(a *workspace.Run) (*time.Location, error) {
	zone, err := time.LoadLocation(a.Config.Serve.TimeZone)
	if err != nil {
		return nil, failure.Usage("write Local, UTC, or a name such as Europe/Berlin", "%s: serve.time_zone: %w", workspace.OriginOf(&a.Settings, "serve.time_zone"), err)
	}
	return zone, nil
}

// TellEvents tells what waits in the outbox, and gives the head of the ledger away.
func TellEvents(ctx context.Context, a *workspace.Run) error {
	workspace.KeepHeads(ctx, a, false)
	report, err := workspace.DeliverEvents(ctx, a, audit.DeliverTimeout)
	for _, t := range report.Attempts {
		if err == nil && t.State != outbox.Sent {
			err = fmt.Errorf("%s did not receive %s: %s", t.Target, t.Type, t.Error)
		}
	}
	return err
}
