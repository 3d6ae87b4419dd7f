//go:build unix

package postgres_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
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

// generated is a shared memory whose rows the server makes out of those of one host:
// each has the text, the terms and the vector of two of them, and words of its own.
// So a fleet of thousands of hosts is there in minutes.
type generated struct {
	server    *server.Server
	memory    *postgres.Memory
	embedder  *embed.Builtin
	hosts     int
	rows      int
	questions []string
	sizes     []float64 // rows
	spent     []float64 // seconds of the server's CPU for a question, by size
	median    []float64 // seconds a question takes
}

const (
	pieces         = 4000 // rows that the others are made of
	pieceBytes     = 300
	parts          = 4 // quarters, asked after each
	manyAtOnce     = 50
	askedEach      = 40
	mostRoom       = 12 << 10 // of a record
	generatedUsual = 40_000
)

// TestGenerated: many hosts take no more room for each record and no more locks for
// each question than few, and many questions at once are all answered, by the index of
// terms and by that of pg_textsearch. POSTGRES_FLEET and POSTGRES_GENERATED say how many
// hosts and rows. What it logs is in docs/dev/performance.md.
func TestGenerated(t *testing.T) {
	tier.SkipUnlessLong(t, "it takes minutes (make accept-postgres)")
	shared(t)
	own, err := server.StartVector(t.Context(), "shared_buffers=1GB", "max_wal_size=2GB", "synchronous_commit=off", server.TextSearch())
	if err != nil {
		t.Fatal(err)
	}
	defer own.Stop()
	e, err := embed.NewBuiltin()
	if err != nil {
		t.Fatal(err)
	}
	g := &generated{server: own, memory: open(t, postgres.Options{URL: own.DSN, SetUp: true}), embedder: e,
		hosts: number("POSTGRES_FLEET", 2000), rows: number("POSTGRES_GENERATED", generatedUsual)}
	g.begin(t)
	for part := range parts {
		g.grow(t, part)
		g.askOneByOne(t)
		g.sizes = append(g.sizes, float64((part+1)*g.rows/parts))
	}
	g.askAtOnce(t)
	g.extrapolate(t, "the server's CPU for a question", g.spent)
	g.extrapolate(t, "the median question", g.median)
	if server.TextSearch() != "" {
		g.indexWords(t)
		g.askOneByOne(t)
		g.askAtOnce(t)
	}
	g.measureRoom(t)
}

// indexWords has the words indexed by pg_textsearch too, as fleet init does.
func (g *generated) indexWords(t *testing.T) {
	began := time.Now()
	run(t, g.server.DSN, "CREATE EXTENSION pg_textsearch")
	m := open(t, postgres.Options{URL: g.server.DSN, SetUp: true})
	t.Logf("words by %s, indexed in %s", words(t, m), time.Since(began).Round(time.Second))
}

// begin pushes the rows that the others are made of.
func (g *generated) begin(t *testing.T) {
	model := g.embedder.Model()
	b := remote.Batch{Host: "pieces", Memory: "pieces", Model: memory.VectorModel{Fingerprint: model.Fingerprint(), Name: model.String(), Dim: model.Dim}}
	for text := range prose.Texts(7, pieces, pieceBytes) {
		n := len(g.questions)
		g.questions = append(g.questions, question(text))
		vector, err := g.embedder.EmbedDocuments(t.Context(), []string{text})
		if err != nil {
			t.Fatal(err)
		}
		r := memory.Record{ID: fmt.Sprintf("piece %d", n), Text: text, Category: "session_history", Importance: 0.25, Runtime: "pi", Agent: "pieces", Session: "pieces", CreatedAt: 1730000000000 + int64(n), Position: n}
		b.Records = append(b.Records, memory.Shared{Exported: memory.Exported{Record: r, Vector: vector[0]}, Digest: 1})
		if len(b.Records) == 500 {
			if _, err := g.memory.Push(t.Context(), b); err != nil {
				t.Fatal(err)
			}
			b.Records = b.Records[:0]
		}
	}
	run(t, g.server.DSN, fmt.Sprintf("INSERT INTO sessctl.hosts (name, last_push) SELECT 'generated' || n, 1 FROM generate_series(1, %d) n", g.hosts))
}

// grow adds the rows of a quarter, with what triggers would count, and indexes them.
func (g *generated) grow(t *testing.T, part int) {
	began := time.Now()
	low := time.Date(2025, time.Month(1+3*part), 1, 0, 0, 0, 0, time.UTC).UnixMilli()
	table, from, to := fmt.Sprintf("sessctl.records_2025_q%d", part+1), part*g.rows/parts, (part+1)*g.rows/parts
	run(t, g.server.DSN, fmt.Sprintf("SELECT sessctl.add_quarters(ARRAY[%d])", low),
		fmt.Sprintf(`INSERT INTO %[1]s (host, id, digest, category, importance, created_at, runtime, agent, session, routing_key, archive, archive_path, first_line, last_line, first_byte, end_byte,
			branch, position, text, terms, length, kind, successor, model, vector)
			SELECT h.host, md5(n::text), n, 'session_history', 0.25, %[2]d + n, 'pi', 'agent' || h.host, md5((n/100)::text), '', left(md5((n/1000)::text), 16), '/home/somebody/.local/share/sessctl/archives/' || md5((n/1000)::text),
			n, n + 2, 100 * n, 100 * n + 300, 'active', n %% 100, a.text || ' ' || b.text || own.words, a.terms || b.terms || to_tsvector('pg_catalog.simple', own.words), a.length + b.length + 2, '', '', a.model, l2_normalize(a.vector + b.vector)
			FROM generate_series(%[3]d, %[4]d - 1) n JOIN sessctl.hosts h ON h.name = 'generated' || (1 + n %% %[5]d)
			JOIN sessctl.records a ON a.agent = 'pieces' AND a.position = n * 31 %% %[6]d JOIN sessctl.records b ON b.agent = 'pieces' AND b.position = (n * 37 + n / %[6]d) %% %[6]d
			CROSS JOIN LATERAL (SELECT ' own' || n || ' of' || h.host || 'host' AS words) own`, table, low, from, to, g.hosts, pieces),
		fmt.Sprintf(`INSERT INTO sessctl.term_counts AS c (term, part, records) SELECT u.lexeme, sessctl.part_of(r.host), count(*) FROM %s r, unnest(r.terms) u GROUP BY 1, 2
			ON CONFLICT (term, part) DO UPDATE SET records = c.records + excluded.records`, table),
		fmt.Sprintf(`UPDATE sessctl.hosts h SET records = h.records + r.n, tokens = h.tokens + r.tokens FROM (SELECT host, count(*) AS n, sum(length) AS tokens FROM %s GROUP BY 1) r WHERE r.host = h.host`, table))
	made := time.Now()
	n, err := g.memory.Index(t.Context(), memory.VectorModel{Fingerprint: g.embedder.Model().Fingerprint(), Name: g.embedder.Model().String(), Dim: g.embedder.Model().Dim})
	if err != nil {
		t.Fatal(err)
	}
	run(t, g.server.DSN, "VACUUM (ANALYZE) sessctl.records, sessctl.term_counts") // as the server does by itself, a little later
	t.Logf("%d rows of %d hosts: made in %s, %d indexes of vectors in %s", to, g.hosts, made.Sub(began).Round(time.Second), n, time.Since(made).Round(time.Second))
}

// askOneByOne asks when nobody else does.
func (g *generated) askOneByOne(t *testing.T) {
	var l latencies
	server, client := g.ended(t), ownCPU(t)
	for i := range askedEach {
		l.time(func() error { return g.ask(t, i) })
	}
	server, client = (g.ended(t)-server)/askedEach, (ownCPU(t)-client)/askedEach
	t.Logf("one question after the other: %s; each took the server %.0f ms of CPU, and who asked %.0f", l.String(), 1000*server, 1000*client)
	if l.failed > 0 || len(l.took) == 0 {
		t.Fatalf("%d questions without an answer", l.failed)
	}
	g.spent, g.median = append(g.spent, server), append(g.median, l.took[len(l.took)/2].Seconds())
}

// ownCPU are the seconds of CPU that this process has taken.
func ownCPU(t *testing.T) float64 {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}
	return float64(used.Utime.Nano()+used.Stime.Nano()) / float64(time.Second)
}

// ended are the seconds of CPU that connections have taken that are closed by now. How
// long a question takes depends on what else the machine does, this hardly.
func (g *generated) ended(t *testing.T) float64 {
	const ticks = 100                  // a second, on every Linux
	time.Sleep(200 * time.Millisecond) // the server notices who has ended a moment later
	var server, took float64
	data, _ := os.ReadFile(filepath.Join(strings.TrimPrefix(strings.Fields(g.server.DSN)[0], "host="), "data", "postmaster.pid"))
	if _, err := fmt.Sscan(string(data), &server); err != nil {
		t.Fatalf("the process of the server: %v", err)
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%.0f/stat", server))
	if err != nil {
		t.Log("no figures of CPU here:", err)
		return 0
	}
	for _, field := range strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))[13:15] { // of children that have ended
		n, _ := strconv.ParseFloat(field, 64)
		took += n / ticks
	}
	return took
}

// ask asks as a command does, with a connection of its own.
func (g *generated) ask(t *testing.T, i int) error {
	m, err := postgres.Open(t.Context(), postgres.Options{URL: g.server.DSN})
	if err != nil {
		return err
	}
	defer m.Close()
	result, err := m.Recall(t.Context(), memory.Query{Text: g.questions[i*37%len(g.questions)], Now: time.Now()}, g.embedder, g.embedder.Model())
	if err == nil && len(result.Hits) == 0 {
		return fmt.Errorf("question %d has no hits", i)
	}
	return err
}

// askAtOnce asks many questions at the same time, and counts the locks of the one that
// is first.
func (g *generated) askAtOnce(t *testing.T) {
	gated := &gate{Builtin: g.embedder, open: make(chan struct{})}
	m := open(t, postgres.Options{URL: g.server.DSN})
	asked := make(chan error, 1)
	go func() {
		_, err := m.Recall(t.Context(), memory.Query{Text: g.questions[0], Now: time.Now()}, gated, gated.Model())
		asked <- err
	}()
	for gated.inside.Load() == 0 {
		time.Sleep(10 * time.Millisecond)
	}
	t.Logf("locks of a question: %s of %s", text(t, g.server.DSN, "SELECT count(*)::text FROM pg_locks WHERE pid <> pg_backend_pid()"),
		text(t, g.server.DSN, "SELECT (current_setting('max_locks_per_transaction')::int * current_setting('max_connections')::int)::text"))
	close(gated.open)
	if err := <-asked; err != nil {
		t.Error(err)
	}
	var failed atomic.Int64
	var asking sync.WaitGroup
	began, server, client := time.Now(), g.ended(t), ownCPU(t)
	for i := range manyAtOnce {
		asking.Go(func() {
			if err := g.ask(t, i); err != nil {
				failed.Add(1)
				t.Errorf("question %d of many at once: %v", i, err)
			}
		})
	}
	asking.Wait()
	took := time.Since(began).Round(time.Millisecond)
	t.Logf("%d questions at once: %d without an answer, all in %s; each took the server %.0f ms of CPU, and who asked %.0f",
		manyAtOnce, failed.Load(), took, 1000*(g.ended(t)-server)/manyAtOnce, 1000*(ownCPU(t)-client)/manyAtOnce)
}

// measureRoom: a record takes no more room than docs/fleet.md says.
func (g *generated) measureRoom(t *testing.T) {
	const of = "SELECT (sum(pg_total_relation_size(c.oid)) / (SELECT count(*) FROM sessctl.records))::bigint::text FROM pg_class c WHERE c.relnamespace='sessctl'::regnamespace AND c.relkind='r'"
	all := text(t, g.server.DSN, of)
	t.Logf("bytes a record: %s, of them counts of words %s (%s rows)", all, text(t, g.server.DSN, of+" AND c.relname='term_counts'"), text(t, g.server.DSN, "SELECT count(*)::text FROM sessctl.term_counts"))
	var bytes int
	if _, err := fmt.Sscan(strings.TrimSpace(all), &bytes); err != nil || bytes > mostRoom {
		t.Errorf("a record takes %s bytes: %v", all, err)
	}
}

// extrapolate says what a line through all sizes would be at ten million.
func (g *generated) extrapolate(t *testing.T, of string, seconds []float64) {
	const wanted = 10_000_000
	var rows, mean, up, down float64
	for i := range g.sizes {
		rows, mean = rows+g.sizes[i]/parts, mean+seconds[i]/parts
	}
	for i := range g.sizes {
		up, down = up+(g.sizes[i]-rows)*(seconds[i]-mean), down+(g.sizes[i]-rows)*(g.sizes[i]-rows)
	}
	t.Logf("%s, by a line through these sizes: %.2f s at 10 million", of, mean+up/down*(wanted-rows))
}
