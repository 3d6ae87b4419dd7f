package compact

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/sessctl/sessctl/pkg/session"
)

// maxFollows is how often in one run a log that only grew is read, archived
// and remembered again (research/reliability.md section A5, "Carry-over").
const maxFollows = 3

// A log that became shorter is being rewritten in place: OpenClaw 2026.7.1
// truncates its transcript and writes it again at the end of every turn. It is
// looked at again after a second (research/real-runtimes.md section 3).
const (
	rewriteWait  = time.Second
	rewriteTries = 2
)

// execute works until the session is changed. A log that only grew meanwhile
// is followed: an embedding can take minutes, in which the agent said one more
// thing and then fell quiet. Content ids make that cheap.
func (r *run) execute(ctx context.Context) error {
	for r.followed = 0; ; r.followed++ {
		err := r.once(ctx)
		busy := followable(err)
		switch {
		case busy == nil:
			return err
		case r.followed == maxFollows:
			return &session.BusyError{Path: busy.Path, Reason: fmt.Sprintf(
				"it changed again while it was worked on, for the %dth time (%s): it is left alone until the next run", maxFollows+1, busy.Reason)}
		}
		if err := r.follow(ctx); err != nil {
			return err
		}
	}
}

// followable returns the error if it says that the log, still the same file,
// has changed since it was read, and that nothing has been done about it yet.
func followable(err error) *session.BusyError {
	var busy *session.BusyError
	if !errors.As(err, &busy) || busy.Begun {
		return nil
	}
	switch busy.Change {
	case session.ChangeGrew, session.ChangeShorter, session.ChangeTouched:
		return busy
	}
	return nil
}

// follow makes a new plan for a log whose bytes are those that were read
// before, and perhaps more. A log that was rewritten is busy, however long it
// is now: only the hash tells the two apart.
func (r *run) follow(ctx context.Context) error {
	if err := r.awaitWhole(ctx); err != nil {
		return err
	}
	same, err := r.begins(ctx)
	if err != nil {
		return err
	}
	if !same {
		return &session.BusyError{Path: r.plan.Ref.Path, Reason: "it was rewritten while it was worked on"}
	}
	info, err := os.Lstat(r.plan.Ref.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return errGone
	}
	if err != nil {
		return fmt.Errorf("look at the log: %w", err)
	}
	return r.planAgain(ctx, info)
}

// awaitWhole waits while the log is shorter than what was read of it.
func (r *run) awaitWhole(ctx context.Context) error {
	ref := r.plan.Ref
	ref.Bytes = max(r.plan.seen.Size, r.snapshot.Size)
	return WaitOut(ctx, r.policy, func() error {
		info, err := os.Lstat(ref.Path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return errGone
		case err != nil:
			return fmt.Errorf("look at the log: %w", err)
		}
		return session.CheckWhole(ref, info)
	})
}

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

// cutShort makes a busy session of a log that became shorter under the eyes of
// its reader; any other error it returns as it is.
func cutShort(ref session.Ref, err error) error {
	if !errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, session.ErrBusy) {
		return err
	}
	return &session.BusyError{Path: ref.Path, Reason: "it became shorter while it was read", Change: session.ChangeShorter}
}

func shorter(err error) bool {
	var busy *session.BusyError
	return errors.As(err, &busy) && busy.Change == session.ChangeShorter
}

// begins reports whether the log begins with the bytes that this run has read:
// those of the snapshot, or before there is one those of the survey.
func (r *run) begins(ctx context.Context) (bool, error) {
	log, err := openLog(r.plan.Ref.Store, r.plan.Ref.Path)
	if err != nil {
		return false, err
	}
	defer log.Close()
	info, err := log.Stat()
	if err != nil {
		return false, fmt.Errorf("look at the log: %w", err)
	}
	if !r.plan.seen.SameFile(session.Observe(r.plan.Ref.Path, info)) {
		return false, nil
	}
	if r.snapshot.SHA256 != "" {
		return r.snapshot.Begins(ctx, log)
	}
	return r.plan.print.begins(ctx, log)
}

// planAgain starts over with the log as it is now. What is found out then may
// be that there is nothing to do any more: errStopped, with the new plan.
func (r *run) planAgain(ctx context.Context, info os.FileInfo) error {
	ref := r.plan.Ref
	ref.Bytes, ref.ModTime = info.Size(), info.ModTime()
	p := &Plan{Ref: ref, followed: true, Via: r.plan.Via}
	if err := p.make(ctx, r.store, r.policy, r.Now()); err != nil {
		return err
	}
	r.plan, r.result, r.snapshot = p, p.Result(), session.Snapshot{}
	r.result.TokensAfter = p.Tokens
	if p.Outcome != Planned {
		return errOtherPlan
	}
	return nil
}

// errOtherPlan says that the plan that was made again is for nothing to be
// done: it has the outcome.
var errOtherPlan = errors.New("the plan has changed")

// stillIdle asks the store once more whether somebody may be writing, right
// before the session is changed: work takes minutes, and a log that was
// followed has just been written. A gateway that runs is no obstacle where it
// is what will be asked.
func (r *run) stillIdle(ctx context.Context) error {
	liveness, ok := r.store.(session.Liveness)
	if !ok {
		return nil
	}
	// First whether it has changed: what was added is archived and remembered
	// also when it is too fresh for the rest.
	if info, err := os.Lstat(r.plan.Ref.Path); err == nil {
		if err := r.snapshot.Matches(info); err != nil {
			return err
		}
	}
	err := cutShort(r.plan.Ref, liveness.Busy(ctx, r.plan.Ref, r.Now(), r.policy.Quiet))
	var busy *session.BusyError
	switch {
	case err == nil, errors.As(err, &busy) && busy.Served && r.plan.Via == session.ViaGateway:
		return nil
	case busy != nil && r.followed > 0:
		return &session.BusyError{Path: busy.Path, Reason: "it grew while it was worked on, and " + busy.Reason}
	case busy != nil:
		return busy
	}
	return fmt.Errorf("look for writers: %w", err)
}

// wait waits, or returns the error of a context that ends earlier.
func (p Policy) wait(ctx context.Context, d time.Duration) error {
	if p.Wait != nil {
		return p.Wait(ctx, d)
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
