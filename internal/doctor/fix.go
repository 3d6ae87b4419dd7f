package doctor

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/sessctl/sessctl/internal/audit"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/ledger"
	"github.com/sessctl/sessctl/pkg/memory"
)

// TrustClock keeps that the clock is right, if any recorded time says otherwise.
func TrustClock(ctx context.Context, run *workspace.Run) error {
	wrong := 0
	if workspace.Exists(run.DataDir()) { // else nothing was ever recorded
		lock, err := run.Lock(ctx)
		if err != nil {
			return err
		}
		defer lock.Unlock()
		if err := run.Pins.Sweep(run.DataDir(), 0); err != nil { // of a run that was killed here
			return err
		}
		recorded, err := audit.Recorded(run)
		if err != nil {
			return err
		}
		if wrong, err = audit.Clock(run).Trust(run.Now(), recorded); err != nil {
			return err
		}
		if wrong > 0 {
			workspace.Enter(run, ledger.Leaf{Kind: ledger.Clock, At: run.Now().UnixMilli(), Count: wrong})
		}
	}
	message := "no recorded time lies in the future: there is nothing to declare wrong"
	if wrong > 0 {
		message = fmt.Sprintf("the clock is taken to be right, and %s in the future to be wrong", wording.Plural(wrong, "recorded time"))
	}
	run.Notice(workspace.Note{Path: audit.Clock(run).Path, Message: message})
	return nil
}

// FixUp does what every state-changing command does first. The memory is only
// opened if an earlier run left something unfinished.
func FixUp(ctx context.Context, run *workspace.Run) error {
	if !workspace.Exists(run.DataDir()) {
		return nil // no run ever began
	}
	if err := workspace.SetRecordsAside(ctx, run); err != nil {
		return err
	}
	w, err := audit.OpenFixing(ctx, run)
	if err != nil {
		return err
	}
	defer w.Close()
	if err := mendLedger(ctx, run, w); err != nil {
		return err
	}
	return closeMemory(ctx, run)
}

// closeMemory opens the memory and closes it again, so that what a killed run
// left in its log is written into it, and what it left of a forget is finished.
// A damaged one is looked at later.
func closeMemory(ctx context.Context, run *workspace.Run) error {
	if !workspace.Exists(filepath.Join(run.MemoryDir(), "memory.db-wal")) && !memoryWaits(ctx, &run.Settings) {
		return nil
	}
	store, err := workspace.ChangeMemory(ctx, run, false)
	if errors.Is(err, memory.ErrCorrupt) || errors.Is(err, memory.ErrNewerSchema) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open memory: %w", err)
	}
	return store.Close()
}

// memoryWaits says whether there is something to do in the memory: a forget was
// cut off, or what was forgotten, or what agents stored, is not recorded.
func memoryWaits(ctx context.Context, a *workspace.Settings) bool {
	store, err := memory.Open(ctx, a.MemoryDir(), memory.Options{NoTrace: true})
	if err != nil {
		return false // it is looked at later
	}
	defer store.Close()
	due, err := store.WipeIsDue(ctx)
	return err == nil && (due || !store.RecordsForgotten(ctx) || store.OwnWordsWait(ctx))
}
