package selection

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sessctl/sessctl/internal/wording"
	"github.com/sessctl/sessctl/internal/workspace"
	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/session"
)

// What `compact --all` does with a session that is over: the field "compact" of
// `sizes --json`.
const (
	ProspectDue         = "due"         // it is compacted
	ProspectBusy        = "busy"        // it is skipped, and taken by a later run
	ProspectIrreducible = "irreducible" // nothing can be cut away
	ProspectRuntime     = "runtime"     // it is archived and remembered: only its runtime can make it smaller
	ProspectKept        = "kept"        // the same, and it has not changed since it was: nothing is to be done
	ProspectPassedOver  = "passed-over" // it is left out: it is not the session that its agent goes on with
	ProspectUnsupported = "unsupported" // it cannot be changed
)

// judge says of a session whether it is over and what comes of that, and whether
// somebody is writing it, as compact would.
func (m *Measurer) judge(ctx context.Context, r *SessionRow, s *workspace.Found, tail session.Tail) error {
	meant := Meant(*s, m.InDatabase)
	v, err := m.Policy.Limits.Judge(s.Ref, tail), error(nil)
	if meant {
		v, err = m.Policy.Due(ctx, s.Adapter, session.DueQuestion{Ref: s.Ref, Tail: tail, Now: m.Now()})
	}
	if r.due(v); err != nil {
		return err
	}
	if err := m.look(ctx, r, s, tail); err != nil || !r.Over {
		return err
	}
	if !meant {
		r.Compact = ProspectPassedOver
		return nil
	}
	plan, err := compact.Foresee(ctx, s.Adapter, s.Ref, m.Policy, m.Now())
	if err == nil && plan.Unsurveyed() {
		err = m.refuse(ctx, plan, s)
	}
	if err != nil {
		return err
	}
	r.foresee(plan)
	return nil
}

// refuse ends a plan if the records of its log are against it, from memory if the log
// has not changed.
func (m *Measurer) refuse(ctx context.Context, plan *compact.Plan, s *workspace.Found) (err error) {
	seen, known := m.TailCache.Seen(s.Path)
	if !known || !seen.Judged {
		if seen.Refused, err = plan.Refuse(ctx, s.Adapter, m.Policy); err != nil {
			return err
		}
		m.TailCache.Add(s.Path, func(kept *session.CachedTail) { kept.Refused, kept.Judged = seen.Refused, true })
	}
	if seen.Refused != "" {
		plan.Outcome, plan.Reason = compact.Unsupported, seen.Refused
	}
	return nil
}

// Refusal says why compact changes nothing of a session that is over; "" if it does,
// nothing would come of it, or the listing has said so: see State.
func (r *SessionRow) Refusal() string {
	if r.Compact != ProspectUnsupported || r.State == string(session.StateUnsupported) {
		return ""
	}
	return strings.ReplaceAll(r.Reason, r.Path+":", "line ")
}

// Note tells the refusal, with what can be done about it.
func (r *SessionRow) Note() workspace.Note {
	return workspace.Note{Path: r.Path, Message: "it cannot be compacted: " + r.Refusal(), Hint: session.ReasonOf(r.Reason).Hint()}
}

// foresee takes over what the plan of a compaction says.
func (r *SessionRow) foresee(plan *compact.Plan) {
	switch {
	case plan.Outcome == compact.Busy:
		r.Compact, r.State, r.Reason = ProspectBusy, string(session.StateBusy), plan.Reason
	case plan.Irreducible:
		r.Compact = ProspectIrreducible
		if r.Reason == "" {
			r.Reason = plan.Reason
		}
	case plan.Outcome == compact.Unsupported:
		r.Compact = ProspectUnsupported
		if r.Reason == "" {
			r.Reason = plan.Reason
		}
	case plan.Strategy == session.StrategyNone:
		r.Compact = ProspectRuntime
	case plan.Outcome == compact.Planned:
		r.Compact = ProspectDue
	default: // it is empty
		r.Over, r.DueBy = false, ""
	}
}

// due takes over whether the session is large enough.
func (r *SessionRow) due(v compact.Verdict) { r.Over, r.DueBy, r.Limit = v.Due, string(v.By), v.Limit }

// look asks the store whether somebody is writing a session whose end is not that
// of a finished turn. What its times and its locks tell the listing has said.
func (m *Measurer) look(ctx context.Context, r *SessionRow, s *workspace.Found, tail session.Tail) error {
	if s.State != session.StateIdle || tail.Finished() {
		return nil
	}
	liveness := s.Adapter.Capabilities().Liveness
	if liveness == nil || s.Kind.Closed() {
		return nil
	}
	err := liveness.Busy(ctx, m.Policy.IsBusy(s.Ref, m.Now()))
	var busy *session.BusyError
	switch {
	case errors.As(err, &busy) && busy.Served: // it would be asked to change it
	case errors.As(err, &busy):
		r.State, r.Reason = string(session.StateBusy), busy.Reason
	case err != nil && !errors.Is(err, session.ErrUnsupported):
		return err
	}
	return nil
}

// Over counts the sessions that are over by the threshold and by a rule of their
// runtime, and those of both from which nothing can be cut away. A host of an
// earlier version does not say which it is.
func (d *SizesDocument) Over() (over, ruled, irreducible int) {
	for _, s := range d.Sessions {
		if s.Compact == ProspectIrreducible {
			irreducible++
		}
		switch {
		case !s.Over:
		case s.DueBy == string(compact.DueByRuntime), s.DueBy == "" && s.Tokens < d.Threshold:
			ruled++
		default:
			over++
		}
	}
	return over, ruled, irreducible
}

// Copies counts the sessions that began with what is said in another one of them.
func Copies(rows []*SessionRow) int {
	there, origins := map[[2]string]bool{}, make([]*session.CarriedFrom, len(rows))
	for i, r := range rows {
		there[[2]string{r.Runtime, session.CleanID(r.Session)}], origins[i] = true, r.CarriedFrom
	}
	return session.Copies(slices.Values(origins), func(runtime, id string) bool { return there[[2]string{runtime, id}] })
}

// Footer says in one line how many sessions are over.
func (d *SizesDocument) Footer() string {
	over, ruled, irreducible := d.Over()
	text := fmt.Sprintf("%d of %d sessions at or over %s", over, d.Measured, wording.Threshold(d.Threshold, d.Share))
	if d.Threshold == 0 && d.Share == 0 {
		text = fmt.Sprintf("%d of %d sessions at or over the threshold of their host", over+ruled, d.Measured)
		ruled = 0
	}
	if irreducible > 0 {
		text += fmt.Sprintf(", %s of them irreducible (compact finds nothing to cut away)", wording.Count(int64(irreducible)))
	}
	if ruled > 0 {
		text += fmt.Sprintf(", %s more over by the runtime's own rule", wording.Count(int64(ruled)))
	}
	if copies := Copies(d.Sessions); copies > 0 {
		text += fmt.Sprintf("; %s carried over from others here", wording.Count(int64(copies)))
	}
	return text
}

// findKept finds the sessions that only their runtime can make smaller of which archive
// and memory have all there is: compact --all has nothing to do for them.
func (m *Measurer) findKept(ctx context.Context, sessions []workspace.Found, rows []*SessionRow) {
	if !slices.ContainsFunc(rows, func(r *SessionRow) bool { return r.Compact == ProspectRuntime }) {
		return
	}
	known, end := KnownForPlan(ctx, m.Run)
	defer end()
	for i, r := range rows {
		if r.Compact != ProspectRuntime {
			continue
		}
		if _, same, err := known.Unchanged(ctx, sessions[i].Adapter, sessions[i].Ref); err == nil && same {
			r.Compact = ProspectKept
		}
	}
}
