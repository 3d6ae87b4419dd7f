package opencode

import (
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/sqlitefile"
)

// Traits says what holds for every store of OpenCode.
func Traits() session.Traits {
	t := traits(session.RuntimeOpenCode, "~/.local/share/opencode")
	t.Tools = tools()
	return t
}

// KiloTraits says what holds for every store of Kilo.
func KiloTraits() session.Traits {
	return traits(session.RuntimeKilo, "~/.local/share/kilo")
}

func traits(runtime, home string) session.Traits {
	return session.Traits{
		Runtime: runtime, Homes: []string{home}, Variables: []string{"XDG_DATA_HOME"},
		Formats: []session.Format{session.FormatOpenCode}, SummaryStyle: session.StyleCheckpoint,
	}
}

// Capabilities implements [session.Store].
func (s *Store) Capabilities() session.Capabilities {
	t := Traits()
	if s.name == session.RuntimeKilo {
		t = KiloTraits() // without tools: that sessions begin there was not tried, and is not offered
	}
	return session.Capabilities{
		Traits: t, Strategies: []session.Strategy{session.StrategyNone},
		Liveness: s, Adviser: s, Source: s, Counter: s, DatabaseFile: sqlitefile.FileOf, Parts: s, Closer: s,
		Shrinker: s, Depositor: s, Beginner: s,
	}
}
