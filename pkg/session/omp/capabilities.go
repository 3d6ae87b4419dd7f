package omp

import (
	"github.com/sessctl/sessctl/pkg/session"
)

// Traits says what holds for every store of this runtime.
func Traits() session.Traits {
	return session.Traits{
		Runtime: session.RuntimeOMP, Homes: []string{"~/.omp/agent", "~/.omp/profiles"}, Variables: []string{"XDG_DATA_HOME"},
		Formats: []session.Format{session.FormatOMP}, Kin: []session.Format{session.FormatPi, session.FormatOpenClaw}, Outputs: true,
		NextStart: nextStart, SummaryStyle: session.StyleCheckpoint, Attached: attached,
		Titles: []session.TitleRecord{{Key: "type", Is: "title", Field: "title"}},
	}
}

// nextStart is for a log that is not the newest of its directory: in the place of the
// newest comes an empty one.
func nextStart(ref session.Ref) string {
	return "omp -c goes on with the session that it goes on with now, and omp -r " + ref.ID + " finds none any more"
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
