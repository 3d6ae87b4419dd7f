package selection

import (
	"slices"
	"strings"
	"time"

	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/session"
)

// CompactOptions are the options of compact.
type CompactOptions struct {
	Agent            string
	All              bool
	Session          string
	Threshold        compact.Threshold
	DryRun           bool
	Force            bool
	Clear            bool
	Strategy         string
	SkipSummary      bool
	SkipArchive      bool
	KeepRecentTokens int64
	Focus            string
	Quiet            time.Duration
	Gateway          string
	MaxCalls         int
	Resummarize      bool

	// Whether they were given as flags: not as defaults or by the configuration.
	ThresholdAsked, KeepAsked bool
	Agreed                    AgreedSessions
}

// AgreedSessions are the only sessions that a run may change, because a person has
// pointed at one or agreed to a plan. The zero value is those that the options mean.
type AgreedSessions struct {
	Store string   // only sessions of the store with this root
	Path  string   // of the session that was pointed at: only those of its database, if it is in one
	Names []string // only these, see AgreedName
}

// Of leaves out the sessions that nobody has agreed to.
func (g AgreedSessions) Of(sessions []workspace.Found) []workspace.Found {
	place := g.Store
	if i := slices.IndexFunc(sessions, func(s workspace.Found) bool { return g.Path != "" && s.Path == g.Path }); i >= 0 {
		place = placeOf(sessions[i])
	}
	return slices.DeleteFunc(slices.Clone(sessions), func(s workspace.Found) bool {
		return g.Store != "" && s.Store != g.Store || place != g.Store && placeOf(s) != place ||
			g.Names != nil && !slices.Contains(g.Names, AgreedName(s.Runtime, s.Agent, s.ID, s.Path))
	})
}

// AgreedName tells a session apart from all others: stores of one runtime may hold
// sessions of the same agent and id, as when a home was copied.
func AgreedName(runtime, agent, session, path string) string {
	return strings.Join([]string{runtime, agent, session, path}, "\x00")
}

// Policy is what the options ask of a compaction.
func (o *CompactOptions) Policy(run *workspace.Run) compact.Policy {
	return compact.Policy{
		Pins:        run.Pins,
		OutputLimit: run.OutputLimit(),
		DryRun:      o.DryRun, Limits: run.Config.Compaction.Limits(o.Threshold, o.ThresholdAsked), Force: o.Force, SkipArchive: o.SkipArchive, SkipSummary: o.SkipSummary,
		Strategy: session.Strategy(o.Strategy), Quiet: o.Quiet, Asked: o.ThresholdAsked, Requested: !o.All,
		Gateway: compact.GatewayUse(o.Gateway), LongestTurn: run.Config.Compaction.LongestTurn,
		Keep: session.Keep{Tokens: o.KeepRecentTokens},
	}
}

// CompactDocument is `compact --json` (docs/json.md).
type CompactDocument struct {
	Schema   int                   `json:"schema"`
	DryRun   bool                  `json:"dry_run"`
	Sessions []CompactedSession    `json:"sessions"`
	Late     []workspace.LateLines `json:"late_lines,omitempty"`
	// PassedOver are the sessions that a run over everything does not mean.
	PassedOver []PassedOver     `json:"passed_over,omitempty"`
	Notes      []workspace.Note `json:"notes"`

	Printed int   `json:"-"` // of Sessions, when each was done
	Idle    Tally `json:"-"` // of Sessions that are counted and not printed
}

// Outcomes are those of its sessions.
func (d CompactDocument) Outcomes() []compact.Outcome {
	outcomes := make([]compact.Outcome, 0, len(d.Sessions))
	for _, s := range d.Sessions {
		outcomes = append(outcomes, s.Outcome)
	}
	return outcomes
}

// CompactedSession is one session of [CompactDocument]. Fields are added, never
// renamed; nothing of it is stored ([compact.Receipt] is).
type CompactedSession struct {
	Runtime       string            `json:"runtime"`
	Agent         string            `json:"agent"`
	Session       string            `json:"session"`
	Key           string            `json:"key"`
	Path          string            `json:"path"`
	Outcome       compact.Outcome   `json:"outcome"`
	Reason        string            `json:"reason"`
	DueBy         compact.DueBy     `json:"due_by,omitempty"` // of a plan: tokens, share (of the window) or runtime
	Strategy      session.Strategy  `json:"strategy"`
	Via           string            `json:"via,omitempty"`
	TokensBefore  int64             `json:"tokens_before"`
	TokenSource   string            `json:"token_source"`
	TokensAfter   int64             `json:"tokens_after"`
	Bytes         int64             `json:"bytes"`
	BytesAfter    int64             `json:"bytes_after,omitempty"`
	Messages      int               `json:"messages"`
	LinesSkipped  int               `json:"lines_skipped"`
	Chunks        int               `json:"chunks"`
	Forgotten     int               `json:"chunks_forgotten,omitempty"`
	ChunksPending int               `json:"chunks_pending"`
	Cut           *CompactedCut     `json:"cut,omitempty"`
	Cleared       bool              `json:"cleared,omitempty"`
	Archive       *CompactedArchive `json:"archive"`
	Summary       *CompactedSummary `json:"summary"`
	SummaryEmpty  bool              `json:"summary_empty,omitempty"`
	Receipt       string            `json:"receipt"`
	Unchanged     bool              `json:"unchanged,omitempty"`
	Irreducible   bool              `json:"irreducible,omitempty"`
	Unknown       map[string]int    `json:"unknown_records,omitempty"`
}

// CompactedArchive is a [compact.Archived].
type CompactedArchive struct {
	ID     string `json:"id"`
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
	Bytes  int64  `json:"bytes"`
}

// CompactedSummary is a [compact.SummaryResult].
type CompactedSummary struct {
	Kind        string `json:"kind"`
	Chars       int    `json:"chars"`
	Model       string `json:"model,omitempty"`
	Degraded    bool   `json:"degraded,omitempty"`
	Reason      string `json:"reason,omitempty"`
	Forgotten   bool   `json:"forgotten,omitempty"`
	Identifiers int    `json:"identifiers,omitempty"`
	Lost        int    `json:"lost,omitempty"`
	Indexed     int    `json:"indexed,omitempty"`
}

// CompactedCut is a [session.Cut].
type CompactedCut struct {
	From             int    `json:"from"`
	FirstKept        int    `json:"first_kept"`
	KeptID           string `json:"kept_id,omitempty"`
	KeptLine         int    `json:"kept_line,omitempty"`
	KeptByte         int64  `json:"kept_byte,omitempty"`
	LastID           string `json:"last_id,omitempty"`
	SplitTurn        bool   `json:"split_turn,omitempty"`
	Summarized       int    `json:"summarized"`
	SummarizedTokens int64  `json:"summarized_tokens"`
	Kept             int    `json:"kept"`
	KeptTokens       int64  `json:"kept_tokens"`
	Previous         bool   `json:"previous,omitempty"`
	PreviousOrdinal  int    `json:"previous_ordinal,omitempty"`
	PreviousTokens   int64  `json:"previous_tokens,omitempty"`
}

// NewCompactedSession is what is printed of a result.
func NewCompactedSession(r compact.Result) CompactedSession {
	return CompactedSession{
		Runtime: r.Runtime, Agent: r.Agent, Session: r.Session, Key: r.Key, Path: r.Path,
		Outcome: r.Outcome, Reason: r.Reason, DueBy: r.DueBy, Strategy: r.Strategy, Via: r.Via,
		TokensBefore: r.TokensBefore, TokenSource: r.TokenSource, TokensAfter: r.TokensAfter, Bytes: r.Bytes, BytesAfter: r.BytesAfter,
		Messages: r.Messages, LinesSkipped: r.LinesSkipped, Chunks: r.Chunks, Forgotten: r.Forgotten, ChunksPending: r.ChunksPending,
		Cut: (*CompactedCut)(r.Cut), Cleared: r.Cleared, Archive: (*CompactedArchive)(r.Archive),
		Summary: (*CompactedSummary)(r.Summary), SummaryEmpty: r.SummaryEmpty,
		Receipt: r.Receipt, Unchanged: r.Unchanged, Irreducible: r.Irreducible, Unknown: r.Unknown,
	}
}

// NewCompactedSessions is what is printed of results: an empty list of none.
func NewCompactedSessions(results []compact.Result) []CompactedSession {
	all := make([]CompactedSession, 0, len(results))
	for _, r := range results {
		all = append(all, NewCompactedSession(r))
	}
	return all
}
