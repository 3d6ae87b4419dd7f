package audit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/selection"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/memory"
	"github.com/sessctl/sessctl/pkg/operate"
	"github.com/sessctl/sessctl/pkg/operate/monitor"
	"github.com/sessctl/sessctl/pkg/report"
)

// StatusDocument is `status --json` (docs/json.md): what a person asks in the morning.
type StatusDocument struct {
	Schema   int              `json:"schema"`
	MadeAt   string           `json:"made_at"` // RFC 3339, UTC
	Host     string           `json:"host"`
	Well     bool             `json:"well"`    // nothing is wrong, and nothing waits for a person
	Wrong    []StatusProblem  `json:"wrong"`   // what matters most first
	Due      []report.Pending `json:"due"`     // what is to be done
	Runs     []StatusRun      `json:"runs"`    // the last of each profile
	Grew     []StatusGrowth   `json:"grew"`    // since it was last archived, by agent, the most first
	Purges   []report.Purge   `json:"purges"`  // what runtimes delete by themselves
	Saved    SavedDocument    `json:"saved"`   // by all compactions
	Checked  StatusCheck      `json:"checked"` // when the archives were last read
	Stores   int              `json:"stores"`
	Agents   int              `json:"agents"`
	Sessions int              `json:"sessions"`
	Archives int              `json:"archives"`
	LeftOut  int              `json:"left_out"` // records that the shared memory does not get (memory.remote.except)
	// What could not be read is not none: without ArchivesKnown nothing is known of
	// archives, growth and savings, without RunsKnown nothing of runs.
	ArchivesKnown bool                  `json:"archives_known"`
	RunsKnown     bool                  `json:"runs_known"`
	Unread        []workspace.UnreadRow `json:"unread"` // what was seen and not read
	Notes         []workspace.Note      `json:"notes"`

	Hosts []selection.HostAnswer `json:"hosts,omitempty"`    // of --host
	There []StatusDocument       `json:"statuses,omitempty"` // of --host
}

// StatusProblem is one thing that is wrong, and how often.
type StatusProblem struct {
	What    string `json:"what"`
	Where   string `json:"where"` // the first place
	Since   string `json:"since,omitempty"`
	Message string `json:"message"`
	Advice  string `json:"advice"`
	Count   int    `json:"count"` // of places with the same cause
}

// StatusRun is the last run of a profile.
type StatusRun struct {
	Profile string          `json:"profile"`
	Started string          `json:"started_at"` // RFC 3339, UTC
	Seconds float64         `json:"seconds"`
	Outcome operate.Outcome `json:"outcome"`
	Changed int             `json:"changed"`
	Why     string          `json:"why"`     // it did not end well
	Summary []string        `json:"summary"` // of the steps that changed something
}

// StatusGrowth is what an agent has written that is in no archive yet.
type StatusGrowth struct {
	Runtime     string `json:"runtime"`
	Agent       string `json:"agent"`
	ProjectName string `json:"project_name"` // what people call the agent, see selection.ProjectNames
	Sessions    int    `json:"sessions"`
	Bytes       int64  `json:"bytes"`
}

// StatusCheck is the last check that read all archives.
type StatusCheck struct {
	At       string `json:"at"` // "" for never
	Problems int    `json:"problems"`
	Since    int    `json:"since"` // archives made later, which were verified when they were made
}

// Status looks at everything and says what a person has to know. It changes nothing.
// refused are the errors with which a command would end for its settings.
func Status(ctx context.Context, run *workspace.Run, refused []error) (StatusDocument, error) {
	doc := StatusDocument{Schema: 1, MadeAt: wording.StampText(run.Now())}
	doc.Host, _ = os.Hostname() // without one the page does not name it
	settings, err := workspace.MonitorSettings(&run.Settings)
	if err != nil {
		return doc, err
	}
	state, stateErr := monitor.Load(run.Pins, MonitorStatePath(&run.Settings))
	o := NewObserver(run, LookOptions{Threshold: run.Config.Compaction.Due(), Earlier: state.Stores, Refused: refused})
	defer workspace.CloseStores(o.Run)
	if stateErr != nil {
		o.Failures = append(o.Failures, workspace.Note{Path: MonitorStatePath(&run.Settings), Message: stateErr.Error()})
	}
	if doc.LeftOut, err = leftOut(ctx, run); err != nil {
		o.Failures = append(o.Failures, workspace.Note{Path: run.MemoryDir(), Message: "what is left out of the shared memory is not known: " + err.Error()})
	}
	err = o.Look(ctx)
	if f := (*failure.Error)(nil); errors.As(err, &f) && f.Code == "no_store" {
		o.Failures = append(o.Failures, workspace.Note{Message: f.Error(), Hint: f.Hint})
	} else if err != nil {
		return doc, err
	}
	doc.Due, doc.Purges = o.Waiting(), o.Purges()
	doc.Runs, doc.RunsKnown, doc.Checked = o.lastRuns(), o.RunsSeen, o.lastCheck()
	doc.Grew, doc.ArchivesKnown = []StatusGrowth{}, o.catalogued
	if o.catalogued {
		doc.Grew = o.unarchivedGrowth()
	}
	doc.Wrong, doc.Unread = wrong(o.AlertsOf(state, settings)), o.Unread // after all that may fail
	u := Usage{App: run}
	u.CountSaved(o.AllReceipts)
	doc.Saved = u.Doc.Saved
	doc.NameProjects(o.ProjectNames())
	doc.count(o)
	doc.Well = len(doc.Wrong) == 0 && !slices.ContainsFunc(doc.Due, ofAPerson)
	return doc, nil
}

// leftOut counts the records that this host does not share.
func leftOut(ctx context.Context, run *workspace.Run) (int, error) {
	if !workspace.Shares(&run.Settings) || len(run.Config.Memory.Remote.Except) == 0 {
		return 0, nil
	}
	store, err := workspace.GlimpseMemory(ctx, run)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer store.Close()
	only, _, err := selection.Shareable(ctx, run, store)
	if err != nil {
		return 0, err
	}
	n, err := store.CountLeftOut(ctx, memory.ShareQuery{Only: only})
	return n.Records, err
}

// NameProjects says what people call the agents.
func (d *StatusDocument) NameProjects(names selection.Projects) {
	for i := range d.Grew {
		d.Grew[i].ProjectName = names.Of(d.Grew[i].Runtime, d.Grew[i].Agent)
	}
	NamePurges(names, d.Purges)
}

// NamePurges says what people call the agents whose logs go.
func NamePurges(names selection.Projects, purges []report.Purge) {
	for i := range purges {
		purges[i].ProjectName = names.Of(purges[i].Runtime, purges[i].Agent)
	}
}

// ofAPerson says of what waits that no later run does it by itself.
func ofAPerson(p report.Pending) bool {
	return !strings.HasPrefix(p.Advice, "the next run ") && !strings.HasPrefix(p.Advice, "a later run ")
}

// WithoutDue are the alerts of what is wrong. What is due is not: it is among what
// waits, where a session that is in use is left to a later run.
func WithoutDue(alerts []monitor.Alert) []monitor.Alert {
	return slices.DeleteFunc(slices.Clone(alerts), func(a monitor.Alert) bool {
		return a.Kind == monitor.NeedsCompaction || a.Kind == monitor.PendingVectors
	})
}

// wrong is what keeps a machine from being well, but for what is due.
func wrong(alerts []monitor.Alert) []StatusProblem {
	all := []StatusProblem{}
	for _, of := range causes(WithoutDue(alerts)) {
		a := of.First
		all = append(all, StatusProblem{What: string(a.Kind), Where: a.Subject, Since: wording.StampText(a.Since), Message: a.Message, Advice: a.Advice, Count: of.Count})
	}
	return all
}

// causes are alerts by their causes. What is advised of one of several is advised of all.
func causes(alerts []monitor.Alert) []wording.Alike[monitor.Alert] {
	all := wording.ByCause(alerts, func(a monitor.Alert) string {
		return string(a.Kind) + " " + wording.CauseOf(a.Subject, a.Message)
	})
	for i := range all {
		if all[i].Count > 1 {
			all[i].First.Advice = wording.ForAll(all[i].First.Advice)
		}
	}
	return all
}

// ToldWhen says whether an event told of the alert.
func ToldWhen(a monitor.Alert) string {
	switch {
	case a.Held:
		return "held"
	case a.Event != "":
		return "now"
	}
	return "before"
}

// OneOfACause are alerts of which one stands for all that have its cause, and says how
// many these are.
func OneOfACause(alerts []monitor.Alert) []monitor.Alert {
	one := []monitor.Alert{}
	for _, of := range causes(alerts) {
		if of.Count > 1 { // in front, where a narrow table does not cut it off
			of.First.Message = wording.Count(int64(of.Count)) + " times, first: " + of.First.Message
		}
		one = append(one, of.First)
	}
	return one
}

// lastRuns are the last runs of the profiles, the newest first.
func (o *Observer) lastRuns() []StatusRun {
	runs := []StatusRun{}
	for _, record := range o.Runs {
		if slices.ContainsFunc(runs, func(r StatusRun) bool { return r.Profile == record.Profile }) {
			continue
		}
		row := NewRunRow(record)
		r := StatusRun{Profile: row.Profile, Started: wording.StampText(row.Started), Seconds: row.Seconds, Outcome: row.Outcome, Changed: row.Changed(), Summary: []string{}}
		if row.Outcome != operate.OK && row.Outcome != operate.Busy && row.Outcome != operate.Running {
			r.Why = cmp.Or(row.Why(), string(row.Outcome))
		}
		for _, s := range row.Steps {
			if s.Changed > 0 {
				r.Summary = append(r.Summary, s.Title()+": "+s.Summary)
			}
		}
		runs = append(runs, r)
	}
	return runs
}

// unarchivedGrowth adds up by agent what sessions have more bytes than their newest
// archive.
func (o *Observer) unarchivedGrowth() []StatusGrowth {
	type name struct{ runtime, agent, session string }
	newest := map[name]int{}
	for i, e := range o.Entries {
		of := name{e.Runtime, e.Agent, e.Session}
		if at, known := newest[of]; !known || e.CreatedAt.After(o.Entries[at].CreatedAt) {
			newest[of] = i
		}
	}
	at, all := map[workspace.Owner]int{}, []StatusGrowth{}
	for i := range o.Sessions {
		s := &o.Sessions[i]
		more := s.Bytes
		if kept, known := newest[name{s.Runtime, s.Agent, s.ID}]; known {
			more -= o.Entries[kept].Bytes
		}
		if more <= 0 || !workspace.Shown(s.Kind) {
			continue
		}
		of := workspace.Owner{Runtime: s.Runtime, Agent: s.Agent}
		n, known := at[of]
		if !known {
			n = len(all)
			at[of], all = n, append(all, StatusGrowth{Runtime: s.Runtime, Agent: s.Agent})
		}
		all[n].Sessions++
		all[n].Bytes += more
	}
	slices.SortStableFunc(all, func(x, y StatusGrowth) int { return cmp.Compare(y.Bytes, x.Bytes) })
	return all
}

// lastCheck is the last check that has read every archive.
func (o *Observer) lastCheck() (c StatusCheck) {
	checks, err := RecordedChecks(o.Run)
	if err != nil {
		o.Failures = append(o.Failures, workspace.Note{Path: ChecksPath(&o.Run.Settings), Message: "earlier checks of archives are not known: " + err.Error()})
	}
	for _, recorded := range checks {
		if recorded.All && recorded.ReadData {
			c = StatusCheck{At: recorded.At, Problems: recorded.Problems}
		}
	}
	for _, e := range o.Entries {
		if wording.StampText(e.CreatedAt) > c.At {
			c.Since++
		}
	}
	return c
}

// count says how much was looked at.
func (d *StatusDocument) count(o *Observer) {
	r := MonitorReport{}
	r.Count(&o.Observed)
	d.Stores, d.Agents, d.Sessions, d.Archives = r.Stores, r.Agents, r.Sessions, r.Archives
}

// Headline is the first line: whether anything is wrong.
func (d *StatusDocument) Headline() string {
	due := 0
	for _, p := range d.Due {
		if ofAPerson(p) {
			due++
		}
	}
	switch {
	case len(d.Wrong) > 0:
		return fmt.Sprintf("%s %s a person", wording.Plural(len(d.Wrong), "thing"), map[bool]string{true: "needs", false: "need"}[len(d.Wrong) == 1])
	case due > 0:
		return "nothing is wrong; this is due:"
	}
	begin := "all is well: "
	if d.Archives == 0 && d.Sessions > 0 {
		begin = nothingArchived
	}
	return begin + fmt.Sprintf("%s of %s in %s, %s", wording.Plural(d.Sessions, "session"), wording.Plural(d.Agents, "agent"), wording.Plural(d.Stores, "store"), wording.Plural(d.Archives, "archive"))
}
