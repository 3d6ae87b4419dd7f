package workspace

import (
	"context"
	"fmt"

	"github.com/sessctl/sessctl/pkg/archive"
	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/retention"
)

// Why a session was remembered that is deleted next, as its receipt says it.
const (
	AboutToClean  = "archived and remembered, because clean was about to delete it"
	AboutToShrink = "archived and remembered, because shrink was about to take it out of its database"
)

// RememberOnce remembers what an archived log says, unless memory has all of it and a
// receipt names it: most logs were remembered when they were compacted. What an earlier
// run could not embed of it waits for EmbedWaiting: no other run of the agent may come.
func (w *Workspace) RememberOnce(ctx context.Context, run *Run, log retention.Session, e archive.Entry, why string) error {
	if all, err := Remembered(ctx, run, w.Memory, w.Archives, e); err == nil && all {
		w.Unchanged = append(w.Unchanged, compact.Result{Compaction: compact.Compaction{Runtime: log.Runtime, Agent: log.Agent}, Unchanged: true})
		if named, err := w.namedByReceipts(run, e.ID); err != nil || named {
			return err
		}
	}
	return w.RememberProven(ctx, run, log, e, why)
}

// RememberProven remembers what an archived log says, with a receipt: if memory loses
// it, archives verify says so, and an undo knows that it is wanted.
func (w *Workspace) RememberProven(ctx context.Context, run *Run, log retention.Session, e archive.Entry, why string) error {
	archived := compact.ToDelete{Archived: ArchivedOf(e), Why: why}
	if err := w.Compactor.RememberProven(ctx, log.Adapter, log.Ref, archived, run.RecoveryPolicy()); err != nil {
		return err
	}
	if w.proven != nil {
		w.proven[e.ID] = true
	}
	return nil
}

// namedByReceipts reports whether the receipt of a run that was not undone says that
// an archive was remembered.
func (w *Workspace) namedByReceipts(run *Run, id string) (bool, error) {
	if w.proven != nil {
		return w.proven[id], nil
	}
	receipts, _, err := run.Receipts().Examine() // one that cannot be read proves nothing: doctor and archives verify tell
	if err != nil {
		return false, fmt.Errorf("read the receipts: %w", err)
	}
	w.proven = map[string]bool{}
	undone := compact.UndoneBy(receipts)
	for _, r := range receipts {
		if _, is := undone[r.ID]; is {
			continue
		}
		if r.Archive != nil && (r.Outcome == compact.Compacted || r.Outcome == compact.Partial) {
			w.proven[r.Archive.ID] = true
		}
		for _, other := range OthersOf(r) {
			w.proven[other.ID] = true
		}
	}
	return w.proven[id], nil
}
