package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/directory"
	"github.com/sessctl/sessctl/pkg/session/livelog"
)

// PlanRotation implements [session.Rotator].
func (s *Store) PlanRotation(_ context.Context, ref session.Ref, snap session.Snapshot, now time.Time) (session.Rotation, error) {
	d, name, err := s.openLive(ref.Path)
	if err != nil {
		return session.Rotation{}, err
	}
	defer d.Close()
	now = now.UTC().Truncate(time.Millisecond)
	kept, err := d.FreeRotated(name, now)
	if err != nil {
		return session.Rotation{}, err
	}
	before, err := recorded(d)
	return session.Rotation{
		Runtime: session.RuntimeAgent, Agent: agentName, Session: ref.ID, Store: s.root,
		Live: ref.Path, Kept: kept, At: now, Snapshot: snap, Before: before,
	}, err
}

// Rotate implements [session.Rotator]: an empty log, as a new session has one
// (S7.1), takes the place of the old one, and metadata.json counts from 0
// again.
func (s *Store) Rotate(ctx context.Context, r session.Rotation) error {
	d, err := s.openRotation(r)
	if err != nil {
		return err
	}
	defer d.Close()
	nothing, err := livelog.Proof(func(io.Writer) error { return nil })
	if err != nil {
		return err
	}
	change := &livelog.Change{Root: d.Root, Plan: session.Shortening{Rotation: r, After: nothing}, Step: s.step}
	if err := change.Replace(ctx, func(io.Writer, *os.File) error { return nil }); err != nil {
		return err
	}
	return setCount(d, "0")
}

// isRotated reports whether a name is that of a log that was moved aside.
func isRotated(name string) bool {
	log, rotated := directory.Unrotated(name)
	return rotated && log == logName
}

// openRotation checks that a rotation, which may come from a journal, stays in
// one directory of this store.
func (s *Store) openRotation(r session.Rotation) (*directory.Directory, error) {
	d, name, err := directory.Of(s.base, r.Live, 1)
	if err != nil {
		return nil, err
	}
	if name != logName || r.Kept != d.At(filepath.Base(r.Kept)) || !isRotated(filepath.Base(r.Kept)) {
		err = fmt.Errorf("rotate %s: the plan names files that do not belong together", r.Live)
	} else {
		err = d.InPlace()
	}
	if err != nil {
		d.Close()
		return nil, err
	}
	return d, nil
}

// Dispose removes a rotated log for good, once it is archived and settled.
func (s *Store) Dispose(ctx context.Context, r session.Rotation) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	d, err := s.openRotation(r)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer d.Close()
	change := &livelog.Change{Root: d.Root, Plan: session.Shortening{Rotation: r}, Step: s.step}
	return change.Dispose()
}
