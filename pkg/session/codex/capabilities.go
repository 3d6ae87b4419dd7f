package codex

import (
	"github.com/sessctl/sessctl/pkg/session"
)

// Traits says what holds for every store of this runtime.
func Traits() session.Traits {
	return session.Traits{
		Runtime: session.RuntimeCodex, Homes: []string{"~/.codex"}, Variables: []string{"CODEX_HOME"},
		Formats:      []session.Format{session.FormatCodex, session.FormatCodexBare, session.FormatCodexJSON},
		SummaryStyle: session.StyleCheckpoint, Tools: tools(),
	}
}

// Capabilities implements [session.Store].
func (s *Store) Capabilities() session.Capabilities {
	return session.Capabilities{
		Traits: Traits(), Strategies: []session.Strategy{session.StrategyNone},
		Liveness: s, Adviser: s, Counter: s, Restorer: s, Beginner: s,
	}
}
