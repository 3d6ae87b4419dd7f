package compact_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/session"
)

// claims is a store that names strategies and has the means for none.
type claims struct{ *store }

func (claims) Capabilities() session.Capabilities {
	return session.Capabilities{Traits: ofPi, Strategies: []session.Strategy{session.StrategyRotate, session.StrategyOverlay, session.StrategyRewrite, session.StrategyAnnotate}}
}

// A strategy that a store has no means for is refused in the plan, before
// anything is done.
func TestPlanWithoutTheMeansIsUnsupported(t *testing.T) {
	for _, by := range []session.Strategy{"", session.StrategyRotate, session.StrategyOverlay, session.StrategyRewrite, session.StrategyAnnotate} {
		h := newWorkspace(t, 40)
		policy := h.policy()
		policy.Strategy = by
		plan := h.planFor(claims{h.store}, policy)
		if by == "" {
			by = session.StrategyRotate
		}
		if want := session.ErrUnsupported.Error() + ": by " + string(by) + ", in a store of test"; plan.Outcome != compact.Unsupported || plan.Reason != want {
			t.Errorf("%s: %s, %q, want %q", by, plan.Outcome, plan.Reason, want)
		}
	}
}

// A plan that a store has no means for, though it was made, changes nothing and
// says why.
func TestExecuteWithoutTheMeansIsUnsupported(t *testing.T) {
	for by, via := range map[session.Strategy]string{session.StrategyRotate: "", session.StrategyAnnotate: "", "gateway": session.ViaGateway} {
		h := newWorkspace(t, 40)
		plan := h.newPlan(h.policy())
		plan.Via = via
		if by == session.StrategyAnnotate {
			plan.Strategy = by
			h.Summarizer = func(compact.SummaryOrder) compact.Summarizer {
				return &writer{summary: func(int) (compact.Summary, error) {
					return compact.Summary{Text: "what was said", Prose: "what was said"}, nil
				}}
			}
		}
		_, err := h.Execute(context.Background(), claims{h.store}, plan, h.policy())
		if !errors.Is(err, session.ErrUnsupported) {
			t.Errorf("%s: error %v", by, err)
		}
		if len(h.store.calls) > 0 || h.liveLog() != h.log || len(h.intents()) > 0 {
			t.Errorf("%s: calls %v, intents %+v", by, h.store.calls, h.intents())
		}
	}
}

// What an earlier run began and a store cannot finish stays in the journal, and
// the error names the change.
func TestSettleWithoutTheMeansKeepsTheIntent(t *testing.T) {
	for kind, want := range map[compact.Kind]string{
		compact.KindRotation: "cannot be rotated", compact.KindShortening: "cannot be shortened", compact.KindAnnotation: "cannot be annotated",
		compact.KindReset: "cannot be reset", compact.KindUndo: "cannot be reversed",
	} {
		h := newWorkspace(t, 4)
		in := compact.Intent{
			Schema: 1, ID: "id000", Kind: kind, Rotation: session.Rotation{Runtime: "test", Session: "s1", Store: h.store.dir, Live: h.ref.Path, At: h.Now()},
			Shortening: &session.Shortening{}, Annotation: &session.Annotation{}, Undo: &session.Undo{},
			Receipt: compact.Receipt{ID: "id000", Undo: &compact.UndoProof{}},
		}
		if err := h.Journal.Write(in); err != nil {
			t.Fatal(err)
		}
		_, err := h.Settle(context.Background(), func(string, string) (session.Store, bool) { return claims{h.store}, true }, h.policy())
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", kind, err, want)
		}
		if left := h.intents(); len(left) != 1 {
			t.Errorf("%q: intents %+v", kind, left)
		}
	}
}

// A log is put back only into a store that can take one.
func TestPlanRestoreIntoAStoreThatTakesNone(t *testing.T) {
	h := newWorkspace(t, 4)
	h.archive.copies["copy0"] = h.log
	_, err := h.PlanRestore(context.Background(), compact.RestoreRequest{
		Archive: compact.Archived{ID: "copy0"}, Place: session.Place{Path: h.ref.Path}, Store: claims{h.store},
	})
	if !errors.Is(err, session.ErrUnsupported) || !strings.Contains(err.Error(), "logs of test cannot be put back") {
		t.Errorf("error %v", err)
	}
}

// A store that wraps another one can do what that can.
func TestAWrappedStoreKeepsItsCapabilities(t *testing.T) {
	h := newWorkspace(t, 6)
	wrapped := struct{ session.Store }{h.store}
	plan := h.planFor(wrapped, h.policy())
	if r, err := h.Execute(context.Background(), wrapped, plan, h.policy()); err != nil || r.Outcome != compact.Compacted || len(h.store.calls) == 0 {
		t.Errorf("%+v, calls %v, %v", r, h.store.calls, err)
	}
	if can := session.CapabilitiesOf(nil); can.Rotator != nil || can.StrategiesOf(h.ref)[0] != session.StrategyNone {
		t.Errorf("without a store: %+v", can)
	}
}
