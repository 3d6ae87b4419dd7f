//go:build unix

package postgres_test

import (
	"context"
	"fmt"
	"testing"

	server "github.com/sessctl/sessctl/internal/postgres"
	"github.com/sessctl/sessctl/internal/tier"
	"github.com/sessctl/sessctl/pkg/embed"
	"github.com/sessctl/sessctl/pkg/memory"
	"github.com/sessctl/sessctl/pkg/memory/remote"
	"github.com/sessctl/sessctl/pkg/memory/remote/postgres"
)

// tamperer ends the server (-9) in the middle of a push: after so many batches.
type tamperer struct {
	*postgres.Memory
	batches int
	kill    func()
}

func (m *tamperer) Push(ctx context.Context, b remote.Batch) (remote.Receipt, error) {
	if m.batches--; m.batches == 0 {
		go m.kill()
	}
	return m.Memory.Push(ctx, b)
}

// TestServerKilled: the server is killed in the middle of a push, again and
// again; every record is there once, and nothing was noted as sent that is not.
func TestServerKilled(t *testing.T) {
	tier.SkipUnlessLong(t, "it starts a server of its own (make accept-postgres)")
	shared(t) // or there is none
	own, err := server.StartVector(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer own.Stop()
	m := open(t, postgres.Options{URL: own.DSN, SetUp: true})
	identity := m.Server()
	const records = 1100
	s := store(t)
	said(t, s, "laptop", records)
	for round := 1; round <= 2; round++ {
		killed := make(chan struct{})
		broken := &tamperer{Memory: open(t, postgres.Options{URL: own.DSN}), batches: round, kill: func() {
			defer close(killed)
			own.Kill()
		}}
		p := &remote.Pusher{Local: s, Shared: broken, Host: "laptop", Server: identity}
		_, pushed := p.Push(t.Context())
		<-killed
		if _, err := m.Recall(t.Context(), memory.Query{Text: "crane", Rank: memory.RankText}, nil, embed.Model{}); err == nil {
			t.Error("a server that was killed has answered")
		}
		if err := own.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
		m = open(t, postgres.Options{URL: own.DSN})
		noted, err := s.CountShared(t.Context(), identity)
		counts, counting := m.Count(t.Context())
		if err != nil || counting != nil || noted > counts.Of("laptop") {
			t.Fatalf("%d records are noted and %d are there (%v): %v, %v", noted, counts.Of("laptop"), pushed, err, counting)
		}
	}
	if r := push(t, pusher(s, m, "laptop")); r.ThereNow != records {
		t.Fatalf("after all: %+v", r)
	}
	if got := text(t, own.DSN, "SELECT count(*) || ' ' || count(DISTINCT id) FROM sessctl.records"); got != fmt.Sprintf("%d %d", records, records) {
		t.Errorf("there are %s records", got)
	}
}
