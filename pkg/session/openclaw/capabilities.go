package openclaw

import (
	"path/filepath"

	"github.com/sessctl/sessctl/pkg/session"
)

// Traits says what holds for every store of this runtime.
func Traits() session.Traits {
	return session.Traits{
		Runtime: session.RuntimeOpenClaw, Homes: []string{"~/.openclaw"}, Variables: []string{"OPENCLAW_STATE_DIR", "CLAWDBOT_STATE_DIR", "OPENCLAW_HOME"},
		Formats: []session.Format{session.FormatOpenClaw}, Kin: []session.Format{session.FormatPi, session.FormatFragment, session.FormatOpenClawIndex}, AppendOnly: true, CountsLines: true, Indexed: true, Purges: true, ArchiveDir: archiveDir,
		SummaryStyle: session.StyleCheckpoint, Tools: tools(),
	}
}

// Capabilities implements [session.Store].
func (s *Store) Capabilities() session.Capabilities {
	return session.Capabilities{
		Traits: Traits(), Strategies: []session.Strategy{session.StrategyRotate, session.StrategyOverlay}, Keep: session.Keep{Tokens: keepRecentTokens},
		Liveness: s, Adviser: s, Source: s, Counter: s, Family: s,
		Rotator: s, Overlayer: s, Shortener: s, Resetter: s, Carrier: s,
		Undoer: s, Restorer: s, Guard: s, Beginner: s,
		Locks: s, Leftovers: s, DatabaseFile: databaseOf, Parts: s, Closer: s,
	}
}

// archiveDir is session_archive in the state directory of a log that lies at
// <state directory>/agents/<agent>/sessions/<log>, or "" for another path.
func archiveDir(log string) string {
	agents := filepath.Join(log, "..", "..", "..")
	if filepath.Base(agents) != "agents" {
		return ""
	}
	return filepath.Join(agents, "..", "session_archive")
}

// databaseOf is the file that a reference to a stored session begins with.
func databaseOf(ref session.Ref) string {
	database, _, _ := cutLast(ref.Path, storedMark)
	return database
}
