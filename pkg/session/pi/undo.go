package pi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
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
	c, err := s.OpenChange(session.Shortening{Rotation: r})
	if err != nil {
		return u, err
	}
	defer c.Dir.Close()
	if u.From, err = oldLog(ctx, c); err != nil {
		return u, err
	}
	if o.Force {
		return u, nil
	}
	return u, begunSince(ctx, c.Dir, filepath.Base(r.Live), r.At)
}

// oldLog finds the old log's bytes: at its place, at its kept name, or neither.
func oldLog(ctx context.Context, c *logfile.Change) (string, error) {
	from, other, err := c.OldLog(ctx)
	if err != nil || !other {
		return from, err
	}
	n, err := messages(ctx, c.Dir, filepath.Base(c.Plan.Live))
	return "", errors.Join(err, &session.NewerError{Path: c.Plan.Live, Session: c.Plan.Session, Messages: n})
}

// messages counts what is said in a log.
func messages(ctx context.Context, d *logfile.Dir, name string) (int, error) {
	f, _, err := d.OpenLog(name)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	return piformat.CountMessages(ctx, f)
}

// begunSince looks for a log, other than the old one, that was begun after a
// time and has messages.
func begunSince(ctx context.Context, d *logfile.Dir, old string, at time.Time) error {
	found, err := d.Names()
	if err != nil {
		return err
	}
	for _, name := range found {
		n, ok, _ := parseName(name)
		if !ok || n.rotated || name == old {
			continue
		}
		h, err := readHead(d, name)
		if err != nil || !h.Found || !h.Time.After(at) {
			continue
		}
		said, err := messages(ctx, d, name)
		if err != nil {
			return err
		}
		if said > 0 {
			return &session.NewerError{Path: d.At(name), Session: session.CleanID(h.ID), Messages: said}
		}
	}
	return nil
}

// Undo implements [session.Undoer]: the old log gets its name again, or
// is made of the archived bytes, and is the newest of its directory.
func (s *Store) Undo(ctx context.Context, u session.Undo, archived func(io.Writer) error) error {
	c, err := s.OpenChange(session.Shortening{Rotation: u.Rotation})
	if err != nil {
		return err
	}
	defer c.Dir.Close()
	if u.From != "" && u.From != u.Rotation.Live && u.From != u.Rotation.Kept {
		return fmt.Errorf("put %s back: the plan is not whole", u.Rotation.Live)
	}
	like := func() (os.FileInfo, error) { return c.Dir.Newest(isLog) }
	if err := c.PutBack(ctx, logfile.Source{From: u.From, Archived: archived, Like: like}); err != nil {
		return err
	}
	return s.makeNewest(c.Dir, u)
}

// makeNewest gives the log a modification time after those of its neighbours:
// pi continues the log that was written last.
func (s *Store) makeNewest(d *logfile.Dir, u session.Undo) error {
	name := filepath.Base(u.Rotation.Live)
	own, err := d.Stat(name)
	if err != nil {
		return err
	}
	if own == nil {
		return logfile.Gone(u.Rotation.Live)
	}
	last, err := newestBeside(d, name)
	if err != nil || own.ModTime().After(last) {
		return errors.Join(err, durable.SyncDir(d.Path))
	}
	at := u.At
	if !at.After(last) {
		at = last.Add(time.Millisecond)
	}
	if err := durable.Touch(u.Rotation.Live, at); err != nil {
		return err
	}
	return s.Stepped("newest")
}

// newestBeside is when the newest of the other logs was changed.
func newestBeside(d *logfile.Dir, old string) (last time.Time, err error) {
	found, err := d.Names()
	if err != nil {
		return last, err
	}
	for _, name := range found {
		n, ok, _ := parseName(name)
		if !ok || n.rotated || name == old {
			continue
		}
		info, err := d.Stat(name)
		if err == nil && info != nil && logfile.Unusable(info) == "" && info.ModTime().After(last) {
			last = info.ModTime()
		}
	}
	return last, nil
}
