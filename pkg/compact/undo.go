package compact

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/sessctl/sessctl/pkg/session"
)

// Undone is the outcome of an undo.
const Undone Outcome = "undone"

// Undo carries a plan out. A journal entry is durable before the first change.
// Then the log comes back, as it was, and the runtime continues it; then what
// the compaction had stored is taken out of memory, so that at no time the
// session is neither in its runtime nor in memory; and then the receipt of the
// undo is written. Each step is recognised as done when it is repeated.
//
// A [*session.BusyError] without Begun changes nothing.
func (c *Compactor) Undo(ctx context.Context, store session.Store, p *UndoPlan) (Receipt, error) {
	if p.Outcome != Planned {
		return Receipt{Result: p.result()}, nil
	}
	if p.Restore != nil {
		return c.putBack(ctx, store, p)
	}
	in := c.newUndo(p)
	in.Undo = p.Unrotation
	if err := c.Journal.Write(in); err != nil {
		return Receipt{}, fmt.Errorf("write the intent: %w", err)
	}
	if err := c.unrotate(ctx, store, in); err != nil {
		return Receipt{}, err
	}
	receipt, err := c.proveUndo(ctx, store, in, p.Policy)
	if err != nil {
		return receipt, err
	}
	return receipt, c.Journal.Remove(in.ID)
}

// newUndo says what is about to be done.
func (c *Compactor) newUndo(p *UndoPlan) Intent {
	in := Intent{Schema: 1, ID: c.NewID(), Kind: KindUndo, Rotation: *p.Receipt.Rotation, Archive: p.Archive}
	result := p.result()
	result.Outcome, result.Receipt = Undone, c.Receipts.Path(in.ID)
	in.Receipt = Receipt{
		Schema: 1, ID: in.ID, Version: c.Version, At: c.Now().UTC(), Result: result, Source: p.Receipt.Source,
		Undo: &UndoProof{Receipt: p.Receipt.ID, MemoryKept: p.KeepMemory},
	}
	return in
}

// unrotate lets the store reverse the rotation. An undo that changed nothing is
// dropped.
func (c *Compactor) unrotate(ctx context.Context, store session.Store, in Intent) error {
	unrotator, ok := store.(session.Unrotator)
	if !ok || in.Undo == nil {
		return fmt.Errorf("a rotation of %s cannot be reversed", in.Rotation.Runtime)
	}
	err := unrotator.Unrotate(ctx, *in.Undo, func(w io.Writer) error { return c.copyArchive(ctx, w, in.Archive) })
	var busy *session.BusyError
	if errors.As(err, &busy) && !busy.Begun {
		return errors.Join(err, c.Journal.Remove(in.ID))
	}
	if err != nil {
		return fmt.Errorf("reverse the rotation: %w", err)
	}
	return nil
}

// proveUndo comes after the log is back: memory, and the receipt.
func (c *Compactor) proveUndo(ctx context.Context, store session.Store, in Intent, policy Policy) (Receipt, error) {
	receipt := in.Receipt
	if !receipt.Undo.MemoryKept {
		var err error
		if receipt.Undo.Withdrawn, err = c.withdraw(ctx, store, receipt, policy); err != nil {
			return receipt, fmt.Errorf("take it out of memory: %w", err)
		}
	}
	if _, err := c.Receipts.Write(receipt); err != nil {
		return receipt, fmt.Errorf("write the receipt: %w", err)
	}
	return receipt, nil
}

// withdraw takes what the compaction stored out of memory. What the session's
// other compactions stored may be nowhere else by now: it stays, and where it
// was stored again by the one that is undone, it is remembered again from their
// own archives.
func (c *Compactor) withdraw(ctx context.Context, store session.Store, undo Receipt, policy Policy) (int, error) {
	others, err := c.otherArchives(undo)
	if err != nil {
		return 0, err
	}
	var keep []string
	for _, a := range others {
		keep = append(keep, a.ID)
	}
	ref := session.Ref{Runtime: undo.Runtime, Agent: undo.Agent, ID: undo.Session, Key: undo.Key, Path: undo.Path}
	taken, err := c.Withdrawer.Withdraw(ctx, ref, keep)
	if err != nil {
		return 0, err
	}
	for _, a := range others {
		if err := c.rememberLate(ctx, store, ref, a, policy); err != nil {
			return taken, err
		}
	}
	return taken, nil
}

// otherArchives are the archives of the session's other compactions, oldest
// first, and of what was said after the one that is undone.
func (c *Compactor) otherArchives(undo Receipt) ([]Archived, error) {
	receipts, err := c.Receipts.List()
	if err != nil {
		return nil, err
	}
	undone := UndoneBy(receipts)
	undone[undo.Undo.Receipt] = undo
	var others []Archived
	for _, r := range receipts {
		_, gone := undone[r.ID]
		if r.Runtime == undo.Runtime && r.Agent == undo.Agent && r.Session == undo.Session && r.Archive != nil && r.Outcome == Compacted && !gone {
			others = append(others, Archived{ID: r.Archive.ID, Path: r.Archive.Path, SHA256: r.Archive.SHA256, Bytes: r.Archive.Bytes})
		}
	}
	if undo.Undo.Newer != nil {
		others = append(others, *undo.Undo.Newer)
	}
	return others, nil
}

// UndoneBy returns, by the id of a compaction's receipt, the receipt of the
// undo that has reversed it.
func UndoneBy(receipts []Receipt) map[string]Receipt {
	undone := map[string]Receipt{}
	for _, r := range receipts {
		if r.Undo != nil && r.Outcome == Undone {
			undone[r.Undo.Receipt] = r
		}
	}
	return undone
}

// settleUndo finishes an undo that an earlier run began.
func (c *Compactor) settleUndo(ctx context.Context, store session.Store, in Intent, policy Policy) error {
	if in.Receipt.Undo == nil {
		return fmt.Errorf("the journal entry %s is not whole", in.ID)
	}
	if in.Restore != nil {
		return c.settlePutBack(ctx, store, in, policy)
	}
	var busy *session.BusyError
	if err := c.unrotate(ctx, store, in); errors.As(err, &busy) && !busy.Begun {
		return nil // the runtime has gone on: the session stays put away
	} else if err != nil {
		return err
	}
	if _, err := c.proveUndo(ctx, store, in, policy); err != nil {
		return err
	}
	return c.Journal.Remove(in.ID)
}
