package openclaw

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/session"
)

// Rotate implements [session.Rotator], as the runtime's reset was seen to do
// it and as it was seen to accept it from others (research/real-runtimes.md
// section 5, experiment i): the entries of the index get a new session id, the
// log is renamed to ".reset.<time>", and no new log is made; the runtime makes
// it at the next turn.
//
// The order is what makes it safe to die anywhere. A lease proves that nobody
// has the log open, and the log is compared with the snapshot. Then the index
// is replaced, and then the log's inode gets its new name. Between the two the
// runtime already starts fresh, and the old log lies where it lay. Each step
// is recognised as done by what is on disk.
//
// Before the index is replaced every doubt is a [*session.BusyError] and
// nothing has changed. When an earlier run has replaced it and the log is open
// somewhere, the error has Begun set.
func (s *Store) Rotate(ctx context.Context, r session.Rotation) error {
	c, err := s.openChange(r)
	if err != nil {
		return err
	}
	defer c.close()
	if err := c.read(ctx); err != nil {
		return err
	}
	if !c.logThere {
		return c.withoutLog(ctx)
	}
	if err := c.pin(); err != nil {
		return c.begun(err)
	}
	if err := c.switchIndex(ctx); err != nil {
		return err
	}
	return c.moveLog()
}

// withoutLog finishes a rotation whose log is not at its place any more.
func (c *change) withoutLog(ctx context.Context) error {
	if !c.moved && !c.switched {
		return gone(c.rotation.Live)
	}
	if err := c.switchIndex(ctx); err != nil {
		return err
	}
	if c.linked {
		return c.moveLog()
	}
	return durable.SyncDir(c.path)
}

// begun marks a busy log whose index an earlier run has switched.
func (c *change) begun(err error) error {
	var busy *session.BusyError
	if c.switched && errors.As(err, &busy) {
		busy.Begun = true
	}
	return err
}

// pin takes the lease and checks that the log still is the snapshot.
func (c *change) pin() error {
	if err := c.locked(c.name, time.Now()); err != nil {
		return err
	}
	if err := c.store.unserved(c.rotation.Live); err != nil {
		return err
	}
	if err := c.openLog(); err != nil {
		return err
	}
	if err := c.takeLease(); err != nil {
		return err
	}
	if err := c.store.step("lease"); err != nil {
		return err
	}
	if err := c.check(); err != nil {
		return err
	}
	if c.lease == nil {
		c.unpin() // some systems do not rename an open file
	}
	return c.store.step("check")
}

const heldElsewhere = "another process has it open"

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
	c.lease, err = c.store.options.System.WriteLease(c.log)
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
// snapshot. After the index was switched the log may have changed: its inode
// is kept, whatever is in it.
func (c *change) check() error {
	opened, err := c.log.Stat()
	if err != nil {
		return fmt.Errorf("look at log: %w", err)
	}
	named, err := c.stat(c.name)
	if errors.Is(err, fs.ErrNotExist) {
		return gone(c.rotation.Live)
	}
	if err != nil {
		return fmt.Errorf("look at log: %w", err)
	}
	if !os.SameFile(opened, named) {
		return c.refuse("another file has taken its place")
	}
	c.checked = opened
	if c.switched {
		return nil
	}
	if reason := unusable(named); reason != "" {
		return c.refuse(reason)
	}
	return c.rotation.Snapshot.Matches(named)
}

// switchIndex points the entries at the new session. Where that is done
// already, an earlier run may have died before it was durable.
func (c *change) switchIndex(ctx context.Context) error {
	if len(c.rotation.Keys) == 0 {
		return nil
	}
	if c.switched {
		return durable.SyncDir(c.path)
	}
	text, err := c.index.rotated(c.rotation.Keys, freshEntry{session: c.rotation.NewSession, at: c.rotation.At})
	if err != nil {
		return fmt.Errorf("edit sessions.json: %w", err)
	}
	if c.lease != nil && !c.lease.Held() {
		return c.refuse(heldElsewhere)
	}
	if err := c.replaceIndex(text, c.logInPlace); err != nil {
		return err
	}
	if err := c.store.step("index"); err != nil {
		return err
	}
	return c.confirm(ctx)
}

// replaceIndex replaces the index unless somebody else has just done so, or a
// last check that costs next to nothing fails.
func (c *change) replaceIndex(text []byte, last func() error) error {
	err := durable.ReplaceFile(c.rotation.Index, c.index.info.Mode().Perm(), func(w io.Writer) error {
		if _, err := w.Write(text); err != nil {
			return err
		}
		return errors.Join(c.index.changed(c.directory), last())
	})
	if err != nil {
		return fmt.Errorf("replace sessions.json: %w", err)
	}
	return nil
}

// nothingElse is the last check where there is none.
func nothingElse() error { return nil }

// logInPlace returns a [*session.BusyError] if the log that was checked does not
// lie at its place any more, or was written where there is no lease: a lease
// tells of those who open it, not of those who put another file there.
func (c *change) logInPlace() error {
	if c.checked == nil {
		return nil
	}
	named, err := c.stat(c.name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return gone(c.rotation.Live)
	case err != nil:
		return fmt.Errorf("look at log: %w", err)
	case !os.SameFile(c.checked, named):
		return c.refuse("another file has taken its place")
	case c.lease == nil: // no lease tells of those who write it
		return c.rotation.Snapshot.Matches(named)
	}
	return nil
}

// confirm looks again before the log is moved. A runtime that wrote its own
// index over ours in the same instant is at work: the session goes on, and
// nothing has changed. So does one that put another log in place of the one
// that was archived, and then the index goes back to what it was.
func (c *change) confirm(ctx context.Context) error {
	x, err := c.readIndex(ctx)
	if err != nil {
		return fmt.Errorf("read sessions.json again: %w", err)
	}
	for _, key := range c.rotation.Keys {
		if e := x.entry(key); e == nil || e.session != c.rotation.NewSession {
			return c.refuse("the runtime has written its own sessions.json over the change")
		}
	}
	if replaced := c.logInPlace(); replaced != nil {
		before := c.index.raw
		c.index = x
		return errors.Join(replaced, c.replaceIndex(before, nothingElse))
	}
	c.switched = true
	return nil
}

// moveLog gives the log's inode its new name.
func (c *change) moveLog() error {
	if err := c.store.options.System.MoveFile(c.rotation.Live, c.rotation.Kept); err != nil {
		return fmt.Errorf("close the log: %w", err)
	}
	return c.store.step("move")
}
