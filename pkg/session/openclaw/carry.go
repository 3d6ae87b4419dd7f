package openclaw

import (
	"context"
	"fmt"
	"time"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/piformat"
)

// PlanCarry implements [session.Carrier]. The session that followed is the one
// that the rotated one's entry of the index names now.
//
// Its log is never made here: the runtime makes it at the next turn, and until
// then this is a [*session.BusyError]. A log of ours could be taken for one
// that exists by a turn that has just found none and writes its own over it;
// one without an answer in it may be emptied by the next run
// (research/formats.md section 4.4), so an answer is waited for too; and a log
// that the runtime does not know stops its later migration (section 4.8). To
// wait costs the first turn the sight of the late records, and nothing else.
func (s *Store) PlanCarry(ctx context.Context, q session.CarryRequest) (session.Carrying, error) {
	d, _, err := s.directoryOf(q.Rotation.Live)
	if err != nil {
		return session.Carrying{}, err
	}
	defer d.close()
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
	ref := session.Ref{Path: v.at(n.name)}
	tail, err := s.Tail(ctx, ref)
	switch {
	case err != nil:
		return session.Carrying{}, err
	case tail.LastRole != session.RoleAssistant:
		return session.Carrying{}, notYet(ref.Path)
	}
	if err := s.Busy(ctx, ref, q.Now, q.Quiet); err != nil {
		return session.Carrying{}, err
	}
	return s.carrying(ctx, v, n, q)
}

func notYet(path string) error {
	return &session.BusyError{Path: path, Reason: "the session that followed has not begun yet"}
}

// carrying reads the log that the records are appended to.
func (s *Store) carrying(ctx context.Context, v *view, n logName, q session.CarryRequest) (session.Carrying, error) {
	log, err := v.open(n.name)
	if err != nil {
		return session.Carrying{}, fmt.Errorf("open log: %w", err)
	}
	defer log.Close()
	snap, err := session.TakeSnapshot(ctx, log, v.at(n.name))
	if err != nil {
		return session.Carrying{}, err
	}
	text, err := piformat.Carry(ctx, log, snap.Size, q.Tail)
	return session.Carrying{
		Shortening: session.Shortening{
			Rotation: session.Rotation{
				Runtime: session.RuntimeOpenClaw, Agent: v.agent, Session: n.id, Store: s.root,
				Live: v.at(n.name), At: q.Now.UTC().Truncate(time.Millisecond), Snapshot: snap,
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
		return logName{}, unsupported(r.Live, v.frozen)
	case len(r.Keys) == 0:
		return logName{}, unsupported(r.Live, "no entry of sessions.json named it, so no session followed")
	}
	e := v.index.entry(r.Keys[0])
	if e == nil {
		return logName{}, unsupported(r.Live, "its entry of sessions.json is gone, so no session followed")
	}
	name := e.log(v.all)
	if name == "" {
		return logName{}, notYet(r.Live)
	}
	return v.all.byName[name], nil
}
