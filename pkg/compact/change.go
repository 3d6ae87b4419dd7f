package compact

import (
	"context"
	"errors"
	"fmt"

	"github.com/sessctl/sessctl/pkg/session"
)

// rotate writes the intent, lets the store switch, and proves it.
func (r *run) rotate(ctx context.Context) error {
	r.tell(StageRotate, 0, 1)
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := r.stillIdle(ctx); err != nil {
		return err
	}
	rotator := r.store.(session.Rotator)
	rotation, err := rotator.PlanRotation(ctx, r.plan.Ref, r.snapshot, r.Now())
	if err != nil {
		return fmt.Errorf("plan the rotation: %w", err)
	}
	r.result.TokensAfter = 0
	in := r.newIntent(rotation)
	return r.carryOut(in, func() error { return rotator.Rotate(ctx, rotation) })
}

// newIntent says what is about to be done. The receipt in it is what the run
// will have been once it is done.
func (r *run) newIntent(rotation session.Rotation) Intent {
	r.rotation = rotation
	r.result.Outcome, r.result.Reason = Compacted, ""
	id := r.NewID()
	r.result.Receipt = r.Receipts.Path(id)
	return Intent{Schema: 1, ID: id, Rotation: rotation, Archive: r.archived, Settled: r.snapshot.Size, Receipt: r.newReceipt(id)}
}

// carryOut makes the intent durable, then the change, then its proof.
func (r *run) carryOut(in Intent, change func() error) error {
	if err := r.Journal.Write(in); err != nil {
		return fmt.Errorf("write the intent: %w", err)
	}
	if err := change(); err != nil {
		return r.giveUp(in, err)
	}
	if _, err := r.Receipts.Write(in.Receipt); err != nil {
		return fmt.Errorf("write the receipt: %w", err)
	}
	if err := r.conclude(in); err != nil {
		return err
	}
	r.tell(StageRotate, 1, 1)
	return nil
}

// conclude notes a change as done. Its intent stays while an old log is kept
// that somebody may still write.
func (c *Compactor) conclude(in Intent) error {
	if in.Rotation.Kept == "" {
		return c.Journal.Remove(in.ID)
	}
	in.Switched = true
	if err := c.Journal.Write(in); err != nil {
		return fmt.Errorf("note the change as done: %w", err)
	}
	return nil
}

// giveUp drops the intent of a rotation that changed nothing. After any other
// error it stays, and the next run settles it.
func (r *run) giveUp(in Intent, cause error) error {
	r.result.Receipt = ""
	var busy *session.BusyError
	if errors.As(cause, &busy) && !busy.Begun {
		return errors.Join(cause, r.Journal.Remove(in.ID))
	}
	return fmt.Errorf("change the session: %w", cause)
}

func (r *run) newReceipt(id string) Receipt {
	receipt := Receipt{
		Schema: 1, ID: id, Version: r.Version, At: r.Now().UTC(), Result: r.result,
		Source: proofOf(r.snapshot), Content: contentOf(r.survey, r.remembered),
		NewID: r.rotation.NewSession, Kept: r.rotation.Kept,
		LLMCalls: r.spent.calls, LLMTokens: r.spent.tokens,
	}
	if r.rotation.Live != "" {
		rotation := r.rotation
		receipt.Rotation = &rotation
	}
	return receipt
}

func (r *run) receipt() error {
	id := r.NewID()
	r.result.Receipt = r.Receipts.Path(id)
	if _, err := r.Receipts.Write(r.newReceipt(id)); err != nil {
		r.result.Receipt = ""
		return fmt.Errorf("write the receipt: %w", err)
	}
	return nil
}
