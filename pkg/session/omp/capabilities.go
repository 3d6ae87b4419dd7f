package omp

import (
	"github.com/sessctl/sessctl/pkg/session"
)

// Traits says what holds for every store of this runtime.
func Traits() session.Traits {
	return session.Traits{
		Runtime: session.RuntimeOMP, Homes: []string{"~/.omp/agent", "~/.omp/profiles"}, Variables: []string{"XDG_DATA_HOME"},
		Formats: []session.Format{session.FormatOMP}, Kin: []session.Format{session.FormatPi, session.FormatOpenClaw}, Outputs: true,
		SummaryStyle: session.StyleCheckpoint, Attached: attached,
	}
}

// keepRecentTokens is what omp itself keeps.
const keepRecentTokens = 20_000

// Capabilities implements [session.Store].
func (s *Store) Capabilities() session.Capabilities {
	return session.Capabilities{
		Traits: Traits(), Strategies: []session.Strategy{session.StrategyOverlay, session.StrategyRotate, session.StrategyTrim}, Keep: session.Keep{Tokens: keepRecentTokens},
		Liveness: s, Counter: s, Attacher: s,
		Rotator: s, Overlayer: s, Trimmer: s, Shortener: s, Disposer: s, Restorer: s,
	}
}
