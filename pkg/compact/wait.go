package compact

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/sessctl/sessctl/pkg/session"
)

// A log that became shorter is being rewritten in place: OpenClaw 2026.7.1
// truncates its transcript and writes it again at the end of every turn. It is
// looked at again after a second (docs/dev/formats.md, "openclaw").
const (
	rewriteWait  = time.Second
	rewriteTries = 2
)

// WaitOut tries again, after a second and at most twice, what returns a
// [*session.BusyError] because a log is shorter than it was: it is being
// rewritten in place. It returns what the last try returned.
func WaitOut(ctx context.Context, policy Policy, try func() error) error {
	for n := 0; ; n++ {
		err := try()
		if !shorter(err) || n == rewriteTries {
			return err
		}
		if err := policy.wait(ctx, rewriteWait); err != nil {
			return err
		}
	}
}

// cutShort returns a [*session.BusyError] for a log that became shorter while
// it was read; any other error it returns as it is.
func cutShort(ref session.Ref, err error) error {
	if !errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, session.ErrBusy) {
		return err
	}
	return &session.BusyError{Path: ref.Path, Reason: session.ReasonShorterRead.Text(), Change: session.ChangeShorter}
}

func shorter(err error) bool {
	var busy *session.BusyError
	return errors.As(err, &busy) && busy.Change == session.ChangeShorter
}

// wait waits, or returns the error of a context that ends earlier.
func (p Policy) wait(ctx context.Context, d time.Duration) error {
	if p.Wait != nil {
		return p.Wait(ctx, d)
	}
	return session.Wait(ctx, d)
}
