package compact

import (
	"cmp"
	"context"
	"fmt"
	"time"
)

// lateness is the part of an intent that says that a whole log came late; nil
// for any log but a fragment.
func (r *run) lateness() (*Lateness, error) {
	if !r.plan.Ref.Fragment {
		return nil, nil
	}
	moved, err := r.movedAway()
	return &Lateness{Fragment: true, Moved: moved}, err
}

// movedAway is when the log was moved away that a fragment was made in the place
// of: by the receipt of that, else before the first thing that was said in it.
func (r *run) movedAway() (time.Time, error) {
	receipts, _, err := r.Receipts.Examine()
	if err != nil {
		return time.Time{}, err
	}
	moved := r.plan.Ref.ModTime
	if first := r.survey.Scan.First; first > 0 {
		moved = time.UnixMilli(first)
	}
	before := moved
	for _, receipt := range receipts { // oldest first
		if receipt.Outcome == Compacted && receipt.Path == r.plan.Ref.Path && receipt.Rotation != nil && receipt.Rotation.At.Before(moved) {
			before = receipt.Rotation.At
		}
	}
	return before, nil
}

// carryFragment carries a fragment, which was moved aside, into the session that
// followed: at once, if that is idle.
func (r *run) carryFragment(ctx context.Context, in Intent) error {
	in.Switched = true
	if err := r.settleRotation(ctx, r.store, in, r.policy); err != nil {
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
