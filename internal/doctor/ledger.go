package doctor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sessctl/sessctl/internal/audit"
	"github.com/sessctl/sessctl/internal/removal"
	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/ledger"
)

// examineLedger compares what is there with what the ledger knows.
func examineLedger(ctx context.Context, run *workspace.Run, report *findings) error {
	found, leaves, err := audit.VerifyLedger(ctx, run)
	if err != nil {
		return err
	}
	for _, p := range found {
		report.damaged(p.Path, p.Message, p.Advice)
	}
	if err := workspace.LedgerOf(run).CheckKey(); err != nil && leaves > 0 {
		report.damaged(run.LedgerDir(), err.Error(), "put ledger/key back from a backup; or sessctl doctor --new-ledger REASON begins the ledger anew")
	}
	if first, err := workspace.LedgerOf(run).Leaf(0); err == nil && first.Kind == ledger.Begun {
		report.note(run.LedgerDir(), describeAnew(first), "")
	}
	if len(found) == 0 && leaves > 0 {
		report.ok(run.LedgerDir(), "%s, and all that they name is there", wording.Plural(int(leaves), "fact"))
	}
	return nil
}

// mendLedger makes again what follows from the ledger, and what the ledger knows: its
// hashes, entries of archives whose file is there, pins. What it does not know is
// adopted.
func mendLedger(ctx context.Context, run *workspace.Run, w *workspace.Workspace) error {
	if _, err := workspace.LedgerOf(run).Verify(ctx); errors.Is(err, ledger.ErrDamaged) {
		if workspace.LedgerOf(run).Remake(ctx) != nil {
			return nil // doctor tells
		}
	} else if err != nil {
		return err
	}
	if _, err := audit.Adopt(ctx, run, w.Archives, false); err != nil {
		return err
	}
	if err := mendDeletions(ctx, run, w); err != nil {
		return err
	}
	n, err := removal.RestorePins(ctx, run)
	if n > 0 {
		run.Notice(workspace.Note{Path: run.PinnedFile(), Message: "pinned again by the ledger: " + wording.Plural(n, "session")})
	}
	if err != nil {
		return err
	}
	if _, err = workspace.AdoptUnknown(ctx, run, true); errors.Is(err, workspace.ErrUnlisted) {
		return nil // doctor tells
	}
	return err
}

// mendDeletions makes the audit log and the records of the trash whole again.
func mendDeletions(ctx context.Context, run *workspace.Run, w *workspace.Workspace) error {
	n, err := audit.RestoreLines(ctx, run)
	if n > 0 {
		run.Notice(workspace.Note{Path: run.Audit().Path, Message: "written again by the ledger: " + wording.Plural(n, "line")})
	}
	if err != nil {
		return err
	}
	n, err = audit.RestoreRecords(ctx, run, w.Archives)
	if n > 0 {
		run.Notice(workspace.Note{Path: run.SessionTrash().Dir, Message: "made again: " + wording.Plural(n, "record") + " of what waits in the trash"})
	}
	return err
}

// BeginLedgerAnew begins another ledger because a person says so.
func BeginLedgerAnew(ctx context.Context, run *workspace.Run, why string) error {
	lock, err := run.Lock(ctx)
	if err != nil {
		return err
	}
	defer lock.Unlock()
	done, err := workspace.BeginAnew(ctx, run, why)
	for _, place := range done.Unasked {
		run.Notice(workspace.Note{Message: "the head of this place is not given up, as it did not say which it has: " + place, Hint: "if it differs from the others, it contradicts the new ledger: remove it there"})
	}
	if done.Moved != "" {
		run.Notice(workspace.Note{Path: done.Moved, Message: "the ledger before is kept here"})
	}
	if err != nil {
		return fmt.Errorf("begin the ledger anew: %w", err)
	}
	run.Notice(workspace.Note{Path: run.LedgerDir(), Message: "a ledger was begun anew, which gives up " + wording.Plural(done.GivenUp, "head") + " of the one before"})
	return nil
}

// describeAnew says after what a ledger was begun anew.
func describeAnew(first ledger.Leaf) string {
	text := "begun anew on " + first.When().Format(time.DateOnly)
	if first.ID != "" {
		text += fmt.Sprintf(", after a head of %s of %s", workspace.Entries(int64(first.Count)), first.ID)
	}
	return text + ": " + first.Why
}
