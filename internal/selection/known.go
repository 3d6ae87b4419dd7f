package selection

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/agentset"
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
	receipts, _, err := run.Receipts().Examine() // one that cannot be read proves nothing: doctor and archives verify tell
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
// looked at and not read, which archives verify does, unless memory has records that
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
	memories, err := workspace.GlimpseMemory(ctx, run)
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

// FileKnown reports whether a file that is no log, a tool's output, is archived
// as it is.
func FileKnown(ctx context.Context, w *workspace.Workspace, s workspace.Found) (archive.Entry, bool, error) {
	entries, err := w.Archives.List(ctx, archive.Filter{Agent: agentset.Set(s.Agent), Runtime: s.Runtime})
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
