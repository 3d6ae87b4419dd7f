package pi

import (
	"github.com/sessctl/sessctl/pkg/session"
)

// Traits says what holds for every store of this runtime.
func Traits() session.Traits {
	return session.Traits{
		Runtime: session.RuntimePi, Homes: []string{"~/.pi/agent/sessions"}, Variables: []string{"PI_CODING_AGENT_DIR", "PI_CODING_AGENT_SESSION_DIR"},
		Formats: []session.Format{session.FormatPi, session.FormatFragment}, AppendOnly: true, CountsLines: true,
		SummaryStyle: session.StyleCheckpoint,
	}
}

// Capabilities implements [session.Store].
func (s *Store) Capabilities() session.Capabilities {
	return session.Capabilities{
		Traits: Traits(), Strategies: []session.Strategy{session.StrategyOverlay, session.StrategyRotate}, Keep: session.Keep{Tokens: keepRecentTokens},
		Liveness: s, Counter: s,
		Rotator: s, Overlayer: s, Shortener: s, Carrier: s, Disposer: s,
		Restorer: s, Recorder: s, Successor: s,
		WithTailCache: s.WithTailCache, WithWorkers: s.withWorkers,
	}
}
