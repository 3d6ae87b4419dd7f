package compact

import (
	"unicode/utf8"

	"github.com/sessctl/sessctl/pkg/session"
)

// Outcome is what became of one session.
type Outcome string

// The outcomes of the JSON contract (docs/json.md).
const (
	Compacted      Outcome = "compacted"
	Planned        Outcome = "planned"
	BelowThreshold Outcome = "below-threshold"
	NothingToDo    Outcome = "nothing-to-do"
	Busy           Outcome = "busy"
	Unsupported    Outcome = "unsupported"
	Partial        Outcome = "partial" // remembered, not changed
	Failed         Outcome = "failed"
)

// Result is one session of `compact --json`. Fields are added, never renamed.
type Result struct {
	Runtime       string         `json:"runtime"`
	Agent         string         `json:"agent"`
	Session       string         `json:"session"`
	Key           string         `json:"key"`
	Path          string         `json:"path"`
	Outcome       Outcome        `json:"outcome"`
	Reason        string         `json:"reason"`
	Strategy      Strategy       `json:"strategy"`
	Via           string         `json:"via,omitempty"` // gateway or files, where a gateway may run
	TokensBefore  int64          `json:"tokens_before"`
	TokenSource   string         `json:"token_source"`
	TokensAfter   int64          `json:"tokens_after"`
	Bytes         int64          `json:"bytes"`
	Messages      int            `json:"messages"`
	LinesSkipped  int            `json:"lines_skipped"`
	Chunks        int            `json:"chunks"`
	ChunksPending int            `json:"chunks_pending"`
	Cut           *session.Cut   `json:"cut,omitempty"`     // with overlay and rewrite
	Cleared       bool           `json:"cleared,omitempty"` // by rewrite: no summary takes the session's place
	Archive       *ArchiveResult `json:"archive"`
	Summary       *SummaryResult `json:"summary"`
	Receipt       string         `json:"receipt"`
}

// ArchiveResult names the verified copy of the session's bytes.
type ArchiveResult struct {
	ID     string `json:"id"`
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
	Bytes  int64  `json:"bytes"` // of the session, not of the compressed file
}

// SummaryResult says which summary was stored.
type SummaryResult struct {
	Kind     string `json:"kind"`
	Chars    int    `json:"chars"` // code points
	Model    string `json:"model,omitempty"`
	Degraded bool   `json:"degraded,omitempty"` // a model was to write it and did not, or not of all
	Reason   string `json:"reason,omitempty"`   // why it is degraded
	// The report of the loss, see [Loss]; 0 in receipts of earlier versions.
	Identifiers int `json:"identifiers,omitempty"`
	Lost        int `json:"lost,omitempty"`
	Indexed     int `json:"indexed,omitempty"`
}

func newSummaryResult(s Summary) *SummaryResult {
	w := s.Wrote
	return &SummaryResult{
		Kind: s.Kind, Chars: utf8.RuneCountInString(s.Text), Model: w.Model, Degraded: w.Degraded, Reason: w.Reason,
		Identifiers: s.Loss.Identifiers, Lost: s.Loss.Lost, Indexed: s.Loss.Indexed,
	}
}

// NewResult starts a result with what the reference alone tells.
func NewResult(ref session.Ref, outcome Outcome, reason string) Result {
	return Result{
		Runtime: ref.Runtime, Agent: ref.Agent, Session: ref.ID, Key: ref.Key, Path: ref.Path,
		Outcome: outcome, Reason: reason, Bytes: ref.Bytes,
	}
}

// spent counts what models were asked for one session, also for a summary that
// was made again because the log had grown.
type spent struct {
	calls  int
	tokens int64
}

func (s *spent) add(w Wrote) {
	s.calls += w.Calls
	s.tokens += w.Tokens
}
