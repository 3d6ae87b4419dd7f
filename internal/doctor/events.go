package doctor

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/operate/jobs"
	"github.com/sessctl/sessctl/pkg/operate/outbox"
)

// examineEvents looks at what could not be told, and at targets that take
// nothing. It sends nothing.
func examineEvents(ctx context.Context, run *workspace.Run, report *findings) error {
	targets, err := workspace.EventTargets(run)
	if err != nil {
		unusable(report, "events", err)
		return nil
	}
	box, err := workspace.OpenOutbox(run)
	if err != nil {
		return err
	}
	content, err := box.List(ctx)
	if err != nil {
		return err
	}
	examineTargets(report, targets, content.Silent)
	waiting, dead := 0, 0
	for _, e := range content.Events {
		if e.State == outbox.Waiting {
			waiting++
		}
		if e.Dead {
			dead++
		}
	}
	if dead > 0 {
		report.warn(run.OutboxDir(), wording.Plural(dead, "dead letter")+": events that a receiver did not accept for a day", "sessctl events list --state dead shows them; once sessctl events test is accepted, sessctl events retry sends them again")
	}
	for _, u := range content.Unreadable {
		report.warn(u.Path, u.Reason, "move it elsewhere: nothing is sent from it; sessctl log and sessctl log --runs have what happened")
	}
	switch {
	case waiting > 0:
		report.note(run.OutboxDir(), wording.Plural(waiting, "event")+" waiting to be sent", "sessctl events deliver sends those that are due")
	case len(targets) > 0 && dead == 0:
		report.ok(run.OutboxDir(), "all events were delivered, to %s", wording.Plural(len(targets), "target"))
	}
	return nil
}

// examineTargets looks at each target: whether what it is configured with can be
// read, and whether it takes events.
func examineTargets(report *findings, targets []workspace.NamedTarget, silent []outbox.Silent) {
	for _, t := range targets {
		if err := usable(t); err != nil {
			report.problem("", fmt.Sprintf("no event can be sent to %s: %v", t.Name, err), workspace.EventsHint)
			continue
		}
		for _, s := range silent {
			if s.Target == t.Name {
				report.warn("", fmt.Sprintf("%s has taken no event since %s, in %s: %s", t.Name, wording.ShownTime(s.Since.UTC().Format(time.RFC3339)), countTries(s.Tries), s.Error), "sessctl events test says how it is now")
			}
		}
	}
}

// usable is the error of an address or a secret that cannot be read.
func usable(t workspace.NamedTarget) error {
	switch s := t.Sender.(type) {
	case workspace.Failing:
		return s.Err
	case outbox.Webhook:
		if s.Secret != nil {
			_, err := s.Secret()
			return err
		}
	}
	return nil
}

// countTries says how often an event was tried.
func countTries(n int) string {
	if n == 1 {
		return "1 try"
	}
	return fmt.Sprintf("%d tries", n)
}

// examineJobs reports what a server was asked to do and cannot read any more.
func examineJobs(_ context.Context, run *workspace.Run, report *findings) error {
	dir := filepath.Join(run.DataDir(), "jobs")
	unreadable, err := jobs.Unreadable(run.Pins, dir)
	for _, err := range unreadable {
		report.warn(dir, err.Error()+": what was asked for there is not done", "ask sessctl serve for it again, and remove the file; audit.jsonl has who asked, and for what")
	}
	return err
}
