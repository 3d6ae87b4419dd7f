package macstats

import (
	"github.com/sessctl/sessctl/pkg/session"
)

// Traits says what holds for every store of this runtime.
func Traits() session.Traits {
	return session.Traits{
		Runtime: session.RuntimeMacStats, Homes: []string{"~/.mac-stats"},
		Formats: []session.Format{session.FormatMacStats}, Purges: true, NextStart: nextStart, SummaryStyle: session.StyleContext,
	}
}

// nextStart is for the newest file of a conversation, behind which is no older one: in
// its place would come a file without messages.
func nextStart(ref session.Ref) string {
	if !ref.Primary {
		return "" // the program resumes a newer one
	}
	return "nothing is left of the conversation " + ref.Key + ": the next message begins an empty one"
}

// Capabilities implements [session.Store].
func (s *Store) Capabilities() session.Capabilities {
	return session.Capabilities{
		Traits: Traits(), Strategies: []session.Strategy{session.StrategyRewrite, session.StrategyRotate},
		Liveness: s, Trigger: s, Counter: s,
		Rotator: s, Rewriter: s, Shortener: s, Disposer: s, Learner: s,
		Restorer: s, Successor: s,
	}
}
