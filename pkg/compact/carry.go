package compact

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/sessctl/sessctl/pkg/session"
)

// CarryPatience is for how long late lines wait for the session that followed:
// it may not have begun, or be in use. After that they stay in the archive and
// in memory only.
const CarryPatience = 7 * 24 * time.Hour

// LateLines says what became of lines that reached an old log after it was
// moved aside. All of them are archived and remembered.
type LateLines struct {
	Session string // id of the session that was moved aside
	Kept    string // its old log
	Into    string // path of the log that they were appended to; "" for none
	Carried int    // records that were appended
	LeftOut int    // lines that could not be
	Reason  string // why not, "" if all were
}

// carryLate makes lines that reached an old log after its snapshot part of the
// session that followed, where the store can. It reports true when there is
// no more to do: false means that the session that followed is in use or has
// not begun, and the next run tries again.
//
// The plan is in the journal before the log is touched. A run that dies is
// finished by the next one, which finds the records in the log, or their
// beginning.
func (c *Compactor) carryLate(ctx context.Context, store session.Store, in Intent, policy Policy, late lateLog) (Intent, bool, error) {
	if in.Carry != nil {
		return c.finishCarry(ctx, store, in, late)
	}
	if in.Kind == KindReset || late.snap.Size <= max(in.Rotation.Snapshot.Size, in.Carried) {
		return in, true, nil // the runtime that closed the log itself had them in it
	}
	said := LateLines{Session: in.Rotation.Session, Kept: in.Rotation.Kept}
	carrier, ok := store.(session.Carrier)
	tail, err := lateTail(late, in.Rotation.Snapshot)
	switch {
	case err != nil:
		return in, false, err
	case !ok:
		said.Reason = "sessions of " + in.Rotation.Runtime + " take none"
	case tail == nil:
		said.Reason = "the old log was rewritten, or what was added is too long"
	default:
		return c.planCarry(ctx, carrier, in, policy, lateTailLog{late, tail})
	}
	return c.carried(in, late, said)
}

// lateTailLog is an old log and what was added to it.
type lateTailLog struct {
	lateLog
	tail []byte
}

func (c *Compactor) planCarry(ctx context.Context, carrier session.Carrier, in Intent, policy Policy, late lateTailLog) (Intent, bool, error) {
	said := LateLines{Session: in.Rotation.Session, Kept: in.Rotation.Kept}
	plan, err := carrier.PlanCarry(ctx, session.CarryRequest{Rotation: in.Rotation, Tail: late.tail, Now: c.Now(), Quiet: policy.Quiet})
	err = cutShort(session.Ref{Path: in.Rotation.Live}, err)
	switch {
	case errors.Is(err, session.ErrBusy) && c.Now().Sub(in.Rotation.At) < CarryPatience:
		return in, false, nil
	case errors.Is(err, session.ErrBusy), errors.Is(err, session.ErrUnsupported):
		said.Reason = err.Error()
		return c.carried(in, late.lateLog, said)
	case err != nil:
		return in, false, fmt.Errorf("carry late lines: %w", err)
	case plan.Record == "":
		said.LeftOut = plan.LeftOut
		return c.carried(in, late.lateLog, said)
	}
	in.Carry = &plan
	if err := c.Journal.Write(in); err != nil {
		return in, false, err
	}
	return c.finishCarry(ctx, carrier, in, late.lateLog)
}

// finishCarry appends what the journal says.
func (c *Compactor) finishCarry(ctx context.Context, store any, in Intent, late lateLog) (Intent, bool, error) {
	shortener, ok := store.(session.Shortener)
	if !ok {
		return in, false, fmt.Errorf("nothing can be appended to sessions of %s", in.Rotation.Runtime)
	}
	plan := *in.Carry
	err := shortener.Shorten(ctx, plan.Shortening)
	var busy *session.BusyError
	if errors.As(err, &busy) && busy.Begun {
		return in, false, nil // it may be there in part
	}
	if errors.Is(err, session.ErrBusy) || errors.Is(err, session.ErrUnsupported) {
		in.Carry = nil // nothing of it is: it is planned anew
		return in, false, c.Journal.Write(in)
	}
	if err != nil {
		return in, false, fmt.Errorf("carry late lines: %w", err)
	}
	return c.carried(in, late, LateLines{
		Session: in.Rotation.Session, Kept: in.Rotation.Kept, Into: plan.Live, Carried: plan.Records, LeftOut: plan.LeftOut,
	})
}

// carried notes that an old log of this length needs no more.
func (c *Compactor) carried(in Intent, late lateLog, said LateLines) (Intent, bool, error) {
	in.Carry, in.Carried = nil, late.snap.Size
	if err := c.Journal.Write(in); err != nil {
		return in, false, err
	}
	if c.Late != nil {
		c.Late(said)
	}
	return in, true, nil
}

// lateTail reads what was added to a log since a snapshot; nil if it does not
// begin with the snapshot's bytes any more or is longer than
// [session.MaxCarry].
func lateTail(late lateLog, snap session.Snapshot) ([]byte, error) {
	if late.snap.Size-snap.Size > session.MaxCarry {
		return nil, nil
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, io.NewSectionReader(late.file, 0, snap.Size)); err != nil {
		return nil, fmt.Errorf("read the old log: %w", err)
	}
	if hex.EncodeToString(sum.Sum(nil)) != snap.SHA256 {
		return nil, nil
	}
	tail := make([]byte, late.snap.Size-snap.Size)
	if _, err := late.file.ReadAt(tail, snap.Size); err != nil {
		return nil, fmt.Errorf("read the end of the old log: %w", err)
	}
	return tail, nil
}
