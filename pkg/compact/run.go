package compact

import (
	"context"
	"errors"
	"fmt"

	"github.com/sessctl/sessctl/pkg/session"
)

// run is one session in the course of Execute.
type run struct {
	*Compactor
	store  session.Store
	plan   *Plan
	policy Policy
	result Result

	snapshot   session.Snapshot
	archived   Archived
	survey     Survey
	remembered Remembered
	summary    session.Summed // with overlay and rewrite
	prose      string         // with annotate
	spent      spent
	rotation   session.Rotation
	followed   int    // how often the log has grown and was read again
	because    string // why a session is compacted that was before, "" if that is of no interest
}

func (r *run) tell(stage Stage, done, total int64) {
	if r.Progress != nil {
		r.Progress(r.plan.Ref, stage, done, total)
	}
}

// stillIdle asks the store once more whether somebody may be writing, right
// before the session is changed: work takes minutes, and a log that was
// followed has just been written. A gateway that runs is no obstacle where it
// is what will be asked.
func (r *run) stillIdle(ctx context.Context) error {
	liveness := r.store.Capabilities().Liveness
	if liveness == nil {
		return nil
	}
	// First whether it has changed: what was added is archived and remembered
	// also when it is too fresh for the rest.
	if info, err := r.pins().Lstat(r.plan.Ref.Path); err == nil {
		if err := r.snapshot.Matches(info); err != nil {
			return err
		}
	}
	err := cutShort(r.plan.Ref, liveness.Busy(ctx, r.policy.IsBusy(r.plan.Ref, r.Now())))
	var busy *session.BusyError
	switch {
	case err == nil, errors.As(err, &busy) && busy.Served && r.plan.Via == session.ViaGateway:
		return nil
	case busy != nil && r.followed > 0:
		return &session.BusyError{Path: busy.Path, Reason: session.ReasonGrewBusy.Text(busy.Reason)}
	case busy != nil:
		return busy
	}
	return fmt.Errorf("look for writers: %w", err)
}
