package claude

import (
	"github.com/sessctl/sessctl/pkg/session"
)

// Traits says what holds for every store of this runtime.
func Traits() session.Traits {
	return session.Traits{
		Runtime: session.RuntimeClaude, Homes: []string{"~/.claude/projects"}, Variables: []string{"CLAUDE_CONFIG_DIR"},
		Formats:      []session.Format{session.FormatClaude, session.FormatClaudeHistory},
		Outputs:      true,
		SummaryStyle: session.StyleCheckpoint, Tools: tools(),
		Titles: []session.TitleRecord{{Key: "type", Is: "custom-title", Field: "customTitle"}, {Key: "type", Is: "ai-title", Field: "aiTitle"}},
	}
}

// Capabilities implements [session.Store].
func (s *Store) Capabilities() session.Capabilities {
	return session.Capabilities{
		Traits: Traits(), Strategies: []session.Strategy{session.StrategyNone},
		Liveness: s, Adviser: s, Source: s, Counter: s, Restorer: s, Beginner: s,
	}
}
