package smallpackages_test

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"testing"

	"github.com/sessctl/sessctl/pkg/agentset"
	"github.com/sessctl/sessctl/pkg/memory"
	"github.com/sessctl/sessctl/pkg/memory/remote"
	"github.com/sessctl/sessctl/pkg/memory/remote/conformance"
)

// manyHosts is a shared memory that knows what any host has forgotten, in its order.
type manyHosts struct {
	*oneHost
	buried []memory.Forgotten
	// unstamped says that it cannot tell whether it was set back.
	unstamped bool
}

func (m *manyHosts) Count(ctx context.Context) (remote.Counts, error) {
	counts, err := m.oneHost.Count(ctx)
	counts.Stamped = !m.unstamped
	return counts, err
}

func (m *manyHosts) Forgotten(_ context.Context, since string) ([]memory.Forgotten, string, error) {
	from, _ := strconv.Atoi(since) // "" is the beginning
	return slices.Clone(m.buried[min(from, len(m.buried)):]), strconv.Itoa(len(m.buried)), nil
}

func (m *manyHosts) Bury(ctx context.Context, host string, list []memory.Forgotten) (int, error) {
	for _, f := range list {
		if !m.forgotten[f.ID] {
			m.buried = append(m.buried, f)
		}
	}
	return m.oneHost.Bury(ctx, host, list)
}

// pushed is a memory with ten records that a server has, one of which it was told
// to forget afterwards.
type pushed struct {
	*testing.T
	*remote.Pusher
	shared *manyHosts
	ids    []string // that are there
}

func newPushed(t *testing.T) *pushed {
	t.Helper()
	shared := &manyHosts{oneHost: &oneHost{name: "localhost", digests: map[string]int64{}, forgotten: map[string]bool{}}}
	p := &pushed{T: t, Pusher: shared.machine(t, map[string]int{"first": 8, "second": 3}), shared: shared}
	p.Pusher.Shared = shared
	p.Pusher.Lock = func(context.Context) (func(), error) { return func() {}, nil }
	p.push()
	p.ids = slices.Sorted(maps.Keys(shared.digests))
	p.forget(10)
	p.push()
	return p
}

func (p *pushed) must(err error) {
	p.Helper()
	if err != nil {
		p.Fatal(err)
	}
}

func (p *pushed) push() remote.Report {
	p.Helper()
	r, err := p.Push(p.Context())
	p.must(err)
	return r
}

func (p *pushed) fill(session string) { p.must(conformance.Fill(p.Context(), p.Local, session, 2)) }

func (p *pushed) forget(i int) {
	_, err := p.Local.Forget(p.Context(), memory.Selection{ID: p.ids[i]})
	p.must(err)
}

// buryElsewhere forgets a record at another host.
func (p *pushed) buryElsewhere(id string) {
	_, err := p.shared.Bury(p.Context(), "other", []memory.Forgotten{{ID: id, At: 1}})
	p.must(err)
}

// unsent is the id of a record that was not sent.
func (p *pushed) unsent() (id string) {
	p.Helper()
	model, err := p.Local.VectorModel(p.Context())
	p.must(err)
	_, err = p.Local.EachUnshared(p.Context(), memory.ShareQuery{Server: p.Server, Model: model}, func(page []memory.Shared) error {
		id = page[0].ID
		return nil
	})
	p.must(err)
	return id
}

// What is foreseen of a push is what it then does, and foreseeing it changes
// nothing, there or here.
func TestRemoteForeseenIsWhatAPushDoes(t *testing.T) {
	for name, change := range map[string]func(p *pushed){
		"nothing":                       func(*pushed) {},
		"new records":                   func(p *pushed) { p.fill("third") },
		"forgotten here":                func(p *pushed) { p.forget(0); p.forget(1) },
		"forgotten elsewhere":           func(p *pushed) { p.buryElsewhere(p.ids[0]) },
		"forgotten elsewhere, not here": func(p *pushed) { p.buryElsewhere("of another host") },
		"forgotten elsewhere and here":  func(p *pushed) { p.forget(0); p.buryElsewhere(p.ids[0]) },
		"forgotten elsewhere, not sent": func(p *pushed) { p.fill("third"); p.fill("fourth"); p.buryElsewhere(p.unsent()) },
		"forgotten elsewhere, compared": func(p *pushed) {
			p.fill("third")
			p.buryElsewhere(p.unsent())
			p.buryElsewhere(p.ids[1])
			p.Compare = true
		},
		"forgotten here, compared":              func(p *pushed) { p.forget(0); p.Compare = true },
		"compared":                              func(p *pushed) { p.Compare = true },
		"compared, changed there":               func(p *pushed) { p.shared.digests[p.ids[0]]++; p.Compare = true },
		"taken over":                            func(p *pushed) { p.shared.memory, p.shared.digests["strange"], p.TakeOver = "another", 1, true },
		"taken over, the same records":          func(p *pushed) { p.shared.memory, p.TakeOver = "another", true },
		"taken over, set back":                  func(p *pushed) { p.shared.memory, p.TakeOver = "another", true; p.shared.at-- },
		"without stamps":                        func(p *pushed) { p.shared.unstamped = true; p.fill("third") },
		"without stamps, fewer":                 func(p *pushed) { p.shared.unstamped = true; delete(p.shared.digests, p.ids[0]); p.lose() },
		"without stamps, of an earlier sessctl": func(p *pushed) { p.shared.unstamped = true; p.shared.memory = "" },
		"emptied":                               func(p *pushed) { clear(p.shared.digests); p.shared.memory, p.shared.at = "", 0; p.lose() },
		"withdrawn here":                        func(p *pushed) { p.withdraw() },
		"withdrawn here, compared":              func(p *pushed) { p.withdraw(); p.Compare = true },
		"a record was lost there":               func(p *pushed) { delete(p.shared.digests, p.ids[0]) },
		"a record too many there":               func(p *pushed) { p.shared.digests["more"] = 1 },
		"one lost there, one to be sent":        func(p *pushed) { delete(p.shared.digests, p.ids[0]); p.fill("third") },
		"set back":                              func(p *pushed) { p.shared.at--; delete(p.shared.digests, p.ids[0]) },
		"set back, as many records":             func(p *pushed) { p.shared.at-- },
		"a push was cut off":                    func(p *pushed) { p.shared.at++ },
		"lost what was forgotten":               func(p *pushed) { p.lose() },
		"lost it, and others forgot":            func(p *pushed) { p.lose(); p.buryElsewhere(p.ids[0]) },
		"lost it, to be told of another":        func(p *pushed) { p.lose(); p.forget(0) },
		"from an earlier sessctl":               func(p *pushed) { p.shared.memory = "" },
		"from an earlier one, and ahead":        func(p *pushed) { p.shared.memory = ""; p.shared.at++ },
		"left out":                              func(p *pushed) { p.leaveOut(); p.fill("third") },
		"left out, lost there":                  func(p *pushed) { p.leaveOut(); delete(p.shared.digests, p.ids[0]) },
		"left out, changed there":               func(p *pushed) { p.leaveOut(); p.shared.digests[p.ids[0]]++; p.Compare = true },
		"left out, withdrawn here":              func(p *pushed) { p.leaveOut(); p.withdraw(); p.fill("third") },
	} {
		t.Run(name, func(t *testing.T) {
			p := newPushed(t)
			change(p)
			before := maps.Clone(p.shared.digests)
			foreseen, err := p.Foresee(t.Context())
			p.must(err)
			if again, err := p.Foresee(t.Context()); err != nil || again != foreseen || !maps.Equal(before, p.shared.digests) {
				t.Errorf("foreseen again: %+v, before %+v: %v", again, foreseen, err)
			}
			r := p.push()
			done := remote.Forecast{Unshared: memory.Unshared{Records: r.Sent, Gone: r.Gone, Tombstones: r.Tombstones}, Honoured: r.Honoured, Compared: r.Compared, SetBack: r.SetBack, Left: foreseen.Left}
			if foreseen != done {
				t.Errorf("foreseen %+v\ndone     %+v", foreseen, done)
			}
		})
	}
}

// leaveOut leaves out all agents that memory has.
func (p *pushed) leaveOut() { p.Only = []agentset.ID{{Runtime: "openclaw", Agent: "another"}} }

// What is left out is not sent. What was sent before stays, is kept up to date, and is no
// reason to compare again and again.
func TestRemotePushLeavesOut(t *testing.T) {
	p := newPushed(t)
	p.leaveOut()
	p.fill("third")
	if r := p.push(); r.Sent+r.Gone+r.LeftToSend > 0 || r.Compared || r.LeftOut != 12 || r.LeftThere != 10 || len(p.shared.digests) != 10 {
		t.Fatalf("%+v: %d records are there", r, len(p.shared.digests))
	}
	p.shared.digests[p.ids[0]]++
	p.Compare = true
	if r := p.push(); r.Sent != 1 || r.Gone > 0 || r.LeftThere != 10 {
		t.Errorf("changed there: %+v", r)
	}
	p.Compare = false
	delete(p.shared.digests, p.ids[0])
	for i, compared := range []bool{true, false} {
		if r := p.push(); r.Sent+r.Gone > 0 || r.Compared != compared || r.LeftThere != 9 || len(p.shared.digests) != 9 {
			t.Errorf("lost there, push %d: %+v", i, r)
		}
	}
	p.Only = []agentset.ID{{Runtime: "openclaw", Agent: conformance.Agent}}
	if r := p.push(); r.Sent != 3 || r.LeftOut > 0 {
		t.Errorf("let in again: %+v", r)
	}
}

func (p *pushed) withdraw() {
	p.Helper()
	_, err := p.Local.Withdraw(p.Context(), memory.Withdrawal{Runtime: "openclaw", Agent: conformance.Agent, Session: "second"})
	p.must(err)
}

// lose drops at the server what it was told to forget.
func (p *pushed) lose() {
	clear(p.shared.forgotten)
	p.shared.buried = nil
}
