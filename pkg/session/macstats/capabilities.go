package macstats

import (
	"github.com/sessctl/sessctl/pkg/session"
)

// Traits says what holds for every store of this runtime.
func Traits() session.Traits {
	return session.Traits{
		Runtime: session.RuntimeMacStats, Homes: []string{"~/.mac-stats"},
		Formats: []session.Format{session.FormatMacStats}, Purges: true, SummaryStyle: session.StyleContext,
	}
}

// Capabilities implements [session.Store].
func (s *Store) Capabilities() session.Capabilities {
	return session.Capabilities{
		Traits: Traits(), Strategies: []session.Strategy{session.StrategyRewrite, session.StrategyRotate},
		Liveness: s, Trigger: s,
		Rotator: s, Rewriter: s, Shortener: s, Disposer: s, Learner: s,
		Restorer: s, Successor: s,
	}
}
