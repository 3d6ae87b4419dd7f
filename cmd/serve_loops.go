package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/front/web"
	"github.com/sessctl/sessctl/internal/steps"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/operate/jobs"
	"github.com/sessctl/sessctl/pkg/operate/outbox"
)

// serveSchedules are the schedules of the configuration, checked.
func serveSchedules(a *app) ([]jobs.Schedule, error) {
	var all []jobs.Schedule
	for i, c := range a.Config.Serve.Schedules {
		s := jobs.Schedule{Name: strings.ToLower(c.Profile), Expr: c.Cron}
		entry := fmt.Sprintf(".%d", i)
		if known := steps.ProfileNames(&a.Run.Settings); !slices.Contains(known, s.Name) {
			return nil, failure.Usage(wording.DidYouMean(s.Name, known, "profiles: "+strings.Join(known, ", ")), "%s: serve.schedules: entry %d: there is no profile %q", workspace.OriginBelow(&a.Run.Settings, workspace.SchedulesKey, entry+".profile"), i+1, c.Profile)
		}
		if err := s.Check(); err != nil {
			return nil, failure.Usage(`for example "30 3 * * *", every night at half past three`, "%s: serve.schedules: entry %d, profile %s: %w", workspace.OriginBelow(&a.Run.Settings, workspace.SchedulesKey, entry+".cron"), i+1, s.Name, err)
		}
		if _, err := planProfile(a, s.Name, time.Time{}); err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
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
		{"monitor", s.Config.Serve.Monitor, watchSessions},
		{"events", s.Config.Serve.Deliver, func(ctx context.Context, a *app) error { return web.TellEvents(ctx, a.Run) }},
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
		workspace.End(own.Run)
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
	var outcome *failure.Outcome
	if err == nil || errors.As(err, &outcome) {
		if told != "" {
			s.log.Info(name + " works again")
		}
		return ""
	}
	if text := wording.Visible(failure.Explain(err).Message); text != told {
		s.log.Warn(name, "error", text)
		return text
	}
	return told
}

// watchSessions watches the sessions as monitor does; what is new becomes events.
func watchSessions(ctx context.Context, a *app) error {
	_, err := monitorOnce(ctx, a)
	if f := (*failure.Error)(nil); errors.As(err, &f) && f.Code == "no_store" || errors.Is(err, durable.ErrLocked) {
		return nil // there is nothing to watch yet, or somebody does
	}
	return err
}

// startDue makes a job of each schedule that is due. The job's id is made of the
// slot: a server that is killed before it has noted the slot does not run it
// twice.
func (s *server) startDue() error {
	var failed []error
	for _, schedule := range s.schedules {
		slot, err := s.clock.Due(schedule, s.Now())
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
	j, isNew, err := s.jobs.Submit(jobs.Request{ID: id, Kind: web.JobRun, Subject: schedule.Name, Caller: "schedule"})
	if err != nil {
		return err
	}
	if isNew {
		s.log.Info("a schedule is due", "profile", schedule.Name, "slot", string(slot), "job", j.ID)
	}
	return s.clock.Begun(schedule, slot)
}
