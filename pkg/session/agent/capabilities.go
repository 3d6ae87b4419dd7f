package agent

import (
	"github.com/sessctl/sessctl/pkg/session"
)

// Traits says what holds for every store of this runtime.
func Traits() session.Traits {
	return session.Traits{
		Runtime: session.RuntimeAgent, Homes: []string{"~/.agent/sessions"}, Formats: []session.Format{session.FormatAgent},
		SummaryStyle: session.StyleCheckpoint,
	}
}

// Capabilities implements [session.Store].
func (s *Store) Capabilities() session.Capabilities {
	return session.Capabilities{
		Traits: Traits(), Strategies: []session.Strategy{session.StrategyOverlay, session.StrategyRotate}, Keep: session.Keep{Tokens: s.options.KeepRecentTokens},
		Liveness: s, Trigger: s, Counter: s, Family: s,
		Rotator: s, Overlayer: s, Shortener: s, Carrier: s, Disposer: s,
		Restorer: s, Recorder: s,
	}
}
