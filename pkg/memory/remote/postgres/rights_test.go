//go:build unix

package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/sessctl/sessctl/pkg/embed"
	"github.com/sessctl/sessctl/pkg/memory"
	"github.com/sessctl/sessctl/pkg/memory/remote"
	"github.com/sessctl/sessctl/pkg/memory/remote/postgres"
)

// attacked is a shared memory as docs/fleet.md sets it up: it belongs to a role
// that is no superuser. alice pushes and asks, mallory may only push, and both
// have said something.
type attacked struct {
	dsn    string
	stores map[string]*memory.Store
}

func newAttacked(t *testing.T) *attacked {
	t.Helper()
	a := &attacked{dsn: database(t, shared(t)), stores: map[string]*memory.Store{}}
	name := strings.Fields(a.dsn[strings.Index(a.dsn, "dbname="):])[0][len("dbname="):]
	run(t, a.dsn, `DO $$ BEGIN
		IF NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname='team') THEN CREATE ROLE team LOGIN CREATEROLE; END IF;
		IF NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname='sessctl_host') THEN CREATE ROLE sessctl_host; CREATE ROLE sessctl_reader; END IF;
		IF NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname='mallory') THEN
			CREATE ROLE alice LOGIN IN ROLE sessctl_host, sessctl_reader; CREATE ROLE mallory LOGIN IN ROLE sessctl_host; CREATE ROLE reader LOGIN IN ROLE sessctl_reader;
		END IF; END $$`,
		"ALTER DATABASE "+pgx.Identifier{name}.Sanitize()+" OWNER TO team", "CREATE EXTENSION vector")
	open(t, postgres.Options{URL: a.as("team"), SetUp: true})
	for _, host := range []string{"alice", "mallory"} {
		a.stores[host] = store(t)
		said(t, a.stores[host], host, 5)
		push(t, pusher(a.stores[host], open(t, postgres.Options{URL: a.as(host)}), host))
	}
	run(t, a.dsn, "ANALYZE")
	return a
}

// as is how a role connects.
func (a *attacked) as(role string) string {
	return strings.Replace(a.dsn, "user=postgres", "user="+role, 1)
}

// try carries out a statement as a role, and returns how many rows it was about. A
// trial leaves nothing.
func (a *attacked) try(t *testing.T, role, statement string, trial bool) (rows int64, err error) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), a.as(role))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	setting := "SET search_path = sessctl, public"
	if trial {
		setting += "; BEGIN"
	}
	if _, err := conn.Exec(t.Context(), setting); err != nil {
		t.Fatal(err)
	}
	tag, err := conn.Exec(t.Context(), statement)
	return tag.RowsAffected(), err
}

// TestHostsSeeTheirOwn: who only pushes learns nothing of what others said: not
// by the tables of quarters, not by a function that a filter calls, not by what
// the server knows of the columns.
func TestHostsSeeTheirOwn(t *testing.T) {
	a := newAttacked(t)
	for what, query := range map[string]string{
		"records":    "SELECT count(*)::text FROM sessctl.records WHERE text LIKE '%alice%'",
		"statistics": "SELECT count(*)::text FROM pg_stats WHERE schemaname='sessctl' AND (tablename LIKE 'records%' OR tablename='term_counts')",
		"deleted":    "WITH gone AS (DELETE FROM sessctl.records WHERE text LIKE '%alice%' RETURNING 1) SELECT count(*)::text FROM gone",
		"touched":    "WITH touched AS (UPDATE sessctl.hosts SET last_push=1 WHERE name='alice' RETURNING 1) SELECT count(*)::text FROM touched",
		"taken over": "WITH taken AS (UPDATE sessctl.hosts SET memory='x' WHERE name='alice' RETURNING 1) SELECT count(*)::text FROM taken",
	} {
		if got := text(t, a.as("mallory"), query); got != "0" {
			t.Errorf("%s: %s", what, got)
		}
	}
	quarters := strings.Fields(text(t, a.dsn, "SELECT string_agg(inhrelid::regclass::text, ' ') FROM pg_inherits WHERE inhparent='sessctl.records'::regclass"))
	for _, quarter := range quarters {
		if _, err := a.try(t, "mallory", "SELECT * FROM "+quarter, true); err == nil {
			t.Errorf("%s can be read", quarter)
		}
		if _, err := a.try(t, "reader", "DELETE FROM "+quarter, true); err == nil {
			t.Errorf("%s can be emptied", quarter)
		}
	}
	const leak = `CREATE FUNCTION pg_temp.leak(x text) RETURNS boolean COST 0.0001 LANGUAGE plpgsql AS $$ BEGIN IF x LIKE '%alice%' THEN RAISE 'seen: %', x; END IF; RETURN true; END $$;
		SELECT count(*) FROM records WHERE pg_temp.leak(text)`
	if _, err := a.try(t, "mallory", leak, false); err != nil {
		t.Errorf("a function in a filter: %v", err)
	}
	if hits := ask(t, open(t, postgres.Options{URL: a.as("mallory")}), memory.Query{Text: "which crane lifts", Limit: 20}).Hits; len(hits) != 5 || hits[0].Host != "mallory" {
		t.Errorf("who only pushes finds %d records", len(hits))
	}
}

// TestTrappedNames: functions that somebody puts where names are looked for are
// carried out by nobody else, neither by the owner's functions nor by hosts.
func TestTrappedNames(t *testing.T) {
	a := newAttacked(t)
	run(t, a.dsn, "GRANT CREATE ON SCHEMA public TO mallory", "CREATE TABLE public.caught (who text, by text)", "GRANT INSERT ON public.caught TO PUBLIC")
	for _, kind := range []string{"bigint", "text"} {
		run(t, a.as("mallory"), `CREATE FUNCTION public.unnest(x `+kind+`[]) RETURNS SETOF `+kind+` LANGUAGE plpgsql AS $$ BEGIN
			INSERT INTO public.caught VALUES (current_user, 'unnest'); RETURN QUERY SELECT pg_catalog.unnest(x); END $$`)
	}
	run(t, a.as("mallory"), `CREATE FUNCTION public.to_char(x timestamp, y text) RETURNS text LANGUAGE plpgsql AS $$ BEGIN
		INSERT INTO public.caught VALUES (current_user, 'to_char'); RETURN pg_catalog.to_char(x, y); END $$`,
		`CREATE FUNCTION public.times(x numeric, y integer) RETURNS numeric LANGUAGE plpgsql AS $$ BEGIN
			INSERT INTO public.caught VALUES (current_user, '*'); RETURN x OPERATOR(pg_catalog.*) y::numeric; END $$`,
		"CREATE OPERATOR public.* (LEFTARG = numeric, RIGHTARG = integer, FUNCTION = public.times)")
	m := open(t, postgres.Options{URL: a.as("alice")})
	batch := remote.Batch{Host: "alice", Memory: memoryOf(t, a.dsn, "alice"), Records: []memory.Shared{{Exported: memory.Exported{Record: memory.Record{ID: "old", Text: "of an older quarter", CreatedAt: 1700000000000}}, Digest: 1}}}
	if _, err := m.Push(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Bury(t.Context(), "alice", []memory.Forgotten{{ID: "old"}}); err != nil {
		t.Fatal(err)
	}
	ask(t, m, memory.Query{Text: "which crane lifts"})
	if got := text(t, a.dsn, "SELECT coalesce(string_agg(DISTINCT who || ' by ' || by, ', '), '') FROM public.caught"); got != "" {
		t.Errorf("carried out by others: %s", got)
	}
}

// TestHostsCannotBlock: what one role does with its rights keeps no other from
// pushing and asking.
func TestHostsCannotBlock(t *testing.T) {
	a := newAttacked(t)
	for _, statement := range []string{
		// A row of a quarter that has no table yet.
		`INSERT INTO records (host, id, digest, category, importance, created_at, runtime, agent, session, routing_key, archive, archive_path, first_line, last_line, first_byte, end_byte, branch, position, text, terms, length, kind, successor)
			VALUES ((SELECT host FROM hosts WHERE name='mallory'), 'early', 1, 'x', 0.5, 1700000000000, '', '', '', '', '', '', 0, 0, 0, 0, '', 0, 'in the way', '''way''', 1, '', '')`,
		"SELECT add_quarters(array_agg(2200000000000 + g * 2000000000)) FROM generate_series(1::bigint, 500) g",
		"SELECT tend_indexes(1, 0)",
	} {
		if _, err := a.try(t, "mallory", statement, false); err != nil {
			t.Fatal(err)
		}
	}
	m := open(t, postgres.Options{URL: a.as("alice")})
	batch := remote.Batch{Host: "alice", Memory: memoryOf(t, a.dsn, "alice"), Records: []memory.Shared{{Exported: memory.Exported{Record: memory.Record{ID: "mine", Text: "the heron of the same quarter", CreatedAt: 1700000001000}}, Digest: 1}}}
	if r, err := m.Push(t.Context(), batch); err != nil || r.Stored != 1 {
		t.Fatal(r, err)
	}
	if got := text(t, a.dsn, `SELECT (SELECT count(*) FROM sessctl.records_2023_q4) || ' ' || (SELECT count(*) FROM sessctl.records) || ' ' || (SELECT sum(records) FROM sessctl.hosts) || ' '
		|| (SELECT count(*) FROM pg_inherits WHERE inhparent='sessctl.records'::regclass) || ' ' || (SELECT count(*) FROM pg_indexes WHERE schemaname='sessctl' AND indexdef LIKE '%hnsw%')`); got != "2 12 12 3 0" {
		t.Errorf("rows of that quarter, rows, rows counted, quarters and indexes of vectors are %s", got)
	}
}

// TestTombstonesNameWho: whoever pushes may make all hosts forget (docs/fleet.md),
// and it is seen who did: no name can be forged.
func TestTombstonesNameWho(t *testing.T) {
	a := newAttacked(t)
	id := text(t, a.dsn, "SELECT min(id) FROM sessctl.records WHERE text LIKE '%alice%'")
	if _, err := a.try(t, "mallory", "SET application_name='alice'; SELECT bury('mallory', ARRAY['"+id+"'], ARRAY[0], ARRAY[''], ARRAY[0], ARRAY[0])", false); err != nil {
		t.Fatal(err)
	}
	if got := text(t, a.dsn, "SELECT string_agg(t.role || ' as ' || name, ', ') FROM sessctl.tombstones t JOIN sessctl.hosts h USING (host)"); !strings.HasPrefix(got, "mallory as mallory") {
		t.Errorf("forgotten by %s", got)
	}
}

// TestNamesAreTrue: nobody registers a model under the fingerprint of another, or a
// host whose name is an option of ssh or no name; what is true is registered.
func TestNamesAreTrue(t *testing.T) {
	a := newAttacked(t)
	e, err := embed.NewBuiltin()
	if err != nil {
		t.Fatal(err)
	}
	other := e.Model()
	other.Chunker = "of the next version"
	model := func(fingerprint, name string, dim int) string {
		return fmt.Sprintf("INSERT INTO models (fingerprint, name, dim) VALUES ('%s', '%s', %d)", fingerprint, name, dim)
	}
	for statement, want := range map[string]string{
		model(other.Fingerprint(), "x", 3):                          "23514",
		model(other.Fingerprint(), other.String(), 3):               "23514",
		model("0123456789abcdef", other.String(), other.Dim):        "23514",
		model(other.Fingerprint(), other.String(), other.Dim):       "",
		"INSERT INTO hosts (name) VALUES ('-oProxyCommand=x')":      "23514",
		"INSERT INTO hosts (name) VALUES ('two words')":             "23514",
		"INSERT INTO hosts (name) VALUES (E'line\\nline')":          "23514",
		"INSERT INTO hosts (name) VALUES ('')":                      "23514",
		"INSERT INTO hosts (name) VALUES (repeat('x', 256))":        "23514",
		"INSERT INTO hosts (name) VALUES ('bob@gamma.example.org')": "",
	} {
		_, err := a.try(t, "mallory", statement, false)
		var refused *pgconn.PgError
		if errors.As(err, &refused) != (want != "") || refused != nil && refused.Code != want {
			t.Errorf("%s: %v", statement, err)
		}
	}
}

// TestWhoIsRefused: a role without rights is told that it has none, and not that there
// are no tables; one that gets no connection, that the server is busy.
func TestWhoIsRefused(t *testing.T) {
	a := newAttacked(t)
	run(t, a.dsn, `DO $$ BEGIN IF NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname='revoked') THEN CREATE ROLE revoked LOGIN; CREATE ROLE late LOGIN IN ROLE sessctl_host CONNECTION LIMIT 0; END IF; END $$`)
	for role, want := range map[string]error{"revoked": remote.ErrNotAllowed, "late": remote.ErrBusy} {
		m, err := postgres.Open(t.Context(), postgres.Options{URL: a.as(role)})
		if err == nil {
			_ = m.Close()
		}
		if !errors.Is(err, want) || errors.Is(err, remote.ErrNotSetUp) {
			t.Errorf("%s: %v, not %v", role, err, want)
		}
	}
}

// TestBusy: a server that has no room, no lock, no connection or no time, that goes
// down, or that a pooler has mixed up, is busy: a question is then answered by the
// memory of this host, and a push is tried later.
func TestBusy(t *testing.T) {
	dsn := database(t, shared(t))
	m := open(t, postgres.Options{URL: dsn, SetUp: true})
	for code, want := range map[string]error{
		"53100": remote.ErrBusy, "53200": remote.ErrBusy, "53300": remote.ErrBusy, "55P03": remote.ErrBusy, "57014": remote.ErrBusy, "57P01": remote.ErrBusy,
		"57P03": remote.ErrBusy, "40P01": remote.ErrBusy, "25P03": remote.ErrBusy, "42P05": remote.ErrBusy, "26000": remote.ErrBusy, "42501": remote.ErrNotAllowed,
	} {
		run(t, dsn, "CREATE OR REPLACE FUNCTION sessctl.take_turn() RETURNS void LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'x' USING ERRCODE = '"+code+"'; END $$")
		if _, err := m.Recall(t.Context(), memory.Query{Text: "crane", Rank: memory.RankText}, nil, embed.Model{}); !errors.Is(err, want) {
			t.Errorf("a question, %s: %v", code, err)
		}
	}
}
