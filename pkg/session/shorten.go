package session

import (
	"context"
	"time"
)

// Keep says how much of a session's end stays when it is made shorter. Zero in
// all means that nothing stays but the summary.
type Keep struct {
	Tokens  int64 // at least this many, estimated
	Turns   int   // this many last turns, each of which begins with a person's message
	Records int   // this many last records, where a record is a turn
}

// Cut says which messages of a session a summary takes the place of, and which
// stay. Only the context counts: what an earlier compaction has put away and
// what lies on abandoned branches is neither.
type Cut struct {
	// From is the ordinal of the first message that is summed up: the first one
	// that the compaction before this one kept. Starting any later would leave
	// that tail in neither summary (research/behaviours.md section 2).
	From int `json:"from"`
	// FirstKept is the ordinal of the first message that stays, and one more
	// than the last message's if none stays.
	FirstKept int    `json:"first_kept"`
	KeptID    string `json:"kept_id,omitempty"` // of the record of that message
	KeptLine  int    `json:"kept_line,omitempty"`
	KeptByte  int64  `json:"kept_byte,omitempty"` // where that record begins
	LastID    string `json:"last_id,omitempty"`   // of the last message's record

	// SplitTurn says that a turn began before the cut and goes on after it.
	SplitTurn bool `json:"split_turn,omitempty"`

	Summarized       int   `json:"summarized"` // messages
	SummarizedTokens int64 `json:"summarized_tokens"`
	Kept             int   `json:"kept"`
	KeptTokens       int64 `json:"kept_tokens"`

	Previous        bool  `json:"previous,omitempty"` // a summary of an earlier compaction is fed forward
	PreviousOrdinal int   `json:"previous_ordinal,omitempty"`
	PreviousTokens  int64 `json:"previous_tokens,omitempty"`
}

// Summarizes reports whether a message is one that the summary takes the place
// of, the summary of the compaction before included.
func (c Cut) Summarizes(m *Message) bool {
	switch {
	case m.Branch != Active || m.OutOfContext:
		return false
	case m.Compaction:
		return c.Previous && m.Ordinal == c.PreviousOrdinal
	}
	return c.From <= m.Ordinal && m.Ordinal < c.FirstKept
}

// Summed is the summary that takes the place of what is cut away.
type Summed struct {
	Text          string   `json:"text"`
	Kind          string   `json:"kind"`
	ReadFiles     []string `json:"read_files"`        // of all compactions so far, sorted
	ModifiedFiles []string `json:"modified_files"`    // the same; never also in ReadFiles
	Lessons       []string `json:"lessons,omitempty"` // what should be done, or never again; one line each
}

// ShortenRequest is what a store needs to plan a change.
type ShortenRequest struct {
	Ref      Ref
	Snapshot Snapshot
	Cut      Cut
	Summary  Summed
	Tokens   int64 // in the context before
	Now      time.Time
}

// Shortening is the plan of such a change: plain data that is written to the
// journal before anything changes, so that a later run can finish it. Of the
// Rotation in it, Kept is where the old log's inode goes, or "" if the log is
// only appended to.
type Shortening struct {
	Rotation
	Cut     Cut    `json:"cut"`
	Summary Summed `json:"summary"`
	// Record is the line, with its line feed, that an overlay appends.
	Record string `json:"record,omitempty"`
	// After is the log as it is when a rewrite is done.
	After LogProof `json:"after,omitzero"`
	// Cleared is true for a rewrite after which there is no log any more, and
	// so no summary in it.
	Cleared bool `json:"cleared,omitempty"`
}

// LogProof pins the bytes of a log.
type LogProof struct {
	Size   int64  `json:"size_bytes"`
	SHA256 string `json:"sha256"`
	// Added is the SHA-256 of the record that was appended, where that is all
	// that has changed; SHA256 is "" then.
	Added string `json:"added_sha256,omitempty"`
}

// Shortener carries a Shortening out. It checks that the log still is the
// snapshot; one that changed is a [*BusyError] and nothing is changed. Steps
// that are done already are recognised and skipped, so it may be repeated
// after a crash.
type Shortener interface {
	Shorten(ctx context.Context, s Shortening) error
}

// Overlayer is a store that makes a session shorter by appending one record
// to its log: every byte that was there stays there.
type Overlayer interface {
	Shortener
	// PlanOverlay says what Shorten would append. It changes nothing. It
	// returns an error that wraps [ErrUnsupported] for a session that cannot
	// take such a record.
	PlanOverlay(ctx context.Context, request ShortenRequest) (Shortening, error)
}

// Rewriter is a store whose runtime itself replaces older turns by a summary
// record. The new log takes the old one's place in one step; what stays of it
// stays byte for byte.
type Rewriter interface {
	Shortener
	// PlanRewrite says what Shorten would write. It changes nothing. It
	// returns an error that wraps [ErrUnsupported] for a session that cannot
	// be rewritten.
	PlanRewrite(ctx context.Context, request ShortenRequest) (Shortening, error)
}

// Shaper is a store whose runtime has its own idea of how its sessions are
// made small.
type Shaper interface {
	// Strategy returns the strategy that is used unless another is asked for:
	// "rotate", "overlay", "rewrite" or "annotate".
	Strategy() string
	// Keep returns what stays unless the run was told otherwise.
	Keep() Keep
}

// Learner is a store whose runtime keeps what was learned apart from its
// sessions, for every later one.
type Learner interface {
	// LessonsFile returns the path of the list that a session's lessons go to.
	LessonsFile(ref Ref) string
}

// Trigger is a store whose runtime does not go by the size of the context
// alone, or by another size.
type Trigger interface {
	// Due reports whether a session is due for a compaction now, and why not,
	// for people.
	Due(ctx context.Context, q DueQuestion) (due bool, reason string, err error)
}

// DueQuestion is what a Trigger is asked.
type DueQuestion struct {
	Ref       Ref
	Tail      Tail
	Now       time.Time
	Requested bool // the session or its agent was named: it is not a run over everything
}
