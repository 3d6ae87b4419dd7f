package pi

import (
	"github.com/sessctl/sessctl/pkg/session"
)

// Traits says what holds for every store of this runtime.
func Traits() session.Traits {
	return session.Traits{
		Runtime: session.RuntimePi, Homes: []string{"~/.pi/agent/sessions"}, Variables: []string{"PI_CODING_AGENT_DIR", "PI_CODING_AGENT_SESSION_DIR"},
		Formats: []session.Format{session.FormatPi, session.FormatFragment}, Kin: []session.Format{session.FormatOpenClaw}, AppendOnly: true, CountsLines: true,
		NextStart: nextStart, SummaryStyle: session.StyleCheckpoint, Tools: tools(),
		Titles: []session.TitleRecord{{Key: "type", Is: "session_info", Field: "name"}},
	}
}

// nextStart is for a log that is not the newest of its directory, or that has no
// header: in the place of the newest comes an empty one.
func nextStart(ref session.Ref) string {
	if ref.Fragment {
		return "" // pi never continues it
	}
	return "pi -c goes on with the session that it goes on with now, and pi --session " + ref.ID + " finds none any more"
}

// Capabilities implements [session.Store].
func (s *Store) Capabilities() session.Capabilities {
	return session.Capabilities{
		Traits: Traits(), Strategies: []session.Strategy{session.StrategyOverlay, session.StrategyRotate}, Keep: session.Keep{Tokens: keepRecentTokens},
		Liveness: s, Counter: s,
		Rotator: s, Overlayer: s, Shortener: s, Carrier: s, Disposer: s,
		Restorer: s, Recorder: s, Successor: s, Beginner: s,
		WithTailCache: s.WithTailCache, WithWorkers: s.withWorkers,
	}
}
