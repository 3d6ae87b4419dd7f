package pi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"github.com/sessctl/sessctl/pkg/durable"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/logfile"
	"github.com/sessctl/sessctl/pkg/session/piformat"
)

// PlanUndo implements [session.Undoer]. A log of the directory that
// was begun after the rotation and has messages is a [*session.NewerError]
// without Force; with Force it stays where it is, and only the old log becomes
// the newest again: pi keeps any number of logs side by side. A log at the old
// one's own place is in the way.
func (s *Store) PlanUndo(ctx context.Context, r session.Rotation, o session.UndoOptions) (session.Undo, error) {
	u := session.Undo{Rotation: r, At: o.Now.UTC().Truncate(time.Millisecond)}
	c, err := s.openChange(r)
	if err != nil {
		return u, err
	}
	defer c.close()
	if u.From, err = c.oldLog(ctx); err != nil {
		return u, err
	}
	if o.Force {
		return u, nil
	}
	return u, c.begunSince(ctx, r.At)
}

// oldLog finds the old log's bytes: at its place, at its kept name, or neither.
func (c *change) oldLog(ctx context.Context) (from string, err error) {
	for _, name := range []string{c.name, c.kept} {
		same, err := c.begins(ctx, name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return "", err
		case same:
			return c.at(name), nil
		case name == c.name:
			n, err := c.messages(ctx, name)
			return "", errors.Join(err, &session.NewerError{Path: c.rotation.Live, Session: c.rotation.Session, Messages: n})
		}
	}
	return "", nil
}

// begins reports whether a file begins with the bytes of the rotated log.
func (c *change) begins(ctx context.Context, name string) (bool, error) {
	info, err := c.stat(name)
	if err != nil {
		return false, err
	}
	if reason := unusable(info); reason != "" {
		return false, unsupported(c.at(name), reason)
	}
	f, err := c.open(name)
	if err != nil {
		return false, err
	}
	defer f.Close()
	return c.rotation.Snapshot.Begins(ctx, f)
}

// messages counts what is said in a log.
func (c *change) messages(ctx context.Context, name string) (int, error) {
	f, err := c.open(name)
	if err != nil {
		return 0, fmt.Errorf("open log: %w", err)
	}
	defer f.Close()
	return piformat.CountMessages(ctx, f)
}

// begunSince looks for a log that was begun after a time and has messages.
func (c *change) begunSince(ctx context.Context, at time.Time) error {
	found, err := names(c.root)
	if err != nil {
		return fmt.Errorf("list %s: %w", c.path, err)
	}
	for _, name := range found {
		n, ok, _ := parseName(name)
		if !ok || n.rotated || name == c.name {
			continue
		}
		h, err := c.readHead(name)
		if err != nil || !h.Found || !h.Time.After(at) {
			continue
		}
		said, err := c.messages(ctx, name)
		if err != nil {
			return err
		}
		if said > 0 {
			return &session.NewerError{Path: c.at(name), Session: session.CleanID(h.ID), Messages: said}
		}
	}
	return nil
}

// Undo implements [session.Undoer]: the old log gets its name again, or
// is made of the archived bytes, and is the newest of its directory.
func (s *Store) Undo(ctx context.Context, u session.Undo, archived func(io.Writer) error) error {
	c, err := s.openChange(u.Rotation)
	if err != nil {
		return err
	}
	defer c.close()
	if u.From != "" && u.From != u.Rotation.Live && u.From != u.Rotation.Kept {
		return fmt.Errorf("put %s back: the plan is not whole", u.Rotation.Live)
	}
	there, err := c.begins(ctx, c.name)
	switch {
	case err == nil && !there:
		return c.refuse("somebody has made another log at its place")
	case errors.Is(err, fs.ErrNotExist):
		err = c.put(ctx, u, archived)
	}
	if err != nil {
		return err
	}
	return c.makeNewest(u.At)
}

// put puts the old log at its place: its inode, or its bytes.
func (c *change) put(ctx context.Context, u session.Undo, archived func(io.Writer) error) error {
	err := fs.ErrNotExist
	if u.From == u.Rotation.Kept && u.From != "" {
		err = durable.MoveFile(u.From, u.Rotation.Live)
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = c.make(ctx, archived)
	}
	switch {
	case errors.Is(err, durable.ErrExists):
		return c.refuse("somebody has made a log at its place just now")
	case err != nil:
		return fmt.Errorf("put the log back: %w", err)
	}
	if same, err := c.begins(ctx, c.name); err != nil || !same {
		// It is at its place, and pi goes on with it.
		return errors.Join(err, &session.BusyError{Path: u.Rotation.Live, Reason: "somebody is writing it again already", Begun: true})
	}
	return c.step("back")
}

// make makes the log of the archived bytes, like its neighbours. They are read
// back before it gets its name.
func (c *change) make(ctx context.Context, archived func(io.Writer) error) error {
	like, err := (&logfile.Dir{Root: c.root, Path: c.path}).Newest(isLog)
	if err != nil {
		return err
	}
	return durable.CreateChecked(c.rotation.Live, like, archived, func(temp string) error {
		f, err := durable.OpenRegular(temp)
		if err != nil {
			return err
		}
		defer f.Close()
		if same, err := c.rotation.Snapshot.Begins(ctx, f); err != nil || !same {
			return errors.Join(fmt.Errorf("read back %s: it is not the log that was rotated", c.rotation.Live), err)
		}
		return nil
	})
}

// makeNewest gives the log a modification time after those of its neighbours:
// pi continues the log that was written last.
func (c *change) makeNewest(at time.Time) error {
	own, err := c.stat(c.name)
	if err != nil {
		return fmt.Errorf("look at log: %w", err)
	}
	last, err := c.newestBeside()
	if err != nil || own.ModTime().After(last) {
		return errors.Join(err, durable.SyncDir(c.path))
	}
	if !at.After(last) {
		at = last.Add(time.Millisecond)
	}
	if err := durable.Touch(c.rotation.Live, at); err != nil {
		return err
	}
	return c.step("newest")
}

// newestBeside is when the newest of the other logs was changed.
func (c *change) newestBeside() (last time.Time, err error) {
	found, err := names(c.root)
	if err != nil {
		return last, fmt.Errorf("list %s: %w", c.path, err)
	}
	for _, name := range found {
		n, ok, _ := parseName(name)
		if !ok || n.rotated || name == c.name {
			continue
		}
		if info, err := c.stat(name); err == nil && unusable(info) == "" && info.ModTime().After(last) {
			last = info.ModTime()
		}
	}
	return last, nil
}
