package hermes

import (
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/sqlitefile"
)

// Traits says what holds for every store of Hermes.
func Traits() session.Traits {
	return session.Traits{
		Runtime: session.RuntimeHermes, Homes: []string{"~/.hermes"}, Variables: []string{"HERMES_HOME"},
		Formats: []session.Format{session.FormatHermes}, SummaryStyle: session.StyleCheckpoint,
	}
}

// Capabilities implements [session.Store].
func (s *Store) Capabilities() session.Capabilities {
	return session.Capabilities{
		Traits: Traits(), Strategies: []session.Strategy{session.StrategyNone},
		Liveness: s, Adviser: s, Source: s, Counter: s, DatabaseFile: sqlitefile.FileOf, Parts: s, Closer: s,
		Shrinker: s, Depositor: s,
	}
}
