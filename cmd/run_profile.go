package cmd

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/sessctl/sessctl/internal/audit"
	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/internal/recall"
	"github.com/sessctl/sessctl/internal/steps"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/operate"
	"github.com/sessctl/sessctl/pkg/operate/outbox"
	"github.com/sessctl/sessctl/pkg/summarize"
)

// profileRun is one run of a profile.
type profileRun struct {
	*app
	runs       operate.Runs
	earlier    []operate.RunRecord
	plan       profilePlan
	record     operate.RunRecord
	documents  []json.RawMessage // of its steps, as their commands print them
	began      time.Time         // with the monotonic clock
	told       []string          // why steps could not be carried out
	unread     error             // why it is not known how earlier runs ended: nothing is deleted
	unrecorded bool              // a record or an event of a run could not be written, which was said
}

// runProfile runs the steps of a profile under one lock. The record tells how
// that ended, whatever failed; with an error nothing was begun. Another sessctl
// that does not end within --lock-wait is durable.ErrLocked, and a record.
func runProfile(ctx context.Context, a *app, profile string) (audit.RunRow, error) {
	r := &profileRun{app: a.inner(), runs: audit.OpenRuns(a.Run)}
	defer r.Leave()
	r.begin(profile)
	if _, err := planProfile(r.app, profile, time.Time{}); err != nil {
		return r.row(), err // before anything is waited for
	}
	lock, err := r.Lock(ctx)
	if errors.Is(err, durable.ErrLocked) {
		r.record.Told = true // nobody is woken for that
		r.finish(operate.Busy, err.Error())
		r.write()
	}
	if err != nil {
		return r.row(), err
	}
	defer lock.Unlock()
	r.Held = lock
	if r.earlier, r.unread = steps.EarlierRuns(ctx, r.app.Run); r.unread != nil {
		r.unwritten(r.unread)
	}
	if r.plan, err = planProfile(r.app, profile, operate.LastRead(r.earlier)); err != nil {
		return r.row(), err
	}
	r.sweep()
	workspace.KeepReserve(r.app.Run)
	r.tellEarlier(ctx)
	workspace.EmitNow(ctx, r.app.Run, outbox.Event{ID: outbox.DeriveID(r.record.Started, "start "+r.record.ID), Type: outbox.RunStarted, Subject: profile}, steps.StartedRun{ID: r.record.ID, Profile: profile, Started: r.record.Started})
	r.steps(ctx)
	r.end(ctx)
	return r.row(), nil
}

// row is the record, with the documents.
func (r *profileRun) row() audit.RunRow {
	row := audit.NewRunRow(r.record)
	for i, document := range r.documents {
		row.Steps[i].Document = document
	}
	return row
}

// begin makes the record as it is if nothing more of the run is ever written.
func (r *profileRun) begin(profile string) {
	r.began = r.Now()
	r.record = operate.RunRecord{
		Schema: 1, ID: ulid.MustNew(ulid.Timestamp(r.began), ulid.DefaultEntropy()).String(), Version: r.Version, Profile: profile, Process: os.Getpid(), Invocation: r.Getenv("INVOCATION_ID"), Started: wording.Stamp(r.began),
		Outcome: operate.Interrupted, ExitCode: steps.ExitUnknown, Steps: []operate.StepRecord{},
	}
}

// write makes the record durable as it is. A run whose record cannot be written
// goes on: the disk may be full, and what it does is safe without. That is not told
// then: the end of the run, for which room is kept, says whether there is a record.
func (r *profileRun) write() {
	err := r.runs.Write(r.record)
	if errors.Is(err, fs.ErrNotExist) && r.Held == nil {
		err = r.runs.Write(r.record) // the run that has the lock has swept it
	}
	if workspace.NoRoom(err) {
		_ = r.runs.Mark(r.record) // tells of the run if it is killed
		return
	}
	r.marked(&r.record, err)
}

// marked tells of a record that could not be written, if there is an error, and leaves a
// mark where the disk is full.
func (r *profileRun) marked(record *operate.RunRecord, err error) {
	if workspace.NoRoom(err) {
		_ = r.runs.Mark(*record) // without it, only what was told tells of the run
	}
	if err != nil {
		r.unwritten(err)
	}
}

// writeEnd is write for the end of the run, which is on record also where the disk is
// full.
func (r *profileRun) writeEnd() {
	r.marked(&r.record, workspace.UseReserve(r.app.Run, func() error { return r.runs.Write(r.record) }))
}

// unwritten tells once that something about runs could not be written: the run
// is not all that it should be.
func (r *profileRun) unwritten(err error) {
	if !r.unrecorded {
		r.unrecorded = true
		r.PassOverBroken(r.runs.Dir, "records of runs cannot be read or written", err)
	}
}

// sweep removes what a run that was killed left half-written of its record.
func (r *profileRun) sweep() {
	if !workspace.Exists(r.runs.Dir) {
		return
	}
	if err := r.Pins.Sweep(r.runs.Dir, 0); err != nil {
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
	event := outbox.Event{ID: outbox.DeriveID(record.Started, "run "+record.ID), Type: outbox.RunFailed, Subject: record.Profile}
	if record.Outcome == operate.OK || record.Outcome == operate.Busy {
		event.Type = outbox.RunFinished
	}
	if workspace.EmitOnce(ctx, r.app.Run, event, audit.NewRunRow(*record)) != nil {
		r.unrecorded = true // it was told
		return
	}
	record.Told = true
	r.marked(record, workspace.UseReserve(r.app.Run, func() error { return r.runs.Write(*record) }))
}

// steps carries out the steps of the plan, one after the other. The record on
// disk says at any time which is under way.
func (r *profileRun) steps(ctx context.Context) {
	r.record.BytesBefore = r.sizes(ctx)
	for _, step := range r.plan.steps {
		r.record.Steps = append(r.record.Steps, operate.StepRecord{Step: step.kind.name, Command: step.command(), Outcome: operate.Skipped, Reason: steps.NotBegun})
	}
	r.documents = make([]json.RawMessage, len(r.plan.steps))
	r.Meter = summarize.NewMeter(r.Config.LLM.MaxCalls) // llm.max_calls is of the whole run
	for i := range r.plan.steps {
		done, s := r.record.Steps[:i], &r.record.Steps[i]
		if ctx.Err() != nil {
			return
		}
		if s.Reason = operate.HoldUnless(r.unread == nil, s.Step, done, r.earlier); s.Reason != "" {
			r.Tell(workspace.Note{Message: s.Step + ": " + s.Reason})
			continue
		}
		s.Outcome, s.ExitCode, s.Started = operate.Interrupted, steps.ExitUnknown, wording.Stamp(r.Now())
		r.write()
		r.tellDamage(ctx, r.step(ctx, i))
	}
}

// step carries one step out and writes down how it ended. It returns the damage
// that it has found.
func (r *profileRun) step(ctx context.Context, i int) []audit.Problem {
	var document any
	step, s := r.plan.steps[i], &r.record.Steps[i]
	began, inner := r.Now(), r.inner()
	inner.Part = fmt.Sprintf("step %d of %d, ", i+1, len(r.plan.steps))
	inner.JSON, inner.streams.OutTTY, inner.streams.document = true, false, func(d any) { document = d }
	err := step.kind.run(ctx, inner, step.flags, false)
	inner.Leave()
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	result := step.kind.tell(document)
	s.Seconds = r.Now().Sub(began).Seconds()
	s.ExitCode = steps.CodeOf(inner.Run, err)
	s.Outcome, s.Changed, s.Summary = steps.OutcomeOfCode(s.ExitCode), result.Changed, result.Summary
	problems := slices.Concat(result.Problems, inner.passedOver())
	s.Problems = problems[:min(len(problems), operate.MaxProblems)]
	r.documents[i] = steps.Encoded(document)
	switch {
	case !steps.Rendered(err):
		s.Reason = failure.Explain(err).Message
	case len(problems) > 0:
		s.Reason = problems[0]
	}
	if ctx.Err() == nil && (s.Reason == "" || !slices.Contains(r.told, s.Reason)) { // that there is no store is told once
		reportStep(inner, s.Step, err)
	}
	r.told = append(r.told, s.Reason)
	return result.Damage
}

// passedOver says what a step has passed over.
func (a *app) passedOver() (said []string) {
	for _, n := range a.Passed {
		said = append(said, n.Text())
	}
	return said
}

// reportStep tells why a step could not be carried out; what went wrong with
// single sessions was told then.
func reportStep(a *app, step string, err error) {
	if !steps.Rendered(err) {
		a.Failed(step, err)
	}
}

// finish writes the end of the run into the record.
func (r *profileRun) finish(outcome operate.Outcome, reason string) {
	now := r.Now()
	r.record.Finished, r.record.Seconds = wording.Stamp(now), now.Sub(r.began).Seconds()
	r.record.Outcome, r.record.Reason, r.record.ExitCode = outcome, reason, steps.CodeOfOutcome(outcome)
}

// end writes down how the run ended, and tells it: the record is on disk before
// the event, and says afterwards that there is one. A run that is killed between
// the two leaves the event to the next.
func (r *profileRun) end(ctx context.Context) {
	outcome, reason := operate.Worst(r.record.Steps), ""
	if outcome == operate.OK && r.Incomplete > 0 && !r.unrecorded {
		outcome, reason = operate.Partial, "not all of it could be done"
	}
	if ctx.Err() != nil {
		outcome, reason = operate.Interrupted, failure.Explain(context.Cause(ctx)).Message
	}
	rest := context.WithoutCancel(ctx) // what is left takes no time
	r.record.BytesAfter = r.sizes(rest)
	r.finish(outcome, reason)
	if ctx.Err() != nil {
		r.record.ExitCode = failure.ExitCode(context.Cause(ctx))
	}
	r.writeEnd()
	r.tellEnd(rest, &r.record)
	recall.TellRun(ctx, r.app.Run, r.record)
	if err := r.runs.Prune(rest); err != nil {
		r.unwritten(err)
	}
	if r.unrecorded && r.record.ExitCode == failure.ExitOK {
		r.finish(operate.Partial, "the record of a run could not be written")
		r.write()
	}
}

// tellDamage tells what a verification has found: people of everything, and
// receivers of events of what has no other copy here.
func (r *profileRun) tellDamage(ctx context.Context, damage []audit.Problem) {
	event := steps.DamageEvent{Run: r.record.ID, Profile: r.record.Profile, Items: []audit.Problem{}}
	for _, p := range damage {
		if p.OfMemory {
			r.Tell(workspace.Note{Message: operate.StepArchiveVerify + ": " + steps.Text(p), Hint: workspace.AdviseRebuild})
			continue
		}
		r.Tell(workspace.Note{Message: operate.StepArchiveVerify + ": " + steps.Text(p), Hint: audit.AdviseDamaged(p)})
		event.Count++
		event.Items = append(event.Items, p)
	}
	if event.Count == 0 {
		return
	}
	event.Message, event.Advice = steps.Text(event.Items[0]), audit.AdviseBackup
	subject := cmp.Or(event.Items[0].ID, event.Items[0].Path)
	event.Items = event.Items[:min(event.Count, operate.MaxProblems)]
	id := outbox.DeriveID(r.record.Started, "damaged "+r.record.ID)
	if workspace.EmitOnce(ctx, r.app.Run, outbox.Event{ID: id, Type: outbox.ArchiveDamaged, Subject: subject}, event) != nil {
		r.unrecorded = true // it was told
	}
}

// sizes adds up what logs, archives and memory take; what cannot be looked at is
// told by the steps.
func (r *profileRun) sizes(ctx context.Context) operate.Sizes {
	inner := r.inner()
	inner.Outer, inner.JSON = nil, true
	defer workspace.CloseStores(inner.Run)
	u := &audit.Usage{App: inner.Run}
	for _, count := range []func(context.Context) error{u.Sessions, u.Data, u.Archives} {
		if count(ctx) != nil {
			continue
		}
	}
	return operate.Sizes{Logs: u.Doc.Live.Bytes + u.Doc.Closed.Bytes, Archives: u.Doc.Archives.Bytes, Memory: u.Doc.Memory.Bytes}
}
