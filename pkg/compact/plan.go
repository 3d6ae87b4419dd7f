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
	Via         string           // session.ViaGateway or ViaFiles where a gateway may run, else ""
	Advice      string           // with none: the runtime's own command
	Survey      Survey           // only of planned sessions
	seen        session.Snapshot // without a hash: which bytes the survey read
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
		r.TokensAfter, r.Cut = p.Cut.KeptTokens, &p.Cut
	default:
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
	if reason := p.choose(store, policy); reason != "" {
		return p.stop(Unsupported, "%s", reason)
	}
	tail, err := store.Tail(ctx, ref)
	if errors.Is(err, fs.ErrNotExist) {
		return p.stop(Busy, "it was moved away since it was listed")
	}
	if err != nil {
		return nil, fmt.Errorf("read the end of the log: %w", err)
	}
	p.Tokens, p.TokenSource = tail.Tokens, tail.TokenSource
	if due, err := p.due(ctx, store, tail, policy, now); err != nil || !due {
		return p, err
	}
	if ref.Bytes == 0 {
		return p.stop(NothingToDo, "the session is empty")
	}
	if idle, err := p.idle(ctx, store, policy, now); err != nil || !idle {
		return p, err
	}
	if err := p.survey(ctx, store, policy); errors.Is(err, fs.ErrNotExist) {
		return p.stop(Busy, "it was moved away while it was read")
	} else if err != nil || p.Outcome != Planned {
		return p, err
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
	p.Survey, err = takeSurvey(ctx, store, p.surveyOptions(store, policy), open)
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
