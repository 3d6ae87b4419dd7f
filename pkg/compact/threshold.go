package compact

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/sessctl/sessctl/pkg/session"
)

// Threshold is the context size from which a session is due: so many tokens, a
// share of its model's window, or whichever of the two comes first. The zero value
// has neither part: no session is due by it.
type Threshold struct {
	Tokens  int64 // 0: tokens do not decide
	Percent int64 // of the window, 1 to 100; 0: the window does not decide
}

// DefaultThreshold is that of a run that nobody told one (docs/dev/decisions.md
// D17). A session of exactly this size is due.
func DefaultThreshold() Threshold { return Threshold{Tokens: 150_000, Percent: 80} }

// DueBy is what made a session due: a part of its threshold, or its runtime.
type DueBy string

// What makes a session due.
const (
	DueByTokens  DueBy = "tokens"
	DueByShare   DueBy = "share"
	DueByRuntime DueBy = "runtime"
)

// Limit is the size from which a session with a window of so many tokens is due,
// and which part of the threshold that is: of two that are the same the tokens. It
// is 0, and of no part, where the window decides alone and is not known (0).
func (t Threshold) Limit(window int64) (tokens int64, by DueBy) {
	share := (window*t.Percent + 99) / 100 // the first size that is not below it
	switch {
	case share > 0 && (t.Tokens == 0 || share < t.Tokens):
		return share, DueByShare
	case t.Tokens > 0:
		return t.Tokens, DueByTokens
	}
	return 0, ""
}

// ErrNotPositive is the error for a number that no session could be below.
var ErrNotPositive = errors.New("a threshold must be positive")

// ParseThreshold reads "150000", "80%" and "150000,80%", the parts in any order.
func ParseThreshold(text string) (t Threshold, err error) {
	for part := range strings.SplitSeq(text, ",") {
		number, share := strings.CutSuffix(strings.TrimSpace(part), "%")
		n, err := strconv.ParseInt(strings.TrimSpace(number), 10, 64)
		switch {
		case err != nil:
			return Threshold{}, fmt.Errorf("%q is no threshold: write 150000, 80%% or 150000,80%%", text)
		case n <= 0:
			return Threshold{}, fmt.Errorf("%w, not %d", ErrNotPositive, n)
		case share && n > 100:
			return Threshold{}, fmt.Errorf("%d%% is more than the whole window", n)
		case share && t.Percent > 0, !share && t.Tokens > 0:
			return Threshold{}, fmt.Errorf("%q names one part twice: write 150000,80%%", text)
		case share:
			t.Percent = n
		default:
			t.Tokens = n
		}
	}
	return t, nil
}

// String is the threshold as [ParseThreshold] reads it, "" of the zero value.
func (t Threshold) String() string {
	var parts []string
	if t.Tokens > 0 {
		parts = append(parts, strconv.FormatInt(t.Tokens, 10))
	}
	if t.Percent > 0 {
		parts = append(parts, strconv.FormatInt(t.Percent, 10)+"%")
	}
	return strings.Join(parts, ",")
}

// Set implements pflag.Value.
func (t *Threshold) Set(text string) (err error) {
	*t, err = ParseThreshold(text)
	return err
}

// Type implements pflag.Value.
func (*Threshold) Type() string { return "tokens" }

// Limits are the thresholds of a run, and the windows that no runtime tells.
type Limits struct {
	Threshold Threshold            // of sessions that are not among Of
	Of        map[string]Threshold // by runtime, or runtime/agent, which comes first
	Windows   map[string]int64     // tokens, by runtime/agent, runtime or model, the first that there is
}

// For is the threshold of a session.
func (l Limits) For(ref session.Ref) Threshold {
	return cmp.Or(l.Of[ref.Runtime+"/"+ref.Agent], l.Of[ref.Runtime], l.Threshold)
}

// Window is the context window of a session in tokens: as the runtime's index says,
// or its log, or the configuration; 0 if nobody does.
func (l Limits) Window(ref session.Ref, tail session.Tail) int64 {
	return cmp.Or(int64(ref.ContextWindow), int64(tail.ContextWindow), l.Windows[ref.Runtime+"/"+ref.Agent], l.Windows[ref.Runtime], l.Windows[ref.Model])
}

// Verdict says whether a session is due, and why.
type Verdict struct {
	Due    bool
	By     DueBy  // "" unless it is due
	Limit  int64  // tokens from which it is; 0 where its runtime decides, or nothing can
	Reason string // why it is not, for people
}

// Judge holds the size of a session against its threshold. That a share cannot
// decide, because the window is not known, is part of the reason.
func (l Limits) Judge(ref session.Ref, tail session.Tail) Verdict {
	t, window := l.For(ref), l.Window(ref, tail)
	limit, by := t.Limit(window)
	share := Threshold{Percent: t.Percent}
	switch {
	case by != "" && tail.Tokens >= limit:
		return Verdict{Due: true, By: by, Limit: limit}
	case t.Percent == 0 || window > 0:
		return Verdict{Limit: limit, Reason: session.ReasonBelowThreshold.Text(tail.Tokens, limit)}
	case by == "":
		return Verdict{Reason: session.ReasonWindowUnknown.Text(tail.Tokens, share)}
	}
	return Verdict{Limit: limit, Reason: session.ReasonBelowTokens.Text(tail.Tokens, limit, share)}
}
