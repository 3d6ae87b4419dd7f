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

// Plan says what would be done with one session. It is data and keeps nothing
// open; making one changes nothing.
type Plan struct {
	Ref         session.Ref
	Outcome     Outcome // Planned, or why nothing will be done
	Reason      string
	Strategy    Strategy
	Tokens      int64
	TokenSource string
	Cut         session.Cut      // what is summed up and what stays, with overlay and rewrite
	Cleared     bool             // by rewrite: the session goes, and no summary takes its place
	Via         string           // session.ViaGateway or ViaFiles where a gateway may run, else ""
	Advice      string           // with none: the runtime's own command
	Survey      Survey           // only of planned sessions
	seen        session.Snapshot // without a hash: which bytes the survey read
	print       fingerprint      // of those bytes
	followed    bool             // it is a plan for a log that grew meanwhile
	rewriting   error            // why it stopped at a log that is shorter than it was
}

// Result is the plan as `compact --dry-run --json` shows it.
func (p *Plan) Result() Result {
	r := NewResult(p.Ref, p.Outcome, p.Reason)
	r.Via = p.Via
	r.Strategy, r.TokensBefore, r.TokenSource = p.Strategy, p.Tokens, p.TokenSource
	r.Messages, r.LinesSkipped, r.Chunks = p.Survey.Scan.Records, p.Survey.Skipped(), p.Survey.Chunks
	r.TokensAfter = p.Tokens
	switch {
	case p.Outcome != Planned:
	case p.Strategy == StrategyNone:
		r.Reason = p.left()
	case p.Strategy.shortens():
		r.TokensAfter, r.Cut, r.Cleared = p.Cut.KeptTokens, &p.Cut, p.Cleared
	default:
		r.TokensAfter = 0
	}
	return r
}

// stop is the end of a plan for a reason that is no error.
func (p *Plan) stop(outcome Outcome, format string, args ...any) error {
	p.Outcome, p.Reason = outcome, fmt.Sprintf(format, args...)
	return nil
}

// stopBusy is the end of a plan because of somebody who may be writing.
func (p *Plan) stopBusy(err error) error {
	if shorter(err) {
		p.rewriting = err
	}
	return p.stop(Busy, "%s", busyReason(err))
}

// whole looks for a log that is shorter than it was when it was listed.
func (p *Plan) whole(store session.Store) error {
	if _, ok := store.(session.LogSource); ok || p.Ref.Bytes == 0 {
		return nil
	}
	info, err := os.Lstat(p.Ref.Path)
	if err != nil || !info.Mode().IsRegular() {
		return nil // what reads it says so
	}
	return session.CheckWhole(p.Ref, info)
}

// NewPlan decides what to do with a session: it reads the log's end for its
// size, asks the store whether somebody is writing, and only then reads the
// log once. An error means that the log could not be read.
//
// A log that became shorter is being rewritten in place. It is looked at again
// after a second, and then it is busy.
func NewPlan(ctx context.Context, store session.Store, ref session.Ref, policy Policy, now time.Time) (*Plan, error) {
	var p *Plan
	err := WaitOut(ctx, policy, func() error {
		p = &Plan{Ref: ref}
		if err := p.make(ctx, store, policy, now); err != nil {
			return err
		}
		return p.rewriting
	})
	if err != nil && !errors.Is(err, session.ErrBusy) {
		return nil, err
	}
	return p, nil
}

// make makes the plan, by every step of it that nothing stands in the way of.
func (p *Plan) make(ctx context.Context, store session.Store, policy Policy, now time.Time) error {
	p.Strategy = policy.Strategy
	if p.Ref.State == session.StateUnsupported {
		return p.stop(Unsupported, "%s", p.Ref.Reason)
	}
	if reason := p.choose(store, policy); reason != "" {
		return p.stop(Unsupported, "%s", reason)
	}
	if err := p.whole(store); err != nil {
		return p.stopBusy(err)
	}
	tail, err := store.Tail(ctx, p.Ref)
	if errors.Is(err, fs.ErrNotExist) {
		return p.stop(Busy, "it was moved away since it was listed")
	}
	if err = cutShort(p.Ref, err); shorter(err) {
		return p.stopBusy(err)
	}
	if err != nil {
		return fmt.Errorf("count its tokens: %w", err)
	}
	p.Tokens, p.TokenSource = tail.Tokens, tail.TokenSource
	if due, err := p.due(ctx, store, tail, policy, now); err != nil || !due {
		return err
	}
	if p.Ref.Bytes == 0 {
		return p.stop(NothingToDo, "the session is empty")
	}
	if idle, err := p.idle(ctx, store, policy, now); err != nil || !idle {
		return err
	}
	if err := p.survey(ctx, store, policy); errors.Is(err, fs.ErrNotExist) {
		return p.stop(Busy, "it was moved away while it was read")
	} else if err != nil || p.Outcome != Planned {
		return err
	}
	return p.tryChange(ctx, store, policy, now)
}

// survey reads the whole log and remembers which bytes it read.
func (p *Plan) survey(ctx context.Context, store session.Store, policy Policy) error {
	seen, open, err := look(ctx, store, p.Ref)
	if err != nil {
		return err
	}
	p.seen = seen
	p.Survey, err = takeSurvey(ctx, store, p.surveyOptions(store, policy), func() (io.ReadCloser, error) {
		log, err := open()
		if err != nil {
			return nil, err
		}
		return p.print.watch(log), nil
	})
	if p.print.ended && p.print.size < seen.Size {
		return p.stopBusy(&session.BusyError{Reason: "it became shorter while it was read: it may be being rewritten", Change: session.ChangeShorter})
	}
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
