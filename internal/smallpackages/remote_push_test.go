package smallpackages_test

import (
	"context"
	"errors"
	"testing"

	"github.com/sessctl/sessctl/pkg/memory"
	"github.com/sessctl/sessctl/pkg/memory/remote"
	"github.com/sessctl/sessctl/pkg/memory/remote/conformance"
)

// oneHost is a shared memory that knows one host.
type oneHost struct {
	remote.Memory
	name    string
	memory  string // whose records they are
	at      int64  // when it was pushed last
	digests map[string]int64

	forgotten map[string]bool
}

func (m *oneHost) Count(context.Context) (remote.Counts, error) {
	return remote.Counts{Hosts: []remote.HostCount{{Host: m.name, Records: len(m.digests), LastPush: m.at, Memory: m.memory}}, Tombstones: len(m.forgotten), Stamped: true}, nil
}

func (m *oneHost) Forgotten(context.Context, string) ([]memory.Forgotten, string, error) {
	return nil, "", nil
}

func (m *oneHost) Verify(_ context.Context, _ string, fn func(id string, digest int64) error) error {
	for id, digest := range m.digests {
		if err := fn(id, digest); err != nil {
			return err
		}
	}
	return nil
}

func (m *oneHost) Push(_ context.Context, b remote.Batch) (r remote.Receipt, err error) {
	if m.memory != "" && m.memory != b.Memory && !b.TakeOver {
		return r, remote.ErrOtherMemory
	}
	m.at++
	m.memory, r.At = b.Memory, m.at
	for _, x := range b.Records {
		m.digests[x.ID] = x.Digest
		r.Present = append(r.Present, x.ID)
	}
	for _, id := range b.Gone {
		delete(m.digests, id)
		r.Gone++
	}
	return r, nil
}

func (m *oneHost) Bury(_ context.Context, _ string, list []memory.Forgotten) (removed int, err error) {
	for _, f := range list {
		m.forgotten[f.ID] = true
		if _, ok := m.digests[f.ID]; ok {
			removed++
		}
		delete(m.digests, f.ID)
	}
	return removed, nil
}

// machine is one of a name that others have too; what it remembers is of these
// sessions.
func (m *oneHost) machine(t *testing.T, sessions map[string]int) *remote.Pusher {
	t.Helper()
	s, err := memory.Open(t.Context(), t.TempDir(), memory.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	for session, n := range sessions {
		if err := conformance.Fill(t.Context(), s, session, n); err != nil {
			t.Fatal(err)
		}
	}
	return &remote.Pusher{Local: s, Shared: m, Host: m.name, Server: "server"}
}

// Machines of the same name, whether their memories share a record or not, and a
// memory that was made anew, drop nothing of what is there and add nothing to it,
// by the ordinary repair or by comparing, before somebody has said so.
func TestRemotePushUnderATakenName(t *testing.T) {
	shared := &oneHost{name: "localhost", digests: map[string]int64{}}
	first := shared.machine(t, map[string]int{"first": 5, "both": 1})
	if r, err := first.Push(t.Context()); err != nil || r.ThereNow != 6 {
		t.Fatal(r, err)
	}
	second := shared.machine(t, map[string]int{"second": 3, "both": 1})
	for _, p := range []*remote.Pusher{second, shared.machine(t, map[string]int{"other": 2}), shared.machine(t, nil), shared.machine(t, map[string]int{"first": 4})} {
		for _, p.Compare = range []bool{false, true} {
			for range 2 {
				if r, err := p.Push(t.Context()); !errors.Is(err, remote.ErrOtherMemory) || len(shared.digests) != 6 || r.Sent > 0 {
					t.Errorf("%+v, %v: %d records are there", r, err, len(shared.digests))
				}
			}
		}
	}
	if x, err := second.Preview(t.Context()); err != nil || x.Records != 6 || x.Unknown != 5 || len(shared.digests) != 6 {
		t.Errorf("%+v, %v", x, err)
	}
	second.Compare, second.TakeOver = false, true
	if r, err := second.Push(t.Context()); err != nil || r.ThereNow != 4 || r.Gone != 5 {
		t.Errorf("%+v, %v", r, err)
	}
	second.TakeOver = false
	if r, err := second.Push(t.Context()); err != nil || r.Sent+r.Gone > 0 || r.Compared {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err := first.Push(t.Context()); !errors.Is(err, remote.ErrOtherMemory) || len(shared.digests) != 4 {
		t.Errorf("%+v, %v", r, err)
	}
}

// What hosts have from a sessctl whose memories had no identity becomes that of
// the memory that has sent it, and of no other.
func TestRemotePushWhereNothingHasAnIdentity(t *testing.T) {
	for noted, forget := range map[bool]bool{true: false, false: true} {
		shared := &oneHost{name: "localhost", digests: map[string]int64{}}
		first, second := shared.machine(t, map[string]int{"first": 5, "both": 1}), shared.machine(t, map[string]int{"second": 3, "both": 1})
		if r, err := first.Push(t.Context()); err != nil || r.ThereNow != 6 {
			t.Fatal(r, err)
		}
		shared.memory = ""
		if forget { // what is noted, as by a memory that was made again
			if err := first.Local.ForgetShared(t.Context(), "server"); err != nil {
				t.Fatal(err)
			}
		}
		if r, err := second.Push(t.Context()); !errors.Is(err, remote.ErrOtherMemory) || len(shared.digests) != 6 || shared.memory != "" {
			t.Errorf("noted %v: %+v, %v: %d records are there", noted, r, err, len(shared.digests))
		}
		if r, err := first.Push(t.Context()); err != nil || shared.memory == "" || r.Compared == noted || r.Sent > 0 {
			t.Errorf("noted %v: %+v, %v", noted, r, err)
		}
	}
}

// A copy of a machine has the same identity, and so has a memory that was restored
// from a backup: what was pushed after it was copied it does not drop by itself.
func TestRemotePushOfACopy(t *testing.T) {
	shared := &oneHost{name: "localhost", digests: map[string]int64{}}
	first := shared.machine(t, map[string]int{"first": 5})
	if _, err := first.Push(t.Context()); err != nil {
		t.Fatal(err)
	}
	noted, err := first.Local.SharePushed(t.Context(), "server")
	if err != nil {
		t.Fatal(err)
	}
	shared.at++ // a push that was cut off before it was noted
	if r, err := first.Push(t.Context()); err != nil || !r.Compared || r.SetBack || r.Gone > 0 {
		t.Errorf("%+v, %v", r, err)
	}
	shared.digests["of the other one"] = 1
	shared.at++
	for range 2 {
		if r, err := first.Push(t.Context()); !errors.Is(err, remote.ErrOtherMemory) || len(shared.digests) != 6 {
			t.Errorf("%+v, %v: %d records are there", r, err, len(shared.digests))
		}
	}
	shared.at = noted - 1 // the server was set back: it has what this memory let go of since
	if r, err := first.Push(t.Context()); err != nil || !r.SetBack || r.Gone != 1 {
		t.Errorf("%+v, %v", r, err)
	}
}

// What the server was told to forget is neither to be dropped there nor to be told
// again: not after it was told outside of a push, and not after all was compared.
func TestRemoteNothingIsDueAfterBurying(t *testing.T) {
	shared := &oneHost{name: "localhost", digests: map[string]int64{}, forgotten: map[string]bool{}}
	p := shared.machine(t, map[string]int{"first": 5})
	if _, err := p.Push(t.Context()); err != nil {
		t.Fatal(err)
	}
	var id string
	for id = range shared.digests {
	}
	if n, err := p.Local.Forget(t.Context(), memory.Selection{ID: id}); n.Marked != 1 || err != nil {
		t.Fatal(n, err)
	}
	removed, err := p.Bury(t.Context())
	if due := unshared(t, p); err != nil || removed != 1 || due != (memory.Unshared{}) || len(shared.digests) != 4 {
		t.Errorf("told at once: %d removed, %+v, %v", removed, due, err)
	}
	p.Compare = true
	r, err := p.Push(t.Context())
	if due := unshared(t, p); err != nil || !r.Compared || due != (memory.Unshared{}) {
		t.Errorf("compared: %+v, %+v, %v", r, due, err)
	}
}

// unshared is what is noted to be due.
func unshared(t *testing.T, p *remote.Pusher) memory.Unshared {
	t.Helper()
	model, err := p.Local.VectorModel(t.Context())
	due, err2 := p.Local.CountUnshared(t.Context(), memory.ShareQuery{Server: p.Server, Model: model})
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	return due
}
