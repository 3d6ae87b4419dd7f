package openclaw

import (
	"context"
	"time"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/logfile"
	"github.com/sessctl/sessctl/pkg/session/piformat"
)

// keepRecentTokens is what the runtime's own compaction keeps.
const keepRecentTokens = 20_000

// PlanOverlay implements [session.Overlayer]: it makes a compaction record as
// the runtime writes it. The runtime accepts one from others while no turn is
// going on, and brings its index up to date at the next turn (docs/dev/formats.md,
// "openclaw").
func (rs *rotations) PlanOverlay(ctx context.Context, request session.ShortenRequest) (session.Shortening, error) {
	if inDatabase(request.Ref) {
		return session.Shortening{}, logfile.Unsupported(request.Ref.Path, session.ReasonGatewayDatabase.Text())
	}
	d, name, err := rs.stored.state.directoryOf(request.Ref.Path)
	if err != nil {
		return session.Shortening{}, err
	}
	defer d.Close()
	v, err := rs.stored.lookAgain(ctx, d)
	if err != nil {
		return session.Shortening{}, err
	}
	n, ok := v.all.byName[name]
	if !ok {
		return session.Shortening{}, logfile.Gone(request.Ref.Path)
	}
	if err := v.mayRotate(n); err != nil {
		return session.Shortening{}, err
	}
	log, _, err := d.OpenLog(name)
	if err != nil {
		return session.Shortening{}, err
	}
	defer log.Close()
	record, err := piformat.Overlay(log, request)
	return session.Shortening{
		Rotation: session.Rotation{
			Runtime: session.RuntimeOpenClaw, Agent: d.agent, Session: n.id, Store: rs.stored.state.root,
			Live: v.At(name), At: request.Now.UTC(), Snapshot: request.Snapshot,
		},
		Cut: request.Cut, Summary: request.Summary, Record: record,
	}, err
}

// Shorten implements [session.Shortener].
func (rs *rotations) Shorten(ctx context.Context, plan session.Shortening) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	d, name, err := rs.stored.state.directoryOf(plan.Live)
	if err != nil {
		return err
	}
	defer d.Close()
	if n, v := parseName(name); v != isLog || !n.open() {
		return logfile.Unsupported(plan.Live, session.ReasonNotOpenLog.Text())
	}
	if err := d.InPlace(); err != nil {
		return err
	}
	if err := d.locked(ctx, name, time.Now()); err != nil {
		return err
	}
	if err := rs.gateways.unserved(plan.Live); err != nil {
		return err
	}
	change := &logfile.Change{Dir: d.Dir, Plan: plan, Step: rs.step, System: rs.gateways.options.System}
	return change.Append()
}

// PlanCarry implements [session.Carrier]. The session that followed is the one
// that the rotated one's entry of the index names now.
//
// Its log is never made here: the runtime makes it at the next turn, and until
// then this is a [*session.BusyError]. A log of ours could be taken for one
// that exists by a turn that has just found none and writes its own over it;
// one without an answer in it may be emptied by the next run, so an answer is
// waited for too; and a log that the runtime does not know stops its later
// migration. To wait costs the first turn the sight of the late records, and
// nothing else.
func (s *Store) PlanCarry(ctx context.Context, q session.CarryRequest) (session.Carrying, error) {
	d, _, err := s.directoryOf(q.Rotation.Live)
	if err != nil {
		return session.Carrying{}, err
	}
	defer d.Close()
	v, err := s.lookAgain(ctx, d)
	if err != nil {
		return session.Carrying{}, err
	}
	n, err := v.followed(q.Rotation)
	if err != nil {
		return session.Carrying{}, err
	}
	if err := v.mayRotate(n); err != nil {
		return session.Carrying{}, err
	}
	ref := session.Ref{Path: v.At(n.name)}
	tail, err := s.Tail(ctx, ref)
	switch {
	case err != nil:
		return session.Carrying{}, err
	case tail.LastRole != session.RoleAssistant:
		return session.Carrying{}, notYet(ref.Path)
	}
	if err := s.Busy(ctx, q.IsBusy(ref)); err != nil {
		return session.Carrying{}, err
	}
	return s.carrying(ctx, v, n, q)
}

func notYet(path string) error {
	return &session.BusyError{Path: path, Reason: session.ReasonNotFollowed.Text()}
}

// carrying reads the log that the records are appended to.
func (s *Store) carrying(ctx context.Context, v *view, n logName, q session.CarryRequest) (session.Carrying, error) {
	log, _, err := v.OpenLog(n.name)
	if err != nil {
		return session.Carrying{}, err
	}
	defer log.Close()
	snap, err := session.TakeSnapshot(ctx, log, v.At(n.name))
	if err != nil {
		return session.Carrying{}, err
	}
	text, err := piformat.Carry(ctx, log, snap.Size, q.Tail)
	return session.Carrying{
		Shortening: session.Shortening{
			Rotation: session.Rotation{
				Runtime: session.RuntimeOpenClaw, Agent: v.agent, Session: n.id, Store: s.root,
				Live: v.At(n.name), At: q.Now.UTC().Truncate(time.Millisecond), Snapshot: snap,
			},
			Record: text.Text,
		},
		Records: text.Records, Known: text.Known, LeftOut: text.LeftOut,
	}, err
}

// followed returns the log of the session that followed a rotated one.
func (v *view) followed(r session.Rotation) (logName, error) {
	switch {
	case v.frozen != "":
		return logName{}, logfile.Unsupported(r.Live, v.frozen)
	case len(r.Keys) == 0:
		return logName{}, logfile.Unsupported(r.Live, session.ReasonNoEntryNamed.Text())
	}
	e := v.index.entry(r.Keys[0])
	if e == nil {
		return logName{}, logfile.Unsupported(r.Live, session.ReasonEntryAway.Text())
	}
	name := e.log(v.all)
	if name == "" {
		return logName{}, notYet(r.Live)
	}
	return v.all.byName[name], nil
}
