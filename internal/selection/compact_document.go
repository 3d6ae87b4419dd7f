package selection

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/session"
)

// CompactDocument is `compact --json` (docs/json.md).
type CompactDocument struct {
	Schema   int                   `json:"schema"`
	DryRun   bool                  `json:"dry_run"`
	Sessions []CompactedSession    `json:"sessions"`
	Late     []workspace.LateLines `json:"late_lines,omitempty"`
	// PassedOver are the sessions that a run over everything does not mean.
	PassedOver []PassedOver     `json:"passed_over,omitempty"`
	Notes      []workspace.Note `json:"notes"`

	Idle Tally `json:"-"` // of Sessions that are counted and not printed
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
	DueAt         int64             `json:"-"`                // tokens from which it is by that
	Strategy      session.Strategy  `json:"strategy"`
	Via           string            `json:"via,omitempty"`
	NextStart     string            `json:"next_start,omitempty"` // where the runtime's next start finds no session any more
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
		Outcome: r.Outcome, Reason: r.Reason, DueBy: r.DueBy, DueAt: r.DueAt, Strategy: r.Strategy, Via: r.Via, NextStart: r.NextStart,
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

// DescribeResult is one session for people.
func DescribeResult(r CompactedSession) string {
	var b strings.Builder
	name := r.Key
	if name == "" {
		name = strings.Trim(r.Agent+" "+r.Session, " ")
	}
	fmt.Fprintf(&b, "%s: %s", wording.Visible(name), strings.ReplaceAll(string(r.Outcome), "-", " "))
	if r.Reason != "" {
		fmt.Fprintf(&b, " (%s)", wording.Visible(r.Reason))
	}
	b.WriteByte('\n')
	if Uncut(r) {
		fmt.Fprintf(&b, "  as it is: sessctl archive --session %s --remember archives and remembers it\n", wording.Visible(r.Session))
	}
	if r.Outcome != compact.Planned && r.Outcome != compact.Compacted && r.Outcome != compact.Partial && r.Outcome != compact.Resummarized {
		return b.String()
	}
	for _, line := range details(r) {
		fmt.Fprintf(&b, "  %-9s %s\n", line[0], line[1])
	}
	return b.String()
}

func details(r CompactedSession) [][2]string {
	lines := [][2]string{
		{"session", wording.Visible(r.Session)},
		{"log", fmt.Sprintf("%s, %s messages, %s tokens (%s)", wording.Bytes(r.Bytes), wording.Count(int64(r.Messages)), wording.Count(r.TokensBefore), r.TokenSource)},
	}
	if due := wording.DueBy(string(r.DueBy), r.DueAt); due != "" {
		lines = append(lines, [2]string{"due", due})
	}
	if change := r.Change(); change != "" {
		lines = append(lines, [2]string{"context", change})
	}
	if r.LinesSkipped > 0 {
		lines = append(lines, [2]string{"skipped", wording.Plural(r.LinesSkipped, "unreadable line") + "; the archive has every byte"})
	}
	if r.Outcome != compact.Resummarized {
		lines = append(lines, [2]string{"memory", memoryLine(r)})
	}
	if r.Outcome == compact.Planned && r.Summary == nil {
		lines = append(lines, [2]string{"then", thenLine(r)})
		if r.NextStart != "" {
			lines = append(lines, [2]string{"", wording.Visible(r.NextStart)})
		}
		return lines
	}
	if r.BytesAfter > 0 {
		lines = append(lines, [2]string{"trimmed", fmt.Sprintf("%s stay; the context is as it was", wording.Bytes(r.BytesAfter))})
	}
	if r.Summary != nil {
		text := fmt.Sprintf("%s, %s characters", wording.Visible(cmp.Or(r.Summary.Model, r.Summary.Kind)), wording.Count(int64(r.Summary.Chars)))
		if r.Summary.Forgotten {
			text += ", not stored in memory: it was forgotten earlier"
		}
		lines = append(lines, [2]string{"summary", text})
		if r.Summary.Degraded {
			lines = append(lines, [2]string{"", "degraded: " + wording.Visible(r.Summary.Reason)})
		}
	}
	if r.SummaryEmpty {
		lines = append(lines, [2]string{"summary", "none: there was nothing to summarise"})
	}
	if r.Archive != nil {
		lines = append(lines, [2]string{"archive", r.Archive.ID + "  " + wording.Visible(r.Archive.Path)}, [2]string{"", "sha256 " + r.Archive.SHA256 + ", verified"})
	}
	if r.Receipt == "" {
		return lines
	}
	lines = append(lines, [2]string{"receipt", wording.Visible(r.Receipt)})
	if r.Outcome == compact.Compacted {
		undo := UndoCommand(strings.TrimSuffix(filepath.Base(r.Receipt), ".json"))
		if workspace.TraitsOf(r.Runtime).Irreversible {
			undo = "none: logs of " + r.Runtime + " cannot be put back"
		}
		lines = append(lines, [2]string{"undo", undo})
	}
	return lines
}

// Change is how much smaller the context becomes, "" if it stays as it is.
func (r CompactedSession) Change() string {
	changed := r.Strategy == session.StrategyRotate || r.Strategy.Shortens()
	if !changed || r.Outcome != compact.Planned && r.Outcome != compact.Compacted {
		return ""
	}
	return TokensChange(r.TokensBefore, r.TokensAfter)
}

// TokensChange is "195,009 -> 21,388 tokens (-89 %)", "" where nothing became smaller.
func TokensChange(before, after int64) string {
	if before <= 0 || after >= before {
		return ""
	}
	return fmt.Sprintf("%s -> %s tokens (-%d %%)", wording.Count(before), wording.Count(after), (before-after)*100/before)
}

func thenLine(r CompactedSession) string {
	if r.Via == session.ViaGateway {
		return "archive, remember, and ask the running gateway for a fresh session (" + string(r.Strategy) + ")"
	}
	switch r.Strategy {
	case session.StrategyNone:
		return "archive and remember; the session is not changed"
	case session.StrategyOverlay:
		return "archive, remember, and append a summary that stands for the older messages (overlay)"
	case session.StrategyRewrite:
		if r.Cleared {
			return "archive, remember, and clear the session: nobody uses it (rewrite)"
		}
		return "archive, remember, and put a summary in the place of the older messages (rewrite)"
	case session.StrategyTrim:
		return fmt.Sprintf("archive, remember, and leave out of the log what its runtime does not need: %s of %s stay (trim)", wording.Bytes(r.BytesAfter), wording.Bytes(r.Bytes))
	case session.StrategyAnnotate:
		return "archive, remember, and write a summary beside the messages (annotate)"
	}
	return "archive, remember, and start a fresh session (" + string(r.Strategy) + ")"
}

func memoryLine(r CompactedSession) string {
	s := wording.Plural(r.Chunks, "chunk")
	switch {
	case r.Forgotten > 0 && r.Forgotten == r.Chunks:
		return "none of " + s + ": they were forgotten earlier and are not stored again"
	case r.Forgotten > 0:
		s += fmt.Sprintf(", %s of them forgotten earlier and not stored again", wording.Count(int64(r.Forgotten)))
	}
	if r.ChunksPending > 0 {
		s += fmt.Sprintf(", %s of this agent wait for an embedding (found by text until then)", wording.Count(int64(r.ChunksPending)))
	}
	return s
}

// Tally counts sessions that nothing was done with, by the reason.
type Tally struct {
	reasons []string
	count   map[string]int
	told    map[string]int // one by one
}

// Add counts a result.
func (t *Tally) Add(reason string, n int) {
	if n == 0 {
		return
	}
	if t.count == nil {
		t.count = map[string]int{}
	}
	if t.count[reason] == 0 {
		t.reasons = append(t.reasons, reason)
	}
	t.count[reason] += n
}

// Told reports whether as many sessions as are told one by one had a reason, and
// counts one more of them.
func (t *Tally) Told(reason string) bool {
	const fewest = 3
	if t.told == nil {
		t.told = map[string]int{}
	}
	t.told[reason]++
	return t.told[reason] > fewest
}

// Total is how many were counted.
func (t *Tally) Total() (n int) {
	for _, of := range t.count {
		n += of
	}
	return n
}

// String is "390 unchanged, 8 below the threshold".
func (t *Tally) String() string {
	var parts []string
	for _, reason := range t.reasons {
		parts = append(parts, fmt.Sprintf("%s %s", wording.Count(int64(t.count[reason])), reason))
	}
	return strings.Join(parts, ", ")
}

// NothingToDo reports whether all that was counted had nothing to do.
func (t *Tally) NothingToDo() string {
	return fmt.Sprintf("nothing to do for %s: %s", wording.Plural(t.Total(), "session"), t.String())
}

// IdleReason is why nothing was done with a session, as a tally names it; "" if
// something was done or has gone wrong.
func IdleReason(r CompactedSession) string {
	switch {
	case r.Unchanged:
		return session.ReasonCountUnchanged.Text()
	case r.Outcome == compact.BelowThreshold:
		return idleBelow(r.Reason).Text()
	case r.Outcome != compact.NothingToDo:
		return ""
	case r.Session == "":
		return session.ReasonCountNoMain.Text()
	case Uncut(r):
		return session.ReasonCountIrreducible.Text()
	}
	return session.ReasonCountEmpty.Text()
}

// idleBelow is how a tally names a session that is not due: no size is what keeps one
// whose summary is fresh, or that was used a moment ago.
func idleBelow(why string) session.Reason {
	switch session.ReasonOf(why) {
	case session.ReasonTurnedOff:
		return session.ReasonCountOff
	case session.ReasonSummaryFresh, session.ReasonOwnSummary, session.ReasonSaidRecently, session.ReasonCooldown, session.ReasonFewOfUser:
		return session.ReasonCountNotDue
	}
	return session.ReasonCountBelow
}

// Uncut says whether nothing was done with a session because all of it is to be
// kept, and no earlier run has archived and remembered it as it is.
func Uncut(r CompactedSession) bool {
	return r.Outcome == compact.NothingToDo && r.Irreducible && !r.Unchanged
}

// PassedOver are sessions that a run over everything does not mean.
type PassedOver struct {
	Why      string `json:"why"`
	Sessions int    `json:"sessions"`
}

// PassedOver counts the sessions that are not compacted without being named, and
// logs each. What belongs to another session goes with that one.
func (s Selection) PassedOver(ctx context.Context, run *workspace.Run) []PassedOver {
	taken := map[string]bool{}
	for _, t := range s.Targets {
		taken[t.Path] = true
	}
	var t Tally
	for _, x := range s.All.Sessions {
		if taken[x.Path] || x.Parent != "" || x.Kind == session.KindSubagent || x.Kind == session.KindOutput {
			continue
		}
		why := passedOver(x).Text()
		t.Add(why, 1)
		workspace.Decided(ctx, run, workspace.Decision{Ref: x.Ref, Asked: "compact", Outcome: ProspectPassedOver, Reason: why})
	}
	all := make([]PassedOver, 0, len(t.reasons))
	for _, why := range t.reasons {
		all = append(all, PassedOver{why, t.count[why]})
	}
	return all
}

// passedOver is why a run over everything does not mean a session.
func passedOver(s workspace.Found) session.Reason {
	switch {
	case s.Kind == session.KindPrompts:
		return session.ReasonCountPrompts
	case !workspace.Shown(s.Kind):
		return session.ReasonCountClosed
	case s.Kind == session.KindOrphan:
		return session.ReasonCountOrphan
	}
	return session.ReasonCountNotMain
}

// LeftAlone is the end of a run over everything: how many sessions it has done
// nothing with, and why.
func (d CompactDocument) LeftAlone() string {
	var b strings.Builder
	if d.Idle.Total() > 0 {
		b.WriteString(d.Idle.NothingToDo())
		if d.Idle.count[session.ReasonCountIrreducible.Text()] > 0 {
			b.WriteString(" (sessctl archive --all --remember archives and remembers them)")
		}
		b.WriteByte('\n')
	}
	var over Tally
	for _, p := range d.PassedOver {
		over.Add(p.Why, p.Sessions)
	}
	if n := over.Total(); n > 0 {
		fmt.Fprintf(&b, "passed over %s: %s (sessctl archive --all --remember takes them too)\n", wording.Plural(n, "session"), over.String())
	}
	return b.String()
}

// TellUnknown tells, in one note for each runtime, which records its new versions
// write that are not known yet.
func TellUnknown(run *workspace.Run, done []compact.Result) {
	byRuntime := map[string]map[string]int{}
	for _, r := range done {
		for name, n := range r.Unknown {
			if byRuntime[r.Runtime] == nil {
				byRuntime[r.Runtime] = map[string]int{}
			}
			byRuntime[r.Runtime][name] += n
		}
	}
	for _, runtime := range slices.Sorted(maps.Keys(byRuntime)) {
		var names []string
		for _, name := range slices.Sorted(maps.Keys(byRuntime[runtime])) {
			names = append(names, fmt.Sprintf("%s (%d)", cmp.Or(name, "no type"), byRuntime[runtime][name]))
		}
		run.Notice(workspace.Note{Message: fmt.Sprintf("%s: records that this version does not know, archived and not remembered: %s", runtime, strings.Join(names, ", "))})
	}
}

// UndoCommand is what reverses the compaction of a receipt.
func UndoCommand(receipt string) string { return "sessctl undo " + ShortReceipt(receipt) }
