package openclaw

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/sessctl/sessctl/pkg/session"
)

// stampForm is the time in the name of a closed log, in UTC
// (research/formats.md section 4.1).
const stampForm = "2006-01-02T15-04-05.000Z"

// PlanRotation implements [session.Rotator]. Every entry of the index that
// means the log will name the same new session; a log that no entry means is
// only closed. The log of a format newer than the file era's, a closed log,
// and every log beside a database or an index that cannot be read are
// [session.ErrUnsupported].
func (s *Store) PlanRotation(ctx context.Context, ref session.Ref, snap session.Snapshot, now time.Time) (session.Rotation, error) {
	if inDatabase(ref) {
		return session.Rotation{}, unsupported(ref.Path, onlyGateway)
	}
	d, name, err := s.directoryOf(ref.Path)
	if err != nil {
		return session.Rotation{}, err
	}
	defer d.close()
	v, err := s.lookAgain(ctx, d)
	if err != nil {
		return session.Rotation{}, err
	}
	n, ok := v.all.byName[name]
	if !ok {
		return session.Rotation{}, gone(ref.Path)
	}
	if err := v.mayRotate(n); err != nil {
		return session.Rotation{}, err
	}
	if v.kind(n) != ref.Kind {
		return session.Rotation{}, &session.BusyError{Path: ref.Path, Reason: "sessions.json has changed since the session was found"}
	}
	return s.plan(v, n, snap, now)
}

// lookAgain looks at a directory as List does, its era included, and reads all
// of the index.
func (s *Store) lookAgain(ctx context.Context, d *directory) (*view, error) {
	frozen, err := s.eraOf(d.agent)
	if err != nil {
		return nil, err
	}
	v, err := d.look(ctx, frozen)
	if err == nil && v.index != nil && !v.index.strict() {
		v.freeze(ErrIndex.Error())
	}
	return v, err
}

// mayRotate returns an error that wraps [session.ErrUnsupported] unless a log
// may be rotated.
func (v *view) mayRotate(n logName) error {
	if reason := v.refusal(n); reason != "" {
		return unsupported(v.at(n.name), reason)
	}
	info, err := v.stat(n.name)
	if errors.Is(err, fs.ErrNotExist) {
		return gone(v.at(n.name))
	}
	if err != nil {
		return fmt.Errorf("look at log: %w", err)
	}
	if reason := unusable(info); reason != "" {
		return unsupported(v.at(n.name), reason)
	}
	reason, err := v.newer(n)
	if err == nil && reason != "" {
		err = unsupported(v.at(n.name), reason)
	}
	return err
}

func unsupported(path, reason string) error {
	return fmt.Errorf("%w: %s: %s", session.ErrUnsupported, path, reason)
}

func (s *Store) plan(v *view, n logName, snap session.Snapshot, now time.Time) (session.Rotation, error) {
	now = now.UTC().Truncate(time.Millisecond)
	r := session.Rotation{
		Runtime: session.RuntimeOpenClaw, Agent: v.agent, Session: n.id, Store: s.root,
		Live: v.at(n.name), Index: v.at(indexName), At: now, Snapshot: snap,
	}
	for _, e := range v.owners[n.name] {
		r.Keys = append(r.Keys, e.key)
		r.Before = append(r.Before, v.index.beforeRotation(e))
	}
	if len(r.Keys) > 0 {
		r.NewSession = newSessionID()
	}
	var err error
	r.Kept, err = v.freeName(n, now)
	return r, err
}

// freeName returns the path under which a closed log is kept. The name has
// milliseconds; the next one that is free is taken.
func (v *view) freeName(n logName, now time.Time) (string, error) {
	const tries = 1000
	for range tries {
		name := n.name + ".reset." + now.Format(stampForm)
		if _, err := v.stat(name); errors.Is(err, fs.ErrNotExist) {
			return v.at(name), nil
		}
		now = now.Add(time.Millisecond)
	}
	return "", fmt.Errorf("no free name for the closed log of %s", v.at(n.name))
}
