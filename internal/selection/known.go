package selection

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/chunk"
	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/memory"
	"github.com/sessctl/sessctl/pkg/session"
)

// Known is what earlier runs have archived and remembered. Both must still have
// it: a session whose archive was pruned, or whose records were lost, is
// remembered again. memories is nil if there is none.
func Known(ctx context.Context, run *workspace.Run, memories *memory.Store, archives *archive.Store) (*compact.Known, error) {
	receipts, _, err := run.Receipts().Examine() // one that cannot be read proves nothing: doctor and archive verify tell
	if err != nil {
		return nil, fmt.Errorf("read the receipts: %w", err)
	}
	entries, err := archives.List(ctx, archive.Filter{})
	if err != nil {
		return nil, err
	}
	superseded, err := archives.Superseded(ctx)
	if err != nil {
		return nil, err
	}
	h := &holdings{Run: run, memories: memories, archives: archives, entries: map[string]archive.Entry{}, sessions: map[memory.Source][]string{}}
	for _, e := range append(entries, superseded...) {
		h.entries[e.ID] = e
		source := memory.Source{Runtime: e.Runtime, Agent: e.Agent, Session: e.Session}
		h.sessions[source] = append(h.sessions[source], e.ID)
	}
	return compact.NewKnown(receipts, h.has), nil
}

// KnownOrNone is [Known] for a command that archives. Where it cannot be found out what
// an earlier run has done, nothing is known: that costs time, and archiving says why.
func KnownOrNone(ctx context.Context, run *workspace.Run, w *workspace.Workspace) (*compact.Known, error) {
	known, err := Known(ctx, run, w.Memory, w.Archives)
	if err != nil && ctx.Err() == nil {
		return nil, nil
	}
	return known, err
}

// holdings is what archive and memory have.
type holdings struct {
	*workspace.Run
	memories *memory.Store
	archives *archive.Store
	entries  map[string]archive.Entry
	sessions map[memory.Source][]string // ids of the archives of each session
}

// has reports whether archive and memory have what a receipt says. The archive is
// looked at and not read, which archive verify does, unless memory has records that
// may be of it under the names of other archives of the session.
func (h *holdings) has(ctx context.Context, r compact.Receipt) (bool, error) {
	e, there := h.entries[r.Archive.ID]
	limit, recorded := r.Content.Limit()
	switch {
	case !there, h.archives.Look(e) != nil, r.Content.Chunker != chunk.Version, recorded && limit != max(h.OutputLimit(), 0):
		return false, nil
	case r.Chunks == 0 || h.memories == nil:
		return r.Chunks == 0, nil
	}
	own, err := h.memories.Coverage(ctx, SourceOf(r), compact.CategoryHistory, []string{e.ID}, e.ID)
	if err != nil || holdsReceipt(r, own) {
		return err == nil, err
	}
	return h.hasUnderOtherNames(ctx, r, e)
}

// hasUnderOtherNames is has for a receipt whose archive not all records name. Another
// log of the session may say something else at the same places, so the archive is read,
// if there are records enough. One that cannot be read proves nothing.
func (h *holdings) hasUnderOtherNames(ctx context.Context, r compact.Receipt, e archive.Entry) (bool, error) {
	source := SourceOf(r)
	all, err := h.memories.Coverage(ctx, source, compact.CategoryHistory, h.sessions[source])
	if err != nil || !holdsReceipt(r, all) || !h.archives.Here(e) {
		return false, err
	}
	held, err := workspace.Remembered(ctx, h.Run, h.memories, h.archives, e)
	return err == nil && held, ctx.Err()
}

// holdsReceipt reports whether memory has as much as a receipt says.
func holdsReceipt(r compact.Receipt, c memory.Coverage) bool {
	return c.Missing(r.Chunks) == 0 && c.Bytes >= r.Content.CoveredBytes && (c.Forgotten > 0 || c.Characters >= r.Content.Characters)
}

// KnownForPlan is known for a dry run: without a memory that can be read nothing
// is known. close ends it.
func KnownForPlan(ctx context.Context, run *workspace.Run) (known *compact.Known, end func()) {
	archives, err := run.OpenArchive()
	if err != nil {
		return nil, func() {}
	}
	memories, err := memory.Open(ctx, run.MemoryDir(), memory.Options{ReadOnly: true, Pins: run.Pins})
	if err != nil {
		return nil, func() {}
	}
	end = func() { _ = memories.Close() } // it was only read
	if known, err = Known(ctx, run, memories, archives); err != nil {
		return nil, end
	}
	return known, end
}

// EmbedWaiting gives vectors to what an earlier run could not embed, of the
// agents whose sessions have not changed since.
func EmbedWaiting(ctx context.Context, w *workspace.Workspace, done []compact.Result) error {
	agents := map[string]compact.Result{}
	for _, r := range done {
		if r.Unchanged {
			agents[r.Agent] = r
		}
	}
	for _, agent := range slices.Sorted(maps.Keys(agents)) {
		ref := session.Ref{Runtime: agents[agent].Runtime, Agent: agent}
		if _, err := w.Compactor.Embedder.EmbedPending(ctx, ref, func(int64, int64) {}); err != nil {
			return fmt.Errorf("embed what waits: %w", err)
		}
	}
	return nil
}

// Tally counts sessions that nothing was done with, by the reason.
type Tally struct {
	reasons []string
	count   map[string]int
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
		return session.ReasonCountBelow.Text()
	case r.Outcome != compact.NothingToDo:
		return ""
	case r.Session == "":
		return session.ReasonCountNoMain.Text()
	case Uncut(r):
		return session.ReasonCountIrreducible.Text()
	}
	return session.ReasonCountEmpty.Text()
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
		run.Notice(workspace.Note{Message: fmt.Sprintf("%s: records that this version does not know, which are in the archive only: %s", runtime, strings.Join(names, ", "))})
	}
}

// FileKnown reports whether a file that is no log, a tool's output, is archived
// as it is.
func FileKnown(ctx context.Context, w *workspace.Workspace, s workspace.Found) (archive.Entry, bool, error) {
	entries, err := w.Archives.List(ctx, archive.Filter{Agent: s.Agent, Runtime: s.Runtime})
	if err != nil {
		return archive.Entry{}, false, err
	}
	for _, e := range entries {
		if e.Source != s.Path || e.Bytes != s.Bytes || w.Archives.Look(e) != nil {
			continue
		}
		sum, err := compact.HashOf(ctx, s.Adapter, s.Ref)
		if err != nil {
			return archive.Entry{}, false, err
		}
		if sum.SHA256 == e.SHA256 {
			return e, true, nil
		}
	}
	return archive.Entry{}, false, ctx.Err()
}
