package hermes

import (
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/sqlitefile"
)

// Traits says what holds for every store of Hermes.
func Traits() session.Traits {
	return session.Traits{
		Runtime: session.RuntimeHermes, Homes: []string{"~/.hermes"}, Variables: []string{"HERMES_HOME"},
		Formats: []session.Format{session.FormatHermes}, Kin: []session.Format{session.FormatGenericChat}, SummaryStyle: session.StyleCheckpoint,
	}
}

// Capabilities implements [session.Store]. In a home without a database the files are
// the only text, and nothing of it is changed.
func (s *Store) Capabilities() session.Capabilities {
	traits := Traits()
	traits.ReadOnly = s.lacksDatabase()
	return session.Capabilities{
		Traits: traits, Strategies: []session.Strategy{session.StrategyNone},
		Liveness: s, Adviser: s, Source: s, Counter: s, DatabaseFile: sqlitefile.FileOf, Parts: s, Closer: s,
		Shrinker: s, Depositor: s,
	}
}
