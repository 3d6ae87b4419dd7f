package openclaw

import (
	"context"
	"fmt"
	"time"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/livelog"
	"github.com/sessctl/sessctl/pkg/session/piformat"
)

// keepRecentTokens is what the runtime's own compaction keeps
// (research/behaviours.md section 2).
const keepRecentTokens = 20_000

// Strategy implements [session.Shaper]: seed 002 asks for a fresh session.
func (s *Store) Strategy() string { return "rotate" }

// Keep implements [session.Shaper], for overlays that were asked for.
func (s *Store) Keep() session.Keep { return session.Keep{Tokens: keepRecentTokens} }

// PlanOverlay implements [session.Overlayer]: it makes a compaction record as
// the runtime writes it. The runtime accepts one from others while no turn is
// going on, and brings its index up to date at the next turn
// (research/real-runtimes.md section 5, experiment vi).
func (s *Store) PlanOverlay(ctx context.Context, request session.ShortenRequest) (session.Shortening, error) {
	if inDatabase(request.Ref) {
		return session.Shortening{}, unsupported(request.Ref.Path, onlyGateway)
	}
	d, name, err := s.directoryOf(request.Ref.Path)
	if err != nil {
		return session.Shortening{}, err
	}
	defer d.close()
	v, err := s.lookAgain(ctx, d)
	if err != nil {
		return session.Shortening{}, err
	}
	n, ok := v.all.byName[name]
	if !ok {
		return session.Shortening{}, gone(request.Ref.Path)
	}
	if err := v.mayRotate(n); err != nil {
		return session.Shortening{}, err
	}
	log, err := d.open(name)
	if err != nil {
		return session.Shortening{}, fmt.Errorf("open log: %w", err)
	}
	defer log.Close()
	record, err := piformat.Overlay(log, request)
	return session.Shortening{
		Rotation: session.Rotation{
			Runtime: session.RuntimeOpenClaw, Agent: d.agent, Session: n.id, Store: s.root,
			Live: v.at(name), At: request.Now.UTC(), Snapshot: request.Snapshot,
		},
		Cut: request.Cut, Summary: request.Summary, Record: record,
	}, err
}

// Shorten implements [session.Shortener].
func (s *Store) Shorten(ctx context.Context, plan session.Shortening) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	d, name, err := s.directoryOf(plan.Live)
	if err != nil {
		return err
	}
	defer d.close()
	if n, v := parseName(name); v != isLog || !n.open() {
		return unsupported(plan.Live, "not an open log of the runtime")
	}
	if err := d.inPlace(); err != nil {
		return err
	}
	if err := d.locked(name, time.Now()); err != nil {
		return err
	}
	if err := s.unserved(plan.Live); err != nil {
		return err
	}
	change := &livelog.Change{Root: d.root, Plan: plan, Step: s.step, System: s.options.System}
	return change.Append()
}
