package opencode

import (
	"strings"

	"github.com/sessctl/sessctl/pkg/session"
)

// Traits says what holds for every store of OpenCode.
func Traits() session.Traits {
	return traits(session.RuntimeOpenCode, "~/.local/share/opencode")
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
		t = KiloTraits()
	}
	return session.Capabilities{
		Traits: t, Strategies: []session.Strategy{session.StrategyNone},
		Liveness: s, Adviser: s, Source: s, Counter: s, DatabaseFile: databaseOf, Parts: s, Closer: s,
		Shrinker: s, Depositor: s,
	}
}

// databaseOf is the file that a reference to a session begins with.
func databaseOf(ref session.Ref) string {
	database, _ := cutPath(ref.Path)
	return database
}

// storedMark stands between the path of a database and the id of a session in
// it. No id has it.
const storedMark = "#"

func cutPath(path string) (database, id string) {
	i := strings.LastIndex(path, storedMark)
	if i < 0 {
		return path, ""
	}
	return path[:i], path[i+len(storedMark):]
}
