package cmd

import (
	"time"

	"github.com/sessctl/sessctl/pkg/session"
)

// annabelleConfig are the settings of seed 000, Session Compaction.
type annabelleConfig struct {
	ThresholdChars  int64         `mapstructure:"threshold_chars" json:"threshold_chars"`
	MinTurns        int           `mapstructure:"min_turns" json:"min_turns"`
	Cooldown        time.Duration `mapstructure:"cooldown" json:"cooldown"`
	KeepRecentTurns int           `mapstructure:"keep_recent_turns" json:"keep_recent_turns"`
}

type macStatsConfig struct {
	LessonsAgent string `mapstructure:"lessons_agent" json:"lessons_agent"` // "" for every agent
}

type yarnnnConfig struct {
	DSN          string        `mapstructure:"dsn" json:"-"`                 // may hold a password
	UserID       string        `mapstructure:"user_id" json:"user_id"`       // only this user's sessions; "" for all
	Inactivity   time.Duration `mapstructure:"inactivity" json:"inactivity"` // after which a session is summed up
	UserMessages int           `mapstructure:"min_user_messages" json:"min_user_messages"`
}

// checkStores looks at what becomes part of a path.
func (c *config) checkStores() error {
	if id := c.MacStats.LessonsAgent; id != "" && !session.SafeID(id) {
		return usageError("it is the id of an agent of mac-stats, without agent-", "macstats.lessons_agent: %q cannot be part of a path", id)
	}
	return nil
}
