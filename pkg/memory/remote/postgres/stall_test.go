//go:build unix

package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/sessctl/sessctl/pkg/memory"
	"github.com/sessctl/sessctl/pkg/memory/remote"
	"github.com/sessctl/sessctl/pkg/memory/remote/conformance"
	"github.com/sessctl/sessctl/pkg/memory/remote/postgres"
)

// line is the way of a host to a server. After so many bytes nothing gets through
// any more, and nothing is closed: the host was suspended.
type line struct {
	dsn     string
	most    int64 // 0 is all
	sent    atomic.Int64
	stalled chan struct{}
}

func newLine(t *testing.T, dsn string, most int64) *line {
	t.Helper()
	l := &line{most: most, stalled: make(chan struct{})}
	l.dsn = between(t, dsn, func(host net.Conn, at string) {
		server, err := net.Dial("unix", at)
		if err != nil {
			_ = host.Close()
			return
		}
		t.Cleanup(func() { _, _ = host.Close(), server.Close() })
		go l.carry(server, host)
		_, _ = io.Copy(host, server)
	})
	return l
}

// carry carries what the host sends, as far as it gets.
func (l *line) carry(server io.Writer, host io.Reader) {
	buffer := make([]byte, 1<<16)
	for {
		n, err := host.Read(buffer)
		if err != nil {
			return
		}
		before := l.sent.Add(int64(n)) - int64(n)
		if l.most > 0 && before+int64(n) > l.most {
			if before < l.most {
				_, _ = server.Write(buffer[:l.most-before])
				close(l.stalled)
			}
			continue
		}
		if _, err := server.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// TestStalledHost: wherever in its push a host stops, without a word, others push
// and forget meanwhile. When it is back every record is there once, and nothing of
// what was forgotten.
func TestStalledHost(t *testing.T) {
	dsn := database(t, shared(t))
	open(t, postgres.Options{URL: dsn, SetUp: true})
	s := store(t)
	said(t, s, "laptop", laptopSays)
	whole := newLine(t, dsn, 0)
	if _, err := pusher(s, open(t, postgres.Options{URL: whole.dsn}), "measured").Push(t.Context()); err != nil {
		t.Fatal(err)
	}
	total := whole.sent.Load() * 85 / 100 // what others forget is not sent
	run(t, dsn, "TRUNCATE sessctl.records, sessctl.hosts, sessctl.term_counts, sessctl.tombstones CASCADE")
	desktop := store(t)
	said(t, desktop, "desktop", 2)
	push(t, pusher(desktop, open(t, postgres.Options{URL: dsn}), "desktop"))
	const stops = 24
	for i := range int64(stops) {
		l := newLine(t, dsn, 1500+(total-1500)*i/stops)
		laptop, ctx := store(t), t.Context()
		name := fmt.Sprintf("laptop%d", i)
		said(t, laptop, "laptop", laptopSays)
		ctx, cancel := context.WithCancel(ctx)
		ended := make(chan error, 1)
		go func() {
			m, err := postgres.Open(ctx, postgres.Options{URL: l.dsn, Timeout: time.Hour})
			if err == nil {
				_, err = pusher(laptop, m, name).Push(ctx)
			}
			ended <- err
		}()
		select {
		case <-l.stalled:
		case err := <-ended:
			t.Fatalf("it did not stall: %v", err)
		}
		others(t, dsn, i)
		select {
		case err := <-ended:
			t.Errorf("it did not stay stalled: %v", err)
		default:
		}
		cancel()
		<-ended
		if i%6 == 5 {
			r := push(t, pusher(laptop, open(t, postgres.Options{URL: dsn}), name))
			if r.ThereNow != laptopSays-int(i)-1 {
				t.Errorf("after it is back: %+v", r)
			}
		}
	}
	if got := text(t, dsn, "SELECT count(*) || ' ' || count(DISTINCT (host, id)) || ' ' || (SELECT sum(records) FROM sessctl.hosts) || ' ' || (SELECT count(*) FROM sessctl.records JOIN sessctl.tombstones USING (id)) FROM sessctl.records"); len(strings.Fields(got)) != 4 || strings.Fields(got)[0] != strings.Fields(got)[1] || strings.Fields(got)[0] != strings.Fields(got)[2] || strings.Fields(got)[3] != "0" {
		t.Errorf("records, different ones, counted ones and forgotten ones are %s", got)
	}
}

// laptopSays is how many records the host has that stalls: more than one batch.
const laptopSays = 300

// others are hosts that forget and push, which have all the time of the test but not
// that of the one that stalls.
func others(t *testing.T, dsn string, round int64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	id := memory.RecordID(conformance.Agent, "laptop", int(round), "test", conformance.NoteText("laptop", int(round), laptopSays))
	if _, err := open(t, postgres.Options{URL: dsn}).Bury(ctx, "desktop", []memory.Forgotten{{ID: id}}); err != nil {
		t.Errorf("round %d: a host cannot forget: %v", round, err)
	}
	r := memory.Record{ID: fmt.Sprintf("round %d", round), Text: "of a third host", CreatedAt: 1772533800000}
	receipt, err := open(t, postgres.Options{URL: dsn}).Push(ctx, remote.Batch{Host: "third", Memory: "third", Records: []memory.Shared{{Exported: memory.Exported{Record: r}, Digest: 1}}})
	if err != nil || receipt.Stored != 1 {
		t.Errorf("round %d: a host cannot push: %+v, %v", round, receipt, err)
	}
}

// TestIsolation: a server that keeps transactions apart more strictly would push what
// was buried that moment. It does nothing, and what it says to do is enough.
func TestIsolation(t *testing.T) {
	dsn := database(t, shared(t))
	open(t, postgres.Options{URL: dsn, SetUp: true})
	batch := remote.Batch{Host: "laptop", Memory: "laptop", Records: []memory.Shared{{Exported: memory.Exported{Record: memory.Record{ID: "one", Text: "of one", CreatedAt: 1772533800000}}, Digest: 1}}}
	for _, isolation := range []string{"repeatable read", "serializable"} {
		run(t, dsn, "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET default_transaction_isolation = %L', current_database(), '"+isolation+"'); END $$")
		m := open(t, postgres.Options{URL: dsn})
		_, pushed := m.Push(t.Context(), batch)
		_, buried := m.Bury(t.Context(), "laptop", []memory.Forgotten{{ID: "one"}})
		for _, err := range []error{pushed, buried} {
			if !errors.Is(err, remote.ErrUnsuitable) || !strings.Contains(err.Error(), isolation) {
				t.Fatalf("%s: %v", isolation, err)
			}
		}
		if got := text(t, dsn, "SELECT (SELECT count(*) FROM sessctl.records) || ' ' || (SELECT count(*) FROM sessctl.tombstones)"); got != "0 0" {
			t.Errorf("%s: records and tombstones are %s", isolation, got)
		}
		_, remedy, _ := strings.Cut(pushed.Error(), "as the owner, ")
		remedy, _, _ = strings.Cut(remedy, " (0A000)")
		run(t, dsn, remedy)
		if r, err := open(t, postgres.Options{URL: dsn}).Push(t.Context(), batch); err != nil || len(r.Present) != 1 {
			t.Errorf("after %s: %+v, %v", remedy, r, err)
		}
		run(t, dsn, "DELETE FROM sessctl.records")
	}
}

// TestServerRefusesIsolation: the functions themselves refuse, whoever calls them.
func TestServerRefusesIsolation(t *testing.T) {
	dsn := database(t, shared(t))
	open(t, postgres.Options{URL: dsn, SetUp: true})
	for _, call := range []string{
		"push(1, '', false, 0, NULL, '{}', '{}', '[]', 1)", "bury('x', '{}', '{}', '{}', '{}', '{}')", "remove_buried('{}')",
		"add_quarters('{}')", "build_words(false)",
	} {
		conn := connect(t, dsn)
		_, err := conn.Exec(t.Context(), "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT sessctl."+call)
		_ = conn.Close(context.Background())
		var refused *pgconn.PgError
		if !errors.As(err, &refused) || refused.Code != "0A000" {
			t.Errorf("%s: %v", call, err)
		}
	}
}

// TestBuriedWhilePushed: what is buried while a push stores it is not there
// afterwards, whichever of the two ends first.
func TestBuriedWhilePushed(t *testing.T) {
	dsn := database(t, shared(t))
	m := open(t, postgres.Options{URL: dsn, SetUp: true})
	batch := remote.Batch{Host: "laptop", Memory: "laptop"}
	for _, id := range []string{"buried", "kept"} {
		batch.Records = append(batch.Records, memory.Shared{Exported: memory.Exported{Record: memory.Record{ID: id, Text: "of " + id, CreatedAt: 1772533800000}}, Digest: 1})
	}
	if _, err := m.Push(t.Context(), remote.Batch{Host: "laptop", Memory: "laptop"}); err != nil {
		t.Fatal(err)
	}
	conn := connect(t, dsn)
	defer conn.Close(context.Background())
	if _, err := conn.Exec(t.Context(), "BEGIN; SELECT sessctl.bury('laptop', ARRAY['buried'], ARRAY[0], ARRAY[''], ARRAY[0], ARRAY[0])"); err != nil {
		t.Fatal(err)
	}
	type result struct {
		remote.Receipt
		err error
	}
	pushed := make(chan result, 1)
	go func() {
		r, err := m.Push(t.Context(), batch)
		pushed <- result{r, err}
	}()
	for text(t, dsn, "SELECT (count(*) > 0)::text FROM pg_locks WHERE locktype='advisory' AND NOT granted") != "true" {
		time.Sleep(5 * time.Millisecond)
	}
	if _, err := conn.Exec(t.Context(), "COMMIT"); err != nil {
		t.Fatal(err)
	}
	r := <-pushed
	if r.err != nil || r.Stored != 1 || fmt.Sprint(r.Present, r.Buried) != "[kept] [buried]" {
		t.Errorf("%+v", r)
	}
	if got := text(t, dsn, "SELECT string_agg(id, ' ') || (SELECT sum(records) FROM sessctl.hosts) || (SELECT count(*) FROM sessctl.term_counts WHERE term='buried') FROM sessctl.records"); got != "kept10" {
		t.Errorf("there are %s", got)
	}
}
