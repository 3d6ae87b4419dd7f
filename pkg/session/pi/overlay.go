package pi

import (
	"context"
	"fmt"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/livelog"
	"github.com/sessctl/sessctl/pkg/session/piformat"
)

// keepRecentTokens is what pi itself keeps (research/behaviours.md section 2).
const keepRecentTokens = 20_000

// Strategy implements [session.Shaper]: pi compacts by overlay, and so a
// session is resumed with its summary and its tail.
func (s *Store) Strategy() string { return "overlay" }

// Keep implements [session.Shaper].
func (s *Store) Keep() session.Keep { return session.Keep{Tokens: keepRecentTokens} }

// PlanOverlay implements [session.Overlayer]: it makes a compaction entry as
// pi writes it.
func (s *Store) PlanOverlay(_ context.Context, request session.ShortenRequest) (session.Shortening, error) {
	d, name, err := s.directoryOf(request.Ref.Path)
	if err != nil {
		return session.Shortening{}, err
	}
	defer d.close()
	if err := d.mayRotate(name); err != nil {
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
			Runtime: session.RuntimePi, Agent: d.agent, Session: request.Ref.ID, Store: s.root,
			Live: request.Ref.Path, At: request.Now.UTC(), Snapshot: request.Snapshot,
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
	if n, ok, _ := parseName(name); !ok || n.rotated {
		return unsupported(plan.Live, "not a log of pi")
	}
	if err := d.inPlace(); err != nil {
		return err
	}
	change := &livelog.Change{Root: d.root, Plan: plan, Step: s.step, System: s.system}
	return change.Append()
}
