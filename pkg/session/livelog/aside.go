package livelog

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/sessctl/sessctl/pkg/durable"
)

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
