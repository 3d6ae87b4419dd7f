package cmd

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/operate"
	"github.com/sessctl/sessctl/pkg/operate/outbox"
	"github.com/sessctl/sessctl/pkg/summarize"
)

func (a *invocation) openRuns() operate.Runs { return a.recordsOf(a.dataDir()) }

// recordsOf are the records of runs of a data directory.
func (a *invocation) recordsOf(data string) operate.Runs {
	r := operate.OpenRuns(runsIn(data))
	r.Pins = a.pins
	return r
}

func (a *settings) runsDir() string { return runsIn(a.dataDir()) }

// runsIn is where a data directory has its records of runs.
func runsIn(data string) string { return filepath.Join(data, "runs") }

// earlierRuns are the records of all runs, the newest first.
func (a *invocation) earlierRuns(ctx context.Context) ([]operate.RunRecord, error) {
	return a.earlierRunsIn(ctx, a.dataDir())
}

// earlierRunsIn is earlierRuns of a data directory.
func (a *invocation) earlierRunsIn(ctx context.Context, data string) ([]operate.RunRecord, error) {
	records, bad, err := a.recordsOf(data).Examine(ctx)
	for _, u := range bad {
		a.notice(note{Path: u.Path, Message: u.Err.Error(), Hint: "it is not needed for anything else: remove it"})
	}
	return records, err
}

// profileRun is one run of a profile.
type profileRun struct {
	*app
	runs       operate.Runs
	earlier    []operate.RunRecord
	plan       profilePlan
	record     operate.RunRecord
	began      time.Time // with the monotonic clock
	told       []string  // why steps could not be carried out
	unrecorded bool      // a record or an event of a run could not be written, which was said
}

// runProfile runs the steps of a profile under one lock. The record tells how
// that ended, whatever failed; with an error nothing was begun. Another sessctl
// that does not end within --lock-wait is durable.ErrLocked, and a record.
func (a *app) runProfile(ctx context.Context, profile string) (operate.RunRecord, error) {
	r := &profileRun{app: a.inner(), runs: a.openRuns()}
	defer r.leave()
	r.begin(profile)
	if _, err := r.planProfile(profile, time.Time{}); err != nil {
		return r.record, err // before anything is waited for
	}
	lock, err := r.lock(ctx)
	if errors.Is(err, durable.ErrLocked) {
		r.record.Told = true // nobody is woken for that
		r.finish(operate.Busy, err.Error())
		r.write()
	}
	if err != nil {
		return r.record, err
	}
	defer lock.Unlock()
	r.held = lock
	if r.earlier, err = r.earlierRuns(ctx); err != nil {
		return r.record, err
	}
	if r.plan, err = r.planProfile(profile, operate.LastRead(r.earlier)); err != nil {
		return r.record, err
	}
	r.sweep()
	r.tellEarlier(ctx)
	r.emitNow(ctx, outbox.DeriveID(r.record.Started, "start "+r.record.ID), outbox.RunStarted, profile, startedRun{r.record.ID, profile, r.record.Started})
	r.steps(ctx)
	r.end(ctx)
	return r.record, nil
}

// startedRun is the data of run.started, which only checks of healthchecks.io are
// told of.
type startedRun struct {
	ID      string    `json:"id"`
	Profile string    `json:"profile"`
	Started time.Time `json:"started_at"`
}

// begin makes the record as it is if nothing more of the run is ever written.
func (r *profileRun) begin(profile string) {
	r.began = r.now()
	r.record = operate.RunRecord{
		Schema: 1, ID: ulid.Make().String(), Version: r.version, Profile: profile, Process: os.Getpid(), Invocation: r.getenv("INVOCATION_ID"), Started: stamp(r.began),
		Outcome: operate.Interrupted, ExitCode: exitUnknown, Steps: []operate.StepRecord{},
	}
}

// exitUnknown is the exit code of a run or step that was killed.
const exitUnknown = -1

// stamp is a time as records have it.
func stamp(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }

// write makes the record durable as it is. A run whose record cannot be written
// goes on: the disk may be full, and what it does is safe without.
func (r *profileRun) write() {
	err := r.runs.Write(r.record)
	if errors.Is(err, fs.ErrNotExist) && r.held == nil {
		err = r.runs.Write(r.record) // the run that has the lock has swept it
	}
	if err != nil {
		r.unwritten(err)
	}
}

// unwritten tells once that something about runs could not be written: the run
// is not all that it should be.
func (r *profileRun) unwritten(err error) {
	if !r.unrecorded {
		r.unrecorded = true
		r.tell(note{Path: r.runs.Dir, Message: "the record of a run cannot be written: " + err.Error()})
	}
}

// sweep removes what a run that was killed left half-written of its record.
func (r *profileRun) sweep() {
	if !exists(r.runs.Dir) {
		return
	}
	if err := r.pins.Sweep(r.runs.Dir, 0); err != nil {
		r.unwritten(err)
	}
}

// tellEarlier tells of runs whose end nobody heard of: those that were killed,
// and those that were killed before they could say how they had ended.
func (r *profileRun) tellEarlier(ctx context.Context) {
	for _, record := range r.earlier {
		if !record.Told {
			r.tellEnd(ctx, &record)
		}
	}
}

// tellEnd keeps the event of a run's end, and notes that in its record.
func (r *profileRun) tellEnd(ctx context.Context, record *operate.RunRecord) {
	event := outbox.RunFailed
	if record.Outcome == operate.OK || record.Outcome == operate.Busy {
		event = outbox.RunFinished
	}
	id := outbox.DeriveID(record.Started, "run "+record.ID)
	if r.emitOnce(ctx, id, event, record.Profile, withoutDocuments(*record)) != nil {
		r.unrecorded = true // it was told
		return
	}
	record.Told = true
	if err := r.runs.Write(*record); err != nil {
		r.unwritten(err)
	}
}

func withoutDocuments(record operate.RunRecord) operate.RunRecord {
	steps := make([]operate.StepRecord, 0, len(record.Steps))
	for _, s := range record.Steps {
		s.Document = nil
		steps = append(steps, s)
	}
	record.Steps = steps
	return record
}

// notBegun is the reason of a step that the run did not come to.
const notBegun = "the run ended before it"

// steps carries out the steps of the plan, one after the other. The record on
// disk says at any time which is under way.
func (r *profileRun) steps(ctx context.Context) {
	r.record.BytesBefore = r.sizes(ctx)
	for _, step := range r.plan.steps {
		r.record.Steps = append(r.record.Steps, operate.StepRecord{Step: step.kind.name, Command: step.command(), Outcome: operate.Skipped, Reason: notBegun})
	}
	r.meter = summarize.NewMeter(r.config.LLM.MaxCalls) // llm.max_calls is of the whole run
	for i, step := range r.plan.steps {
		done, s := r.record.Steps[:i], &r.record.Steps[i]
		if ctx.Err() != nil {
			return
		}
		if s.Reason = operate.Hold(s.Step, done, r.earlier); s.Reason != "" {
			r.tell(note{Message: s.Step + ": " + s.Reason})
			continue
		}
		s.Outcome, s.ExitCode, s.Started = operate.Interrupted, exitUnknown, stamp(r.now())
		r.write()
		r.tellDamage(ctx, r.step(ctx, step, s))
	}
}

// step carries one step out and writes down how it ended. It returns the damage
// that it has found.
func (r *profileRun) step(ctx context.Context, step plannedStep, s *operate.StepRecord) []problem {
	var document any
	began, inner := r.now(), r.inner()
	inner.JSON, inner.streams.OutTTY, inner.streams.document = true, false, func(d any) { document = d }
	err := step.kind.run(ctx, inner, step.flags, false)
	inner.leave()
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	result := step.kind.tell(document)
	s.Seconds = r.now().Sub(began).Seconds()
	s.ExitCode = inner.codeOf(err)
	s.Outcome, s.Changed, s.Summary = outcomeOfCode(s.ExitCode), result.changed, result.summary
	s.Problems = result.problems[:min(len(result.problems), operate.MaxProblems)]
	s.Document = encoded(document)
	switch {
	case !rendered(err):
		s.Reason = explain(err).Message
	case len(result.problems) > 0:
		s.Reason = result.problems[0]
	}
	if ctx.Err() == nil && (s.Reason == "" || !slices.Contains(r.told, s.Reason)) { // that there is no store is told once
		inner.reportStep(s.Step, err)
	}
	r.told = append(r.told, s.Reason)
	return result.damage
}

// reportStep tells why a step could not be carried out; what went wrong with
// single sessions was told then.
func (a *app) reportStep(step string, err error) {
	if !rendered(err) {
		a.failed(step, err)
	}
}

// rendered reports whether all that there is to say of an error was said.
func rendered(err error) bool {
	var outcome *outcomeError
	return err == nil || errors.As(err, &outcome)
}

// encoded is a document as JSON, nil without one.
func encoded(document any) json.RawMessage {
	if document == nil {
		return nil
	}
	text, err := json.Marshal(document)
	if err != nil {
		return nil // all documents are printed by their own commands
	}
	return text
}

// codeOf is the exit code of a command that ended with this error.
func (a *invocation) codeOf(err error) int {
	if code := exitCode(err); code != exitOK || a.incomplete == 0 {
		return code
	}
	return exitPartly
}

// outcomeOfCode is what an exit code says of a step. A step that was told
// something wrong, an agent that is no more say, has failed.
func outcomeOfCode(code int) operate.Outcome {
	switch code {
	case exitOK:
		return operate.OK
	case exitPartly:
		return operate.Partial
	case exitIntegrity:
		return operate.Damaged
	case exitBusy:
		return operate.Busy
	case exitInterrupt, exitTerminate:
		return operate.Interrupted
	}
	return operate.Failed
}

// codeOfOutcome is the exit code of a run.
func codeOfOutcome(outcome operate.Outcome) int {
	switch outcome {
	case operate.OK:
		return exitOK
	case operate.Partial:
		return exitPartly
	case operate.Damaged:
		return exitIntegrity
	case operate.Busy:
		return exitBusy
	}
	return exitFailed
}

// finish writes the end of the run into the record.
func (r *profileRun) finish(outcome operate.Outcome, reason string) {
	now := r.now()
	r.record.Finished, r.record.Seconds = stamp(now), now.Sub(r.began).Seconds()
	r.record.Outcome, r.record.Reason, r.record.ExitCode = outcome, reason, codeOfOutcome(outcome)
}

// end writes down how the run ended, and tells it: the record is on disk before
// the event, and says afterwards that there is one. A run that is killed between
// the two leaves the event to the next.
func (r *profileRun) end(ctx context.Context) {
	outcome, reason := operate.Worst(r.record.Steps), ""
	if ctx.Err() != nil {
		outcome, reason = operate.Interrupted, explain(context.Cause(ctx)).Message
	}
	rest := context.WithoutCancel(ctx) // what is left takes no time
	r.record.BytesAfter = r.sizes(rest)
	r.finish(outcome, reason)
	if ctx.Err() != nil {
		r.record.ExitCode = exitCode(context.Cause(ctx))
	}
	r.write()
	r.tellEnd(rest, &r.record)
	if err := r.runs.Prune(rest); err != nil {
		r.unwritten(err)
	}
	if r.unrecorded && r.record.ExitCode == exitOK {
		r.finish(operate.Partial, "the record of a run could not be written")
		r.write()
	}
}

// tellDamage tells what a verification has found: people of everything, and
// receivers of events of what has no other copy here.
func (r *profileRun) tellDamage(ctx context.Context, damage []problem) {
	event := damageEvent{Run: r.record.ID, Profile: r.record.Profile, Items: []problem{}}
	for _, p := range damage {
		if p.ofMemory {
			r.tell(note{Message: operate.StepArchiveVerify + ": " + p.text(), Hint: adviseRebuild})
			continue
		}
		r.tell(note{Message: operate.StepArchiveVerify + ": " + p.text(), Hint: adviseBackup})
		event.Count++
		event.Items = append(event.Items, p)
	}
	if event.Count == 0 {
		return
	}
	event.Message, event.Advice = event.Items[0].text(), adviseBackup
	subject := cmp.Or(event.Items[0].ID, event.Items[0].Path)
	event.Items = event.Items[:min(event.Count, operate.MaxProblems)]
	id := outbox.DeriveID(r.record.Started, "damaged "+r.record.ID)
	if r.emitOnce(ctx, id, outbox.ArchiveDamaged, subject, event) != nil {
		r.unrecorded = true // it was told
	}
}

// damageEvent is the data of archive.damaged, as the monitor has it
// (docs/monitor.md), with the run that has read the archives.
type damageEvent struct {
	Run     string    `json:"run"`
	Profile string    `json:"profile"`
	Message string    `json:"message"` // of the first
	Advice  string    `json:"advice"`
	Count   int       `json:"count"`
	Items   []problem `json:"items"` // the first operate.MaxProblems
}

// sizes adds up what logs, archives and memory take; what cannot be looked at is
// told by the steps.
func (r *profileRun) sizes(ctx context.Context) operate.Sizes {
	inner := r.inner()
	inner.outer, inner.JSON = nil, true
	defer inner.closeStores()
	u := &usage{app: inner.invocation}
	for _, count := range []func(context.Context) error{u.sessions, u.data, u.archives} {
		if count(ctx) != nil {
			continue
		}
	}
	return operate.Sizes{Logs: u.doc.Live.Bytes + u.doc.Closed.Bytes, Archives: u.doc.Archives.Bytes, Memory: u.doc.Memory.Bytes}
}
