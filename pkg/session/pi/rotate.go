package pi

import (
	"context"
	"fmt"
	"time"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/logfile"
	"github.com/sessctl/sessctl/pkg/session/piformat"
)

// PlanRotation implements [session.Rotator]: the log gets a name that pi does
// not read. In the place of the one that `pi -c` continues comes the log of a
// session in which nothing has been said: without it pi would go on with the
// session before, and a pi that runs would make the log again without its
// header. A format newer than version 3 is [session.ErrUnsupported].
func (s *Store) PlanRotation(ctx context.Context, ref session.Ref, snap session.Snapshot, now time.Time) (session.Rotation, error) {
	d, name, err := s.Directory(ref.Path)
	if err != nil {
		return session.Rotation{}, err
	}
	defer d.Close()
	if err := mayRotate(d, name); err != nil {
		return session.Rotation{}, err
	}
	r, err := s.RotatingLogs.PlanRotation(ctx, ref, snap, now)
	if err != nil || !ref.Primary {
		return r, err
	}
	log, _, err := d.OpenLog(name)
	if err != nil {
		return session.Rotation{}, err
	}
	defer log.Close()
	h, found, err := piformat.ReadHeader(log)
	if err != nil || !found {
		return r, err
	}
	r.NewSession = session.NewID()
	r.Fresh, err = piformat.Fresh(r.NewSession, h.CWD, now)
	return r, err
}

// mayRotate returns an error that wraps [session.ErrUnsupported] unless a file
// is a log that may be rotated.
func mayRotate(d *logfile.Dir, name string) error {
	info, err := d.Stat(name)
	if err != nil {
		return err
	}
	if info == nil {
		return logfile.Gone(d.At(name))
	}
	n, ok, _ := parseName(name)
	reason := logfile.Unusable(info)
	if !ok || n.rotated {
		reason = session.ReasonNotOfPi.Text()
	}
	if reason != "" {
		return logfile.Unsupported(d.At(name), reason)
	}
	h, err := readHead(d, name)
	if err != nil {
		return fmt.Errorf("read the header of %s: %w", d.At(name), err)
	}
	switch {
	case h.Found && h.Version > maxVersion:
		return logfile.Unsupported(d.At(name), newer(h.Version))
	case !h.Found && !h.Fragment && info.Size() > 0:
		return logfile.Unsupported(d.At(name), session.ReasonNoSessionHeader.Text())
	}
	return nil
}

// keepRecentTokens is what pi itself keeps.
const keepRecentTokens = 20_000

// PlanOverlay implements [session.Overlayer]: it makes a compaction entry as
// pi writes it.
func (s *Store) PlanOverlay(_ context.Context, request session.ShortenRequest) (session.Shortening, error) {
	d, name, err := s.Directory(request.Ref.Path)
	if err != nil {
		return session.Shortening{}, err
	}
	defer d.Close()
	if err := mayRotate(d, name); err != nil {
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
			Runtime: session.RuntimePi, Agent: agentOf(d), Session: request.Ref.ID, Store: s.Root(),
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
	d, name, err := s.Directory(plan.Live)
	if err != nil {
		return err
	}
	defer d.Close()
	if n, ok, _ := parseName(name); !ok || n.rotated {
		return logfile.Unsupported(plan.Live, session.ReasonNotOfPi.Text())
	}
	if err := d.InPlace(); err != nil {
		return err
	}
	change := s.Change(d, plan)
	return change.Append()
}

// PlanCarry implements [session.Carrier]. The session that followed is the one
// at the old path, if there is one again, else the one that `pi -c` continues,
// if it was begun after the rotation. There is none before pi is used again,
// and then it is too early: pi would pass by a log that nobody has begun.
//
// A pi that has that session in its memory does not see what is appended
// before it reads the log again, and its own next entry hangs on the entry
// that it knows: the late records are on a branch of their own then.
func (s *Store) PlanCarry(ctx context.Context, q session.CarryRequest) (session.Carrying, error) {
	d, name, err := s.Directory(q.Rotation.Live)
	if err != nil {
		return session.Carrying{}, err
	}
	defer d.Close()
	if name, err = followed(d, name, q.Rotation.At); err != nil {
		return session.Carrying{}, err
	}
	if name == "" {
		return session.Carrying{}, &session.BusyError{Path: q.Rotation.Live, Reason: session.ReasonNoFresh.Text()}
	}
	if err := mayRotate(d, name); err != nil {
		return session.Carrying{}, err
	}
	if err := s.Busy(ctx, q.IsBusy(session.Ref{Path: d.At(name), Primary: true})); err != nil {
		return session.Carrying{}, err
	}
	log, _, err := d.OpenLog(name)
	if err != nil {
		return session.Carrying{}, err
	}
	defer log.Close()
	snap, err := session.TakeSnapshot(ctx, log, d.At(name))
	if err != nil {
		return session.Carrying{}, err
	}
	text, err := piformat.Carry(ctx, log, snap.Size, q.Tail)
	return session.Carrying{
		Shortening: session.Shortening{Rotation: changeOf(d, snap, q.Rotation, q.Now), Record: text.Text},
		Records:    text.Records, Known: text.Known, LeftOut: text.LeftOut,
	}, err
}

// changeOf is a change of another log because of a rotation.
func changeOf(d *logfile.Dir, snap session.Snapshot, of session.Rotation, now time.Time) session.Rotation {
	return session.Rotation{
		Runtime: session.RuntimePi, Agent: agentOf(d), Session: of.Session, Store: of.Store,
		Live: snap.Path, At: now.UTC().Truncate(time.Millisecond), Snapshot: snap,
	}
}

// followed returns the name of the session that followed a rotated one, "" if
// there is none yet.
func followed(d *logfile.Dir, live string, at time.Time) (string, error) {
	if h, err := readHead(d, live); err == nil && h.Continued {
		return live, nil
	}
	name, h, err := continued(d)
	if h.Time.Before(at) {
		name = "" // what is continued is an older session
	}
	return name, err
}

// continued returns the name and the head of the log of a directory that `pi -c`
// continues: the one that was written last; "" if there is none.
func continued(d *logfile.Dir) (name string, head session.Head, err error) {
	found, err := d.Names()
	if err != nil {
		return "", head, err
	}
	var newest time.Time
	for _, candidate := range found {
		n, ok, _ := parseName(candidate)
		if !ok || n.rotated {
			continue
		}
		info, err := d.Stat(candidate)
		if err != nil || info == nil || logfile.Unusable(info) != "" || info.ModTime().Before(newest) {
			continue
		}
		if h, err := readHead(d, candidate); err == nil && h.Continued {
			newest, name, head = info.ModTime(), candidate, h
		}
	}
	return name, head, nil
}
