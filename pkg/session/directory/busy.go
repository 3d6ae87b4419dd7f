package directory

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/sessctl/sessctl/pkg/session"
)

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
func (d *Directory) Busy(ctx context.Context, name string, q Question) error {
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
