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
	"github.com/sessctl/sessctl/pkg/session/logfile"
	"github.com/sessctl/sessctl/pkg/session/piformat"
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

// change is one rotation on its way.
type change struct {
	*directory
	rotation session.Rotation
	name     string // of the log
	kept     string // of the rotated log
	step     func(name string) error
	system   durable.System

	log    *os.File
	lease  *durable.Lease // nil where there are none
	opened os.FileInfo    // of the log that was compared with the snapshot
}

func (c *change) close() {
	c.unpin()
	_ = c.directory.close() // it was only looked at
}

// unpin ends the lease and closes the log.
func (c *change) unpin() {
	if c.lease != nil {
		c.lease.Release()
	}
	if c.log != nil {
		c.log.Close()
	}
	c.lease, c.log = nil, nil
}

// refuse is a [*session.BusyError]: nothing has been changed.
func (c *change) refuse(reason string) error {
	return &session.BusyError{Path: c.rotation.Live, Reason: reason}
}

const heldElsewhere = "another process has it open"

// pin takes the lease and checks that the log still is the snapshot.
func (c *change) pin() error {
	if err := c.openLog(); err != nil {
		return err
	}
	if err := c.takeLease(); err != nil {
		return err
	}
	if err := c.step("lease"); err != nil {
		return err
	}
	if err := c.check(); err != nil {
		return err
	}
	if err := c.step("check"); err != nil {
		return err
	}
	if c.lease == nil {
		c.unpin() // some systems do not rename an open file
	} else if !c.lease.Held() {
		return c.refuse(heldElsewhere)
	}
	return nil
}

func (c *change) openLog() (err error) {
	c.log, err = c.open(c.name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return gone(c.rotation.Live)
	case errors.Is(err, durable.ErrHeld):
		return c.refuse(heldElsewhere)
	case errors.Is(err, durable.ErrNotRegular):
		return c.refuse("it is not a regular file any more")
	case err != nil:
		return fmt.Errorf("open log: %w", err)
	}
	return nil
}

func (c *change) takeLease() (err error) {
	c.lease, err = c.system.WriteLease(c.log)
	switch {
	case errors.Is(err, durable.ErrHeld):
		return c.refuse(heldElsewhere)
	case errors.Is(err, durable.ErrUnsupported):
		return nil // the quiet period has to do
	case err != nil:
		return fmt.Errorf("ask who has the log open: %w", err)
	}
	return nil
}

// check compares the log, by its descriptor and by its name, with the
// snapshot.
func (c *change) check() (err error) {
	if c.opened, err = c.log.Stat(); err != nil {
		return fmt.Errorf("look at log: %w", err)
	}
	named, err := c.statIfThere(c.name)
	switch {
	case err != nil:
		return err
	case named == nil:
		return gone(c.rotation.Live)
	case !os.SameFile(c.opened, named):
		return c.refuse("another file has taken its place")
	}
	if reason := unusable(named); reason != "" {
		return c.refuse(reason)
	}
	return c.rotation.Snapshot.Matches(named)
}

// moveChecked moves the log and makes sure that it was this one, as it was
// archived: a program that replaces files by renaming needs no open descriptor,
// and could have put another log at the name in the last instant. Where there
// are no leases it may have been written then. It goes back.
func (c *change) moveChecked() error {
	if err := c.move(); err != nil {
		return err
	}
	moved, err := c.statIfThere(c.kept)
	if err != nil || moved == nil {
		return err
	}
	changed := c.replaced(moved)
	if changed == nil {
		return nil
	}
	if err := c.system.MoveFile(c.rotation.Kept, c.rotation.Live); err != nil {
		return fmt.Errorf("put back a log that changed in the last instant: %w", err)
	}
	return changed
}

// replaced returns a [*session.BusyError] if the moved log is not the one that
// was checked. Where a lease was held, that one cannot have been written.
func (c *change) replaced(moved os.FileInfo) error {
	if !os.SameFile(moved, c.opened) {
		return c.refuse("another file has taken its place")
	}
	if c.lease == nil {
		return c.rotation.Snapshot.MatchesMoved(moved)
	}
	return nil
}

// move gives the log's inode its new name.
func (c *change) move() error {
	err := c.system.MoveFile(c.rotation.Live, c.rotation.Kept)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return gone(c.rotation.Live)
	case errors.Is(err, durable.ErrExists):
		return c.refuse("another file is at " + c.rotation.Kept)
	case err != nil:
		return fmt.Errorf("move the log aside: %w", err)
	}
	return c.step("move")
}

// keepRecentTokens is what pi itself keeps (research/behaviours.md section 2).
const keepRecentTokens = 20_000

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
	change := &logfile.Change{Dir: &logfile.Dir{Root: d.root, Path: d.path}, Plan: plan, Step: s.step, System: s.system}
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
