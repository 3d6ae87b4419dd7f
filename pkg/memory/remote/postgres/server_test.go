//go:build unix

package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/sessctl/sessctl/pkg/embed"
	"github.com/sessctl/sessctl/pkg/memory"
	"github.com/sessctl/sessctl/pkg/memory/remote"
	"github.com/sessctl/sessctl/pkg/memory/remote/conformance"
	"github.com/sessctl/sessctl/pkg/memory/remote/postgres"
)

// ask is a question of the built-in embedder.
func ask(t *testing.T, m remote.Memory, q memory.Query) memory.Result {
	t.Helper()
	e, err := embed.NewBuiltin()
	if err != nil {
		t.Fatal(err)
	}
	result, err := m.Recall(t.Context(), q, e, e.Model())
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// said fills the memory of a host with n records and their vectors.
func said(t *testing.T, s *memory.Store, host string, n int) {
	t.Helper()
	if err := conformance.Fill(t.Context(), s, host, n); err != nil {
		t.Fatal(err)
	}
}

func pusher(s *memory.Store, m *postgres.Memory, host string) *remote.Pusher {
	return &remote.Pusher{Local: s, Shared: m, Host: host, Server: m.Server(), Lock: func(context.Context) (func(), error) { return func() {}, nil }}
}

// push pushes, which does what was foreseen.
func push(t *testing.T, p *remote.Pusher) remote.Report {
	t.Helper()
	f, foreseen := p.Foresee(t.Context())
	r, err := p.Push(t.Context())
	if foreseen != nil || f != (remote.Forecast{Unshared: memory.Unshared{Records: r.Sent, Gone: r.Gone, Tombstones: r.Tombstones}, Honoured: r.Honoured, Compared: r.Compared, SetBack: r.SetBack}) {
		t.Errorf("foreseen was %+v, %v, and then came %+v", f, foreseen, r)
	}
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// text is the value of a query, as text.
func text(t *testing.T, dsn, query string) string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	var value string
	if err := conn.QueryRow(t.Context(), query).Scan(&value); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return value
}

// memoryOf is the identity of the memory that pushes under a name.
func memoryOf(t *testing.T, dsn, host string) string {
	t.Helper()
	return text(t, dsn, "SELECT memory FROM sessctl.hosts WHERE name='"+host+"'")
}

// TestPushAndForget: two hosts push, one forgets, and both have it no more; a
// push that lost its notes, or whose server lost rows, puts that right.
func TestPushAndForget(t *testing.T) {
	dsn := database(t, shared(t))
	m := open(t, postgres.Options{URL: dsn, SetUp: true})
	laptop, desktop := store(t), store(t)
	said(t, laptop, "shared", 40)
	said(t, desktop, "shared", 40)
	first, second := pusher(laptop, m, "laptop"), pusher(desktop, m, "desktop")
	if r := push(t, first); r.Sent != 40 || r.Stored != 40 || r.ThereNow != 40 {
		t.Fatalf("first push: %+v", r)
	}
	push(t, second)
	if r := push(t, first); r.Sent != 0 || r.Stored != 0 || r.Compared {
		t.Fatalf("a repeated push: %+v", r)
	}
	id := memory.RecordID("scout", "shared", 3, "test", "user: note 3 of shared says that the crane number 21 lifts 3 tons.")
	if n, err := laptop.Forget(t.Context(), memory.Selection{ID: id}); n.Marked != 1 || err != nil {
		t.Fatal(n, err)
	}
	if r := push(t, first); r.Removed != 2 || r.Tombstones != 1 {
		t.Fatalf("after it was forgotten: %+v", r)
	}
	if r := push(t, second); r.Honoured != 1 || r.ThereNow != 39 {
		t.Fatalf("the other host: %+v", r)
	}
	if hits := ask(t, m, memory.Query{Text: "crane number 21 note 3", Limit: 60}).Hits; len(hits) == 0 || strings.Contains(hits[0].Text, "note 3 of") {
		t.Fatalf("found %d", len(hits))
	}
	run(t, dsn, "DELETE FROM sessctl.records WHERE position < 10 AND host = 1")
	if r := push(t, first); !r.Compared || r.ThereNow != 39 || r.Stored != 9 {
		t.Fatalf("after the server lost rows: %+v", r)
	}
	for _, query := range []string{
		"SELECT (SELECT sum(records) FROM sessctl.hosts) = (SELECT count(*) FROM sessctl.records)",
		"SELECT (SELECT sum(tokens) FROM sessctl.hosts) = (SELECT sum(length) FROM sessctl.records)",
		"SELECT NOT EXISTS (SELECT term, part, sum(n) FROM (SELECT term, part, records AS n FROM sessctl.term_counts UNION ALL SELECT u.lexeme, sessctl.part_of(host), -1 FROM sessctl.records, unnest(terms) u) x GROUP BY 1, 2 HAVING sum(n) <> 0)",
	} {
		if got := text(t, dsn, "SELECT ("+query+")::text"); got != "true" {
			t.Errorf("%s: %s", query, got)
		}
	}
}

// TestWhatIsSent: a row has what the record has, and no secret besides.
func TestWhatIsSent(t *testing.T) {
	dsn := database(t, shared(t))
	m := open(t, postgres.Options{URL: dsn, SetUp: true})
	s := store(t)
	said(t, s, "laptop", 1)
	push(t, pusher(s, m, "laptop"))
	const want = "archive archive_path agent branch category created_at digest end_byte fact first_byte first_line host id importance key kind last_line length model position routing_key runtime session successor terms text vector"
	got := text(t, dsn, `SELECT string_agg(column_name, ' ' ORDER BY replace(column_name, '_', '') COLLATE "C") FROM information_schema.columns WHERE table_schema='sessctl' AND table_name='records'`)
	if len(strings.Fields(got)) != len(strings.Fields(want)) {
		t.Errorf("a row has %s, not %s: is what is new meant to leave the host?", got, want)
	}
}

// TestRoles: a role writes the records of its hosts and no others, and only a
// reader sees all.
func TestRoles(t *testing.T) {
	dsn := database(t, shared(t))
	owner := open(t, postgres.Options{URL: dsn, SetUp: true})
	run(t, dsn, "DO $$ BEGIN CREATE ROLE laptop LOGIN IN ROLE sessctl_host; CREATE ROLE desktop LOGIN IN ROLE sessctl_host, sessctl_reader; CREATE ROLE analyst LOGIN IN ROLE sessctl_reader; END $$")
	as := func(role string) string { return strings.Replace(dsn, "user=postgres", "user="+role, 1) }
	stores := map[string]*memory.Store{}
	for _, role := range []string{"laptop", "desktop"} {
		stores[role] = store(t)
		said(t, stores[role], role, 5)
		if r := push(t, pusher(stores[role], open(t, postgres.Options{URL: as(role)}), role)); r.ThereNow != 5 {
			t.Fatalf("%s: %+v", role, r)
		}
	}
	if counts, err := owner.Count(t.Context()); err != nil || counts.Records() != 10 {
		t.Fatal(counts, err)
	}
	for role, want := range map[string]string{"laptop": "5", "desktop": "10", "analyst": "10"} {
		if got := text(t, as(role), "SELECT count(*)::text FROM sessctl.records"); got != want {
			t.Errorf("%s sees %s records, not %s", role, got, want)
		}
	}
	if _, err := open(t, postgres.Options{URL: as("laptop")}).Push(t.Context(), remote.Batch{Host: "desktop", Gone: []string{"x"}}); !errors.Is(err, remote.ErrNotAllowed) {
		t.Errorf("a push under another's name: %v", err)
	}
	if _, err := open(t, postgres.Options{URL: as("analyst")}).Push(t.Context(), remote.Batch{Host: "third"}); !errors.Is(err, remote.ErrNotAllowed) {
		t.Errorf("a reader pushes: %v", err)
	}
	stranger := pusher(stores["desktop"], open(t, postgres.Options{URL: as("desktop")}), "laptop")
	for _, stranger.TakeOver = range []bool{false, true} {
		_, preview := stranger.Preview(t.Context())
		if _, err := stranger.Push(t.Context()); !errors.Is(err, remote.ErrOtherRole) || !errors.Is(preview, remote.ErrOtherRole) {
			t.Errorf("a push under the name of another role: %v, and before that %v", err, preview)
		}
	}
	run(t, as("laptop"), "DELETE FROM sessctl.records")
	if got := text(t, dsn, "SELECT count(*)::text FROM sessctl.records"); got != "5" {
		t.Errorf("a host deleted what is not its own: %s records are left", got)
	}
	if hits := ask(t, open(t, postgres.Options{URL: as("analyst")}), memory.Query{Text: "which crane lifts"}).Hits; len(hits) == 0 || hits[0].Host != "desktop" {
		t.Errorf("a reader finds %+v", hits)
	}
}

// TestIndex: with an index of vectors the first hits are those of comparing all,
// also under a filter that few rows pass.
func TestIndex(t *testing.T) {
	dsn := database(t, shared(t))
	m := open(t, postgres.Options{URL: dsn, SetUp: true, IndexFrom: 100})
	s := store(t)
	said(t, s, "laptop", 300)
	p := pusher(s, m, "laptop")
	push(t, p)
	model, err := s.VectorModel(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []int{1, 0} {
		if made, err := m.Index(t.Context(), model); err != nil || made != want {
			t.Fatalf("%d indexes were made, not %d: %v", made, want, err)
		}
	}
	exact := open(t, postgres.Options{URL: dsn, Exact: true})
	run(t, dsn, "ANALYZE sessctl.records")
	for _, q := range []memory.Query{{Text: "the crane that lifts 42 tons"}, {Text: "note 77", Since: 1772533800000 + 200_000}, {Text: "crane number 14", Until: 1772533800000 + 9000}} {
		q.Rank, q.Limit = memory.RankVector, 5
		got, want := ask(t, m, q).Hits, ask(t, exact, q).Hits
		if len(got) != len(want) || len(got) > 0 && got[0].Text != want[0].Text {
			t.Errorf("%+v: %d hits, not %d", q, len(got), len(want))
		}
	}
}

// TestRefused: what cannot be used is told for what it is, and no password is
// repeated.
func TestRefused(t *testing.T) {
	s := shared(t)
	dsn := database(t, s)
	for name, c := range map[string]struct {
		url  string
		want error
	}{
		"not set up":  {dsn, remote.ErrNotSetUp},
		"no server":   {"host=/nonexistent user=x password=hunter2", remote.ErrUnreachable},
		"no database": {strings.Replace(s.DSN, "dbname=postgres", "dbname=nowhere", 1), remote.ErrNotAllowed},
		"no role":     {strings.Replace(dsn, "user=postgres", "user=nobody_at_all", 1), remote.ErrNotAllowed},
		"nonsense":    {"postgres://user:hunter2@host:port:port/db", remote.ErrUnsuitable},
		"no service":  {"service=nowhere password=hunter2", remote.ErrUnsuitable},
	} {
		m, err := postgres.Open(t.Context(), postgres.Options{URL: c.url})
		if err == nil {
			_ = m.Close()
		}
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v, not %v", name, err, c.want)
		}
		if strings.Contains(fmt.Sprint(err), "hunter2") {
			t.Errorf("%s: the password is in the error: %v", name, err)
		}
	}
	open(t, postgres.Options{URL: dsn, SetUp: true})
	run(t, dsn, "UPDATE pg_extension SET extversion='0.8.3' WHERE extname='vector'")
	if _, err := postgres.Open(t.Context(), postgres.Options{URL: dsn}); !errors.Is(err, remote.ErrNotSetUp) && !errors.Is(err, remote.ErrUnsuitable) {
		t.Errorf("an old pgvector: %v", err)
	}
}

// TestPushesDoNotWaitForOtherQuarters: while the vectors of a quarter are indexed,
// which locks its table, records of other quarters are pushed.
func TestPushesDoNotWaitForOtherQuarters(t *testing.T) {
	dsn := database(t, shared(t))
	m := open(t, postgres.Options{URL: dsn, SetUp: true})
	s := store(t)
	said(t, s, "laptop", 5)
	p := pusher(s, m, "laptop")
	push(t, p)
	other := remote.Batch{Host: "laptop", Memory: memoryOf(t, dsn, "laptop"), Records: []memory.Shared{{Exported: memory.Exported{Record: memory.Record{ID: "old", Text: "of an older quarter", CreatedAt: 1700000000000}}, Digest: 1}}}
	if _, err := m.Push(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if _, err := conn.Exec(t.Context(), "BEGIN; LOCK TABLE sessctl.records_2023_q4 IN SHARE MODE"); err != nil {
		t.Fatal(err)
	}
	other.Records[0].ID, other.Records[0].CreatedAt = "new", 1772533800000
	if r, err := open(t, postgres.Options{URL: dsn + " lock_timeout=2s"}).Push(t.Context(), other); err != nil || r.Stored != 1 {
		t.Errorf("pushed %d: %v", r.Stored, err)
	}
}

// ofQuarter is a batch of one record of a quarter.
func ofQuarter(t *testing.T, dsn string, at time.Time) remote.Batch {
	t.Helper()
	r := memory.Record{ID: "of " + at.Format("2006-01"), Text: "of that quarter", CreatedAt: at.UnixMilli()}
	return remote.Batch{Host: "laptop", Memory: memoryOf(t, dsn, "laptop"), Records: []memory.Shared{{Exported: memory.Exported{Record: r}, Digest: 1}}}
}

// TestNobodyWaitsForAQuarter: while the first push of a quarter waits for a question
// that takes long, the pushes and questions of others go on.
func TestNobodyWaitsForAQuarter(t *testing.T) {
	dsn := database(t, shared(t))
	m := open(t, postgres.Options{URL: dsn, SetUp: true})
	s := store(t)
	said(t, s, "laptop", 5)
	push(t, pusher(s, m, "laptop"))
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if _, err := conn.Exec(t.Context(), "BEGIN; SELECT count(*) FROM sessctl.records"); err != nil {
		t.Fatal(err)
	}
	first, pushed := open(t, postgres.Options{URL: dsn}), make(chan error, 1)
	batch := ofQuarter(t, dsn, time.UnixMilli(1700000000000))
	go func() {
		_, err := first.Push(t.Context(), batch)
		pushed <- err
	}()
	for text(t, dsn, "SELECT (count(*) > 0)::text FROM pg_locks WHERE relation='sessctl.records_undated'::regclass AND mode='AccessExclusiveLock'") != "true" {
		time.Sleep(5 * time.Millisecond)
	}
	said(t, s, "more", 5)
	if r, err := pusher(s, open(t, postgres.Options{URL: dsn + " lock_timeout=2s"}), "laptop").Push(t.Context()); err != nil || r.Sent != 5 {
		t.Errorf("%+v: %v", r, err)
	}
	select {
	case err := <-pushed:
		t.Errorf("it did not wait: %v", err)
	default:
	}
	if _, err := conn.Exec(t.Context(), "COMMIT"); err != nil {
		t.Fatal(err)
	}
	if err := <-pushed; err != nil {
		t.Error(err)
	}
	if got := text(t, dsn, "SELECT count(*)::text FROM sessctl.records_2023_q4"); got != "1" {
		t.Errorf("that quarter has %s records", got)
	}
}

// TestNextQuarter: a push makes the table of the next quarter, so that nobody waits
// when that begins, and no others; times that no session has share one table.
func TestNextQuarter(t *testing.T) {
	dsn := database(t, shared(t))
	m := open(t, postgres.Options{URL: dsn, SetUp: true})
	s := store(t)
	said(t, s, "laptop", 5)
	push(t, pusher(s, m, "laptop"))
	model, err := s.VectorModel(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now().UTC()
	next := time.Date(now.Year(), now.Month()+3, 1, 0, 0, 0, 0, time.UTC)
	const quarters = "SELECT string_agg(relname, ' ' ORDER BY relname) FROM pg_inherits JOIN pg_class c ON c.oid=inhrelid WHERE inhparent='sessctl.records'::regclass"
	want := fmt.Sprintf("records_2026_q1 records_%d_q%d records_undated", next.Year(), (next.Month()+2)/3)
	for range 2 {
		if _, err := m.Index(t.Context(), model); err != nil {
			t.Fatal(err)
		}
		if got := text(t, dsn, quarters); got != want {
			t.Errorf("there are %s, not %s", got, want)
		}
	}
	for _, odd := range []time.Time{next.AddDate(0, 3, 0), time.Date(2022, 12, 31, 23, 59, 59, 0, time.UTC), time.UnixMilli(0)} {
		if r, err := m.Push(t.Context(), ofQuarter(t, dsn, odd)); err != nil || r.Stored != 1 {
			t.Fatal(r, err)
		}
		if got := text(t, dsn, quarters); got != want {
			t.Errorf("%s: there are %s, not %s", odd, got, want)
		}
	}
	same := func(table string) string {
		return text(t, dsn, "SELECT string_agg(regexp_replace(replace(indexdef, tablename, 'T'), 'INDEX \\S+', 'INDEX I'), E'\\n' ORDER BY regexp_replace(replace(indexdef, tablename, 'T'), 'INDEX \\S+', 'INDEX I')) FROM pg_indexes WHERE schemaname='sessctl' AND tablename='"+table+"'")
	}
	if a, b := same("records_2026_q1"), same("records_undated"); len(a) == 0 || strings.Count(a, "\n") != strings.Count(b, "\n") {
		t.Errorf("a quarter has the indexes\n%s\nand not those of\n%s", a, b)
	}
}
