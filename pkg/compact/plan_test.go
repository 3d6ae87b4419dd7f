package compact_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/session"
)

func TestPlanOutcomes(t *testing.T) {
	busy := &session.BusyError{Path: "x", Reason: "it is being written"}
	for _, c := range []struct {
		name    string
		prepare func(*workspace, *compact.Policy)
		want    compact.Outcome
		reason  string
	}{
		{"over", func(*workspace, *compact.Policy) {}, compact.Planned, ""},
		{"equal to the threshold", func(h *workspace, p *compact.Policy) { h.store.tokens = p.Limits.Threshold.Tokens }, compact.Planned, ""},
		{"one below", func(h *workspace, p *compact.Policy) { h.store.tokens = p.Limits.Threshold.Tokens - 1 }, compact.BelowThreshold, "149999 tokens, threshold 150000"},
		{"one below, forced", func(h *workspace, p *compact.Policy) { h.store.tokens = p.Limits.Threshold.Tokens - 1; p.Force = true }, compact.Planned, ""},
		{"busy", func(h *workspace, p *compact.Policy) { h.store.busy = busy }, compact.Busy, "it is being written"},
		{"busy, forced", func(h *workspace, p *compact.Policy) { h.store.busy = busy; p.Force = true }, compact.Busy, "it is being written"},
		{"small and busy", func(h *workspace, p *compact.Policy) { h.store.busy = busy; h.store.tokens = 1 }, compact.BelowThreshold, "1 tokens, threshold 150000"},
		{"unsupported", func(h *workspace, _ *compact.Policy) {
			h.ref.State, h.ref.Reason = session.StateUnsupported, "a database"
		}, compact.Unsupported, "a database"},
		{"cannot be rotated", func(h *workspace, _ *compact.Policy) { h.store.plan = session.ErrUnsupported }, compact.Unsupported, session.ErrUnsupported.Error()},
		{"cannot be rotated, but remembered", func(h *workspace, p *compact.Policy) { h.store.plan = session.ErrUnsupported; p.SkipArchive = true }, compact.Planned, ""},
		{"index is being written", func(h *workspace, _ *compact.Policy) { h.store.plan = busy }, compact.Busy, "it is being written"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newWorkspace(t, 6)
			policy := h.policy()
			c.prepare(h, &policy)
			plan := h.newPlan(policy)
			if plan.Outcome != c.want || plan.Reason != c.reason {
				t.Fatalf("%s (%s), want %s (%s)", plan.Outcome, plan.Reason, c.want, c.reason)
			}
			if h.liveLog() != h.log || len(h.store.calls) > 0 {
				t.Fatal("planning changed something")
			}
		})
	}
}

func TestPlanOfAnEmptySessionIsNothingToDo(t *testing.T) {
	h := newWorkspace(t, 0)
	if plan := h.newPlan(h.policy()); plan.Outcome != compact.NothingToDo {
		t.Fatalf("%s (%s)", plan.Outcome, plan.Reason)
	}
}

func TestPlanCountsWhatTheRunWillStore(t *testing.T) {
	h := newWorkspace(t, 10)
	plan := h.newPlan(h.policy())
	if plan.Survey.Chunks != 3 || plan.Survey.Scan.Messages != 10 {
		t.Fatalf("%d chunks of %d messages, want 3 of 10", plan.Survey.Chunks, plan.Survey.Scan.Messages)
	}
	planned := plan.Result()
	done, err := h.Execute(context.Background(), h.store, plan, h.policy())
	if err != nil {
		t.Fatal(err)
	}
	if planned.Chunks != done.Chunks || planned.Messages != done.Messages || planned.Bytes != done.Bytes || planned.TokensBefore != done.TokensBefore || planned.TokensAfter != done.TokensAfter {
		t.Fatalf("planned %+v\ndone %+v", planned, done)
	}
}

// A file that does not begin as a log is not read at all where it would be changed.
func TestPlanOfSomethingElse(t *testing.T) {
	h := newWorkspace(t, 2)
	const other = "<html>not a log</html>\n"
	if err := os.WriteFile(h.ref.Path, []byte(other), 0o600); err != nil {
		t.Fatal(err)
	}
	h.ref.Bytes = int64(len(other))
	plan, err := compact.NewPlan(context.Background(), h.store, h.ref, h.policy(), time.Now())
	if err != nil || plan.Outcome != compact.Unsupported || !strings.Contains(plan.Reason, "another program may have written it") {
		t.Fatalf("plan %+v, error %v", plan, err)
	}
}
