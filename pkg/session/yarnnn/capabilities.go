package yarnnn

import (
	"github.com/sessctl/sessctl/pkg/session"
)

// Traits says what holds for every store of this runtime.
func Traits() session.Traits {
	return session.Traits{
		Runtime: session.RuntimeYarnnn, Formats: []session.Format{session.FormatYarnnn}, SummaryStyle: session.StyleSentences, Irreversible: true,
	}
}

// Capabilities implements [session.Store].
func (s *Store) Capabilities() session.Capabilities {
	return session.Capabilities{
		Traits: Traits(), Strategies: []session.Strategy{session.StrategyAnnotate},
		Liveness: s, Trigger: s, Source: s, Annotator: s, Recent: s, Closer: s,
	}
}
