package compact

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/logfile"
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
	rotator := r.store.Capabilities().Rotator
	if rotator == nil {
		return cannot(r.store, session.StrategyRotate)
	}
	rotation, err := rotator.PlanRotation(ctx, r.plan.Ref, r.snapshot, r.Now())
	if err != nil {
		return fmt.Errorf("plan the rotation: %w", err)
	}
	r.result.TokensAfter = 0
	in := r.newIntent(rotation)
	if rotation.Fresh != "" {
		after := logfile.FreshProof(rotation)
		in.Receipt.After = &after
	}
	if in.Late, err = r.Receipts.lateness(r.plan.Ref, r.survey.Scan.First); err != nil {
		return err
	}
	if err := r.carryOut(in, func() error { return rotator.Rotate(ctx, rotation) }); err != nil || in.Late == nil {
		return err
	}
	return r.carryFragment(ctx, in)
}

// newIntent says what is about to be done. The receipt in it is what the run
// will have been once it is done.
func (r *run) newIntent(rotation session.Rotation) Intent {
	r.rotation = rotation
	r.result.Outcome, r.result.Reason = Compacted, both(r.because, r.plan.brokenOff())
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
	if err := r.changes().conclude(in); err != nil {
		return err
	}
	r.tell(StageRotate, 1, 1)
	return nil
}

// giveUp drops the intent of a rotation that changed nothing. After any other
// error it stays, and the next run settles it.
func (r *run) giveUp(in Intent, cause error) error {
	r.result.Receipt = ""
	var busy *session.BusyError
	if errors.As(cause, &busy) && !busy.Begun {
		return errors.Join(cause, r.Journal.remove(in.ID))
	}
	return fmt.Errorf("change the session: %w", cause)
}

func (r *run) newReceipt(id string) Receipt {
	receipt := Receipt{
		Schema: 1, ID: id, Version: r.Version, At: r.Now().UTC(), Compaction: r.result.Compaction,
		Source: proofOf(r.snapshot), Content: contentOf(r.survey, r.remembered, r.policy),
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

// summaryRunes bounds the summary that takes the place of messages to about a
// third of them, of a short session two thirds: three characters are about a
// token. Where a summary takes the place of an earlier one, there is room for
// that beside the headings, however short the session is.
func summaryRunes(cut *session.Cut) int {
	const least, short, earlier = 600, 2000, 1000
	replaced := cut.SummarizedTokens + cut.PreviousTokens
	return int(max(replaced, min(2*replaced, short), least+min(4*cut.PreviousTokens, earlier)))
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
	after, err := tokensAfter(s, r.plan.prompt)
	if err != nil {
		return err
	}
	r.result.TokensAfter, r.result.Cut, r.result.Cleared = after, &r.plan.Cut, s.Cleared
	in := r.newIntent(s.Rotation)
	in.Kind, in.Shortening, in.Receipt.After = KindShortening, &s, proofAfter(s)
	can := r.store.Capabilities()
	if can.Learner != nil {
		in.Receipt.Lessons = len(r.summary.Lessons)
	}
	return r.carryOut(in, func() error { return can.Shortener.Shorten(ctx, s) })
}

// trim leaves out of the log what its runtime does not need.
func (r *run) trim(ctx context.Context) error {
	r.tell(StageRotate, 0, 1)
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := r.stillIdle(ctx); err != nil {
		return err
	}
	s, err := planTrim(ctx, r.store, session.ShortenRequest{Ref: r.plan.Ref, Snapshot: r.snapshot, Tokens: r.plan.Tokens, Now: r.Now()})
	if err != nil {
		return fmt.Errorf("plan the change: %w", cutShort(r.plan.Ref, err))
	}
	r.result.TokensAfter, r.result.BytesAfter = r.plan.Tokens, s.After.Size
	in := r.newIntent(s.Rotation)
	in.Kind, in.Shortening, in.Receipt.After = KindShortening, &s, &s.After
	return r.carryOut(in, func() error { return r.store.Capabilities().Shortener.Shorten(ctx, s) })
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

// tokensAfter estimates the context after the change, with the prompt. A change after which the
// session would be as long as before is refused: errNothingToCut.
func tokensAfter(s session.Shortening, prompt int64) (int64, error) {
	if s.Cleared {
		return 0, nil
	}
	summary, replaced := session.EstimateTokens([]byte(s.Summary.Text)), s.Cut.SummarizedTokens+s.Cut.PreviousTokens
	if summary >= replaced {
		return 0, nothingToCut("a summary of %d tokens would take the place of %d", summary, replaced)
	}
	return s.Cut.KeptTokens + summary + prompt, nil
}

// leave ends a run whose session only its runtime may change.
func (r *run) leave() error {
	r.result.Outcome, r.result.Reason = Partial, "archived and remembered"
	if !r.policy.LeaveSessions {
		r.result.Reason += "; " + r.plan.left()
	}
	return r.receipt()
}

// left says why a session stays as it is, and what a person can do.
func (p *Plan) left() string {
	if p.Ref.Kind == session.KindPrompts {
		return session.ReasonOnlyPrompts.Text()
	}
	if p.Ref.Kind.Closed() {
		return session.ReasonStaysClosed.Text()
	}
	if p.Advice != "" {
		return session.ReasonRuntimeOnlyCommand.Text(p.Ref.Runtime, p.Advice)
	}
	return session.ReasonRuntimeOnly.Text(p.Ref.Runtime)
}

// settleShortening finishes an overlay or a rewrite that an earlier run began.
func (r recovery) settleShortening(ctx context.Context, store session.Store, in Intent, policy Policy) error {
	if in.Switched {
		return r.logs.settle(ctx, store, in, policy) // only the old log is left to be looked after
	}
	shortener := session.CapabilitiesOf(store).Shortener
	if shortener == nil || in.Shortening == nil {
		return fmt.Errorf("sessions of %s cannot be shortened", in.Rotation.Runtime)
	}
	err := shortener.Shorten(ctx, *in.Shortening)
	var busy *session.BusyError
	if errors.As(err, &busy) && !busy.Begun {
		return r.logs.changes.journal.remove(in.ID) // the session went on without the change
	}
	if err != nil {
		return err
	}
	return r.logs.changes.finish(in)
}

// annotate writes a summary beside the messages, which all stay.
func (r *run) annotate(ctx context.Context) error {
	r.tell(StageRotate, 0, 1)
	if r.prose == "" && !r.result.SummaryEmpty {
		return errNoSummary
	}
	if r.prose == "" {
		r.result.Outcome, r.result.Reason = Partial, "archived and remembered; "+nothingSaid
		return r.receipt()
	}
	annotator := r.store.Capabilities().Annotator
	if annotator == nil {
		return cannot(r.store, session.StrategyAnnotate)
	}
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
func (r recovery) settleAnnotation(ctx context.Context, store session.Store, in Intent) error {
	annotator := session.CapabilitiesOf(store).Annotator
	if annotator == nil || in.Annotation == nil {
		return fmt.Errorf("sessions of %s cannot be annotated", in.Rotation.Runtime)
	}
	err := annotator.Annotate(ctx, *in.Annotation)
	if errors.Is(err, session.ErrBusy) {
		return r.logs.changes.journal.remove(in.ID) // the session went on
	}
	if err != nil {
		return err
	}
	return r.logs.changes.finish(in)
}

// GatewayUse says what to do about a session whose runtime is running as a
// service that can be asked to start it fresh (see [session.Resetter]).
type GatewayUse string

// The uses of a gateway. The zero value is GatewayAuto.
const (
	GatewayAuto    GatewayUse = "auto"    // ask it when it runs, else change files
	GatewayNever   GatewayUse = "never"   // change files only: a running one makes the session busy
	GatewayRequire GatewayUse = "require" // ask it only: without one nothing is changed
)

// resetPatience is how long a reset that left no trace may still happen: its
// run was killed, but the program that asks the gateway goes on.
const resetPatience = 2 * time.Minute

// route decides which way the session is changed. cause is what the store said
// about writers. It reports true if that is no reason to leave it alone.
func (p *Plan) route(store session.Store, policy Policy, cause error) bool {
	can := store.Capabilities().Resetter != nil
	var busy *session.BusyError
	served := errors.As(cause, &busy) && busy.Served
	switch {
	case policy.SkipArchive && served:
		return true // only read
	case cause != nil && !served:
		_ = p.stopBusy(cause)
	case served && policy.Gateway == GatewayNever:
		_ = p.stop(Busy, busy.Reason)
	case served && (p.Strategy != session.StrategyRotate || !can):
		_ = p.stop(Busy, session.ReasonGatewayOnlyRotates.Text(busy.Reason))
	case served:
		p.Via = session.ViaGateway
	case can && policy.Gateway == GatewayRequire && !policy.SkipArchive:
		_ = p.stop(Unsupported, session.ReasonGatewayRequired.Text())
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
	if err := r.afterTurn(ctx); err != nil {
		return err
	}
	if err := r.stillIdle(ctx); err != nil {
		return err
	}
	resetter := r.store.Capabilities().Resetter
	if resetter == nil {
		return cannot(r.store, session.StrategyRotate)
	}
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
	if err := r.Journal.takeOver(in); err != nil {
		return err
	}
	done, err := resetter.Reset(ctx, rotation)
	if err != nil {
		return r.giveUp(in, err)
	}
	in, err = r.changes().concludeReset(in, done)
	if err != nil {
		return err
	}
	r.result.Reason = in.Receipt.Reason
	r.tell(StageRotate, 1, 1)
	return r.oldLogs().settle(ctx, r.store, in, r.policy)
}

// maxQuietWait is the longest quiet period that is waited for when a turn has
// ended, so that the session can be started fresh in the same run.
const maxQuietWait = 15 * time.Second

// afterTurn waits for the quiet period, where it is short, after a turn that
// the log was followed through.
func (r *run) afterTurn(ctx context.Context) error {
	if r.followed == 0 || r.policy.Quiet > maxQuietWait {
		return ctx.Err()
	}
	return r.policy.wait(ctx, r.policy.Quiet)
}

// takeOver drops the intents of earlier resets of this log that are not known
// to have been done: this one takes their place.
func (j Journal) takeOver(in Intent) error {
	all, err := j.List()
	if err != nil {
		return err
	}
	for _, other := range all {
		if other.ID != in.ID && other.Kind == KindReset && !other.Switched && other.Rotation.Live == in.Rotation.Live {
			if err := j.remove(other.ID); err != nil {
				return fmt.Errorf("drop an earlier intent: %w", err)
			}
		}
	}
	return nil
}

// concludeReset records what the runtime did: first where the old log is, then
// the receipt.
func (c changes) concludeReset(in Intent, done session.Rotation) (Intent, error) {
	in.Rotation = done
	in.Receipt.NewID, in.Receipt.Kept, in.Receipt.Rotation = done.NewSession, done.Kept, &done
	if info, err := c.journal.Pins.Lstat(done.Kept); err == nil && info.Size() > done.Snapshot.Size {
		in.Receipt.Reason = fmt.Sprintf("%d bytes were added to the log before the gateway closed it: a message that came in then may be unanswered; they are archived and remembered too", info.Size()-done.Snapshot.Size)
	}
	if err := c.journal.Write(in); err != nil {
		return in, fmt.Errorf("note the reset: %w", err)
	}
	if _, err := c.receipts.Write(in.Receipt); err != nil {
		return in, fmt.Errorf("write the receipt: %w", err)
	}
	in.Switched = true
	return in, c.conclude(in)
}

// settleReset finishes a reset that an earlier run asked for. The runtime is
// not asked again: either its files show that it did it, or the session is as
// it was and the next compaction asks anew.
func (r recovery) settleReset(ctx context.Context, store session.Store, in Intent, policy Policy) error {
	if in.Switched {
		return r.logs.settle(ctx, store, in, policy)
	}
	resetter := session.CapabilitiesOf(store).Resetter
	if resetter == nil {
		return fmt.Errorf("sessions of %s cannot be reset", in.Rotation.Runtime)
	}
	done, ok, err := resetter.FindReset(ctx, in.Rotation)
	if err != nil && !errors.Is(err, session.ErrBusy) {
		return err
	}
	if ok {
		if in, err = r.logs.changes.concludeReset(in, done); err != nil {
			return err
		}
		return r.logs.settle(ctx, store, in, policy)
	}
	if r.logs.files.now().Sub(in.Rotation.At) < resetPatience {
		return &session.BusyError{Path: in.Rotation.Live, Reason: session.ReasonGatewayAsked.Text()}
	}
	return r.logs.changes.journal.remove(in.ID)
}
