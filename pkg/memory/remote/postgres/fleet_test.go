//go:build unix

package postgres_test

import (
	"context"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	server "github.com/sessctl/sessctl/internal/postgres"
	"github.com/sessctl/sessctl/internal/prose"
	"github.com/sessctl/sessctl/internal/tier"
	"github.com/sessctl/sessctl/pkg/embed"
	"github.com/sessctl/sessctl/pkg/memory"
	"github.com/sessctl/sessctl/pkg/memory/remote"
	"github.com/sessctl/sessctl/pkg/memory/remote/postgres"
)

// number is a number of the environment.
func number(name string, usual int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return usual
}

// fleet is many hosts with a memory each, and one memory on this machine that
// has what all of them have.
type fleet struct {
	server    *server.Server
	identity  string
	names     []string
	stores    []*memory.Store
	reference *memory.Store
	dir       string // of it
	records   int    // of each host
	questions []string
	embedder  *embed.Builtin

	textSearch bool // pg_textsearch proposes by words
}

// setUp makes the shared memory in an empty database.
func (f *fleet) setUp(t *testing.T, dsn string) *postgres.Memory {
	if f.textSearch {
		run(t, dsn, "CREATE EXTENSION pg_textsearch")
	}
	m, err := postgres.Open(t.Context(), postgres.Options{URL: dsn, SetUp: true})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// textBytes is how long a record is: a few sentences.
const textBytes = 600

// months is how long the hosts have been talking, in months of 30 days.
const months = 12

// fill gives each host its records: made-up prose,
// with the vectors of the built-in embedder.
func (f *fleet) fill(t *testing.T) {
	began := time.Now()
	f.dir = t.TempDir()
	reference, err := memory.Open(t.Context(), f.dir, memory.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = reference.Close() })
	f.reference = reference
	for i := range f.stores {
		f.names = append(f.names, fmt.Sprintf("host%d", i))
		f.stores[i] = store(t)
		var page []memory.Record
		n := 0
		for text := range prose.Texts(uint64(i+1), f.records, textBytes) {
			page = append(page, f.record(i, n, text))
			if n++; len(page) == 2000 || n == f.records {
				f.put(t, f.stores[i], page)
				page = page[:0]
			}
		}
	}
	t.Logf("%d hosts have %d records each, about %d bytes of text over %d months: made in %s", len(f.stores), f.records, textBytes, months, time.Since(began).Round(time.Second))
}

func (f *fleet) record(host, n int, text string) memory.Record {
	agent, session := f.names[host], fmt.Sprintf("%s-%d", f.names[host], n/100)
	if every := max(f.records/10, 1); n%every == every/2 {
		f.questions = append(f.questions, question(text))
	}
	const span = months * 30 * 24 * 60 * 60 * 1000
	return memory.Record{
		ID: memory.RecordID(agent, session, n, "test", text), Text: text, Category: "session_history", Importance: 0.25, Runtime: "openclaw", Agent: agent, Session: session,
		CreatedAt: 1741000000000 + int64(n)*span/int64(f.records), FirstLine: n + 1, LastLine: n + 2, Branch: "active", Position: n % 100,
	}
}

// question is a few words of a text.
func question(text string) string {
	var asked []string
	for i, word := range strings.Fields(text) {
		if i%7 == 3 && len(asked) < 7 {
			asked = append(asked, strings.Trim(word, "`\"."))
		}
	}
	return strings.Join(asked, " ")
}

// put stores records in the memory of their host and in the one of all.
func (f *fleet) put(t *testing.T, own *memory.Store, page []memory.Record) {
	vectors := make([]memory.Vector, 0, len(page))
	for _, r := range page {
		unit, err := f.embedder.EmbedDocuments(t.Context(), []string{r.Text})
		if err != nil {
			t.Fatal(err)
		}
		vectors = append(vectors, memory.Vector{ID: r.ID, Values: unit[0]})
	}
	for _, s := range []*memory.Store{own, f.reference} {
		_, err := s.Put(t.Context(), memory.Source{}, func(yield func(memory.Record, error) bool) {
			for _, r := range page {
				if !yield(r, nil) {
					return
				}
			}
		})
		if err == nil {
			err = s.PutVectors(t.Context(), f.embedder.Model(), page[0].Agent, vectors, nil)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestLoad: many hosts push at once while questions are asked, and the server is
// killed twice. Afterwards every record is there once, what was forgotten stays
// away, and the hits are those of one memory that has them all. POSTGRES_HOSTS
// and POSTGRES_RECORDS (of each) say how much. What it logs is in
// docs/dev/performance.md.
func TestLoad(t *testing.T) {
	tier.SkipUnlessLong(t, "it takes minutes (make accept-postgres)")
	shared(t)
	textSearch := server.TextSearch()
	if os.Getenv("POSTGRES_WORDS") == "gin" {
		textSearch = ""
	}
	own, err := server.StartVector(t.Context(), "shared_buffers=1GB", textSearch) // as for a machine of 4 GB
	if err != nil {
		t.Fatal(err)
	}
	defer own.Stop()
	e, err := embed.NewBuiltin()
	if err != nil {
		t.Fatal(err)
	}
	f := &fleet{server: own, stores: make([]*memory.Store, number("POSTGRES_HOSTS", 5)), records: number("POSTGRES_RECORDS", 10_000), embedder: e, textSearch: textSearch != ""}
	f.fill(t)
	f.pushAlone(t)
	m := f.setUp(t, own.DSN)
	f.identity = m.Server()
	t.Logf("words by %s", words(t, m))
	_ = m.Close() // the server is killed
	f.pushAll(t)
	f.index(t)
	f.checkWhole(t)
	f.checkForgotten(t)
	f.checkHits(t)
	f.measureRecall(t)
	f.measureRoom(t)
}

// pushAlone measures how fast one host pushes when nobody else does: into a
// database of its own, which is dropped afterwards.
func (f *fleet) pushAlone(t *testing.T) {
	run(t, f.server.DSN, "CREATE DATABASE alone")
	m := f.setUp(t, strings.Replace(f.server.DSN, "dbname=postgres", "dbname=alone", 1))
	began := time.Now()
	push(t, pusher(f.stores[0], m, f.names[0]))
	took := time.Since(began)
	indexed := time.Now()
	made, err := m.Index(t.Context(), f.model(t))
	if err != nil {
		t.Fatal(err)
	}
	_ = m.Close() // it is dropped
	run(t, f.server.DSN, "DROP DATABASE alone")
	t.Logf("one host alone: %.0f records a second, and %s for %d indexes of vectors", float64(f.records)/took.Seconds(), time.Since(indexed).Round(time.Millisecond), made)
}

func (f *fleet) model(t *testing.T) memory.VectorModel {
	v, err := f.stores[0].VectorModel(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// pushAll lets all hosts push at once, kills the server twice meanwhile, and
// asks questions all the time.
func (f *fleet) pushAll(t *testing.T) {
	began, total := time.Now(), int64(len(f.stores)*f.records)
	var done, sent atomic.Int64
	stop := make(chan struct{})
	var asking, pushing sync.WaitGroup
	asking.Go(func() { t.Logf("while pushing: %s", f.ask(t, stop)) })
	for i := range f.stores {
		pushing.Go(func() {
			defer done.Add(1)
			f.pushUntil(t, i, &sent)
		})
	}
	for _, share := range []int64{3, 2} { // at a third, and at half
		for sent.Load() < total/share && done.Load() < int64(len(f.stores)) {
			time.Sleep(20 * time.Millisecond)
		}
		f.server.Kill()
		if err := f.server.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
		t.Logf("killed and started again after %d records, %s", sent.Load(), time.Since(began).Round(time.Second))
	}
	pushing.Wait()
	took := time.Since(began)
	close(stop)
	asking.Wait()
	t.Logf("all at once: %d records in %s: %.0f a second", total, took.Round(time.Second), float64(total)/took.Seconds())
}

// index makes the indexes of vectors, as the next push does: while others pushed
// they were left for later.
func (f *fleet) index(t *testing.T) {
	time.Sleep(4 * time.Second) // who pushed a moment ago may go on
	began := time.Now()
	made, err := open(t, postgres.Options{URL: f.server.DSN}).Index(t.Context(), f.model(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d indexes of vectors in %s", made, time.Since(began).Round(time.Second))
}

// pushUntil pushes until all is there, whatever happens to the server.
func (f *fleet) pushUntil(t *testing.T, host int, sent *atomic.Int64) {
	last := 0
	for range 200 {
		m, err := postgres.Open(t.Context(), postgres.Options{URL: f.server.DSN})
		if err == nil {
			p := &remote.Pusher{Local: f.stores[host], Shared: m, Host: f.names[host], Server: f.identity, Lock: func(context.Context) (func(), error) { return func() {}, nil },
				Progress: func(done, _ int) { sent.Add(int64(done - last)); last = done }}
			last = 0
			if _, err = p.Push(t.Context()); err == nil {
				_, err = m.Index(t.Context(), f.model(t))
			}
			_ = m.Close() // what was pushed was read back
		}
		if err == nil {
			return
		}
		time.Sleep(200 * time.Millisecond)
	}
	t.Errorf("%s was never done", f.names[host])
}

// checkWhole: every record is there once, and is what its host has.
func (f *fleet) checkWhole(t *testing.T) {
	total := len(f.stores) * f.records
	if got := text(t, f.server.DSN, "SELECT count(*) || ' ' || count(DISTINCT id) FROM sessctl.records"); got != fmt.Sprintf("%d %d", total, total) {
		t.Errorf("there are %s records, not %d", got, total)
	}
	if f.textSearch {
		if got := text(t, f.server.DSN, inStep); got != "true" {
			t.Error("the table of pg_textsearch is not in step")
		}
	}
	m := open(t, postgres.Options{URL: f.server.DSN})
	for i, s := range f.stores {
		p := pusher(s, m, f.names[i])
		p.Compare = true
		if r := push(t, p); r.Sent != 0 || r.Gone != 0 || !r.Compared || r.ThereNow != f.records {
			t.Errorf("%s compared all: %+v", f.names[i], r)
		}
	}
}

// checkForgotten forgets a few records of each host, and looks that all hosts
// push without bringing them back.
func (f *fleet) checkForgotten(t *testing.T) {
	const few = 10
	m := open(t, postgres.Options{URL: f.server.DSN})
	var ids []string
	for i, s := range f.stores {
		found, err := s.Containing(t.Context(), memory.Selection{Session: f.names[i] + "-0"}, "e")
		if err != nil {
			t.Fatal(err)
		}
		found = found[:min(few, len(found))]
		for _, from := range []*memory.Store{s, f.reference} {
			if n, err := from.Forget(t.Context(), memory.Selection{IDs: found}); err != nil || n.Records != few {
				t.Fatal(n, err)
			}
		}
		ids = append(ids, found...)
		push(t, pusher(s, m, f.names[i]))
	}
	for i, s := range f.stores {
		if r := push(t, pusher(s, m, f.names[i])); r.ThereNow != f.records-few {
			t.Errorf("%s has %d records there, not %d", f.names[i], r.ThereNow, f.records-few)
		}
	}
	if got := text(t, f.server.DSN, "SELECT count(*)::text FROM sessctl.records WHERE id IN ('"+strings.Join(ids, "','")+"')"); got != "0" {
		t.Errorf("%s forgotten records are there", got)
	}
}

// checkHits asks the same of the shared memory and of the one that has all: the
// first hits are the same. How many are the same where vectors are found by
// their index is logged.
func (f *fleet) checkHits(t *testing.T) {
	exact, nearly := open(t, postgres.Options{URL: f.server.DSN, Exact: true}), open(t, postgres.Options{URL: f.server.DSN})
	questions := f.questions[:min(40, len(f.questions))]
	same, hits, first := 0, 0, 0
	for _, question := range questions {
		q := memory.Query{Text: question, Limit: 5}
		want, err := f.reference.Recall(t.Context(), q, f.embedder, f.embedder.Model())
		if err != nil {
			t.Fatal(err)
		}
		compareHits(t, question, ask(t, exact, q).Hits, want.Hits)
		got := ask(t, nearly, q).Hits
		for i, h := range want.Hits {
			if hits++; slices.ContainsFunc(got, func(g memory.Hit) bool { return g.ID == h.ID }) {
				same++
			}
			if i == 0 && len(got) > 0 && got[0].ID == h.ID {
				first++
			}
		}
	}
	t.Logf("by the index of vectors: of %d questions the first hit is the same for %d, and %d of %d hits are", len(questions), first, same, hits)
}

// compareHits: the same hits in the same order, but for those whose scores are
// nearly the same: scores are relative to all that was proposed, and a text with
// only common words is proposed by the memory of one host alone.
func compareHits(t *testing.T, question string, got, want []memory.Hit) {
	const nearly = 0.05
	if len(got) != len(want) {
		t.Errorf("%q: %d hits, not %d", question, len(got), len(want))
		return
	}
	for i, w := range want {
		at := slices.IndexFunc(want, func(h memory.Hit) bool { return h.ID == got[i].ID })
		if at < 0 && i+1 == len(want) {
			at = i // the last may be cut off among equals
		}
		if at < 0 || math.Abs(want[at].Score-w.Score) > nearly || math.Abs(got[i].Score-w.Score) > nearly {
			t.Errorf("%q: hit %d is %q with %.3f, not %q with %.3f", question, i+1, got[i].Text, got[i].Score, w.Text, w.Score)
		}
	}
}

// ask asks questions until it is to stop, each with a connection of its own, and
// says how long they took.
func (f *fleet) ask(t *testing.T, stop <-chan struct{}) string {
	var l latencies
	for i := 0; ; i++ {
		select {
		case <-stop:
			return l.String()
		default:
		}
		l.time(func() error {
			m, err := postgres.Open(t.Context(), postgres.Options{URL: f.server.DSN})
			if err != nil {
				return err
			}
			defer m.Close()
			_, err = m.Recall(t.Context(), memory.Query{Text: f.questions[i%len(f.questions)], Now: time.Now()}, f.embedder, f.embedder.Model())
			return err
		})
	}
}

// latencies are how long questions took.
type latencies struct {
	took   []time.Duration
	failed int
}

func (l *latencies) time(f func() error) {
	began := time.Now()
	if f() == nil {
		l.took = append(l.took, time.Since(began))
		return
	}
	l.failed++
	time.Sleep(100 * time.Millisecond)
}

func (l *latencies) String() string {
	if len(l.took) == 0 {
		return fmt.Sprintf("no answers, %d failed", l.failed)
	}
	slices.Sort(l.took)
	at := func(percent int) time.Duration { return l.took[len(l.took)*percent/100].Round(time.Millisecond) }
	return fmt.Sprintf("%d answers, p50 %s, p95 %s, %d without", len(l.took), at(50), at(95), l.failed)
}

// measureRecall asks when nobody pushes: the server, comparing by the index and
// all, and the memory of this machine that has the same.
func (f *fleet) measureRecall(t *testing.T) {
	run(t, f.server.DSN, "VACUUM (ANALYZE) sessctl.records") // as the server does by itself, a little later
	const each = 15 * time.Second
	quiet := func() <-chan struct{} {
		stop := make(chan struct{})
		time.AfterFunc(each, func() { close(stop) })
		return stop
	}
	t.Logf("when nobody pushes: %s", f.ask(t, quiet()))
	var here latencies
	began := time.Now()
	for i := 0; time.Since(began) < each; i++ {
		here.time(func() error {
			_, err := f.reference.Recall(t.Context(), memory.Query{Text: f.questions[i%len(f.questions)], Now: time.Now()}, f.embedder, f.embedder.Model())
			return err
		})
	}
	t.Logf("the memory of one host with all of it: %s", here.String())
}

// measureRoom says what takes how much room.
func (f *fleet) measureRoom(t *testing.T) {
	for what, where := range map[string]string{
		"rows": "c.relkind='r' AND c.relname LIKE 'records\\_%'", "texts and vectors out of line": "c.relkind='t' AND true",
		"words for pg_textsearch": "c.relname LIKE 'record_words' OR c.relname='record_words_pkey'", "index of pg_textsearch": "am.amname='bm25'",
		"index of vectors": "am.amname='hnsw'", "index of terms": "am.amname='gin'", "other indexes": "am.amname='btree' AND c.relname LIKE 'records\\_%'",
		"counts of terms": "c.relname LIKE 'term_counts%'", "all": "c.relkind IN ('r', 'i', 't')",
	} {
		got := text(t, f.server.DSN, `SELECT (coalesce(sum(pg_relation_size(c.oid)), 0)::bigint / (SELECT count(*) FROM sessctl.records))::text FROM pg_class c LEFT JOIN pg_am am ON am.oid=c.relam
			WHERE (c.relnamespace='sessctl'::regnamespace OR c.relname IN (SELECT 'pg_toast_' || oid FROM pg_class WHERE relnamespace='sessctl'::regnamespace)) AND (`+where+")")
		t.Logf("bytes a record: %s: %s", what, got)
	}
	var bytes int64
	err := filepath.WalkDir(f.dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			bytes += info.Size()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("bytes a record: the memory of one host with all of it: %d", bytes/int64(len(f.stores)*f.records))
}
