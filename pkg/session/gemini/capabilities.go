package gemini

import (
	"github.com/sessctl/sessctl/pkg/session"
)

// Traits says what holds for every store of this runtime.
func Traits() session.Traits {
	return session.Traits{
		Runtime: session.RuntimeGemini, Homes: []string{"~/.gemini"}, Variables: []string{"GEMINI_CLI_HOME"},
		Formats:      []session.Format{session.FormatGemini, session.FormatGeminiJSON},
		SummaryStyle: session.StyleCheckpoint, Tools: tools(),
		Purges: true,
	}
}

// Capabilities implements [session.Store].
func (s *Store) Capabilities() session.Capabilities {
	return session.Capabilities{
		Traits: Traits(), Strategies: []session.Strategy{session.StrategyNone},
		Liveness: s, Adviser: s, Counter: s, Restorer: s, Beginner: s,
	}
}
