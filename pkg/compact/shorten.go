package compact

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/sessctl/sessctl/pkg/session"
)

// shortens reports whether this run is to keep a tail of the session.
func (r *run) shortens() bool { return r.plan.Strategy.shortens() && !r.policy.SkipArchive }

// summaryRunes bounds the summary that takes the place of messages to about a
// third of them, of a short session two thirds: three characters are about a
// token. 0 is no bound.
func (r *run) summaryRunes() int {
	const least, short = 600, 2000
	if !r.shortens() {
		return 0
	}
	replaced := r.plan.Cut.SummarizedTokens + r.plan.Cut.PreviousTokens
	return int(max(replaced, min(2*replaced, short), least))
}

// errNoSummary is returned when a summary is to take the place of messages and
// there is none.
var errNoSummary = errors.New("there is no summary to take the place of what is cut away")

// shorten puts the summary in the place of what is cut away.
func (r *run) shorten(ctx context.Context) error {
	r.tell(StageRotate, 0, 1)
	if err := ctx.Err(); err != nil {
		return err
	}
	if r.summary.Text == "" {
		return errNoSummary
	}
	if err := r.stillIdle(ctx); err != nil {
		return err
	}
	s, err := planShortening(ctx, r.store, r.plan.Strategy, session.ShortenRequest{
		Ref: r.plan.Ref, Snapshot: r.snapshot, Cut: r.plan.Cut, Summary: r.summary, Tokens: r.plan.Tokens, Now: r.Now(),
	})
	if err != nil {
		return fmt.Errorf("plan the change: %w", cutShort(r.plan.Ref, err))
	}
	after, err := tokensAfter(s)
	if err != nil {
		return err
	}
	r.result.TokensAfter, r.result.Cut, r.result.Cleared = after, &r.plan.Cut, s.Cleared
	in := r.newIntent(s.Rotation)
	in.Kind, in.Shortening, in.Receipt.After = KindShortening, &s, proofAfter(s)
	if _, learns := r.store.(session.Learner); learns {
		in.Receipt.Lessons = len(r.summary.Lessons)
	}
	return r.carryOut(in, func() error { return r.store.(session.Shortener).Shorten(ctx, s) })
}

// proofAfter is the log as the change leaves it: with the hash of the record
// alone where it only appends, and nothing at all where there is no log then.
func proofAfter(s session.Shortening) *session.LogProof {
	if s.Record != "" && s.After.SHA256 == "" {
		added := sha256.Sum256([]byte(s.Record))
		return &session.LogProof{Size: s.Snapshot.Size + int64(len(s.Record)), Added: hex.EncodeToString(added[:])}
	}
	return &s.After
}

// tokensAfter estimates the context after the change. A change after which the
// session would be as long as before is refused: errNothingToCut.
func tokensAfter(s session.Shortening) (int64, error) {
	if s.Cleared {
		return 0, nil
	}
	summary, replaced := session.EstimateTokens([]byte(s.Summary.Text)), s.Cut.SummarizedTokens+s.Cut.PreviousTokens
	if summary >= replaced {
		return 0, nothingToCut("a summary of %d tokens would take the place of %d", summary, replaced)
	}
	return s.Cut.KeptTokens + summary, nil
}

// leave is the end of a run whose session only its runtime may change.
func (r *run) leave() error {
	r.result.Outcome, r.result.Reason = Partial, "archived and remembered; "+r.plan.left()
	return r.receipt()
}

// left says why a session stays as it is, and what a person can do.
func (p *Plan) left() string {
	why := "only " + p.Ref.Runtime + " itself changes its sessions"
	if p.Advice != "" {
		why += ": " + p.Advice
	}
	return why
}

// settleShortening finishes an overlay or a rewrite that an earlier run began.
func (c *Compactor) settleShortening(ctx context.Context, store session.Store, in Intent, policy Policy) error {
	if in.Switched {
		return c.settleRotation(ctx, store, in, policy) // only the old log is left to be looked after
	}
	shortener, ok := store.(session.Shortener)
	if !ok || in.Shortening == nil {
		return fmt.Errorf("sessions of %s cannot be shortened", in.Rotation.Runtime)
	}
	err := shortener.Shorten(ctx, *in.Shortening)
	var busy *session.BusyError
	if errors.As(err, &busy) && !busy.Begun {
		return c.Journal.Remove(in.ID) // the session went on without the change
	}
	if err != nil {
		return err
	}
	if _, err := c.Receipts.Write(in.Receipt); err != nil {
		return err
	}
	return c.conclude(in)
}
