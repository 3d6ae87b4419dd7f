package session

import (
	"context"
	"time"
)

// Liveness is a store that can tell whether somebody is writing a session.
type Liveness interface {
	// Busy returns a [*BusyError] when somebody may be writing the session:
	// a live lock, a turn that is going on, or a change within the quiet period.
	Busy(ctx context.Context, q BusyQuestion) error
}

// BusyQuestion is what is asked about a session before it is changed.
type BusyQuestion struct {
	Ref   Ref
	Now   time.Time
	Quiet time.Duration // how long it must have been untouched
	// LongestTurn is how long after its last change a turn can still be going on;
	// 0 for defaultLongestTurn.
	LongestTurn time.Duration
}

// defaultLongestTurn is how long after its last change a session may still be in
// the middle of a turn. One that is older was broken off: its program was killed,
// or its model never answered. Only a lock, a lease, an open file, a process or a
// gateway says otherwise.
const defaultLongestTurn = 24 * time.Hour

// longestTurns are the runtimes that give a turn up earlier than anybody has to ask
// for: what they take for over, no answer is written to any more.
var longestTurns = map[string]time.Duration{
	RuntimeMacStats: MacStatsInactive,
}

// MacStatsInactive is how long after its last message mac-stats takes a session for
// one in use.
const MacStatsInactive = 30 * time.Minute

// longestTurn is the bound that holds for the session of the question.
func (q BusyQuestion) longestTurn() time.Duration {
	longest := q.LongestTurn
	if longest <= 0 {
		longest = defaultLongestTurn
	}
	if own, known := longestTurns[q.Ref.Runtime]; known {
		longest = min(longest, own)
	}
	return longest
}

// GaveUp reports whether a turn of the session can no longer be going on. changed
// is when the session was changed last. A record of the log that says a later time
// counts too: the clock of a file server may be behind.
func (q BusyQuestion) GaveUp(changed time.Time, t Tail) bool {
	old := func(at time.Time) bool { return q.Now.Sub(at).Abs() > q.longestTurn() }
	return old(changed) && (t.LastRecord.IsZero() || old(t.LastRecord))
}

// CheckTurn returns a [*BusyError] when the end of a log shows that a turn is going
// on: its last line is torn, or its last message waits for an answer or a tool,
// and neither is older than a turn can be. changed is when the session was changed
// last.
func CheckTurn(q BusyQuestion, t Tail, changed time.Time) error {
	if t.Finished() || q.GaveUp(changed, t) {
		return nil
	}
	if t.Torn {
		return &BusyError{Path: q.Ref.Path, Reason: ReasonTorn.Text()}
	}
	return &BusyError{Path: q.Ref.Path, Reason: ReasonUnanswered.Text(inPlainWords(t.LastRole))}
}

// Finished reports whether the log ends as one does in which no turn is going on.
func (t Tail) Finished() bool { return t.Answered && !t.Torn }

func inPlainWords(r Role) string {
	switch r {
	case RoleToolResult:
		return "tool"
	case RoleInjected, RoleSummary, RoleShell:
		return "runtime"
	}
	return r.String()
}
