package remote_test

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
	digests map[string]int64
}

func (m *oneHost) Count(context.Context) (remote.Counts, error) {
	return remote.Counts{Hosts: []remote.HostCount{{Host: m.name, Records: len(m.digests)}}}, nil
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

// A machine of the same name, and one whose memory was lost, drop nothing of what
// is there before somebody has said so.
func TestPushUnderATakenName(t *testing.T) {
	shared := &oneHost{name: "localhost", digests: map[string]int64{}}
	pusher := func(session string, n int) *remote.Pusher {
		s, err := memory.Open(t.Context(), t.TempDir(), memory.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		if n > 0 {
			if err := conformance.Fill(t.Context(), s, session, n); err != nil {
				t.Fatal(err)
			}
		}
		return &remote.Pusher{Local: s, Shared: shared, Host: shared.name, Server: "server"}
	}
	first, second, lost, again := pusher("first", 5), pusher("second", 3), pusher("first", 0), pusher("first", 4)
	if r, err := first.Push(t.Context()); err != nil || r.ThereNow != 5 {
		t.Fatal(r, err)
	}
	for _, p := range []*remote.Pusher{second, lost} {
		for range 2 {
			if r, err := p.Push(t.Context()); !errors.Is(err, remote.ErrOtherMemory) || len(shared.digests) != 5 {
				t.Errorf("%+v, %v: %d records are there", r, err, len(shared.digests))
			}
		}
	}
	// A memory that was made again is known by what it has.
	if r, err := again.Push(t.Context()); err != nil || r.ThereNow != 4 {
		t.Errorf("%+v, %v", r, err)
	}
	second.Compare = true
	if r, err := second.Push(t.Context()); err != nil || r.ThereNow != 3 || r.Gone != 4 {
		t.Errorf("%+v, %v", r, err)
	}
}
