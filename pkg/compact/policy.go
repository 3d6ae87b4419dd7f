package compact

import (
	"time"

	"github.com/sessctl/sessctl/pkg/chunk"
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
	HistoryImportance = 0.25
	SummaryImportance = 0.70
)

// Strategy says how a session is made small.
type Strategy string

// StrategyRotate starts the session fresh; its whole log is in the archive.
const StrategyRotate Strategy = "rotate"

// Policy is what a run was asked to do.
type Policy struct {
	Threshold   int64         // tokens; sessions at or above it are compacted
	Force       bool          // compact below the threshold too
	SkipArchive bool          // remember only: no archive, hence no change to the session
	SkipSummary bool          // store no summary
	Strategy    Strategy      // "" = the runtime's default
	Quiet       time.Duration // how long a session must have been untouched
	Chunk       chunk.Options
}
