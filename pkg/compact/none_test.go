package compact_test

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/session"
)

// readOnly is a runtime whose sessions only it changes. It can say that
// somebody is writing, which must not be in the way of reading.
type readOnly struct{ fake *store }

func (s readOnly) Runtime() string { return s.fake.Runtime() }
func (s readOnly) Root() string    { return s.fake.Root() }
func (s readOnly) Capabilities() session.Capabilities {
	return session.Capabilities{Traits: ofPi, Strategies: []session.Strategy{session.StrategyNone}, Liveness: s}
}

func (s readOnly) List(ctx context.Context) (session.Listing, error) {
	return s.fake.List(ctx)
}

func (s readOnly) Tail(ctx context.Context, ref session.Ref) (session.Tail, error) {
	return s.fake.Tail(ctx, ref)
}

func (s readOnly) Scan(ctx context.Context, r io.Reader, o session.ScanOptions, emit func(*session.Message) error) (session.Scan, error) {
	return s.fake.Scan(ctx, r, o, emit)
}

func (s readOnly) Busy(context.Context, session.BusyQuestion) error {
	return &session.BusyError{Reason: "it is being written"}
}

// advised is one whose own command is known.
type advised struct{ readOnly }

func (s advised) Capabilities() session.Capabilities {
	c := s.readOnly.Capabilities()
	c.Adviser = s
	return c
}

func (advised) OwnCommand(session.Ref) string { return "type /compact in it" }

// A session that only its runtime changes is archived and remembered, also
// while somebody writes it; it stays as it is, and the reason says what to do.
func TestExecuteWithoutACapabilityArchivesAndRemembers(t *testing.T) {
	for name, c := range map[string]struct {
		store  func(*store) session.Store
		reason string
	}{
		"no advice": {func(s *store) session.Store { return readOnly{s} }, "only test itself changes its sessions"},
		"advice":    {func(s *store) session.Store { return advised{readOnly{s}} }, "only test itself changes its sessions: type /compact in it"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newWorkspace(t, 9)
			s := c.store(h.store)
			plan, err := compact.NewPlan(context.Background(), s, h.ref, h.policy(), h.Now())
			if err != nil {
				t.Fatal(err)
			}
			if r := plan.Result(); r.Outcome != compact.Planned || r.Strategy != session.StrategyNone || r.Reason != c.reason || r.TokensAfter != r.TokensBefore {
				t.Fatalf("plan %+v", r)
			}
			done, err := h.Execute(context.Background(), s, plan, h.policy())
			if err != nil || done.Outcome != compact.Partial || done.Reason != "archived and remembered; "+c.reason {
				t.Fatalf("result %+v, error %v", done, err)
			}
			if done.Archive == nil || h.archive.copies[done.Archive.ID] != h.log || len(h.mind.records) == 0 || done.TokensAfter != done.TokensBefore {
				t.Fatalf("result %+v, %d records", done, len(h.mind.records))
			}
			if h.liveLog() != h.log || len(h.store.calls) > 0 {
				t.Fatal("the session was changed")
			}
			if receipts, err := h.Receipts.List(); err != nil || len(receipts) != 1 || receipts[0].Outcome != compact.Partial {
				t.Fatalf("receipts %+v, %v", receipts, err)
			}
		})
	}
}

// A strategy that such a session cannot have is refused before anything is done.
func TestPlanRefusesAStrategyOfAReadOnlyRuntime(t *testing.T) {
	h := newWorkspace(t, 4)
	policy := h.policy()
	policy.Strategy = session.StrategyRotate
	plan, err := compact.NewPlan(context.Background(), advised{readOnly{h.store}}, h.ref, policy, h.Now())
	if err != nil || plan.Outcome != compact.Unsupported || !strings.Contains(plan.Reason, "only test itself changes its sessions: type /compact") {
		t.Fatalf("plan %+v, error %v", plan, err)
	}
}
