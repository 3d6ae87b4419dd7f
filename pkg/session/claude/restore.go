package claude

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/directory"
)

// places says where the files of a session lie. Claude Code owns them: what it
// has deleted can come back, and what it has is never replaced.
func (s *Store) places() directory.Places {
	return directory.Places{Base: s.projects, Depth: depth, Store: s.root, Owned: true, Log: placed}
}

// placed reads the place of a log, of a sub-agent's log, or of an output.
func placed(below string) (session.Ref, bool) {
	parts := strings.Split(below, "/")
	name := parts[len(parts)-1]
	n, isLog, _ := parseName(name)
	ref := session.Ref{Runtime: session.RuntimeClaude, Agent: agentOf(parts[0]), ID: n.stem, Kind: session.KindLive}
	if n.subagent {
		ref.Kind = session.KindSubagent
	}
	switch {
	case len(parts) == 2:
		return ref, isLog
	case len(parts) != 4 || !session.SafeID(parts[1]):
		return ref, false
	case parts[2] == subagentsName:
		ref.Parent = parts[1]
		return ref, isLog && n.subagent
	}
	ref.Parent, ref.Kind, ref.ID = parts[1], session.KindOutput, session.CleanID(parts[1]+"."+name)
	return ref, parts[2] == resultsName && session.SafeID(name)
}

// Place implements [session.Restorer].
func (s *Store) Place(ctx context.Context, path string, now time.Time) (session.Place, error) {
	place, err := s.places().Place(ctx, path, now)
	if err != nil {
		return place, err
	}
	if period, err := s.period(); err == nil && period > 0 {
		place.Note = fmt.Sprintf("Claude Code deletes it again when nobody has used it for %.0f days (cleanupPeriodDays)", period.Hours()/24)
	}
	return place, nil
}

// Unused implements [session.Restorer].
func (s *Store) Unused(ctx context.Context, path string, now time.Time, quiet time.Duration) error {
	return s.places().Unused(ctx, path, now, quiet)
}
