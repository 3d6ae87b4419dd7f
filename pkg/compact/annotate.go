package compact

import (
	"context"
	"errors"
	"fmt"

	"github.com/sessctl/sessctl/pkg/session"
)

// annotate writes a summary beside the messages, which all stay.
func (r *run) annotate(ctx context.Context) error {
	r.tell(StageRotate, 0, 1)
	if r.prose == "" {
		return errNoSummary
	}
	annotator := r.store.(session.Annotator)
	summary := r.summary
	summary.Text = r.prose
	a, err := annotator.PlanAnnotation(ctx, session.ShortenRequest{
		Ref: r.plan.Ref, Snapshot: r.snapshot, Summary: summary, Tokens: r.plan.Tokens, Now: r.Now(),
	})
	if err != nil {
		return fmt.Errorf("plan the summary: %w", err)
	}
	r.result.TokensAfter = r.plan.Tokens
	in := r.newIntent(session.Rotation{
		Runtime: a.Runtime, Agent: a.Agent, Session: a.Session, Store: a.Store, Live: a.Live, At: a.At, Snapshot: r.snapshot,
	})
	in.Kind, in.Annotation = KindAnnotation, &a
	return r.carryOut(in, func() error { return annotator.Annotate(ctx, a) })
}

// settleAnnotation finishes an annotation that an earlier run began.
func (c *Compactor) settleAnnotation(ctx context.Context, store session.Store, in Intent) error {
	annotator, ok := store.(session.Annotator)
	if !ok || in.Annotation == nil {
		return fmt.Errorf("sessions of %s cannot be annotated", in.Rotation.Runtime)
	}
	err := annotator.Annotate(ctx, *in.Annotation)
	if errors.Is(err, session.ErrBusy) {
		return c.Journal.Remove(in.ID) // the session went on
	}
	if err != nil {
		return err
	}
	if _, err := c.Receipts.Write(in.Receipt); err != nil {
		return err
	}
	return c.conclude(in)
}
