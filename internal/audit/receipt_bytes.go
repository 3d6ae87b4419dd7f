package audit

import (
	"cmp"
	"context"
	"slices"

	"github.com/sessctl/sessctl/internal/selection"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/chunk"
	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/memory"
)

// lackOfItsBytes is lack for those records only that are of the bytes of a receipt's
// archive: another log of the session, as its runtime cut it or began it anew, says
// something else at the same places. It returns "" where nobody can tell.
func (v *ReceiptAudit) lackOfItsBytes(ctx context.Context, store *memory.Store, r expected) (string, error) {
	if r.Archive == nil {
		return "", nil
	}
	e, there := v.archives[r.Archive.ID]
	if !there {
		return "", nil // it was deleted on purpose, or the catalogue is at fault
	}
	lack, err := v.lackIn(ctx, store, r, []string{e.ID})
	if err != nil || lack == "" || !v.Reading || !r.pieces || r.Content.Chunker != chunk.Version {
		return "", err
	}
	if readable, err := v.readable(ctx, store, e); err != nil || !readable {
		return "", err
	}
	same, err := v.sharing(ctx, e)
	if err != nil {
		return "", ctx.Err() // archives verify tells of an archive that cannot be read
	}
	if lack, err = v.lackIn(ctx, store, r, same); err != nil || lack == "" {
		return "", err
	}
	return v.lackOfItsPieces(ctx, store, r, e)
}

// lackIn is lack for the records from some archives.
func (v *ReceiptAudit) lackIn(ctx context.Context, store *memory.Store, r expected, from []string) (string, error) {
	c, err := store.Coverage(ctx, selection.SourceOf(r.Receipt), compact.CategoryHistory, from, from...)
	return r.lack(c), err
}

// readable reports whether an archive is here, and each of its session that records
// name and that may begin with its bytes.
func (v *ReceiptAudit) readable(ctx context.Context, store *memory.Store, e archive.Entry) (bool, error) {
	named, err := store.ArchivesOf(ctx, memory.Source{Runtime: e.Runtime, Agent: e.Agent, Session: e.Session}, compact.CategoryHistory)
	gone := func(id string) bool {
		longer, there := v.archives[id]
		return !there || longer.Bytes > e.Bytes && !v.copies.Here(longer)
	}
	return err == nil && v.copies.Here(e) && !slices.ContainsFunc(named, gone), err
}

// lackOfItsPieces makes the pieces of an archive again and looks for each: what two
// logs of a session say alike at one place is in memory once.
func (v *ReceiptAudit) lackOfItsPieces(ctx context.Context, store *memory.Store, r expected, e archive.Entry) (string, error) {
	limit := r.limit
	if limit == 0 {
		limit = -1 // none, as in the policy
	}
	missing, _, err := workspace.PieceJudge{Run: v.Run, Memories: store, Archives: v.copies, OutputLimit: limit}.Missing(ctx, e)
	if err != nil || missing == 0 {
		return "", ctx.Err() // as in lackOfItsBytes
	}
	return lackingChunks(r.Receipt, missing), nil
}

// sharing are the ids of an archive and of those of its session with whose bytes it
// begins, or that begin with its own.
func (v *ReceiptAudit) sharing(ctx context.Context, e archive.Entry) ([]string, error) {
	source := memory.Source{Runtime: e.Runtime, Agent: e.Agent, Session: e.Session}
	if _, known := v.chains[source]; !known {
		chains, err := v.chainsOf(ctx, v.sessions[source])
		if err != nil {
			return nil, err
		}
		v.chains[source] = chains
	}
	ids := []string{e.ID}
	for _, chain := range v.chains[source] {
		if slices.Contains(chain, e.ID) {
			ids = append(ids, chain...)
		}
	}
	return ids, nil
}

// chainsOf puts the archives of a session in chains: one that no other begins with, and
// all with whose bytes it begins. Each chain costs one read of its longest archive.
func (v *ReceiptAudit) chainsOf(ctx context.Context, ids []string) (chains [][]string, err error) {
	var entries []archive.Entry
	for _, id := range ids {
		if e, there := v.archives[id]; there && v.copies.Here(e) {
			entries = append(entries, e)
		}
	}
	slices.SortFunc(entries, func(x, y archive.Entry) int { return cmp.Compare(y.Bytes, x.Bytes) })
	chained := map[string]bool{}
	for i, e := range entries {
		if chained[e.ID] {
			continue
		}
		shorter, err := workspace.MemoryAdapter{Archives: v.copies}.BeginsWith(ctx, compact.Origin{Archived: workspace.ArchivedOf(e)}, slices.Clone(entries[i+1:]))
		if err != nil {
			return nil, err
		}
		chain := append(shorter, e.ID)
		for _, id := range chain {
			chained[id] = true
		}
		chains = append(chains, chain)
	}
	return chains, nil
}
