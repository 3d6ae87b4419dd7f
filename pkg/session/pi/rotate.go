package pi

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/session"
)

// PlanRotation implements [session.Rotator]. A format newer than version 3 is
// [session.ErrUnsupported].
func (s *Store) PlanRotation(_ context.Context, ref session.Ref, snap session.Snapshot, now time.Time) (session.Rotation, error) {
	d, name, err := s.directoryOf(ref.Path)
	if err != nil {
		return session.Rotation{}, err
	}
	defer d.close()
	if err := d.mayRotate(name); err != nil {
		return session.Rotation{}, err
	}
	now = now.UTC().Truncate(time.Millisecond)
	kept, err := d.freeName(name, now)
	return session.Rotation{
		Runtime: session.RuntimePi, Agent: d.agent, Session: ref.ID, Store: s.root,
		Live: ref.Path, Kept: kept, At: now, Snapshot: snap,
	}, err
}

// mayRotate returns an error that wraps [session.ErrUnsupported] unless a file
// is a log that may be rotated.
func (d *directory) mayRotate(name string) error {
	info, err := d.statIfThere(name)
	if err != nil {
		return err
	}
	if info == nil {
		return gone(d.at(name))
	}
	n, ok, _ := parseName(name)
	reason := unusable(info)
	if !ok || n.rotated {
		reason = "not a log of pi"
	}
	if reason != "" {
		return unsupported(d.at(name), reason)
	}
	h, err := d.readHead(name)
	if err != nil {
		return fmt.Errorf("read the header of %s: %w", d.at(name), err)
	}
	if h.Found && h.Version > maxVersion {
		return unsupported(d.at(name), newer(h.Version))
	}
	return nil
}

func unsupported(path, reason string) error {
	return fmt.Errorf("%w: %s: %s", session.ErrUnsupported, path, reason)
}

// freeName returns the path under which a rotated log is kept.
func (d *directory) freeName(name string, now time.Time) (string, error) {
	const tries = 1000
	for range tries {
		kept := name + rotatedMark + now.Format(stampForm)
		if info, err := d.statIfThere(kept); err != nil || info == nil {
			return d.at(kept), err
		}
		now = now.Add(time.Millisecond)
	}
	return "", fmt.Errorf("no free name for the rotated log of %s", d.at(name))
}

// Rotate implements [session.Rotator]: the log gets a name that pi does not
// read. A lease proves that nobody has it open, and it is compared with the
// snapshot. There is no index, so this is the only step; a log that is at its
// new name is done.
func (s *Store) Rotate(ctx context.Context, r session.Rotation) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c, err := s.openChange(r)
	if err != nil {
		return err
	}
	defer c.close()
	live, err := c.statIfThere(c.name)
	if err != nil {
		return err
	}
	kept, err := c.statIfThere(c.kept)
	switch {
	case err != nil:
		return err
	case live == nil && kept == nil:
		return gone(r.Live)
	case live != nil && kept != nil && os.SameFile(live, kept):
		return c.move() // an earlier run died inside the move
	case kept != nil && (live == nil || r.Snapshot.SameFile(session.Observe(r.Kept, kept))):
		return durable.SyncDir(c.path)
	case kept != nil:
		return c.refuse("another file is at " + r.Kept)
	}
	if err := c.pin(); err != nil {
		return err
	}
	return c.moveChecked()
}

// openChange checks that a rotation, which may come from a journal, stays in
// one directory of this store.
func (s *Store) openChange(r session.Rotation) (*change, error) {
	d, name, err := s.directoryOf(r.Live)
	if err != nil {
		return nil, err
	}
	c := &change{directory: d, rotation: r, name: name, kept: filepath.Base(r.Kept), step: s.step, system: s.system}
	live, ok, _ := parseName(c.name)
	kept, okKept, _ := parseName(c.kept)
	if !ok || live.rotated || !okKept || !kept.rotated || kept.live != c.name || r.Kept != c.at(c.kept) {
		err = fmt.Errorf("rotate %s: the plan names files that do not belong together", r.Live)
	} else {
		err = d.inPlace()
	}
	if err != nil {
		return nil, errors.Join(err, d.close())
	}
	return c, nil
}

// Dispose removes a rotated log for good. It is called when every byte of it
// is in a verified archive and nobody has it open. A file that is not the
// rotated inode any more, or that was changed without growing, stays.
func (s *Store) Dispose(ctx context.Context, r session.Rotation) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c, err := s.openChange(r)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer c.close()
	info, err := c.statIfThere(c.kept)
	if err != nil || info == nil {
		return err
	}
	now := session.Observe(r.Kept, info)
	changed := now.Size < r.Snapshot.Size || now.Size == r.Snapshot.Size && !now.ModTime.Equal(r.Snapshot.ModTime)
	if !r.Snapshot.SameFile(now) || changed || unusable(info) != "" {
		return nil
	}
	return durable.RemoveFile(r.Kept)
}
