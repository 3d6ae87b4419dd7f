package pi

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/session"
)

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
