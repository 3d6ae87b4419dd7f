package cmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/operate/outbox"
	"github.com/sessctl/sessctl/pkg/session"
)

// eventTimeout is how long a command may be held up at its end by receivers of
// events (docs/dev/decisions.md D21). What is not told by then is told later.
const eventTimeout = 5 * time.Second

func (a *invocation) outboxDir() string { return filepath.Join(a.dataDir(), "outbox") }

func (a *invocation) openOutbox() (*outbox.Outbox, error) {
	named, err := a.eventTargets()
	if err != nil {
		return nil, err
	}
	targets := make([]outbox.Target, 0, len(named))
	for _, t := range named {
		targets = append(targets, t.Target)
	}
	box, err := outbox.Open(a.outboxDir(), targets...)
	if err != nil {
		return nil, err
	}
	box.Now, box.Pins = a.now, a.pins
	if a.global.LockWait > 0 {
		box.LockWait = a.global.LockWait
	}
	return box, nil
}

// Send implements outbox.Sender.
func (f failing) Send(context.Context, outbox.Event) error {
	return &outbox.Failure{Reason: f.err.Error(), Unreachable: true}
}

// emitOnce keeps an event that is told to whoever the configuration names, at
// the end of the command or later. It is on disk when emitOnce returns. An error
// was told already: the caller goes on with what it does, and does not take the
// event for told. The id is derived from what the event is about
// (outbox.DeriveID, or a receipt's): if this run is killed before it has noted
// that it did and a later one makes the event again, the second is dropped.
func (a *invocation) emitOnce(ctx context.Context, id, eventType, subject string, data any) error {
	err := a.putEvent(ctx, outbox.Event{ID: id, Type: eventType, Time: a.now().UTC().Truncate(time.Millisecond), Subject: subject}, data)
	if err != nil {
		a.passOver(note{Path: a.outboxDir(), Message: err.Error(), Hint: explain(err).Hint})
	}
	return err
}

func (a *invocation) putEvent(ctx context.Context, e outbox.Event, data any) error {
	text, err := json.Marshal(data)
	if err != nil {
		return fmt.Errorf("write the event %s: %w", e.Type, err)
	}
	box, err := a.openOutbox()
	if err != nil {
		return err
	}
	e.Data = text
	a.markEvents()
	return box.Put(context.WithoutCancel(ctx), e) // what happened is told after an interrupt too
}

// markEvents says that the command has events to tell at its end.
func (a *invocation) markEvents() {
	for ; a != nil; a = a.outer {
		a.eventsWait = true
	}
}

// beginReceipts says, before the first receipt is written that has an event,
// which have none. The caller holds the lock. A failure stops nothing:
// emitCompacted tries again.
func (a *invocation) beginReceipts() {
	a.markEvents() // the command may write receipts
	box, err := outbox.Open(a.outboxDir())
	if err == nil {
		box.Pins = a.pins
		err = box.BeginReceipts(a.listReceipts)
	}
	if err != nil {
		a.passOver(note{Path: a.outboxDir(), Message: "sessions that are compacted now may have no event: " + err.Error()})
	}
}

// listReceipts lists the receipts there are, and keeps that for another try.
func (a *invocation) listReceipts() ([]string, error) {
	ids, err := a.receipts().IDs()
	if err == nil {
		for of := a; of != nil; of = of.outer {
			of.receiptsBefore = &ids
		}
	}
	return ids, err
}

// compactedEvent is the data of session.compacted (docs/events.md).
type compactedEvent struct {
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

// eventOf is the event of a receipt: a session that was compacted. Its id is the
// receipt's.
func (a *invocation) eventOf(r compact.Receipt) (compactedEvent, bool) {
	if _, err := ulid.ParseStrict(r.ID); err != nil || r.Outcome != compact.Compacted || r.Undo != nil || r.At.IsZero() {
		return compactedEvent{}, false
	}
	data := compactedEvent{
		Runtime: r.Runtime, Agent: r.Agent, Session: r.Session, Key: r.Key, Tokens: r.TokensBefore, TokensNow: r.TokensAfter,
		Chunks: r.Chunks, Receipt: a.receipts().Path(r.ID), Strategy: r.Strategy, Bytes: r.Bytes,
	}
	if r.Archive != nil {
		data.Archive = r.Archive.Path
	}
	if r.Summary != nil {
		data.Summary, data.Degraded = r.Summary.Kind, r.Summary.Degraded
	}
	return data, true
}

// emitCompacted makes the events of receipts that have had none: those of this
// run, and of one that was killed before it came here.
func (a *invocation) emitCompacted(ctx context.Context) error {
	box, err := a.openOutbox()
	if err != nil {
		return err
	}
	if before := a.receiptsBefore; before != nil {
		if err := box.BeginReceipts(func() ([]string, error) { return *before, nil }); err != nil {
			return err
		}
	}
	ids, err := a.receipts().IDs()
	if err != nil {
		return err
	}
	fresh, err := box.NewReceipts(ids)
	if err != nil {
		return err
	}
	var noted []string
	for _, id := range fresh {
		receipt, err := a.receipts().Read(a.receipts().Path(id))
		if err != nil {
			continue // doctor tells of it; its event is made when it can be read
		}
		if data, ok := a.eventOf(receipt); ok {
			e := outbox.Event{ID: receipt.ID, Type: outbox.Compacted, Time: receipt.At, Subject: receipt.Runtime + "/" + receipt.Agent}
			if err := a.putEvent(ctx, e, data); err != nil {
				return errors.Join(err, box.NoteReceipts(noted))
			}
		}
		noted = append(noted, id)
	}
	return box.NoteReceipts(noted)
}

// emitNow is emitOnce for an event that says when: told at the end of the command
// it would say nothing.
func (a *invocation) emitNow(ctx context.Context, id, eventType, subject string, data any) {
	if a.emitOnce(ctx, id, eventType, subject, data) == nil && a.wanted(eventType) {
		a.tellEvents(ctx)
	}
}

// wanted says whether any target asks for events of a type.
func (a *invocation) wanted(eventType string) bool {
	targets, err := a.eventTargets()
	return err == nil && slices.ContainsFunc(targets, func(t namedTarget) bool { return slices.Contains(t.Types, eventType) })
}

// tellEvents tells what is to be told, within a few seconds and without an
// error: what could not be told is a note, and waits.
func (a *invocation) tellEvents(ctx context.Context) {
	if ctx.Err() != nil {
		return
	}
	report, err := a.deliverEvents(ctx, eventTimeout)
	if err != nil && ctx.Err() == nil {
		a.untold(err)
	}
	a.tellUndelivered(report)
}

// untold says that events could not be made, or not be looked at.
func (a *invocation) untold(err error) {
	a.passOver(note{Path: a.outboxDir(), Message: "events cannot be sent for now: " + err.Error(), Hint: explain(err).Hint})
}

// deliverEvents makes the events of receipts and tells all that are due, for at
// most so long.
func (a *invocation) deliverEvents(ctx context.Context, most time.Duration) (outbox.Report, error) {
	a.eventsWait = false
	box, err := a.openOutbox()
	if err != nil {
		return outbox.Report{}, err
	}
	derived := a.emitCompacted(ctx)
	a.eventsWait = false
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	report, err := box.Deliver(ctx)
	return report, errors.Join(derived, err)
}

// tellUndelivered says who was not told: once a target, however many events wait.
func (a *invocation) tellUndelivered(report outbox.Report) {
	for _, u := range report.SetAside {
		a.tell(note{Path: u.Path, Message: "this file of the outbox cannot be used: " + u.Reason})
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
		a.notice(note{Message: fmt.Sprintf("%s did not receive %s (%s): %s", t.Target, t.Type, t.Subject, t.Error), Hint: hint})
	}
}
