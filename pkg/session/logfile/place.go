package logfile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/sessctl/sessctl/pkg/session"
)

// Places says where the logs of a store can be put back. With it an adapter
// whose sessions are files is a [session.Restorer].
type Places struct {
	Base  string // the directory that all logs are below
	Depth int    // how many directories further down a log is at most
	// Log reads where a log is, below Base and with slashes. It returns the
	// session as far as its place tells, without Store and Path, and false
	// where no log can be. A log that was moved aside never comes here: its
	// name stands for the one that it had.
	Log func(below string) (session.Ref, bool)
	// Like reports whether a file in the directory of a log may lend it its
	// mode and owner. nil for none: a log gets mode 0600.
	Like func(name string) bool
	// Owned is true where only the runtime changes its logs: one can be put
	// where none is, and never in the place of another.
	Owned bool
	Store string // the root, as the store was opened
}

// Place implements [session.Restorer].
func (p Places) Place(ctx context.Context, path string, now time.Time) (session.Place, error) {
	if err := ctx.Err(); err != nil {
		return session.Place{}, err
	}
	name, _ := OriginalName(filepath.Base(path))
	path = filepath.Join(filepath.Dir(path), name)
	below, err := filepath.Rel(p.Base, path)
	if err != nil || !filepath.IsLocal(below) {
		return session.Place{}, fmt.Errorf("%s: %w", path, session.ErrElsewhere)
	}
	ref, ok := p.Log(filepath.ToSlash(below))
	if !ok || strings.HasPrefix(below, ".") || strings.Count(filepath.ToSlash(below), "/") > p.Depth {
		return session.Place{}, Unsupported(path, "no place for a session of this runtime")
	}
	ref.Store, ref.Path = p.Store, path
	place := session.Place{Path: path, Ref: ref, Owned: p.Owned}
	d, _, err := Of(p.Base, path, p.Depth)
	if errors.Is(err, fs.ErrNotExist) {
		place.Aside, place.Spare = Rotated(path, now), Rotated(path, now.Add(time.Second))
		return place, nil
	}
	if err != nil {
		return place, err
	}
	defer d.Close()
	if err := d.InPlace(); err != nil {
		return place, err
	}
	return place, p.look(d, name, &place, now)
}

// look completes what the directory tells.
func (p Places) look(d *Dir, name string, place *session.Place, now time.Time) (err error) {
	if place.Aside, err = d.FreeRotated(name, now); err != nil {
		return err
	}
	if place.Spare, err = d.FreeRotated(name, now.Add(time.Second)); err != nil {
		return err
	}
	info, err := d.Stat(name)
	if err != nil {
		return err
	}
	if info == nil {
		place.Like, err = d.Newest(p.Like)
		return err
	}
	if reason := Unusable(info); reason != "" {
		return Unsupported(place.Path, reason)
	}
	place.There, place.Like = true, info
	place.Ref.Bytes, place.Ref.ModTime = info.Size(), info.ModTime()
	return nil
}

// Newest is the file that was changed last of those that like picks, nil if
// there is none.
func (d *Dir) Newest(like func(name string) bool) (last os.FileInfo, err error) {
	if like == nil {
		return nil, nil
	}
	names, err := d.Names()
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if !like(name) {
			continue
		}
		info, err := d.Stat(name)
		if err != nil || info == nil || Unusable(info) != "" {
			continue // somebody else's trouble, or gone since
		}
		if last == nil || !info.ModTime().Before(last.ModTime()) {
			last = info
		}
	}
	return last, nil
}

// Unused implements [session.Restorer] for runtimes that take no locks.
func (p Places) Unused(_ context.Context, path string, now time.Time, quiet time.Duration) error {
	d, name, err := Of(p.Base, path, p.Depth)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer d.Close()
	info, err := d.Stat(name)
	if err != nil || info == nil {
		return err
	}
	return session.CheckQuiet(path, info, now, quiet)
}

// Gone is the [*session.BusyError] of a log that is not where it was.
func Gone(path string) error {
	return &session.BusyError{Path: path, Reason: "it has been moved or removed since it was found"}
}

// Unsupported is an error that wraps [session.ErrUnsupported].
func Unsupported(path, reason string) error {
	return fmt.Errorf("%w: %s: %s", session.ErrUnsupported, path, reason)
}

// Question is what is asked about a session before it is changed.
type Question struct {
	Ref   session.Ref
	Now   time.Time
	Quiet time.Duration // how long the log must have been untouched
	// Tail reads the end of the log; nil for logs that cannot show whether the
	// last turn is answered.
	Tail func(ctx context.Context, ref session.Ref) (session.Tail, error)
}

// Busy returns a [*session.BusyError] when a log changed within the quiet
// period, when it is empty, shorter than it was when it was listed, or gone,
// and when its last line is torn or its last turn unanswered.
func (d *Dir) Busy(ctx context.Context, name string, q Question) error {
	info, err := d.Stat(name)
	if err != nil {
		return err
	}
	if info == nil {
		return Gone(q.Ref.Path)
	}
	if err := session.CheckQuiet(q.Ref.Path, info, q.Now, q.Quiet); err != nil {
		return err
	}
	if err := session.CheckWhole(q.Ref, info); err != nil || q.Tail == nil {
		return err
	}
	tail, err := q.Tail(ctx, q.Ref)
	if errors.Is(err, fs.ErrNotExist) {
		return Gone(q.Ref.Path)
	}
	if err != nil {
		return err
	}
	return session.CheckAnswered(q.Ref.Path, tail)
}

// State is what a listing says of a log's state: busy shortly after a change.
func State(ref *session.Ref, info os.FileInfo, now time.Time) {
	ref.State = session.StateIdle
	var busy *session.BusyError
	if errors.As(session.CheckQuiet(ref.Path, info, now, session.RecentChange), &busy) {
		ref.State, ref.Reason = session.StateBusy, busy.Reason
	}
}
