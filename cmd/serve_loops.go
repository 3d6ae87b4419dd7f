package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // a container may have no time zones

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/operate/jobs"
	"github.com/sessctl/sessctl/pkg/operate/outbox"
)

// serveConfig is the section serve.
type serveConfig struct {
	Listen       string   `mapstructure:"listen" json:"listen"`
	CertFile     string   `mapstructure:"tls_cert" json:"tls_cert"`
	KeyFile      string   `mapstructure:"tls_key" json:"tls_key"`
	AllowedHosts []string `mapstructure:"allowed_hosts" json:"allowed_hosts"` // names under which it may be asked
	// MCPAllowWrite says that /mcp offers the tools that change something too.
	MCPAllowWrite bool          `mapstructure:"mcp_allow_write" json:"mcp_allow_write"`
	Monitor       time.Duration `mapstructure:"monitor_interval" json:"monitor_interval"`
	Deliver       time.Duration `mapstructure:"deliver_interval" json:"deliver_interval"`
	// ShutdownTimeout is how long the step at hand may take to end after SIGTERM.
	ShutdownTimeout time.Duration   `mapstructure:"shutdown_timeout" json:"shutdown_timeout"`
	TimeZone        string          `mapstructure:"time_zone" json:"time_zone"` // of the schedules
	Schedules       []serveSchedule `mapstructure:"schedules" json:"schedules"`
}

// serveSchedule says when a profile is run.
type serveSchedule struct {
	Profile string `mapstructure:"profile" json:"profile"`
	Cron    string `mapstructure:"cron" json:"cron"`
}

// schedulesKey is the key of the schedules, a list of entries.
const schedulesKey = "serve.schedules"

func serveDefaults() map[string]any {
	return map[string]any{
		"serve.listen":           "127.0.0.1:7433",
		"serve.tls_cert":         "",
		"serve.tls_key":          "",
		"serve.allowed_hosts":    []string{},
		"serve.mcp_allow_write":  false,
		"serve.monitor_interval": "5m",
		"serve.deliver_interval": "30s",
		"serve.shutdown_timeout": "25s",
		"serve.time_zone":        "Local",
		schedulesKey:             []any{},
	}
}

// serveSchedules are the schedules of the configuration, checked.
func (a *app) serveSchedules() ([]jobs.Schedule, error) {
	var all []jobs.Schedule
	for i, c := range a.config.Serve.Schedules {
		s := jobs.Schedule{Name: strings.ToLower(c.Profile), Expr: c.Cron}
		entry := fmt.Sprintf(".%d", i)
		if known := a.profileNames(); !slices.Contains(known, s.Name) {
			return nil, usageError(didYouMean(s.Name, known, "profiles: "+strings.Join(known, ", ")), "%s: serve.schedules: entry %d: there is no profile %q", a.originBelow(schedulesKey, entry+".profile"), i+1, c.Profile)
		}
		if err := s.Check(); err != nil {
			return nil, usageError(`for example "30 3 * * *", every night at half past three`, "%s: serve.schedules: entry %d, profile %s: %w", a.originBelow(schedulesKey, entry+".cron"), i+1, s.Name, err)
		}
		if _, err := a.planProfile(s.Name, time.Time{}); err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

// checkScheduleList is the error for a list of schedules whose entries have keys
// that nobody knows.
func (a *invocation) checkScheduleList(key string, value any) error {
	entries, isList := value.([]any)
	if key != schedulesKey || !isList {
		return nil
	}
	fields := []string{"profile", "cron"}
	for i, entry := range entries {
		of, ok := entry.(map[string]any)
		if !ok {
			return usageError(scheduleHint, "%s: %s: entry %d: it is not a mapping of profile and cron", a.originBelow(key, fmt.Sprintf(".%d", i)), key, i+1)
		}
		for _, field := range slices.Sorted(maps.Keys(of)) {
			if !slices.Contains(fields, field) {
				return usageError(didYouMean(field, fields, scheduleHint), "%s: %s: entry %d: unknown key %s", a.originBelow(key, fmt.Sprintf(".%d.%s", i, field)), key, i+1, field)
			}
		}
	}
	return nil
}

// scheduleHint is the hint for an entry that is no schedule.
const scheduleHint = `for example {profile: nightly, cron: "30 3 * * *"}`

// serveZone is the time zone in which schedules are meant.
func (a *invocation) serveZone() (*time.Location, error) {
	zone, err := time.LoadLocation(a.config.Serve.TimeZone)
	if err != nil {
		return nil, usageError("write Local, UTC, or a name such as Europe/Berlin", "%s: serve.time_zone: %w", a.originOf("serve.time_zone"), err)
	}
	return zone, nil
}

// loop is something that the server does again and again.
type loop struct {
	name  string
	every time.Duration
	do    func(context.Context, *app) error
}

// scheduleInterval is how often the server looks whether a schedule is due.
const scheduleInterval = 10 * time.Second

// loops are what runs beside the API; an interval of 0 turns one off.
func (s *server) loops() []loop {
	var all []loop
	for _, l := range []loop{
		{"schedule", scheduleInterval, func(context.Context, *app) error { return s.startDue() }},
		{"monitor", s.config.Serve.Monitor, watchSessions},
		{"events", s.config.Serve.Deliver, func(ctx context.Context, a *app) error { return tellEvents(ctx, a.invocation) }},
	} {
		if l.every > 0 {
			all = append(all, l)
		}
	}
	return all
}

// repeat runs a loop until ctx is done. What goes wrong is told when it begins
// and when it changes, not each time.
func (s *server) repeat(ctx context.Context, l loop) {
	turn := time.NewTicker(l.every)
	defer turn.Stop()
	told := ""
	for {
		own := s.printingTo(io.Discard)
		err := l.do(ctx, own)
		own.end()
		if ctx.Err() != nil {
			return
		}
		told = s.tellLoop(l.name, told, err)
		select {
		case <-ctx.Done():
			return
		case <-turn.C:
		}
	}
}

func (s *server) tellLoop(name, told string, err error) string {
	var outcome *outcomeError
	if err == nil || errors.As(err, &outcome) {
		if told != "" {
			s.log.Info(name + " works again")
		}
		return ""
	}
	if text := visible(explain(err).Message); text != told {
		s.log.Warn(name, "error", text)
		return text
	}
	return told
}

// watchSessions watches the sessions as monitor does; what is new becomes events.
func watchSessions(ctx context.Context, a *app) error {
	_, err := a.monitorOnce(ctx)
	if f := (*failure)(nil); errors.As(err, &f) && f.code == "no_store" || errors.Is(err, durable.ErrLocked) {
		return nil // there is nothing to watch yet, or somebody does
	}
	return err
}

// tellEvents tells what waits in the outbox.
func tellEvents(ctx context.Context, a *invocation) error {
	report, err := a.deliverEvents(ctx, deliverTimeout)
	for _, t := range report.Attempts {
		if err == nil && t.State != outbox.Sent {
			err = fmt.Errorf("%s did not receive %s: %s", t.Target, t.Type, t.Error)
		}
	}
	return err
}

// startDue makes a job of each schedule that is due. The job's id is made of the
// slot: a server that is killed before it has noted the slot does not run it
// twice.
func (s *server) startDue() error {
	var failed []error
	for _, schedule := range s.schedules {
		slot, err := s.clock.Due(schedule, s.now())
		if err == nil && slot != "" {
			err = s.start(schedule, slot)
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("schedule of %s: %w", schedule.Name, err))
		}
	}
	return errors.Join(failed...)
}

func (s *server) start(schedule jobs.Schedule, slot jobs.Slot) error {
	id := outbox.DeriveID(slot.Time(), "schedule "+schedule.Name+" "+schedule.Expr)
	j, isNew, err := s.jobs.Submit(jobs.Request{ID: id, Kind: jobRun, Subject: schedule.Name, Caller: "schedule"})
	if err != nil {
		return err
	}
	if isNew {
		s.log.Info("a schedule is due", "profile", schedule.Name, "slot", string(slot), "job", j.ID)
	}
	return s.clock.Begun(schedule, slot)
}
