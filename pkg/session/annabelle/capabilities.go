package annabelle

import (
	"github.com/sessctl/sessctl/pkg/session"
)

// Traits says what holds for every store of this runtime.
func Traits() session.Traits {
	return session.Traits{
		Runtime: session.RuntimeAnnabelle, Homes: []string{"~/.annabelle/sessions", "~/.hexa-puffs/sessions"},
		Variables: []string{"THINKER_SESSIONS_DIR", "HEXA_PUFFS_HOME"},
		Formats:   []session.Format{session.FormatAnnabelle}, Purges: true, NextStart: nextStart, SummaryStyle: session.StyleThird, WholeResults: 2,
	}
}

// nextStart: the program makes the log of a chat with its first message.
func nextStart(ref session.Ref) string {
	return "nothing is left of the chat " + ref.ID + ": the next message begins an empty one"
}

// Capabilities implements [session.Store].
func (s *Store) Capabilities() session.Capabilities {
	return session.Capabilities{
		Traits: Traits(), Strategies: []session.Strategy{session.StrategyRewrite, session.StrategyRotate}, Keep: session.Keep{Records: s.options.KeepRecentTurns},
		Liveness: s, Trigger: s, Counter: s, Parent: s,
		Rotator: s, Rewriter: s, Shortener: s, Disposer: s,
		Restorer: s,
	}
}
