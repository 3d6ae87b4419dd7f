package audit

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/pkg/operate"
	"github.com/sessctl/sessctl/pkg/operate/monitor"
	"github.com/sessctl/sessctl/pkg/report"
)

// Kinds of alerts that make no event: a run tells of itself, and what cannot be looked
// at may be sound.
const (
	lastRun monitor.Kind = "run"    // the last run of a profile did not succeed
	unseen  monitor.Kind = "unseen" // a part of what is watched could not be looked at
	lost    monitor.Kind = "ledger" // the ledger knows of something that is not there
	// refused are settings with which a run would end before it begins: it leaves no
	// record that could tell.
	refused monitor.Kind = "config"
)

// AlertsOf takes a look into the state of the monitor and returns all that keeps a
// machine from being well, what matters most first. Only where it returns nothing was
// everything read, did the last run of every profile succeed, and is done what was
// due.
func (o *Observed) AlertsOf(state *monitor.State, options monitor.Options) []monitor.Alert {
	alerts := append([]monitor.Alert{}, state.Step(o.Look(), options)...)
	for _, err := range o.refused {
		alerts = append(alerts, refusal(err, o.At))
	}
	if n := len(o.witnessed); n > 0 {
		p := o.witnessed[0]
		alerts = append(alerts, monitor.Alert{Kind: lost, Subject: p.Path, Since: o.At, Message: p.Message + moreInDoctor(n-1), Advice: p.Advice})
	}
	for _, n := range o.Failures {
		alerts = append(alerts, monitor.Alert{Kind: unseen, Subject: n.Path, Since: o.At, Message: n.Message, Advice: n.Hint})
	}
	for _, r := range LastFailures(o.Runs) {
		overdue := slices.ContainsFunc(alerts, func(a monitor.Alert) bool { return a.Kind == monitor.RunOverdue && a.Subject == r.Profile })
		if !overdue {
			alerts = append(alerts, monitor.Alert{Kind: lastRun, Subject: r.Profile, Since: r.Started, Message: FailureOf(r), Advice: AdviseRun(r.Profile)})
		}
	}
	return alerts
}

// moreInDoctor says how many more there are, and what shows them.
func moreInDoctor(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" (and %d more; sessctl doctor shows them)", n)
}

// LastFailures are, of some runs with the newest first, the last ones of profiles that
// did not succeed. One that is at work says nothing yet.
func LastFailures(runs []operate.RunRecord) (failed []operate.RunRecord) {
	told := map[string]bool{}
	for _, r := range runs {
		if r.Outcome == operate.Running || told[r.Profile] {
			continue
		}
		told[r.Profile] = true
		if r.Outcome != operate.OK {
			failed = append(failed, r)
		}
	}
	return failed
}

// FailureOf says how the last run of a profile ended, and why.
func FailureOf(r operate.RunRecord) string {
	return "its last run: " + string(r.Outcome) + reasonOf(r)
}

// AdviseRun says what to do about the last run of a profile.
func AdviseRun(profile string) string {
	return "sessctl log --runs; sessctl run " + profile + " runs it again"
}

// refusal is an alert of settings that are refused.
func refusal(err error, at time.Time) monitor.Alert {
	a := monitor.Alert{Kind: refused, Since: at, Message: err.Error()}
	if f := (*failure.Error)(nil); errors.As(err, &f) {
		a.Subject, a.Advice = f.Path, f.Hint
	}
	return a
}

// reasonOf is why a run ended as it did, after a colon.
func reasonOf(r operate.RunRecord) string {
	row := NewRunRow(r)
	if why := row.Why(); why != "" {
		return ": " + why
	}
	return ""
}

// Status is the state of a machine as monitoring programs know it: 0 all is well, 1
// warning, 2 critical, 3 unknown (Nagios, Icinga, Sensu).
func (r *MonitorReport) Status() int {
	status := failure.ExitOK
	for _, a := range r.Alerts {
		status = max(status, statusOf(a.Kind))
	}
	if status < critical && slices.ContainsFunc(r.Alerts, func(a monitor.Alert) bool { return a.Kind == unseen }) {
		return StatusUnknown
	}
	return status
}

const (
	warning  = 1
	critical = 2
	// StatusUnknown is the state of a machine that could not be looked at.
	StatusUnknown = 3
)

// statusOf is the state that an alert of a kind makes.
func statusOf(kind monitor.Kind) int {
	switch kind {
	case monitor.ArchiveDamaged, monitor.PurgeSoon, monitor.DiskLow, monitor.StoreMissing, monitor.LogUnreadable, monitor.RunOverdue, lastRun, lost, refused:
		return critical
	}
	return warning
}

// Headline is what the report says in one line.
func (r *MonitorReport) Headline() string {
	counts := map[monitor.Kind]int{}
	var parts []string
	for _, a := range r.Alerts {
		if r.Compacted && a.Kind == monitor.NeedsCompaction {
			continue
		}
		if counts[a.Kind]++; counts[a.Kind] == 1 {
			parts = append(parts, string(a.Kind))
		}
	}
	switch {
	case r.Schema == 0:
		return "nothing could be looked at"
	case len(parts) == 0 && r.firstDue() != nil:
		return "nothing is wrong; due: " + dueOf(r.firstDue())
	case len(parts) == 0 && r.bare():
		return nothingArchived + r.LookedAt()
	case len(parts) == 0:
		return "all is well: " + r.LookedAt()
	}
	for i, kind := range parts {
		parts[i] = fmt.Sprintf("%s (%d)", kind, counts[monitor.Kind(kind)])
	}
	return "not all is well: " + strings.Join(parts, ", ")
}

// Sentence is what a page about the machine begins with: that all is well, or how many
// things need a person and which matters most. complete is false where a part of the
// page could not be made.
func (r *MonitorReport) Sentence(complete bool) string {
	switch n := len(r.Alerts); {
	case n == 1:
		return "One thing needs a person: " + sentenceOf(r.Alerts[0])
	case n > 1:
		return fmt.Sprintf("%d things need a person, first: %s", n, sentenceOf(r.Alerts[0]))
	case r.Stores == 0:
		return "No sessions were found."
	case !complete:
		return "Not everything could be looked at; the notes say what."
	case r.firstDue() != nil:
		return "Nothing is wrong; due: " + dueOf(r.firstDue())
	}
	if r.bare() {
		return "N" + nothingArchived[1:] + r.LookedAt()
	}
	return "All is well: " + r.LookedAt()
}

// nothingArchived begins what is said where nothing is wrong and nothing is kept: what
// a runtime deletes there is gone.
const nothingArchived = "nothing is wrong; nothing is archived yet: "

// bare reports whether there are sessions and no archive. A compaction of this look has
// made some.
func (r *MonitorReport) bare() bool { return r.Archives == 0 && r.Sessions > 0 && !r.Compacted }

// firstDue is the first thing that waits for a person, nil if nothing does. What a
// compaction of this look has made small waits no more.
func (r *MonitorReport) firstDue() *report.Pending {
	at := slices.IndexFunc(r.Waits, func(p report.Pending) bool { return ofAPerson(p) && !(r.Compacted && p.Advice == compactsAll) })
	if at < 0 {
		return nil
	}
	return &r.Waits[at]
}

// dueOf is what waits, and how many there are.
func dueOf(p *report.Pending) string {
	return fmt.Sprintf("%s (%s)", p.What, wording.Count(int64(p.Count)))
}

// sentenceOf is what an alert is about and what is wrong, as far as a sentence has room.
func sentenceOf(a monitor.Alert) string {
	const room = 160
	return wording.FirstLine(strings.TrimPrefix(a.Subject+": ", ": ")+a.Message, room)
}

// StatusName is the word of monitoring programs for a state.
func StatusName(status int) string {
	return cmp.Or(map[int]string{0: "OK", 1: "WARNING", 2: "CRITICAL"}[status], "UNKNOWN")
}
