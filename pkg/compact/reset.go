package compact

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/sessctl/sessctl/pkg/session"
)

// GatewayUse says what to do about a session whose runtime is running as a
// service that can be asked to start it fresh (see [session.Resetter]).
type GatewayUse string

// The uses of a gateway. The zero value is GatewayAuto.
const (
	GatewayAuto    GatewayUse = "auto"    // ask it when it runs, else change files
	GatewayNever   GatewayUse = "never"   // change files only: a running one makes the session busy
	GatewayRequire GatewayUse = "require" // ask it only: without one nothing is changed
)

// resetPatience is how long a reset that left no trace may still come about:
// its run was killed, and the program that asks the gateway goes on alone.
const resetPatience = 2 * time.Minute

// route decides which way the session is changed. cause is what the store said
// about writers. It reports true if that is no reason to leave it alone.
func (p *Plan) route(store session.Store, policy Policy, cause error) bool {
	_, can := store.(session.Resetter)
	var busy *session.BusyError
	served := errors.As(cause, &busy) && busy.Served
	switch {
	case policy.SkipArchive && served:
		return true // only read
	case cause != nil && !served:
		_ = p.stopBusy(cause)
	case served && policy.Gateway == GatewayNever:
		_ = p.stop(Busy, "%s", busy.Reason)
	case served && (p.Strategy != StrategyRotate || !can):
		_ = p.stop(Busy, "%s; it can be asked for a fresh session (--strategy rotate), not for this", busy.Reason)
	case served:
		p.Via = session.ViaGateway
	case can && policy.Gateway == GatewayRequire && !policy.SkipArchive:
		_ = p.stop(Unsupported, "no gateway is running for this store, and only one may change its sessions (--gateway require)")
	case can:
		p.Via = session.ViaFiles
	}
	return p.Outcome == ""
}

// reset lets the running runtime start the session fresh. The log is archived
// and remembered by now, the intent comes before the question, and what the
// runtime did is read from its files.
func (r *run) reset(ctx context.Context) error {
	r.tell(StageRotate, 0, 1)
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := r.stillIdle(ctx); err != nil {
		return err
	}
	resetter := r.store.(session.Resetter)
	rotation, err := resetter.PlanReset(ctx, r.plan.Ref, r.snapshot, r.Now())
	if err != nil {
		return fmt.Errorf("plan the reset: %w", err)
	}
	r.result.TokensAfter = 0
	in := r.newIntent(rotation)
	in.Kind = KindReset
	if err := r.Journal.Write(in); err != nil {
		return fmt.Errorf("write the intent: %w", err)
	}
	if err := r.takeOver(in); err != nil {
		return err
	}
	done, err := resetter.Reset(ctx, rotation)
	if err != nil {
		return r.giveUp(in, err)
	}
	in, err = r.concludeReset(in, done)
	if err != nil {
		return err
	}
	r.result.Reason = in.Receipt.Reason
	r.tell(StageRotate, 1, 1)
	return r.settleRotation(ctx, r.store, in, r.policy)
}

// takeOver drops the intents of earlier resets of this log that are not known
// to have been done: this one takes their place.
func (r *run) takeOver(in Intent) error {
	all, err := r.Journal.List()
	if err != nil {
		return err
	}
	for _, other := range all {
		if other.ID != in.ID && other.Kind == KindReset && !other.Switched && other.Rotation.Live == in.Rotation.Live {
			if err := r.Journal.Remove(other.ID); err != nil {
				return fmt.Errorf("drop an earlier intent: %w", err)
			}
		}
	}
	return nil
}

// concludeReset notes what the runtime did: first where the old log is, then
// the receipt.
func (c *Compactor) concludeReset(in Intent, done session.Rotation) (Intent, error) {
	in.Rotation = done
	in.Receipt.NewID, in.Receipt.Kept, in.Receipt.Rotation = done.NewSession, done.Kept, &done
	if info, err := os.Lstat(done.Kept); err == nil && info.Size() > done.Snapshot.Size {
		in.Receipt.Reason = fmt.Sprintf("%d bytes were added to the log before the gateway closed it: a message that came in then may be unanswered; they are archived and remembered too", info.Size()-done.Snapshot.Size)
	}
	if err := c.Journal.Write(in); err != nil {
		return in, fmt.Errorf("note the reset: %w", err)
	}
	if _, err := c.Receipts.Write(in.Receipt); err != nil {
		return in, fmt.Errorf("write the receipt: %w", err)
	}
	in.Switched = true
	return in, c.conclude(in)
}

// settleReset finishes a reset that an earlier run asked for. The runtime is
// not asked again: either its files show that it did it, or the session is as
// it was and the next compaction asks anew.
func (c *Compactor) settleReset(ctx context.Context, store session.Store, in Intent, policy Policy) error {
	if in.Switched {
		return c.settleRotation(ctx, store, in, policy)
	}
	resetter, ok := store.(session.Resetter)
	if !ok {
		return fmt.Errorf("sessions of %s cannot be reset", in.Rotation.Runtime)
	}
	done, ok, err := resetter.FindReset(ctx, in.Rotation)
	if err != nil && !errors.Is(err, session.ErrBusy) {
		return err
	}
	if ok {
		if in, err = c.concludeReset(in, done); err != nil {
			return err
		}
		return c.settleRotation(ctx, store, in, policy)
	}
	if c.Now().Sub(in.Rotation.At) < resetPatience {
		return &session.BusyError{Path: in.Rotation.Live, Reason: "its gateway was asked to start it fresh a moment ago"}
	}
	return c.Journal.Remove(in.ID)
}
