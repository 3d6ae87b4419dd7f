//go:build unix

package postgres_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
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
	if os.Getenv("SESSCTL_LONG") == "" {
		t.Skip("it starts a server of its own: SESSCTL_LONG=1, or make accept-postgres")
	}
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

// number is a number of the environment.
func number(name string, usual int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return usual
}

// TestLoad: many hosts push at once while questions are asked, and the server is
// killed twice. Afterwards every record is there once, what was forgotten stays
// away, and the hits are those of one memory that has them all. POSTGRES_HOSTS
// and POSTGRES_RECORDS (of each) say how much.
func TestLoad(t *testing.T) {
	if os.Getenv("SESSCTL_LONG") == "" {
		t.Skip("it takes minutes: SESSCTL_LONG=1, or make accept-postgres")
	}
	shared(t)
	hosts, records := number("POSTGRES_HOSTS", 5), number("POSTGRES_RECORDS", 10_000)
	own, err := server.StartVector(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer own.Stop()
	identity := open(t, postgres.Options{URL: own.DSN, SetUp: true}).Server()
	stores := make([]*memory.Store, hosts)
	for i := range stores {
		stores[i] = store(t)
		said(t, stores[i], fmt.Sprintf("host%d", i), records)
	}
	t.Logf("%d hosts have %d records each", hosts, records)
	began := time.Now()
	var done, sent atomic.Int64
	stop := make(chan struct{})
	var asking, pushing sync.WaitGroup
	asking.Go(func() { t.Logf("while pushing: %s", askUntil(t, own.DSN, stop)) })
	for i, s := range stores {
		pushing.Go(func() {
			defer done.Add(1)
			pushUntil(t, own.DSN, s, identity, fmt.Sprintf("host%d", i), &sent)
		})
	}
	total := int64(hosts * records)
	for _, share := range []int64{3, 2} { // at a third, and at half
		for sent.Load() < total/share && done.Load() < int64(hosts) {
			time.Sleep(20 * time.Millisecond)
		}
		own.Kill()
		if err := own.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
		t.Logf("killed and started again after %d records", sent.Load())
	}
	pushing.Wait()
	took := time.Since(began)
	close(stop)
	asking.Wait()
	t.Logf("%d records in %s: %.0f a second", total, took.Round(time.Second), float64(total)/took.Seconds())
	if got := text(t, own.DSN, "SELECT count(*) || ' ' || count(DISTINCT id) FROM sessctl.records"); got != fmt.Sprintf("%d %d", total, total) {
		t.Errorf("there are %s records, not %d", got, total)
	}
	checkForgotten(t, own.DSN, stores, records)
	m := open(t, postgres.Options{URL: own.DSN})
	counts, err := m.Count(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes a record", counts.Bytes/max(1, int64(counts.Records())))
	quiet := make(chan struct{})
	time.AfterFunc(20*time.Second, func() { close(quiet) })
	t.Logf("when nobody pushes: %s", askUntil(t, own.DSN, quiet))
}

// pushUntil pushes until all is there, whatever happens to the server.
func pushUntil(t *testing.T, dsn string, s *memory.Store, identity, host string, sent *atomic.Int64) {
	last := 0
	for range 200 {
		m, err := postgres.Open(t.Context(), postgres.Options{URL: dsn})
		if err == nil {
			p := &remote.Pusher{Local: s, Shared: m, Host: host, Server: identity, Lock: func(context.Context) (func(), error) { return func() {}, nil },
				Progress: func(done, _ int) { sent.Add(int64(done - last)); last = done }}
			last = 0
			_, err = p.Push(t.Context())
			if model, failed := s.VectorModel(t.Context()); err == nil && failed == nil {
				_, err = m.Index(t.Context(), model)
			}
			_ = m.Close()
		}
		if err == nil {
			return
		}
		time.Sleep(200 * time.Millisecond)
	}
	t.Errorf("%s was never done", host)
}

// askUntil asks questions until it is to stop, and says how long they took.
func askUntil(t *testing.T, dsn string, stop <-chan struct{}) string {
	e, err := embed.NewBuiltin()
	if err != nil {
		return err.Error()
	}
	var took []time.Duration
	failed := 0
	for i := 0; ; i++ {
		select {
		case <-stop:
			slices.Sort(took)
			if len(took) == 0 {
				return "no answers"
			}
			return fmt.Sprintf("%d answers, p50 %s, p95 %s, %d without", len(took), took[len(took)/2].Round(time.Millisecond), took[len(took)*95/100].Round(time.Millisecond), failed)
		default:
		}
		began := time.Now()
		m, err := postgres.Open(t.Context(), postgres.Options{URL: dsn})
		if err == nil {
			_, err = m.Recall(t.Context(), memory.Query{Text: fmt.Sprintf("which crane lifts %d tons, note %d", i%97, i*13), Now: time.Now()}, e, e.Model())
			_ = m.Close()
		}
		if err != nil {
			failed++
			time.Sleep(100 * time.Millisecond)
			continue
		}
		took = append(took, time.Since(began))
	}
}

// checkForgotten forgets a few records of each host, and looks that all hosts
// push without bringing them back.
func checkForgotten(t *testing.T, dsn string, stores []*memory.Store, records int) {
	m := open(t, postgres.Options{URL: dsn})
	var ids []string
	for i, s := range stores {
		host := fmt.Sprintf("host%d", i)
		found, err := s.Containing(t.Context(), memory.Selection{Session: host}, "note 1")
		if err != nil {
			t.Fatal(err)
		}
		found = found[:min(10, len(found))]
		if _, err := s.Forget(t.Context(), memory.Selection{IDs: found}); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, found...)
		push(t, pusher(s, m, host))
	}
	for i, s := range stores {
		if r := push(t, pusher(s, m, fmt.Sprintf("host%d", i))); r.ThereNow != records-10 {
			t.Errorf("host%d has %d records there, not %d", i, r.ThereNow, records-10)
		}
	}
	if got := text(t, dsn, "SELECT count(*)::text FROM sessctl.records WHERE id IN ('"+strings.Join(ids, "','")+"')"); got != "0" {
		t.Errorf("%s forgotten records are there", got)
	}
}
