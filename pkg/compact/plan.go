package compact

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

// Plan says what would be done with one session. It is data and keeps nothing
// open; making one changes nothing.
type Plan struct {
	Ref         session.Ref
	Outcome     Outcome // Planned, or why nothing will be done
	Reason      string
	Strategy    Strategy
	Tokens      int64
	TokenSource string
	Survey      Survey           // only of planned sessions
	seen        session.Snapshot // without a hash: which bytes the survey read
}

// Result is the plan as `compact --dry-run --json` shows it.
func (p *Plan) Result() Result {
	r := NewResult(p.Ref, p.Outcome, p.Reason)
	r.Strategy, r.TokensBefore, r.TokenSource = p.Strategy, p.Tokens, p.TokenSource
	r.Messages, r.LinesSkipped, r.Chunks = p.Survey.Scan.Records, p.Survey.Skipped(), p.Survey.Chunks
	r.TokensAfter = p.Tokens
	if p.Outcome == Planned {
		r.TokensAfter = 0
	}
	return r
}

func (p *Plan) stop(outcome Outcome, format string, args ...any) (*Plan, error) {
	p.Outcome, p.Reason = outcome, fmt.Sprintf(format, args...)
	return p, nil
}

// NewPlan decides what to do with a session: it reads the log's end for its
// size, asks the store whether somebody is writing, and only then reads the
// log once. An error means that the log could not be read.
func NewPlan(ctx context.Context, store session.Store, ref session.Ref, policy Policy, now time.Time) (*Plan, error) {
	p := &Plan{Ref: ref, Strategy: policy.Strategy}
	if ref.State == session.StateUnsupported {
		return p.stop(Unsupported, "%s", ref.Reason)
	}
	rotator, ok := store.(session.Rotator)
	if !ok {
		return p.stop(Unsupported, "sessions of %s cannot be rotated", ref.Runtime)
	}
	if p.Strategy == "" {
		p.Strategy = StrategyRotate
	}
	tail, err := store.Tail(ctx, ref)
	if errors.Is(err, fs.ErrNotExist) {
		return p.stop(Busy, "it was moved away since it was listed")
	}
	if err != nil {
		return nil, fmt.Errorf("read the end of the log: %w", err)
	}
	p.Tokens, p.TokenSource = tail.Tokens, tail.TokenSource
	if p.Tokens < policy.Threshold && !policy.Force {
		return p.stop(BelowThreshold, "%d tokens, threshold %d", p.Tokens, policy.Threshold)
	}
	if ref.Bytes == 0 {
		return p.stop(NothingToDo, "the session is empty")
	}
	if err := rotator.Busy(ctx, ref, now, policy.Quiet); errors.Is(err, session.ErrBusy) {
		return p.stop(Busy, "%s", busyReason(err))
	} else if err != nil {
		return nil, fmt.Errorf("look for writers: %w", err)
	}
	if err := p.survey(ctx, store, policy); errors.Is(err, fs.ErrNotExist) {
		return p.stop(Busy, "it was moved away while it was read")
	} else if err != nil || p.Outcome != Planned {
		return p, err
	}
	return p.tryRotation(ctx, rotator, policy, now)
}

// tryRotation asks whether the store would rotate the session, before
// anything is done for it.
func (p *Plan) tryRotation(ctx context.Context, rotator session.Rotator, policy Policy, now time.Time) (*Plan, error) {
	if policy.SkipArchive {
		return p, nil
	}
	_, err := rotator.PlanRotation(ctx, p.Ref, p.seen, now)
	switch {
	case errors.Is(err, session.ErrBusy):
		return p.stop(Busy, "%s", busyReason(err))
	case errors.Is(err, session.ErrUnsupported):
		return p.stop(Unsupported, "%v", err)
	case err != nil:
		return nil, fmt.Errorf("plan the rotation: %w", err)
	}
	return p, nil
}

// survey reads the whole log and remembers which bytes it read.
func (p *Plan) survey(ctx context.Context, store session.Store, policy Policy) error {
	info, err := os.Lstat(p.Ref.Path)
	if err != nil {
		return fmt.Errorf("look at the log: %w", err)
	}
	p.seen = session.Observe(p.Ref.Path, info)
	p.Survey, err = takeSurvey(ctx, store, policy.Chunk, func() (io.ReadCloser, error) {
		f, err := durable.OpenRegular(p.Ref.Path)
		if err != nil {
			return nil, err
		}
		return section(f, p.seen.Size), nil
	})
	if err != nil {
		return fmt.Errorf("read the log: %w", err)
	}
	if p.Survey.Scan.Messages == 0 {
		p.Outcome, p.Reason = NothingToDo, "the session has no messages"
		return nil
	}
	p.Outcome = Planned
	return nil
}

func busyReason(err error) string {
	var busy *session.BusyError
	if errors.As(err, &busy) {
		return busy.Reason
	}
	return err.Error()
}

// section reads exactly the first size bytes of a file and closes it.
func section(f *os.File, size int64) io.ReadCloser {
	return struct {
		io.Reader
		io.Closer
	}{io.NewSectionReader(f, 0, size), f}
}
