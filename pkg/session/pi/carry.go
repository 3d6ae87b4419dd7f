package pi

import (
	"context"
	"fmt"
	"time"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/piformat"
)

// PlanCarry implements [session.Carrier]. The session that followed is the one
// at the old path, if there is one again, else the one that `pi -c` continues,
// if it was begun after the rotation. There is none before pi is used again,
// and then it is too early: pi would pass by a log that nobody has begun.
//
// A pi that has that session in its memory does not see what is appended
// before it reads the log again, and its own next entry hangs on the entry
// that it knows: the late records are on a branch of their own then.
func (s *Store) PlanCarry(ctx context.Context, q session.CarryRequest) (session.Carrying, error) {
	d, name, err := s.directoryOf(q.Rotation.Live)
	if err != nil {
		return session.Carrying{}, err
	}
	defer d.close()
	if name, err = d.followed(name, q.Rotation.At); err != nil {
		return session.Carrying{}, err
	}
	if name == "" {
		return session.Carrying{}, &session.BusyError{Path: q.Rotation.Live, Reason: "no session has been begun here since it was rotated"}
	}
	if err := d.mayRotate(name); err != nil {
		return session.Carrying{}, err
	}
	if err := s.Busy(ctx, session.Ref{Path: d.at(name)}, q.Now, q.Quiet); err != nil {
		return session.Carrying{}, err
	}
	log, err := d.open(name)
	if err != nil {
		return session.Carrying{}, fmt.Errorf("open log: %w", err)
	}
	defer log.Close()
	snap, err := session.TakeSnapshot(ctx, log, d.at(name))
	if err != nil {
		return session.Carrying{}, err
	}
	text, err := piformat.Carry(ctx, log, snap.Size, q.Tail)
	return session.Carrying{
		Shortening: session.Shortening{Rotation: d.changeOf(snap, q.Rotation, q.Now), Record: text.Text},
		Records:    text.Records, Known: text.Known, LeftOut: text.LeftOut,
	}, err
}

// changeOf is a change of another log because of a rotation.
func (d *directory) changeOf(snap session.Snapshot, of session.Rotation, now time.Time) session.Rotation {
	return session.Rotation{
		Runtime: session.RuntimePi, Agent: d.agent, Session: of.Session, Store: of.Store,
		Live: snap.Path, At: now.UTC().Truncate(time.Millisecond), Snapshot: snap,
	}
}

// followed returns the name of the session that followed a rotated one, "" if
// there is none yet.
func (d *directory) followed(live string, at time.Time) (string, error) {
	if h, err := d.readHead(live); err == nil && h.Continued {
		return live, nil
	}
	found, err := names(d.root)
	if err != nil {
		return "", fmt.Errorf("list %s: %w", d.path, err)
	}
	newest, name := time.Time{}, ""
	for _, candidate := range found {
		n, ok, _ := parseName(candidate)
		if !ok || n.rotated {
			continue
		}
		info, err := d.stat(candidate)
		if err != nil || unusable(info) != "" || info.ModTime().Before(newest) {
			continue
		}
		h, err := d.readHead(candidate)
		if err != nil || !h.Continued {
			continue
		}
		if newest, name = info.ModTime(), candidate; h.Time.Before(at) {
			name = "" // what is continued is an older session
		}
	}
	return name, nil
}
