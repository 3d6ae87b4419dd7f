//go:build unix

package postgres_test

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	server "github.com/sessctl/sessctl/internal/postgres"
	"github.com/sessctl/sessctl/pkg/embed"
	"github.com/sessctl/sessctl/pkg/memory"
	"github.com/sessctl/sessctl/pkg/memory/remote"
	"github.com/sessctl/sessctl/pkg/memory/remote/postgres"
)

// gate is an embedder that keeps questions in the middle until it is opened.
type gate struct {
	*embed.Builtin
	inside atomic.Int64
	open   chan struct{}
}

func (g *gate) EmbedQuery(ctx context.Context, text string) ([]float32, error) {
	g.inside.Add(1)
	<-g.open
	return g.Builtin.EmbedQuery(ctx, text)
}

// TestManyQuestions: however many questions are asked at once of however many quarters,
// each is answered: they take no more locks than the server has.
func TestManyQuestions(t *testing.T) {
	shared(t)
	own, err := server.StartVector(t.Context(), "max_locks_per_transaction=16", "max_connections=60")
	if err != nil {
		t.Fatal(err)
	}
	defer own.Stop()
	m := open(t, postgres.Options{URL: own.DSN, SetUp: true})
	s := store(t)
	said(t, s, "laptop", 5)
	push(t, pusher(s, m, "laptop"))
	for quarter := range 12 {
		at := time.Date(2023, time.Month(1+3*quarter), 2, 0, 0, 0, 0, time.UTC)
		b := remote.Batch{Host: "old", Memory: "old", Records: []memory.Shared{{Exported: memory.Exported{Record: memory.Record{ID: strconv.Itoa(quarter), Text: "of an older quarter", CreatedAt: at.UnixMilli()}}, Digest: 1}}}
		if _, err := m.Push(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	e, err := embed.NewBuiltin()
	if err != nil {
		t.Fatal(err)
	}
	const questions = 40
	g := &gate{Builtin: e, open: make(chan struct{})}
	var ended atomic.Int64
	var asking sync.WaitGroup
	for i := range questions {
		way := open(t, postgres.Options{URL: own.DSN})
		asking.Go(func() {
			defer ended.Add(1)
			result, err := way.Recall(t.Context(), memory.Query{Text: "which crane lifts", Limit: 5}, g, e.Model())
			if err != nil || len(result.Hits) == 0 {
				t.Errorf("question %d: %d hits, %v", i, len(result.Hits), err)
			}
		})
	}
	const waiting = "SELECT count(*)::text FROM pg_locks WHERE locktype='advisory' AND NOT granted"
	for {
		if n, _ := strconv.Atoi(text(t, own.DSN, waiting)); int64(n)+g.inside.Load()+ended.Load() >= questions {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if inside := g.inside.Load(); inside == 0 || inside == questions {
		t.Errorf("%d questions are under way", inside)
	}
	t.Log(fmt.Sprint(g.inside.Load(), " questions at once; locks of all: ", text(t, own.DSN, "SELECT count(*)::text FROM pg_locks")))
	close(g.open)
	asking.Wait()
}
