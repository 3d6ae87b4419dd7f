package cline

import (
	"github.com/sessctl/sessctl/pkg/session"
)

// Traits says what holds for every store of this runtime. Its database names the
// sessions: their files are not to be deleted behind its back.
func Traits() session.Traits {
	return session.Traits{
		Runtime: session.RuntimeCline, Homes: []string{"~/.cline"},
		Formats: []session.Format{session.FormatCline}, SummaryStyle: session.StyleCheckpoint, Indexed: true,
	}
}

// Capabilities implements [session.Store].
func (s *Store) Capabilities() session.Capabilities {
	return session.Capabilities{
		Traits: Traits(), Strategies: []session.Strategy{session.StrategyNone},
		Liveness: s, Adviser: s, Source: s, Counter: s, Context: s, Restorer: s,
		Shrinker: s, Depositor: s, Parts: s, Deleted: s, DatabaseFile: databaseOf, Closer: s,
	}
}

// OwnCommand implements [session.Adviser].
func (s *Store) OwnCommand(session.Ref) string {
	return "/compact in the session makes its context small"
}
