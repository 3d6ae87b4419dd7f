package cmd

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sessctl/sessctl/internal/audit"
	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/steps"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/operate"
	"github.com/sessctl/sessctl/pkg/operate/monitor"
)

// watchedHome is a home with one session over the threshold, and a program whose
// clock is ahead by *ahead.
func watchedHome(t *testing.T, ahead *time.Duration, env map[string]string) *app {
	t.Helper()
	home := t.TempDir()
	if err := os.CopyFS(home, os.DirFS(filepath.Join("..", "testdata", "sample"))); err != nil {
		t.Fatal(err)
	}
	return programAt(t, home, ahead, env)
}

func programAt(t *testing.T, home string, ahead *time.Duration, env map[string]string) *app {
	t.Helper()
	a := testApp(newStreams(strings.NewReader(""), io.Discard, io.Discard), workspace.Run{Report: workspace.Report{Notes: []workspace.Note{}}, Settings: workspace.Settings{Now: func() time.Time { return time.Now().Add(*ahead) }, Getenv: func(name string) string {
		if name == "HOME" {
			return home
		}
		return env[name]
	}}})
	root := newRootCommand(a)
	root.SetArgs([]string{"version"}) // reads no configuration
	root.SetOut(io.Discard)
	c, _, err := root.Find([]string{"monitor"})
	if err != nil {
		t.Fatal(err)
	}
	c.InheritedFlags() // gives it those of the root, as parsing does
	if err := a.configured(c); err != nil {
		t.Fatal(err)
	}
	return a
}

// outboxFiles are the files of the events that were put.
func outboxFiles(t *testing.T, a *app) (names []string) {
	t.Helper()
	for _, pattern := range []string{"*.json", "*/*.json"} {
		found, err := filepath.Glob(filepath.Join(a.OutboxDir(), filepath.FromSlash(pattern)))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range found {
			names = append(names, filepath.Base(path))
		}
	}
	return names
}

// TestMonitorsAtOnce: a timer and a server look at the same time, and each event
// is there once. One that finds another at work says so.
func TestMonitorsAtOnce(t *testing.T) {
	ahead := 2 * time.Hour
	a := watchedHome(t, &ahead, nil)
	var looks sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		looks.Go(func() { _, errs[i] = monitorOnce(t.Context(), a.aside()) })
	}
	looks.Wait()
	looked := 0
	for _, err := range errs {
		switch {
		case err == nil:
			looked++
		case !errors.Is(err, durable.ErrLocked) || failure.ExitCode(err) != failure.ExitBusy:
			t.Error(err)
		}
	}
	if looked == 0 || len(outboxFiles(t, a)) != 1 {
		t.Errorf("%d looks, events %v", looked, outboxFiles(t, a))
	}
	lock, err := a.Lock(t.Context()) // nobody waits for a look, and no look for a run
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Unlock()
	if _, err := monitorOnce(t.Context(), a); err != nil {
		t.Errorf("while a run is at work: %v", err)
	}
}

// TestMonitorPutsLater: an event that cannot be put is put by the next look, with
// the id that it was given.
func TestMonitorPutsLater(t *testing.T) {
	ahead := 2 * time.Hour
	a := watchedHome(t, &ahead, nil)
	if err := os.MkdirAll(a.DataDir(), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(a.OutboxDir(), nil, 0o600); err != nil { // nothing can be put into it
		t.Fatal(err)
	}
	report, err := monitorOnce(t.Context(), a)
	if err == nil || len(report.Alerts) != 2 { // the outbox could not be looked at
		t.Fatalf("%v, %+v", err, report)
	}
	if err := os.Remove(a.OutboxDir()); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := monitorOnce(t.Context(), a); err != nil {
			t.Fatal(err)
		}
	}
	if got := outboxFiles(t, a); len(got) != 1 || got[0] != report.Alerts[0].Event+".json" {
		t.Errorf("%v, want %s", got, report.Alerts[0].Event)
	}
}

// TestMonitorClock: a clock that is set back neither repeats nor silences.
func TestMonitorClock(t *testing.T) {
	ahead := 2 * time.Hour
	a := watchedHome(t, &ahead, map[string]string{"SESSCTL_MONITOR_DISK_LIMIT": "0"})
	look := func(events, alerts int) {
		t.Helper()
		report, err := monitorOnce(t.Context(), a)
		if err != nil || len(report.Alerts) != alerts || len(outboxFiles(t, a)) != events {
			t.Errorf("%v; alerts %v; events %v", err, report.Alerts, outboxFiles(t, a))
		}
	}
	look(1, 1)
	ahead -= time.Hour
	look(1, 1)
	a.Config.Monitor.DiskLimit = "1000PB" // something new is told by the clock that is behind
	look(2, 2)
	a.Config.Monitor.DiskLimit = "0"
	look(2, 1)
	ahead += 2 * time.Hour
	a.Config.Monitor.DiskLimit = "1000PB"
	look(3, 2)
}

// TestMonitorPurge: what Claude Code is about to delete is told while there is no
// archive of it.
func TestMonitorPurge(t *testing.T) {
	home, ahead := t.TempDir(), 26*24*time.Hour // of 30 days
	if err := os.CopyFS(home, os.DirFS(filepath.Join("..", "testdata", "claude"))); err != nil {
		t.Fatal(err)
	}
	a := programAt(t, home, &ahead, map[string]string{"SESSCTL_MONITOR_DISK_LIMIT": "0"})
	report, err := monitorOnce(t.Context(), a)
	if err != nil || len(report.Alerts) != 1 || report.Alerts[0].Kind != monitor.PurgeSoon {
		t.Fatalf("%v, %+v", err, report.Alerts)
	}
	var text strings.Builder
	if err := metricsText(t.Context(), a.aside(), &text); err != nil || !strings.Contains(text.String(), `sessctl_purge_deadline_seconds{agent="work-bakery"}`) {
		t.Errorf("%v\n%s", err, &text)
	}
	if err := runArchive(t.Context(), a.aside(), steps.ArchiveOptions{All: true}); err != nil {
		t.Fatal(err)
	}
	if report, err = monitorOnce(t.Context(), a); err != nil || len(report.Alerts) != 0 {
		t.Errorf("%v, %+v", err, report.Alerts)
	}
}

// TestMonitorInterrupted: a look that is stopped decides nothing.
func TestMonitorInterrupted(t *testing.T) {
	ahead := 2 * time.Hour
	a := watchedHome(t, &ahead, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := monitorOnce(ctx, a); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if workspace.Exists(audit.MonitorStatePath(&a.Run.Settings)) || len(outboxFiles(t, a)) > 0 {
		t.Error("it has left something")
	}
}

// TestProfilesOfRuns: the last success counts, and the usual pause.
func TestProfilesOfRuns(t *testing.T) {
	at := func(day int) time.Time { return time.Date(2026, 3, day, 3, 0, 0, 0, time.UTC) }
	run := func(profile string, day int, outcome operate.Outcome) operate.RunRecord {
		return operate.RunRecord{Profile: profile, Started: at(day), Finished: at(day).Add(time.Minute), Outcome: outcome}
	}
	o := audit.Observed{Runs: []operate.RunRecord{
		run("nightly", 9, operate.Failed), run("nightly", 8, operate.OK), run("weekly", 8, operate.Failed), run("nightly", 7, operate.OK), run("nightly", 2, operate.OK), run("weekly", 1, operate.Partial),
	}}
	got := o.Profiles()
	if len(got) != 2 || got[0].Never || !got[0].Success.Equal(at(8).Add(time.Minute)) || got[0].Pause != 24*time.Hour {
		t.Errorf("%+v", got)
	}
	if len(got) == 2 && (!got[1].Never || !got[1].Success.Equal(at(1)) || got[1].Pause != 0) {
		t.Errorf("%+v", got[1])
	}
}

// A monitor that stays prints what is wrong when it begins, not again because it
// was told by then.
func TestMonitorPrintsOnce(t *testing.T) {
	first := audit.MonitorReport{Alerts: []monitor.Alert{{Kind: monitor.DiskLow, Subject: "/srv", Event: "01M81MG8CWQAQEEQ2MCVT7W348"}}}
	then := audit.MonitorReport{Alerts: []monitor.Alert{{Kind: monitor.DiskLow, Subject: "/srv"}}}
	if !first.Tells() || then.Tells() || !slices.Equal(first.State(), then.State()) {
		t.Errorf("%v, %v; %q and %q", first.Tells(), then.Tells(), first.State(), then.State())
	}
	if over := (audit.MonitorReport{}); slices.Equal(over.State(), then.State()) {
		t.Error("the end of it is no change")
	}
}
