package compact

import (
	"context"
	"time"

	"github.com/sessctl/sessctl/pkg/chunk"
	"github.com/sessctl/sessctl/pkg/session"
)

// DefaultThreshold is the context size, in tokens, from which a session is
// compacted (seed 002, Tuning). A session of exactly this size is compacted.
const DefaultThreshold = 150_000

// DefaultQuiet is how long a session must be untouched before it is changed.
const DefaultQuiet = time.Minute

// The importance and category of what a compaction stores in memory (seed
// 002, Tuning).
const (
	CategoryHistory   = "session_history"
	CategorySummary   = "session_summary"
	CategoryLesson    = "lesson"
	HistoryImportance = 0.25
	SummaryImportance = 0.70
	LessonImportance  = 0.70
)

// Strategy says how a session is made small.
type Strategy string

// The strategies. Which of them a session can have depends on its runtime.
const (
	StrategyRotate  Strategy = "rotate"  // the session starts fresh; its whole log is in the archive
	StrategyOverlay Strategy = "overlay" // a summary record is appended; the log keeps every byte
	StrategyRewrite Strategy = "rewrite" // older turns are replaced by a summary; the old log is in the archive
	// StrategyAnnotate writes a summary beside the messages and deletes nothing.
	StrategyAnnotate Strategy = "annotate"
	// StrategyNone is for runtimes whose sessions only they may change: the
	// session is archived and remembered.
	StrategyNone Strategy = "none"
)

// Policy is what a run was asked to do.
type Policy struct {
	Threshold   int64         // tokens; sessions at or above it are compacted
	Asked       bool          // the threshold was asked for: it takes the place of a runtime's own trigger
	Requested   bool          // the session or its agent was named
	Force       bool          // compact below the threshold too
	SkipArchive bool          // remember only: no archive, hence no change to the session
	SkipSummary bool          // store no summary
	Strategy    Strategy      // "" = the runtime's default
	Keep        session.Keep  // what stays with overlay and rewrite; zero = the runtime's default
	Quiet       time.Duration // how long a session must have been untouched
	Gateway     GatewayUse    // whether a running runtime is asked
	Chunk       chunk.Options
	// Wait waits for a log that is being rewritten; nil waits for real. Tests
	// let the log change instead.
	Wait func(ctx context.Context, d time.Duration) error
}
