package compact

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/sessctl/sessctl/pkg/session"
)

// lateness is the part of an intent that says that a whole log came late; nil
// for any log but a fragment. first is when the first thing in it was said, in epoch
// milliseconds, 0 if that is not known.
func (r Receipts) lateness(ref session.Ref, first int64) (*Lateness, error) {
	if !ref.Fragment {
		return nil, nil
	}
	moved, err := r.movedAway(ref, first)
	return &Lateness{Fragment: true, Moved: moved}, err
}

// movedAway is when the log was moved away that a fragment was made in the place
// of: by the receipt of that, else before the first thing that was said in it.
func (r Receipts) movedAway(ref session.Ref, first int64) (time.Time, error) {
	receipts, _, err := r.Examine()
	if err != nil {
		return time.Time{}, err
	}
	moved := ref.ModTime
	if first > 0 {
		moved = time.UnixMilli(first)
	}
	before := moved
	for _, receipt := range receipts { // oldest first
		if receipt.Outcome == Compacted && receipt.Path == ref.Path && receipt.Rotation != nil && receipt.Rotation.At.Before(moved) {
			before = receipt.Rotation.At
		}
	}
	return before, nil
}

// carryFragment carries a fragment, which was moved aside, into the session that
// followed: at once, if that is idle.
func (r *run) carryFragment(ctx context.Context, in Intent) error {
	in.Switched = true
	if err := r.oldLogs().settle(ctx, r.store, in, r.policy); err != nil {
		return err
	}
	receipt, err := r.Receipts.Read(r.result.Receipt)
	if err != nil {
		return fmt.Errorf("read the receipt: %w", err)
	}
	r.result.Reason = "it had no header"
	switch late := receipt.LateLines; {
	case late == nil:
	case late.Carried > 0:
		r.result.Reason += fmt.Sprintf(": %d of its records stand in %s now", late.Carried, late.Into)
	default:
		r.result.Reason += ", and is in the archive: " + cmp.Or(late.Reason, "none of its records can stand in another session")
	}
	return nil
}
