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

// Place implements [session.Restorer].
func (l *Logs) Place(ctx context.Context, path string, now time.Time) (session.Place, error) {
	if err := ctx.Err(); err != nil {
		return session.Place{}, err
	}
	name, _ := OriginalName(filepath.Base(path))
	path = filepath.Join(filepath.Dir(path), name)
	below, err := filepath.Rel(l.Base, path)
	if err != nil || !filepath.IsLocal(below) {
		return session.Place{}, fmt.Errorf("%s: %w", path, session.ErrElsewhere)
	}
	ref, ok := l.Locate(filepath.ToSlash(below))
	if !ok || strings.HasPrefix(below, ".") || strings.Count(filepath.ToSlash(below), "/") > l.Depth {
		return session.Place{}, Unsupported(path, session.ReasonNoPlaceRuntime.Text())
	}
	ref.Runtime, ref.Store, ref.Path = l.Name, l.Store, path
	place := session.Place{Path: path, Ref: ref, Owned: l.Owned}
	d, _, err := l.Directory(path)
	if errors.Is(err, fs.ErrNotExist) {
		place.Kept, place.SecondKept = Rotated(path, now), Rotated(path, now.Add(time.Second))
		return place, nil
	}
	if err != nil {
		return place, err
	}
	defer d.Close()
	if err := d.InPlace(); err != nil {
		return place, err
	}
	if place.In, err = d.Root.Stat("."); err != nil {
		return place, err
	}
	return place, l.look(d, name, &place, now)
}

// look completes what the directory tells.
func (l *Logs) look(d *Dir, name string, place *session.Place, now time.Time) (err error) {
	if place.Kept, err = d.FreeRotated(name, now); err != nil {
		return err
	}
	if place.SecondKept, err = d.FreeRotated(name, now.Add(time.Second)); err != nil {
		return err
	}
	info, err := d.Stat(name)
	if err != nil {
		return err
	}
	if info == nil {
		place.Like, err = l.lender(d)
		return err
	}
	if reason := Unusable(info); reason != "" {
		return Unsupported(place.Path, reason)
	}
	place.There, place.Like = true, info
	place.Ref.Bytes, place.Ref.ModTime = info.Size(), info.ModTime()
	return nil
}

// lender is the file whose mode and owner a new log in a directory gets: the one
// that was changed last, nil if there is none.
func (l *Logs) lender(d *Dir) (os.FileInfo, error) {
	if l.Owned {
		return nil, nil
	}
	return d.Newest(func(name string) bool {
		log, _ := OriginalName(name)
		return l.locates(d.At(log)) || l.Like != nil && l.Like(name)
	})
}

// Newest is the file that was changed last of those that like picks, nil if
// there is none.
func (d *Dir) Newest(like func(name string) bool) (last os.FileInfo, err error) {
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
func (l *Logs) Unused(_ context.Context, path string, now time.Time, quiet time.Duration) error {
	d, name, err := l.Directory(path)
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
	return &session.BusyError{Path: path, Reason: session.ReasonGone.Text()}
}

// GoneOr is the error of [Gone] in the place of one that wraps fs.ErrNotExist; any
// other one stays as it is.
func GoneOr(path string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return Gone(path)
	}
	return err
}

// Unsupported is an error that wraps [session.ErrUnsupported].
func Unsupported(path, reason string) error {
	return fmt.Errorf("%w: %s: %s", session.ErrUnsupported, path, reason)
}

// Question is what is asked about a session before it is changed.
type Question struct {
	session.BusyQuestion
	// Tail reads the end of the log; nil for logs whose last turn nobody answers
	// any more, whatever they show.
	Tail func(ctx context.Context, ref session.Ref) (session.Tail, error)
}

// Busy returns a [*session.BusyError] when a log changed within the quiet
// period, when it is empty, shorter than it was when it was listed, or gone,
// and when a turn is going on in it (see [session.CheckTurn]).
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
	return session.CheckTurn(q.BusyQuestion, tail, info.ModTime())
}

// state is what a listing says of a log's state: busy shortly after a change.
func state(ref *session.Ref, info os.FileInfo, now time.Time) {
	ref.State = session.StateIdle
	var busy *session.BusyError
	if errors.As(session.CheckQuiet(ref.Path, info, now, session.RecentChange), &busy) {
		ref.State, ref.Reason = session.StateBusy, busy.Reason
	}
}
