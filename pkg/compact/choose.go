package compact

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sessctl/sessctl/pkg/session"
)

// shortens reports whether a strategy keeps a tail of the session.
func (s Strategy) shortens() bool { return s == StrategyOverlay || s == StrategyRewrite }

// summarizes reports whether a strategy cannot do without a summary.
func (s Strategy) summarizes() bool { return s.shortens() || s == StrategyAnnotate }

// Strategies returns the strategies that a store's sessions can have, the
// default one first. [StrategyNone] stands alone: such a store's sessions are
// archived and remembered, and never changed.
func Strategies(store session.Store) []Strategy {
	var all []Strategy
	if shaper, ok := store.(session.Shaper); ok {
		all = append(all, Strategy(shaper.Strategy()))
	}
	add := func(can bool, s Strategy) {
		if can && (len(all) == 0 || all[0] != s) {
			all = append(all, s)
		}
	}
	_, rotates := store.(session.Rotator)
	_, rewrites := store.(session.Rewriter)
	_, overlays := store.(session.Overlayer)
	add(rotates, StrategyRotate)
	add(rewrites, StrategyRewrite)
	add(overlays, StrategyOverlay)
	_, annotates := store.(session.Annotator)
	add(annotates, StrategyAnnotate)
	if len(all) == 0 {
		return []Strategy{StrategyNone}
	}
	return all
}

// StrategiesOf returns the strategies that one session can have. What lies in a
// runtime's database is not rotated or shortened, whatever its store does with
// files.
func StrategiesOf(store session.Store, ref session.Ref) []Strategy {
	if ref.Kind != session.KindStored && ref.Kind != session.KindDatabase {
		return Strategies(store)
	}
	if _, annotates := store.(session.Annotator); annotates {
		return []Strategy{StrategyAnnotate}
	}
	return []Strategy{StrategyNone}
}

// choose settles the strategy. It returns why the one that was asked for
// cannot be had, or "".
func (p *Plan) choose(store session.Store, policy Policy) string {
	able := StrategiesOf(store, p.Ref)
	if adviser, ok := store.(session.Adviser); ok && able[0] == StrategyNone {
		p.Advice = adviser.OwnCommand(p.Ref)
	}
	if p.Strategy == "" {
		p.Strategy = able[0]
		if policy.SkipSummary && p.Strategy.summarizes() && slices.Contains(able, StrategyRotate) {
			p.Strategy = StrategyRotate // the one that needs none
		}
	}
	switch {
	case slices.Contains(able, p.Strategy) && policy.SkipSummary && p.Strategy.summarizes() && !policy.SkipArchive:
		return fmt.Sprintf("by %s a summary takes the place of what is cut away: it cannot be left out", p.Strategy)
	case slices.Contains(able, p.Strategy):
		return ""
	}
	if inDatabase := p.Ref.Kind == session.KindStored; inDatabase && able[0] == StrategyNone {
		return fmt.Sprintf("it lies in a database and cannot be compacted by %s, only by %s: %s", p.Strategy, able, p.left())
	}
	return fmt.Sprintf("sessions of %s cannot be compacted by %s, only by %s", p.Ref.Runtime, p.Strategy, able)
}

// due decides whether the session is to be compacted now: by the runtime's own
// trigger, unless a threshold was asked for.
func (p *Plan) due(ctx context.Context, store session.Store, tail session.Tail, policy Policy, now time.Time) (bool, error) {
	if policy.Force {
		return true, nil
	}
	if trigger, ok := store.(session.Trigger); ok && !policy.Asked {
		due, reason, err := trigger.Due(ctx, session.DueQuestion{Ref: p.Ref, Tail: tail, Now: now, Requested: policy.Requested})
		if err == nil && !due {
			p.Outcome, p.Reason = BelowThreshold, reason
		}
		return due, err
	}
	if p.Tokens < policy.Threshold {
		_ = p.stop(BelowThreshold, "%d tokens, threshold %d", p.Tokens, policy.Threshold)
		return false, nil
	}
	return true, nil
}

// idle asks whether somebody is writing the session. Reading is harmless, so a
// session that will not be changed is never in the way.
func (p *Plan) idle(ctx context.Context, store session.Store, policy Policy, now time.Time) (bool, error) {
	liveness, ok := store.(session.Liveness)
	if !ok || p.Strategy == StrategyNone {
		return true, nil
	}
	if p.followed {
		return true, nil // it has just been written, and is asked about again before it is changed
	}
	err := cutShort(p.Ref, liveness.Busy(ctx, p.Ref, now, policy.Quiet))
	if err != nil && !errors.Is(err, session.ErrBusy) {
		return false, fmt.Errorf("look for writers: %w", err)
	}
	return p.route(store, policy, err), nil
}

func (p *Plan) surveyOptions(store session.Store, policy Policy) surveyOptions {
	o := policy.survey()
	if !p.Strategy.shortens() {
		return o
	}
	keep := policy.Keep
	if shaper, ok := store.(session.Shaper); ok && keep == (session.Keep{}) {
		keep = shaper.Keep()
	}
	o.keep = &keep
	return o
}

// tryChange asks whether the store would make the change, before anything is
// done for it.
func (p *Plan) tryChange(ctx context.Context, store session.Store, policy Policy, now time.Time) error {
	if policy.SkipArchive || p.Strategy == StrategyNone || p.Strategy == StrategyAnnotate {
		return nil
	}
	var err error
	if p.Strategy.shortens() {
		err = p.tryShortening(ctx, store, now)
	} else if p.Via == session.ViaGateway {
		_, err = store.(session.Resetter).PlanReset(ctx, p.Ref, p.seen, now)
	} else {
		_, err = store.(session.Rotator).PlanRotation(ctx, p.Ref, p.seen, now)
	}
	err = cutShort(p.Ref, err)
	switch {
	case errors.Is(err, session.ErrBusy):
		return p.stopBusy(err)
	case errors.Is(err, session.ErrUnsupported) && p.fallsBack(store, policy):
		p.Reason = fmt.Sprintf("starts fresh: %v", err)
		return p.tryChange(ctx, store, policy, now)
	case errors.Is(err, session.ErrUnsupported):
		return p.stop(Unsupported, "%v", err)
	case errors.Is(err, errNothingToCut):
		return p.stop(NothingToDo, "%v", err)
	case err != nil:
		return fmt.Errorf("plan the change: %w", err)
	}
	return nil
}

// fallsBack goes over to starting fresh, if nobody has asked for a strategy and
// this session cannot have its runtime's own: a log of a format that takes no
// summary from others, say.
func (p *Plan) fallsBack(store session.Store, policy Policy) bool {
	if policy.Strategy != "" || !p.Strategy.shortens() || !slices.Contains(StrategiesOf(store, p.Ref), StrategyRotate) {
		return false
	}
	p.Strategy, p.Cut = StrategyRotate, session.Cut{}
	return true
}

// tryShortening finds the cut and asks the store for the change with a summary
// that is still to be written.
func (p *Plan) tryShortening(ctx context.Context, store session.Store, now time.Time) error {
	cut, err := p.Survey.outline.cut()
	if err != nil {
		return err
	}
	p.Cut, p.Survey.outline = cut, nil
	s, err := planShortening(ctx, store, p.Strategy, session.ShortenRequest{
		Ref: p.Ref, Snapshot: p.seen, Cut: cut, Tokens: p.Tokens, Now: now,
	})
	p.Cleared = s.Cleared
	return err
}

func planShortening(ctx context.Context, store session.Store, by Strategy, request session.ShortenRequest) (session.Shortening, error) {
	if rewriter, ok := store.(session.Rewriter); ok && by == StrategyRewrite {
		return rewriter.PlanRewrite(ctx, request)
	}
	if overlayer, ok := store.(session.Overlayer); ok && by == StrategyOverlay {
		return overlayer.PlanOverlay(ctx, request)
	}
	return session.Shortening{}, fmt.Errorf("%w: by %s", session.ErrUnsupported, by)
}
