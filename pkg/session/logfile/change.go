package logfile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/session"
)

// Change is one change of a log on its way.
type Change struct {
	Root *os.Root // the open directory of the log
	Plan session.Shortening
	// Step is called after each step with its name; tests stop here. It may
	// be nil.
	Step func(name string) error
	// System says what of the system is not used; the zero value uses all.
	System durable.System
}

func (c *Change) step(name string) error {
	if c.Step == nil {
		return nil
	}
	return c.Step(name)
}

func (c *Change) name() string { return filepath.Base(c.Plan.Live) }

func (c *Change) busy(reason string) error {
	return &session.BusyError{Path: c.Plan.Live, Reason: reason}
}

// Begun marks an error that is a [*session.BusyError] as one of a change that is
// done or half done: the old log is not at its place any more.
func (c *Change) Begun(err error) error {
	var busy *session.BusyError
	if !errors.As(err, &busy) {
		return err
	}
	for _, name := range []string{filepath.Base(c.Plan.Kept), c.nextName()} {
		if info, statErr := c.stat(name); statErr == nil && info != nil && c.isOld(info) {
			busy.Begun = true
		}
	}
	return err
}

// stat looks at a file of the directory; nil if it is not there.
func (c *Change) stat(name string) (os.FileInfo, error) {
	info, err := c.Root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look at %s: %w", filepath.Join(filepath.Dir(c.Plan.Live), name), err)
	}
	return info, nil
}

// pinned is a log that nobody else has open, as far as the system can tell.
type pinned struct {
	file  *os.File
	lease *durable.Lease // nil where there are none
}

func (p *pinned) release() {
	if p.lease != nil {
		_ = p.lease.Release() // closing does it too
	}
	_ = p.file.Close() // what was written is synced
}

// contested reports whether somebody waits for the lease.
func (p *pinned) contested() bool { return p.lease != nil && !p.lease.Held() }

const heldElsewhere = "another process has it open"

// pin opens the log and takes the lease. What the log is has not been checked
// then.
func (c *Change) pin(open func(*os.Root, string) (*os.File, error)) (*pinned, error) {
	file, err := open(c.Root, c.name())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, c.busy("it has been moved or removed since it was found")
	case errors.Is(err, durable.ErrHeld):
		return nil, c.busy(heldElsewhere)
	case errors.Is(err, durable.ErrNotRegular):
		return nil, c.busy("it is not a regular file any more")
	case err != nil:
		return nil, fmt.Errorf("open log: %w", err)
	}
	lease, err := c.System.WriteLease(file)
	switch {
	case errors.Is(err, durable.ErrHeld):
		return nil, errors.Join(c.busy(heldElsewhere), file.Close())
	case err != nil && !errors.Is(err, durable.ErrUnsupported):
		return nil, errors.Join(fmt.Errorf("ask who has the log open: %w", err), file.Close())
	}
	p := &pinned{file: file, lease: lease}
	if err := c.step("lease"); err != nil {
		p.release()
		return nil, err
	}
	return p, nil
}

// check compares the log, by its descriptor and by its name, with the
// snapshot.
func (c *Change) check(p *pinned) error {
	opened, err := p.file.Stat()
	if err != nil {
		return fmt.Errorf("look at log: %w", err)
	}
	named, err := c.stat(c.name())
	switch {
	case err != nil:
		return err
	case named == nil:
		return c.busy("it has been moved or removed since it was found")
	case !os.SameFile(opened, named):
		return c.busy("another file has taken its place")
	case durable.Identify(named).Links > 1:
		return c.busy("it has got another name (a hard link): changing it would change something else")
	}
	if err := c.Plan.Snapshot.Matches(named); err != nil {
		return err
	}
	if p.contested() {
		return c.busy(heldElsewhere)
	}
	return c.step("check")
}

// bytesAt reads n bytes of a log, fewer at its end.
func bytesAt(f *os.File, at int64, n int) ([]byte, error) {
	b := make([]byte, n)
	got, err := f.ReadAt(b, at)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the end of the log: %w", err)
	}
	return b[:got], nil
}

// Append appends the plan's record to the log with one write. It returns a
// [*session.BusyError] and changes nothing when somebody has the log open or
// when it is not the plan's snapshot any more. A log that already has the
// record is left as it is; one that has only its beginning, because the
// machine stopped in the middle of the write, gets the rest.
func (c *Change) Append() error {
	if c.Plan.Record == "" {
		return fmt.Errorf("append to %s: the plan has no record", c.Plan.Live)
	}
	p, err := c.pin(durable.OpenAppendIn)
	if err != nil {
		return c.begun(err)
	}
	defer p.release()
	rest, err := c.missing(p)
	if err != nil {
		return err
	}
	if len(rest) == len(c.Plan.Record) {
		if err := c.check(p); err != nil {
			return err
		}
	}
	// With no rest it is still synced: the run that wrote the record may have
	// died before it was durable.
	if err := durable.AppendRecord(p.file, rest); err != nil {
		return err
	}
	return c.step("append")
}

// begun marks a log that is busy and is longer than the snapshot: the record,
// or its beginning, may be in it already.
func (c *Change) begun(err error) error {
	var busy *session.BusyError
	if info, statErr := c.stat(c.name()); errors.As(err, &busy) && statErr == nil && info != nil {
		now := session.Observe(c.Plan.Live, info)
		busy.Begun = now.SameFile(c.Plan.Snapshot) && now.Size > c.Plan.Snapshot.Size
	}
	return err
}

// missing returns what of the record is still to be written.
func (c *Change) missing(p *pinned) ([]byte, error) {
	info, err := p.file.Stat()
	if err != nil {
		return nil, fmt.Errorf("look at log: %w", err)
	}
	record, snap := []byte(c.Plan.Record), c.Plan.Snapshot
	now := session.Observe(c.Plan.Live, info)
	if !now.SameFile(snap) || now.Size <= snap.Size {
		return record, nil // check says what is wrong, if anything is
	}
	tail, err := bytesAt(p.file, snap.Size, len(record))
	if err != nil {
		return nil, err
	}
	if !bytes.HasPrefix(record, tail) {
		return nil, snap.Matches(info)
	}
	return record[len(tail):], nil
}

// MoveAside gives the log the name Kept, so that its runtime finds none and
// starts fresh. It returns a [*session.BusyError] and changes nothing when
// somebody has the log open or when it is not the plan's snapshot any more. A
// log that is at its new name is done, and left as it is.
func (c *Change) MoveAside(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	live, err := c.stat(c.name())
	if err != nil {
		return err
	}
	kept, err := c.stat(filepath.Base(c.Plan.Kept))
	switch {
	case err != nil:
		return err
	case live != nil && kept != nil && os.SameFile(live, kept):
		return c.move() // an earlier run died inside the move
	case kept != nil && c.isOld(kept):
		return durable.SyncDir(filepath.Dir(c.Plan.Live))
	case kept != nil:
		return c.busy("another file is at " + c.Plan.Kept)
	}
	return c.moveChecked()
}

func (c *Change) moveChecked() error {
	p, err := c.pin(durable.OpenRegularIn)
	if err != nil {
		return err
	}
	defer p.release()
	if err := c.check(p); err != nil {
		return err
	}
	return c.moveThis(p)
}

// moveThis moves the pinned log aside and makes sure that it was this one, as it
// was archived: a program that replaces files by renaming needs no open
// descriptor, and could have put another log at the name in the last instant.
// Where there are no leases it may have been written then. It goes back.
func (c *Change) moveThis(p *pinned) error {
	opened, err := p.file.Stat()
	if err != nil {
		return fmt.Errorf("look at log: %w", err)
	}
	if p.lease == nil {
		p.release() // some systems do not rename an open file
	}
	if err := c.move(); err != nil {
		return err
	}
	moved, err := c.stat(filepath.Base(c.Plan.Kept))
	if err != nil || moved == nil {
		return err
	}
	changed := c.replaced(p, opened, moved)
	if changed == nil {
		return nil
	}
	if err := c.System.MoveFile(c.Plan.Kept, c.Plan.Live); err != nil {
		return fmt.Errorf("put back a log that changed in the last instant: %w", err)
	}
	return changed
}

// replaced returns a [*session.BusyError] if the moved log is not the one that
// was checked. Where a lease is held, that one cannot have been written.
func (c *Change) replaced(p *pinned, opened, moved os.FileInfo) error {
	if !os.SameFile(moved, opened) {
		return c.busy("another file has taken its place")
	}
	if p.lease == nil {
		return c.Plan.Snapshot.MatchesMoved(moved)
	}
	return nil
}

func (c *Change) move() error {
	err := c.System.MoveFile(c.Plan.Live, c.Plan.Kept)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return c.busy("it has been moved or removed since it was found")
	case errors.Is(err, durable.ErrExists):
		return c.busy("another file is at " + c.Plan.Kept)
	case err != nil:
		return fmt.Errorf("move the log aside: %w", err)
	}
	return c.step("move")
}

// Dispose removes the kept inode of an old log for good. It is called when
// every byte of it is in a verified archive and nobody has it open. A file
// that is not that inode any more, or that was changed without growing, stays.
func (c *Change) Dispose() error {
	info, err := c.stat(filepath.Base(c.Plan.Kept))
	if err != nil || info == nil {
		return err
	}
	now, was := session.Observe(c.Plan.Kept, info), c.Plan.Snapshot
	changed := now.Size < was.Size || now.Size == was.Size && !now.ModTime.Equal(was.ModTime)
	if !was.SameFile(now) || changed || !info.Mode().IsRegular() || durable.Identify(info).Links > 1 {
		return nil
	}
	return durable.RemoveFile(c.Plan.Kept)
}
