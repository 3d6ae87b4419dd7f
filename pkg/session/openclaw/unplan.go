package openclaw

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/piformat"
)

// PlanUnrotation implements [session.Unrotator]. With Force the session that
// the index names now may be any, so long as all entries name the same; a log
// of it that has messages, and another log at the old one's place, are a
// [*session.NewerError] all the same.
func (s *Store) PlanUnrotation(ctx context.Context, r session.Rotation, o session.UnrotateOptions) (session.Unrotation, error) {
	u := session.Unrotation{Rotation: r, At: o.Now.UTC().Truncate(time.Millisecond)}
	c, err := s.openChange(r)
	if err != nil {
		return u, err
	}
	defer c.close()
	v, err := s.lookAgain(ctx, c.directory)
	if err != nil {
		return u, err
	}
	if v.frozen != "" {
		return u, unsupported(r.Live, v.frozen)
	}
	if err := errors.Join(c.locked(c.name, o.Now), s.unserved(r.Live)); err != nil {
		return u, err
	}
	if u.From, err = c.oldLog(ctx); err != nil {
		return u, err
	}
	if err := planEntries(v, &u, o); err != nil {
		return u, err
	}
	return u, c.planFresh(ctx, v, &u, o)
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
func (d *directory) messages(ctx context.Context, name string) (int, error) {
	f, err := d.open(name)
	if err != nil {
		return 0, fmt.Errorf("open log: %w", err)
	}
	defer f.Close()
	return piformat.CountMessages(ctx, f)
}

// planEntries finds out which session the entries name now.
func planEntries(v *view, u *session.Unrotation, o session.UnrotateOptions) error {
	r := &u.Rotation
	now := ""
	for _, key := range r.Keys {
		e := v.index.entry(key)
		if e == nil {
			continue
		}
		u.Before = append(u.Before, e.before())
		switch {
		case e.session == oldSession(*r, key):
		case now == "":
			now = e.session
		case now != e.session:
			return unsupported(r.Live, "the entries of sessions.json that named it name different sessions by now")
		}
	}
	switch {
	case len(r.Keys) > 0 && len(u.Before) == 0:
		return unsupported(r.Live, "sessions.json has no entry for it any more")
	case now == "" || now == r.NewSession:
		return nil
	case !o.Force:
		return &session.NewerError{Session: now}
	}
	r.NewSession = now
	return nil
}

// planFresh decides what becomes of the log of the session that the entries
// name now.
func (c *change) planFresh(ctx context.Context, v *view, u *session.Unrotation, o session.UnrotateOptions) error {
	name := freshLog(v, u)
	if name == "" || name == c.name {
		return nil
	}
	info, err := c.stat(name)
	if err != nil {
		return fmt.Errorf("look at the fresh log: %w", err)
	}
	if reason := unusable(info); reason != "" {
		return unsupported(c.at(name), reason)
	}
	n, err := c.messages(ctx, name)
	if err != nil {
		return err
	}
	if n > 0 {
		return &session.NewerError{Path: c.at(name), Session: u.Rotation.NewSession, Messages: n}
	}
	if err := errors.Join(c.locked(name, o.Now), session.CheckQuiet(c.at(name), info, o.Now, o.Quiet)); err != nil {
		return err
	}
	u.Fresh, u.FreshSnapshot = c.at(name), session.Observe(c.at(name), info)
	u.FreshKept, err = v.freeName(v.all.byName[name], o.Now.UTC().Truncate(time.Millisecond))
	return err
}

// freshLog is the name of the log that the entries mean now, "" if it has none
// yet.
func freshLog(v *view, u *session.Unrotation) string {
	for _, key := range u.Rotation.Keys {
		if e := v.index.entry(key); e != nil && e.session == u.Rotation.NewSession {
			if name := e.log(v.all); name != "" {
				return name
			}
		}
	}
	return ""
}
