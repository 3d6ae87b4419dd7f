package logfile

import (
	"context"
	"time"

	"github.com/sessctl/sessctl/pkg/session"
)

// Resuming is for a runtime that goes on with the newest log of each key, and
// with the one before where that is gone: what is cleared would come back as the
// conversation that was before it.
type Resuming struct {
	// List is the store's.
	List func(ctx context.Context) (session.Listing, error)
	// Nothing is a log that the runtime reads as one in which nothing was said. It
	// takes the place of a log that is moved aside, where an older one is behind.
	Nothing string
}

// older reports whether the runtime would go on with something said before if a
// log were not there. A log that cannot be read counts: the runtime may read it.
func (l *RotatingLogs) older(ctx context.Context, without session.Ref) (bool, error) {
	listing, err := l.Resuming.List(ctx)
	if err != nil {
		return false, err
	}
	var next *session.Ref
	for i, ref := range listing.Refs {
		other := ref.Kind == session.KindLive && ref.Key == without.Key && ref.Path != without.Path
		if other && (next == nil || next.ModTime.Before(ref.ModTime)) {
			next = &listing.Refs[i]
		}
	}
	if next == nil {
		return false, nil
	}
	tail, err := l.Tail(ctx, *next)
	return err != nil || tail.Messages > 0, ctx.Err()
}

// Place is [Logs.Place]. A log in which nothing was said, as a rotation leaves it,
// is blank.
func (l *RotatingLogs) Place(ctx context.Context, path string, now time.Time) (session.Place, error) {
	p, err := l.Logs.Place(ctx, path, now)
	if err != nil || l.Resuming == nil || p.Ref.Bytes != int64(len(l.Resuming.Nothing)) {
		return p, err
	}
	tail, err := l.Tail(ctx, p.Ref)
	p.Blank = err == nil && tail.Messages == 0
	return p, nil
}

// WentOn is Logs.later for such a runtime: after a clear it begins another log of
// the same key.
func (l *RotatingLogs) WentOn(ctx context.Context, r session.Rotation) error {
	listing, err := l.Resuming.List(ctx)
	if err != nil {
		return err
	}
	return l.later(ctx, listing, r)
}
