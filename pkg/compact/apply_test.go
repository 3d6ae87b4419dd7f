package compact_test

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sessctl/sessctl/pkg/compact"
	"github.com/sessctl/sessctl/pkg/session"
)

// gateway is a store whose runtime runs and can be asked.
type gateway struct {
	*store
	ask func(session.Rotation) error // nil resets
}

func (g *gateway) Capabilities() session.Capabilities {
	c := g.store.Capabilities()
	c.Resetter = g
	return c
}

func (g *gateway) PlanReset(ctx context.Context, ref session.Ref, snap session.Snapshot, now time.Time) (session.Rotation, error) {
	r, err := g.PlanRotation(ctx, ref, snap, now)
	r.Kept = ""
	return r, err
}

func (g *gateway) Reset(ctx context.Context, r session.Rotation) (session.Rotation, error) {
	g.calls = append(g.calls, "reset")
	if g.ask != nil {
		if err := g.ask(r); err != nil {
			return r, err
		}
	} else if err := os.Rename(r.Live, r.Live+".reset"); err != nil {
		return r, err
	}
	done, _, err := g.FindReset(ctx, r)
	return done, err
}

// asked counts the resets that were asked for.
func (g *gateway) asked() (n int) {
	for _, call := range g.calls {
		if call == "reset" {
			n++
		}
	}
	return n
}

func (g *gateway) FindReset(_ context.Context, r session.Rotation) (session.Rotation, bool, error) {
	_, err := os.Lstat(r.Live + ".reset")
	if err == nil {
		r.Kept, r.NewSession = r.Live+".reset", "s2"
	}
	return r, err == nil, nil
}

// served is a workspace whose gateway runs.
func served(t *testing.T) (*workspace, *gateway) {
	t.Helper()
	h := newWorkspace(t, 6)
	h.store.busy = &session.BusyError{Path: h.ref.Path, Reason: "its gateway is running", Served: true}
	return h, &gateway{store: h.store}
}

func (h *workspace) planFor(s session.Store, p compact.Policy) *compact.Plan {
	h.t.Helper()
	plan, err := compact.NewPlan(context.Background(), s, h.ref, p, h.Now())
	if err != nil {
		h.t.Fatal(err)
	}
	return plan
}

func (h *workspace) settleWith(s session.Store) {
	h.t.Helper()
	if _, err := h.Settle(context.Background(), func(string, string) (session.Store, bool) { return s, true }, h.policy()); err != nil {
		h.t.Fatal(err)
	}
}

func (h *workspace) intents() []compact.Intent {
	h.t.Helper()
	all, err := h.Journal.List()
	if err != nil {
		h.t.Fatal(err)
	}
	return all
}

func (h *workspace) proofs() []compact.Receipt {
	h.t.Helper()
	all, err := h.Receipts.List()
	if err != nil {
		h.t.Fatal(err)
	}
	return all
}

// Which way a session goes: by whether a gateway runs and what was asked for.
func TestPlanChoosesTheWay(t *testing.T) {
	for name, test := range map[string]struct {
		busy    error
		policy  func(*compact.Policy)
		outcome compact.Outcome
		via     string
	}{
		"running":                 {&session.BusyError{Served: true}, nil, compact.Planned, "gateway"},
		"running, never":          {&session.BusyError{Served: true}, func(p *compact.Policy) { p.Gateway = compact.GatewayNever }, compact.Busy, ""},
		"running, never, forced":  {&session.BusyError{Served: true}, func(p *compact.Policy) { p.Gateway, p.Force = compact.GatewayNever, true }, compact.Busy, ""},
		"running, required":       {&session.BusyError{Served: true}, func(p *compact.Policy) { p.Gateway = compact.GatewayRequire }, compact.Planned, "gateway"},
		"running, only read":      {&session.BusyError{Served: true}, func(p *compact.Policy) { p.SkipArchive = true }, compact.Planned, ""},
		"somebody writes":         {&session.BusyError{}, nil, compact.Busy, ""},
		"not running":             {nil, nil, compact.Planned, "files"},
		"not running, never":      {nil, func(p *compact.Policy) { p.Gateway = compact.GatewayNever }, compact.Planned, "files"},
		"not running, required":   {nil, func(p *compact.Policy) { p.Gateway = compact.GatewayRequire }, compact.Unsupported, ""},
		"required, but only read": {nil, func(p *compact.Policy) { p.Gateway, p.SkipArchive = compact.GatewayRequire, true }, compact.Planned, "files"},
	} {
		t.Run(name, func(t *testing.T) {
			h, g := served(t)
			h.store.busy = test.busy
			policy := h.policy()
			if test.policy != nil {
				test.policy(&policy)
			}
			plan := h.planFor(g, policy)
			if plan.Outcome != test.outcome || plan.Via != test.via {
				t.Errorf("%s via %q (%s), want %s via %q", plan.Outcome, plan.Via, plan.Reason, test.outcome, test.via)
			}
			if len(g.calls) > 0 {
				t.Errorf("planning called %q", g.calls)
			}
		})
	}
}

// A runtime without a gateway has no way to name, and needs none.
func TestPlanWithoutGateways(t *testing.T) {
	h := newWorkspace(t, 6)
	policy := h.policy()
	policy.Gateway = compact.GatewayRequire
	if plan := h.newPlan(policy); plan.Outcome != compact.Planned || plan.Via != "" {
		t.Errorf("%+v", plan)
	}
}

func TestExecuteThroughTheGateway(t *testing.T) {
	h, g := served(t)
	result, err := h.Execute(context.Background(), g, h.planFor(g, h.policy()), h.policy())
	if err != nil || result.Outcome != compact.Compacted || result.Via != "gateway" || result.Reason != "" {
		t.Fatalf("%+v, %v", result, err)
	}
	if h.archive.copies[result.Archive.ID] != h.log || len(h.mind.records) == 0 {
		t.Error("the log is not archived or not remembered")
	}
	if len(h.intents()) != 0 {
		t.Errorf("left to settle: %+v", h.intents())
	}
	proofs := h.proofs()
	if len(proofs) != 1 || proofs[0].Kept != h.ref.Path+".reset" || proofs[0].NewID != "s2" || proofs[0].Via != "gateway" || proofs[0].Strategy != session.StrategyRotate {
		t.Errorf("receipts %+v", proofs)
	}
	if len(proofs) == 1 && (proofs[0].Rotation == nil || proofs[0].Rotation.Kept != h.ref.Path+".reset") {
		t.Errorf("the receipt does not say where the log is: %+v", proofs[0].Rotation)
	}
}

// The log is archived, remembered and journaled before the gateway is asked.
func TestExecuteAsksLast(t *testing.T) {
	h, g := served(t)
	g.ask = func(r session.Rotation) error {
		if len(h.archive.copies) != 1 || len(h.mind.records) == 0 {
			t.Error("it is not archived and remembered yet")
		}
		if all := h.intents(); len(all) != 1 || all[0].Kind != compact.KindReset || all[0].Switched || all[0].Rotation.Kept != "" {
			t.Errorf("intents: %+v", all)
		}
		return os.Rename(r.Live, r.Live+".reset")
	}
	if _, err := h.Execute(context.Background(), g, h.planFor(g, h.policy()), h.policy()); err != nil {
		t.Fatal(err)
	}
}

// A turn that was waited for has made the log longer: it is read and archived
// again, a short quiet period is waited for, and the gateway asked anew. A long
// one is left to the next run.
func TestExecuteThroughTheGatewayAfterATurn(t *testing.T) {
	for quiet, wants := range map[time.Duration][]time.Duration{700 * time.Millisecond: {700 * time.Millisecond}, time.Minute: nil} {
		h, g := served(t)
		asked := 0
		g.ask = func(r session.Rotation) error {
			if asked++; asked == 1 {
				h.append(said(1))
				h.log += said(1)
				return &session.BusyError{Path: r.Live, Reason: "it grew", Change: session.ChangeGrew}
			}
			return os.Rename(r.Live, r.Live+".reset")
		}
		policy := h.policy()
		policy.Quiet = quiet
		var waited []time.Duration
		policy.Wait = func(_ context.Context, d time.Duration) error {
			waited = append(waited, d)
			return nil
		}
		result, err := h.Execute(context.Background(), g, h.planFor(g, policy), policy)
		if err != nil || result.Outcome != compact.Compacted || result.Reason != "" || h.archive.copies[result.Archive.ID] != h.log {
			t.Fatalf("%+v, %v", result, err)
		}
		if !slices.Equal(waited, wants) {
			t.Errorf("waited %v, want %v", waited, wants)
		}
	}
}

// What reached the log before the gateway closed it is archived too.
func TestExecuteArchivesWhatCameInLast(t *testing.T) {
	h, g := served(t)
	const late = `{"type":"message","id":"0000000a","parentId":"00000005","timestamp":"2026-03-01T10:00:01.000Z","message":{"role":"user","content":"the last word"}}` + "\n"
	g.ask = func(r session.Rotation) error {
		h.append(late)
		return os.Rename(r.Live, r.Live+".reset")
	}
	result, err := h.Execute(context.Background(), g, h.planFor(g, h.policy()), h.policy())
	if err != nil || result.Outcome != compact.Compacted || !strings.Contains(result.Reason, "bytes were added") {
		t.Fatalf("%+v, %v", result, err)
	}
	found := false
	for _, text := range h.archive.copies {
		found = found || text == h.log+late
	}
	if !found {
		t.Error("no archive has the last line")
	}
	if r, ok := h.remembers("the last word"); !ok {
		t.Errorf("memory has it not: %+v", r)
	}
}

func (h *workspace) remembers(text string) (compact.Record, bool) {
	for _, r := range h.mind.records {
		if strings.Contains(r.Text, text) {
			return r, true
		}
	}
	return compact.Record{}, false
}

// A gateway that does not want to leaves no trace; one that gave no answer
// leaves its intent for as long as it may still do it.
func TestExecuteGatewayDoesNot(t *testing.T) {
	h, g := served(t)
	g.ask = func(r session.Rotation) error { return &session.BusyError{Path: r.Live, Reason: "a turn is going on"} }
	result, err := h.Execute(context.Background(), g, h.planFor(g, h.policy()), h.policy())
	if err != nil || result.Outcome != compact.Busy || len(h.intents()) != 0 || len(h.proofs()) != 0 {
		t.Fatalf("%+v, %v, %d intents", result, err, len(h.intents()))
	}
	g.ask = func(session.Rotation) error { return &session.GatewayError{Store: "x", Err: errDisk} }
	result, err = h.Execute(context.Background(), g, h.planFor(g, h.policy()), h.policy())
	var asked *session.GatewayError
	if !errors.As(err, &asked) || result.Outcome != compact.Failed || result.Receipt != "" || len(h.intents()) != 1 || len(h.proofs()) != 0 {
		t.Fatalf("%+v, %v, %d intents", result, err, len(h.intents()))
	}
	if h.liveLog() != h.log {
		t.Error("the log was changed")
	}
	h.settleWith(g)
	if len(h.intents()) != 1 {
		t.Error("the intent is dropped although the reset may still come about")
	}
	h.later(time.Hour)
	h.settleWith(g)
	if len(h.intents()) != 0 || len(h.proofs()) != 0 {
		t.Error("the intent stays for ever, or a receipt was made of nothing")
	}
}

// later moves the clock.
func (h *workspace) later(by time.Duration) {
	now := h.Now().Add(by)
	h.Now = func() time.Time { return now }
}

// A reset that came about after its run gave up is found by the next run; a
// second run that asks again takes the first one's intent over.
func TestSettleReset(t *testing.T) {
	for name, second := range map[string]bool{"settled": false, "taken over": true} {
		t.Run(name, func(t *testing.T) {
			h, g := served(t)
			g.ask = func(session.Rotation) error { return errDisk }
			if _, err := h.Execute(context.Background(), g, h.planFor(g, h.policy()), h.policy()); !errors.Is(err, errDisk) {
				t.Fatal(err)
			}
			g.ask = nil
			if second {
				if _, err := h.Execute(context.Background(), g, h.planFor(g, h.policy()), h.policy()); err != nil {
					t.Fatal(err)
				}
			} else {
				must(t, os.Rename(h.ref.Path, h.ref.Path+".reset"))
			}
			asked := g.asked()
			h.settleWith(g)
			h.settleWith(g)
			if g.asked() != asked {
				t.Error("settling asked the gateway")
			}
			proofs := h.proofs()
			if len(h.intents()) != 0 || len(proofs) != 1 || proofs[0].Kept != h.ref.Path+".reset" || proofs[0].Outcome != compact.Compacted {
				t.Errorf("intents %+v, receipts %+v", h.intents(), proofs)
			}
		})
	}
}
