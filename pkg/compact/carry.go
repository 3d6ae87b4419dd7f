package compact

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/logfile"
)

// CarryPatience is how long late lines wait for a session that they can be
// carried into: one that has begun and that nobody is using. After that they
// stay in the archive and in memory only.
const CarryPatience = 7 * 24 * time.Hour

// carry appends the late lines of one old log to the session that followed.
type carry struct {
	oldLogs
	in    Intent
	late  lateLog
	free  bool // nobody has the old log open
	quiet time.Duration
}

// carryLate appends what reached an old log after its snapshot to the session
// that followed, once. It reports whether there is more to do in a later run.
//
// A change is planned, made durable in the journal, made, proved by the
// receipt, and only then the journal says that it is done. A run that is killed
// before that is repeated by the next one, which finds by the plan, and by the
// ids of the records, what is there already.
func (o oldLogs) carryLate(ctx context.Context, store session.Store, in Intent, k carry) (waits bool, err error) {
	if in.Kind != KindRotation && in.Kind != KindShortening {
		return false, nil // what a gateway closes and what a restore replaces has no place in what followed
	}
	k.oldLogs, k.in = o, in
	if k.in.Late == nil {
		k.in.Late = &Lateness{End: in.Rotation.Snapshot.Size}
	} else {
		known := *in.Late
		k.in.Late = &known
	}
	l := k.in.Late
	if k.late.snap.Size <= l.End && l.Plan == nil {
		return false, nil
	}
	if l.Since.IsZero() {
		l.Since = o.files.now().UTC()
	}
	l.Proof.Bytes, l.Proof.Archive = k.late.snap.Size-in.Rotation.Snapshot.Size, in.Archive.ID
	if l.Fragment {
		l.Proof.Bytes = k.late.snap.Size
	}
	carrier := session.CapabilitiesOf(store).Carrier
	if carrier == nil {
		return k.leave("sessions of " + in.Rotation.Runtime + " do not take messages from another log")
	}
	if l.Plan != nil {
		if again, err := k.repeat(ctx, carrier); !again || err != nil {
			return l.Proof.Waiting, err
		}
	}
	return k.attempt(ctx, store, carrier)
}

// repeat finishes what an earlier run began. It reports true if nothing of it
// is in the log, so that it has to be planned again.
func (k *carry) repeat(ctx context.Context, carrier session.Carrier) (again bool, err error) {
	err = carrier.Shorten(ctx, k.in.Late.Plan.Shortening)
	var busy *session.BusyError
	switch {
	case errors.As(err, &busy) && busy.Begun:
		return false, k.postpone(err) // it may be in the log: only a look at it tells
	case errors.Is(err, session.ErrBusy), errors.Is(err, session.ErrUnsupported):
		return true, nil
	case err != nil:
		return false, fmt.Errorf("carry late lines: %w", err)
	}
	return false, k.done(*k.in.Late.Plan, k.in.Late.Upto)
}

// attempt plans a change and makes it.
func (k *carry) attempt(ctx context.Context, store session.Store, carrier session.Carrier) (waits bool, err error) {
	l := k.in.Late
	begins, err := k.in.Rotation.Snapshot.Begins(ctx, k.late.file)
	if err != nil {
		return false, fmt.Errorf("look at the old log: %w", err)
	}
	tail, upto, err := k.tail()
	switch {
	case errors.Is(err, session.ErrBusy):
		return k.wait(err)
	case err != nil:
		return false, err
	case !begins:
		return k.leave("the old log was rewritten, not only added to")
	case upto-l.End > session.MaxCarry:
		return k.leave(fmt.Sprintf("%d bytes are too many to carry", upto-l.End))
	case upto == l.End:
		return k.wait(errHalf)
	}
	of := k.in.Rotation
	if l.Fragment {
		of.At = l.Moved
	}
	plan, err := carrier.PlanCarry(ctx, session.CarryRequest{Rotation: of, Tail: tail, Now: k.files.now(), Quiet: k.quiet})
	switch {
	case errors.Is(err, session.ErrBusy):
		return k.wait(err)
	case errors.Is(err, session.ErrUnsupported):
		return k.leave(err.Error())
	case err != nil:
		return false, fmt.Errorf("plan to carry late lines: %w", err)
	case l.Plan != nil && l.Plan.Live != plan.Live:
		return k.leave("the session that they were being carried into is not the current one any more")
	}
	if l.Plan != nil {
		plan.Records += plan.Known // of which the earlier run has carried these
	}
	if reason := logfile.NotOwn(store, session.Ref{Runtime: of.Runtime, Path: plan.Live, Kind: session.KindLive}); reason != "" {
		return k.leave(reason)
	}
	if plan.Record != "" {
		l.Plan, l.Upto = &plan, upto
		if err := k.changes.journal.Write(k.in); err != nil {
			return false, fmt.Errorf("write the intent: %w", err)
		}
		if err := carrier.Shorten(ctx, plan.Shortening); errors.Is(err, session.ErrBusy) {
			return k.wait(err)
		} else if err != nil {
			return false, fmt.Errorf("carry late lines: %w", err)
		}
	}
	return false, k.done(plan, upto)
}

// errHalf is why a tail without one whole line waits: it is being written.
var errHalf = &session.BusyError{Reason: session.ReasonTorn.Text()}

// tail reads the late lines that are not settled. A line that is not finished
// is left to a later run while somebody may still write it.
func (k *carry) tail() ([]byte, int64, error) {
	from := k.in.Late.End
	room := min(k.late.snap.Size-from, session.MaxCarry+1)
	tail := make([]byte, max(room, 0))
	if _, err := k.late.file.ReadAt(tail, from); err != nil && !errors.Is(err, io.EOF) {
		return nil, 0, fmt.Errorf("read late lines: %w", err)
	}
	if info, err := k.late.file.Stat(); err != nil {
		return nil, 0, fmt.Errorf("look at the old log: %w", err)
	} else if err := k.late.snap.Matches(info); err != nil {
		return nil, 0, err
	}
	if !k.free && room <= session.MaxCarry {
		tail = tail[:bytes.LastIndexByte(tail, '\n')+1]
	}
	return tail, from + int64(len(tail)), nil
}

// done proves what was carried.
func (k *carry) done(plan session.Carrying, upto int64) error {
	l := k.in.Late
	l.Proof.Carried += plan.Records
	l.Proof.LeftOut += plan.LeftOut
	l.Proof.Waiting, l.Proof.Reason = false, ""
	if plan.Records > 0 {
		l.Proof.Into = plan.Live
	}
	return k.settled(upto)
}

// leave gives up: the lines stay in the archive and in memory.
func (k *carry) leave(reason string) (waits bool, err error) {
	k.in.Late.Proof.Waiting, k.in.Late.Proof.Reason = false, reason
	return false, k.settled(k.late.snap.Size)
}

func (k *carry) settled(upto int64) error {
	l := k.in.Late
	l.Plan, l.Upto, l.End, l.Since = nil, 0, upto, time.Time{}
	return k.prove()
}

// wait leaves the lines to a later run, but not for ever.
func (k *carry) wait(cause error) (waits bool, err error) {
	if k.files.now().Sub(k.in.Late.Since) > CarryPatience {
		return k.leave("no session that could take them within a week: " + busyReason(cause))
	}
	return true, k.postpone(cause)
}

// postpone says once that the lines wait.
func (k *carry) postpone(cause error) error {
	proof := &k.in.Late.Proof
	if proof.Waiting {
		return nil
	}
	proof.Waiting, proof.Reason = true, busyReason(cause)
	return k.prove()
}

// prove writes the receipt of the compaction anew, with what became of the late
// lines, then the journal.
func (k *carry) prove() error {
	receipt, err := k.changes.receipts.Read(k.changes.receipts.Path(k.in.ID))
	if err != nil {
		receipt = k.in.Receipt
	}
	proof := k.in.Late.Proof
	receipt.LateLines, k.in.Receipt.LateLines = &proof, &proof
	if _, err := k.changes.receipts.Write(receipt); err != nil {
		return fmt.Errorf("write the receipt: %w", err)
	}
	if err := k.changes.journal.Write(k.in); err != nil {
		return fmt.Errorf("note the late lines: %w", err)
	}
	if k.tellLate != nil {
		k.tellLate(k.in.Rotation, proof)
	}
	return nil
}

// gone ends an intent whose old log is not where it was put: somebody
// took it away, or an undo put it back. The archive has its bytes.
func (o oldLogs) gone(in Intent) error {
	if in.Late != nil && in.Late.Proof.Waiting {
		k := carry{oldLogs: o, in: in, late: lateLog{snap: session.Snapshot{Size: in.Late.End}}}
		if _, err := k.leave("the old log is not where it was put aside any more"); err != nil {
			return err
		}
	}
	return o.changes.journal.remove(in.ID)
}
