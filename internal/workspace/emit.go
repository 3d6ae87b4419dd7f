package workspace

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/sessctl/sessctl/internal/failure"
	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/operate/outbox"
	"github.com/sessctl/sessctl/pkg/session"
)

// eventTimeout is how long a command may be held up at its end by receivers of
// events (docs/dev/decisions.md D21). What is not told by then is told later.
const eventTimeout = 5 * time.Second

// OutboxDir is the directory of events that wait.
func (s *Settings) OutboxDir() string { return filepath.Join(s.DataDir(), "outbox") }

// OpenOutbox opens the events that wait to be delivered.
func OpenOutbox(run *Run) (*outbox.Outbox, error) {
	named, err := EventTargets(run)
	if err != nil {
		return nil, err
	}
	targets := make([]outbox.Target, 0, len(named))
	for _, t := range named {
		targets = append(targets, t.Target)
	}
	box, err := outbox.Open(run.OutboxDir(), targets...)
	if err != nil {
		return nil, err
	}
	box.Now, box.Pins = run.Now, run.Pins
	if run.Global.LockWait > 0 {
		box.LockWait = run.Global.LockWait
	}
	return box, nil
}

// Send implements outbox.Sender.
func (f Failing) Send(context.Context, outbox.Event) error {
	return &outbox.Failure{Reason: f.Err.Error(), Unreachable: true}
}

// EmitOnce keeps an event that is told to whoever the configuration names, at
// the end of the command or later. It is on disk when EmitOnce returns. An error
// was told already: the caller goes on with what it does, and does not take the
// event for told. Its time is now. Its id is derived from what the event is about
// (outbox.DeriveID, or a receipt's): if this run is killed before it has noted
// that it did and a later one makes the event again, the second is dropped.
func EmitOnce(ctx context.Context, run *Run, e outbox.Event, data any) error {
	e.Time = run.Now().UTC().Truncate(time.Millisecond)
	err := UseReserve(run, func() error { return PutEvent(ctx, run, e, data) })
	if err != nil && sentDirectly(ctx, run, e, data) {
		return nil
	}
	if err != nil {
		run.PassOver(Note{Path: run.OutboxDir(), Message: err.Error(), Hint: failure.Explain(err).Hint})
	}
	return err
}

// sentDirectly sends an event that cannot be kept, and reports whether all who ask for
// its type have it. Nobody is asked a second time.
func sentDirectly(ctx context.Context, run *Run, e outbox.Event, data any) bool {
	text, err := json.Marshal(data)
	targets, targetsErr := EventTargets(run)
	if err != nil || targetsErr != nil {
		return false
	}
	e.Data = text
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), eventTimeout)
	defer cancel()
	asked, took := 0, 0
	for _, t := range targets {
		if !t.Wants(e) {
			continue
		}
		if asked++; t.Sender.Send(ctx, e) == nil {
			took++
		}
	}
	return asked > 0 && took == asked
}

// PutEvent keeps an event until it is delivered.
func PutEvent(ctx context.Context, run *Run, e outbox.Event, data any) error {
	text, err := json.Marshal(data)
	if err != nil {
		return fmt.Errorf("write the event %s: %w", e.Type, err)
	}
	box, err := OpenOutbox(run)
	if err != nil {
		return err
	}
	e.Data = text
	MarkEvents(run)
	return box.Put(context.WithoutCancel(ctx), e) // what happened is told after an interrupt too
}

// MarkEvents says that the command has events to tell at its end.
func MarkEvents(run *Run) {
	for ; run != nil; run = run.Outer {
		run.EventsWait = true
	}
}

// beginReceipts says, before the first receipt is written that has an event,
// which have none. The caller holds the lock. A failure stops nothing:
// EmitCompacted tries again.
func beginReceipts(run *Run) {
	MarkEvents(run) // the command may write receipts
	box, err := outbox.Open(run.OutboxDir())
	if err == nil {
		box.Pins = run.Pins
		err = box.BeginReceipts(func() ([]string, error) { return listReceipts(run) })
	}
	if err != nil {
		run.PassOver(Note{Path: run.OutboxDir(), Message: "sessions that are compacted now may have no event: " + err.Error()})
	}
}

// listReceipts lists the receipts there are, and keeps that for another try.
func listReceipts(run *Run) ([]string, error) {
	ids, err := run.Receipts().IDs()
	if err == nil {
		for of := run; of != nil; of = of.Outer {
			of.receiptsBefore = &ids
		}
	}
	return ids, err
}

// CompactedEvent is the data of session.compacted (docs/events.md).
type CompactedEvent struct {
	Runtime   string           `json:"runtime"`
	Agent     string           `json:"agent"`
	Session   string           `json:"session_id"`
	Tokens    int64            `json:"original_tokens"`
	Chunks    int              `json:"chunks_stored"`
	Archive   string           `json:"archive_path"`
	Summary   string           `json:"summary_kind"`
	Degraded  bool             `json:"summary_degraded"`
	Receipt   string           `json:"receipt"`
	Key       string           `json:"key"`
	Strategy  session.Strategy `json:"strategy"`
	TokensNow int64            `json:"tokens_after"`
	Bytes     int64            `json:"bytes"` // of the log that was compacted
}

// EventOf is the event of a receipt: a session that was compacted. Its id is the
// receipt's.
func EventOf(run *Run, r compact.Receipt) (CompactedEvent, bool) {
	if _, err := ulid.ParseStrict(r.ID); err != nil || r.Outcome != compact.Compacted || r.Undo != nil || r.At.IsZero() {
		return CompactedEvent{}, false
	}
	data := CompactedEvent{
		Runtime: r.Runtime, Agent: r.Agent, Session: r.Session, Key: r.Key, Tokens: r.TokensBefore, TokensNow: r.TokensAfter,
		Chunks: r.Chunks, Receipt: run.Receipts().Path(r.ID), Strategy: r.Strategy, Bytes: r.Bytes,
	}
	if r.Archive != nil {
		data.Archive = r.Archive.Path
	}
	if r.Summary != nil {
		data.Summary, data.Degraded = r.Summary.Kind, r.Summary.Degraded
	}
	return data, true
}

// EmitCompacted makes the events of receipts that have had none: those of this
// run, and of one that was killed before it came here.
func EmitCompacted(ctx context.Context, run *Run) error {
	box, err := OpenOutbox(run)
	if err != nil {
		return err
	}
	if before := run.receiptsBefore; before != nil {
		if err := box.BeginReceipts(func() ([]string, error) { return *before, nil }); err != nil {
			return err
		}
	}
	ids, err := run.Receipts().IDs()
	if err != nil {
		return err
	}
	fresh, err := box.NewReceipts(ids)
	if err != nil {
		return err
	}
	var noted []string
	for _, id := range fresh {
		receipt, err := run.Receipts().Read(run.Receipts().Path(id))
		if err != nil {
			continue // doctor tells of it; its event is made when it can be read
		}
		if data, ok := EventOf(run, receipt); ok {
			e := outbox.Event{ID: receipt.ID, Type: outbox.Compacted, Time: receipt.At, Subject: receipt.Runtime + "/" + receipt.Agent}
			if err := PutEvent(ctx, run, e, data); err != nil {
				return errors.Join(err, box.NoteReceipts(noted))
			}
		}
		noted = append(noted, id)
	}
	return box.NoteReceipts(noted)
}

// EmitNow is EmitOnce for an event that says when: told at the end of the command
// it would say nothing.
func EmitNow(ctx context.Context, run *Run, e outbox.Event, data any) {
	if EmitOnce(ctx, run, e, data) == nil && wanted(run, e.Type) {
		TellEvents(ctx, run)
	}
}

// wanted says whether any target asks for events of a type.
func wanted(run *Run, eventType string) bool {
	targets, err := EventTargets(run)
	return err == nil && slices.ContainsFunc(targets, func(t NamedTarget) bool { return slices.Contains(t.Types, eventType) })
}

// TellEvents tells what is to be told, within a few seconds and without an
// error: what could not be told is a note, and waits.
func TellEvents(ctx context.Context, run *Run) {
	if ctx.Err() != nil {
		return
	}
	report, err := DeliverEvents(ctx, run, eventTimeout)
	if err != nil && ctx.Err() == nil {
		Untold(run, err)
	}
	tellUndelivered(run, report)
}

// Untold says that events could not be made, or not be looked at.
func Untold(run *Run, err error) {
	run.PassOverBroken(run.OutboxDir(), "events cannot be sent for now", err)
}

// DeliverEvents makes the events of receipts and tells all that are due, for at
// most so long.
func DeliverEvents(ctx context.Context, run *Run, most time.Duration) (outbox.Report, error) {
	run.EventsWait = false
	box, err := OpenOutbox(run)
	if err != nil {
		return outbox.Report{}, err
	}
	derived := EmitCompacted(ctx, run)
	run.EventsWait = false
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	report, err := box.Deliver(ctx)
	return report, errors.Join(derived, err)
}

// tellUndelivered says who was not told: once a target, however many events wait.
func tellUndelivered(run *Run, report outbox.Report) {
	for _, u := range report.SetAside {
		run.Tell(Note{Path: u.Path, Message: "this file of the outbox cannot be used: " + u.Reason})
	}
	said := map[string]bool{}
	for _, t := range report.Attempts {
		if t.State == outbox.Sent || said[t.Target] {
			continue
		}
		said[t.Target] = true
		hint := "it is tried again, for a day; sessctl events list shows what waits"
		if t.State == outbox.Dead {
			hint = "it is given up; sessctl events retry sends it again"
		}
		run.Notice(Note{Message: fmt.Sprintf("%s did not receive %s (%s): %s", t.Target, t.Type, t.Subject, t.Error), Hint: hint})
	}
}
