package qwen

import (
	"github.com/sessctl/sessctl/pkg/session"
)

// Traits says what holds for every store of this runtime.
func Traits() session.Traits {
	return session.Traits{
		Runtime: session.RuntimeQwen, Homes: []string{"~/.qwen"}, Variables: []string{"QWEN_HOME"},
		Formats: []session.Format{session.FormatQwen}, Outputs: true, SummaryStyle: session.StyleCheckpoint, Tools: tools(),
		Titles: []session.TitleRecord{{Key: "subtype", Is: "custom_title", Field: "systemPayload.customTitle"}},
	}
}

// Capabilities implements [session.Store].
func (s *Store) Capabilities() session.Capabilities {
	return session.Capabilities{
		Traits: Traits(), Strategies: []session.Strategy{session.StrategyTrim},
		Liveness: s, Trigger: s, Adviser: s, Counter: s, Trimmer: s, Shortener: s, Disposer: s, Restorer: s, Beginner: s,
	}
}
