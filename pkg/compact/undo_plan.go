package compact

import (
	"context"
	"errors"
	"fmt"

	"github.com/sessctl/sessctl/pkg/session"
)

// UndoRequest says which compaction to reverse, and how.
type UndoRequest struct {
	Receipt    Receipt
	Force      bool // also if the runtime has gone on: what is newer is compacted first
	KeepMemory bool // leave what it stored in memory
	Policy     Policy
}

// UndoPlan says what an undo would do. It is data; making one changes nothing.
type UndoPlan struct {
	UndoRequest
	Outcome Outcome // Planned or NothingToDo
	Reason  string
	Archive Archived
	// Unrotation is of a rotation that the store itself reverses; Restore is of
	// every other change. nil if that is not known before what is newer has
	// been put away.
	Unrotation *session.Unrotation
	Restore    *RestorePlan
	// First is what must be put away before, or nil.
	First *session.NewerError
}

// result is the plan as one row of JSON.
func (p *UndoPlan) result() Result {
	r := p.Receipt.Result
	row := Result{
		Runtime: r.Runtime, Agent: r.Agent, Session: r.Session, Key: r.Key, Path: p.Receipt.Source.Path, Outcome: p.Outcome,
		Reason: p.Reason, Strategy: r.Strategy, TokensAfter: r.TokensBefore, TokenSource: r.TokenSource, Bytes: p.Receipt.Source.Bytes,
		Archive: r.Archive,
	}
	return row
}

// PlanUndo looks what there is to do. A [*session.NewerError] is returned when
// the runtime has gone on, unless Force; an error that wraps
// [session.ErrUnsupported] when the compaction cannot be reversed any more.
func (c *Compactor) PlanUndo(ctx context.Context, store session.Store, r UndoRequest) (*UndoPlan, error) {
	p := &UndoPlan{UndoRequest: r, Outcome: Planned}
	receipts, err := c.Receipts.List()
	if err != nil {
		return nil, err
	}
	if by, undone := UndoneBy(receipts)[r.Receipt.ID]; undone {
		p.Outcome, p.Reason = NothingToDo, "it was undone already, see receipt "+by.ID
		return p, nil
	}
	if r.Receipt.Outcome != Compacted || r.Receipt.Rotation == nil || r.Receipt.Archive == nil {
		p.Outcome, p.Reason = NothingToDo, "that run has not changed the session"
		return p, nil
	}
	p.takeReceipt(receipts)
	if unrotator, ok := store.(session.Unrotator); ok && r.Receipt.After == nil {
		return p, c.planUnrotation(ctx, unrotator, p)
	}
	return p, c.planPutBack(ctx, store, p)
}

// takeReceipt takes the receipt as it is on disk now: what reached the old log
// late may have been noted in it since it was read.
func (p *UndoPlan) takeReceipt(receipts []Receipt) {
	for _, r := range receipts {
		if r.ID == p.Receipt.ID {
			p.Receipt = r
		}
	}
	a := p.Receipt.Archive
	p.Archive = Archived{ID: a.ID, Path: a.Path, SHA256: a.SHA256, Bytes: a.Bytes}
	if p.Receipt.Late != nil {
		p.Archive = *p.Receipt.Late
	}
}

func (c *Compactor) planUnrotation(ctx context.Context, unrotator session.Unrotator, p *UndoPlan) error {
	u, err := unrotator.PlanUnrotation(ctx, *p.Receipt.Rotation, session.UnrotateOptions{Now: c.Now(), Quiet: p.Policy.Quiet, Force: p.Force})
	if newer := (*session.NewerError)(nil); errors.As(err, &newer) && p.Force {
		p.First = newer
		return nil
	}
	if err != nil {
		return err
	}
	p.Unrotation = &u
	if u.From != "" {
		return nil // its inode is there: the archive is not needed
	}
	if err := c.readBack(ctx, p.Archive); err != nil {
		return fmt.Errorf("read the archive: %w", err)
	}
	return nil
}

// PutAwayFirst compacts what is newer than the session that is to come back:
// its log is archived, remembered and closed like any other.
func (c *Compactor) PutAwayFirst(ctx context.Context, store session.Store, p *UndoPlan) (Result, error) {
	listing, err := store.List(ctx)
	if err != nil {
		return Result{}, fmt.Errorf("list sessions of %s: %w", store.Root(), err)
	}
	for _, ref := range listing.Refs {
		if ref.Path == p.First.Path {
			return c.putAway(ctx, store, ref, p.Policy)
		}
	}
	return Result{}, fmt.Errorf("the newer session %s is not listed", p.First.Session)
}

func (c *Compactor) putAway(ctx context.Context, store session.Store, ref session.Ref, policy Policy) (Result, error) {
	policy.Force, policy.Strategy, policy.SkipArchive = true, StrategyRotate, false
	plan, err := NewPlan(ctx, store, ref, policy, c.Now())
	if err != nil {
		return Result{}, err
	}
	result := plan.Result()
	if plan.Outcome == Planned {
		if result, err = c.Execute(ctx, store, plan, policy); err != nil {
			return result, err
		}
	}
	switch result.Outcome {
	case Compacted:
		return result, nil
	case Busy:
		return result, &session.BusyError{Path: ref.Path, Reason: result.Reason}
	}
	return result, fmt.Errorf("%s cannot be put away: %s", ref.Path, result.Reason)
}
