//go:build unix

package postgres_test

import (
	"fmt"
	"strings"
	"testing"

	server "github.com/sessctl/sessctl/internal/postgres"
	"github.com/sessctl/sessctl/internal/tier"
	"github.com/sessctl/sessctl/pkg/memory"
	"github.com/sessctl/sessctl/pkg/memory/remote"
	"github.com/sessctl/sessctl/pkg/memory/remote/postgres"
)

func needTextSearch(t *testing.T) {
	t.Helper()
	shared(t)
	if server.TextSearch() == "" {
		t.Skip("the server has no pg_textsearch: testdata/postgresql/install.sh installs it")
	}
}

// withTextSearch is an empty database that has pg_textsearch.
func withTextSearch(t *testing.T) string {
	t.Helper()
	needTextSearch(t)
	dsn := database(t, shared(t))
	run(t, dsn, "CREATE EXTENSION pg_textsearch")
	return dsn
}

// words says what proposes records by their words.
func words(t *testing.T, m remote.Memory) string {
	t.Helper()
	c, err := m.Count(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(c.Words + " " + c.Unused)
}

// inStep: the table of pg_textsearch has the words of every record, and no
// others.
const inStep = `SELECT (NOT EXISTS (SELECT key, created_at, sessctl.words_of(terms) FROM sessctl.records EXCEPT SELECT * FROM sessctl.record_words)
	AND (SELECT count(*) FROM sessctl.records) = (SELECT count(*) FROM sessctl.record_words))::text`

// TestConformanceByTextSearch: with pg_textsearch it is the same shared memory.
func TestConformanceByTextSearch(t *testing.T) {
	dsn := withTextSearch(t)
	m := open(t, postgres.Options{URL: dsn, SetUp: true})
	if got := words(t, m); !strings.HasPrefix(got, "pg_textsearch 1.") {
		t.Fatalf("words by %s", got)
	}
	conform(t, dsn, dsn)
	if got := text(t, dsn, inStep); got != "true" {
		t.Error("record_words is not in step")
	}
}

// TestTextSearchGained: a server that gets pg_textsearch later uses it once that
// was set up, for what was there before too; one that loses it again answers and
// takes pushes as before.
func TestTextSearchGained(t *testing.T) {
	dsn := withTextSearch(t)
	run(t, dsn, "DROP EXTENSION pg_textsearch")
	m := open(t, postgres.Options{URL: dsn, SetUp: true})
	s := store(t)
	said(t, s, "laptop", 60)
	p := pusher(s, m, "laptop")
	push(t, p)
	q := memory.Query{Text: "the crane that lifts 42 tons", Rank: memory.RankText, Limit: 5}
	want := found(ask(t, m, q))
	for _, step := range []struct {
		statement string
		setUp     bool
		words     string
	}{
		{"SELECT 1", false, "the index of terms (GIN)"},
		{"CREATE EXTENSION pg_textsearch", false, "the index of terms (GIN) pg_textsearch: its index is not made, or behind"},
		{"SELECT 1", true, "pg_textsearch 1."},
		{"SELECT 1", false, "pg_textsearch 1."},
		{"UPDATE sessctl.state SET value='behind' WHERE name='words'", false, "the index of terms (GIN) pg_textsearch: its index is not made, or behind"},
		{"SELECT 1", true, "pg_textsearch 1."},
		{"DROP EXTENSION pg_textsearch CASCADE", false, "the index of terms (GIN) pg_textsearch: this database has lost the extension"},
		{"SELECT 1", true, "the index of terms (GIN)"},
		{"CREATE EXTENSION pg_textsearch", true, "pg_textsearch 1."},
	} {
		run(t, dsn, step.statement)
		m := open(t, postgres.Options{URL: dsn, SetUp: step.setUp})
		if got := words(t, m); !strings.HasPrefix(got, step.words) || step.words == "the index of terms (GIN)" && got != step.words {
			t.Errorf("after %s: words by %s", step.statement, got)
		}
		if got := found(ask(t, m, q)); got != want {
			t.Errorf("after %s: found %s, not %s", step.statement, got, want)
		}
	}
	if got := text(t, dsn, inStep); got != "true" {
		t.Error("record_words is not in step")
	}
}

// found are the ids and scores of an answer.
func found(r memory.Result) string {
	var b strings.Builder
	for _, h := range r.Hits {
		fmt.Fprintf(&b, "%s %.4f\n", h.ID, h.Score)
	}
	return b.String()
}

// TestTextSearchNotLoaded: a server that is started without pg_textsearch cannot
// touch the table with its index. Pushes and questions go on without it, it is
// not used before it was made anew, and then it has all of them.
func TestTextSearchNotLoaded(t *testing.T) {
	tier.SkipUnlessLong(t, "it starts a server of its own (make accept-postgres)")
	needTextSearch(t)
	own, err := server.StartVector(t.Context(), server.TextSearch())
	if err != nil {
		t.Fatal(err)
	}
	defer own.Stop()
	run(t, own.DSN, "CREATE EXTENSION vector", "CREATE EXTENSION pg_textsearch")
	s := store(t)
	said(t, s, "laptop", 40)
	for _, step := range []struct {
		setting, words string
		setUp          bool
	}{
		{server.TextSearch(), "pg_textsearch 1.", true},
		{"", "the index of terms (GIN) pg_textsearch: the server has not loaded it", false},
		{"", "the index of terms (GIN) pg_textsearch: the server has not loaded it", true},
		{server.TextSearch(), "the index of terms (GIN) pg_textsearch: its index is not made, or behind", false},
		{server.TextSearch(), "pg_textsearch 1.", true},
	} {
		own.Kill()
		own.Set(step.setting)
		if err := own.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
		m := open(t, postgres.Options{URL: own.DSN, SetUp: step.setUp})
		if got := words(t, m); !strings.HasPrefix(got, step.words) {
			t.Errorf("%+v: words by %s", step, got)
		}
		said(t, s, fmt.Sprintf("more%t%s", step.setUp, step.setting), 7)
		oldest := text(t, own.DSN, "SELECT coalesce((SELECT id FROM sessctl.records ORDER BY key LIMIT 1), 'none')")
		if _, err := s.Forget(t.Context(), memory.Selection{ID: oldest}); err != nil {
			t.Fatal(err)
		}
		push(t, pusher(s, m, "laptop"))
		if hits := ask(t, m, memory.Query{Text: "note 3 of the crane", Limit: 5}).Hits; len(hits) != 5 {
			t.Errorf("%+v: %d hits", step, len(hits))
		}
	}
	if got := text(t, own.DSN, inStep); got != "true" {
		t.Error("record_words is not in step")
	}
}

// TestTextSearchTellsHostsNothing: the statistics of the index count what all
// hosts have said. Who may only push learns nothing of them.
func TestTextSearchTellsHostsNothing(t *testing.T) {
	needTextSearch(t)
	a := newAttacked(t)
	run(t, a.dsn, "CREATE EXTENSION pg_textsearch")
	open(t, postgres.Options{URL: a.as("team"), SetUp: true})
	const asked = "to_bm25query('crane', 'sessctl.record_words_by_word')"
	for _, statement := range []string{
		"SELECT words FROM record_words",
		"SELECT key FROM record_words ORDER BY words <@> " + asked + " LIMIT 5",
		"SELECT m.words <@> " + asked + " FROM (SELECT text AS words FROM records) m",
		"SELECT text <@> " + asked + " FROM records",
		"CREATE TEMP TABLE record_words (words text); INSERT INTO record_words VALUES ('crane'); SELECT m.words <@> " + asked + " FROM pg_temp.record_words m",
		"SELECT ARRAY[text] <@> " + asked + " FROM records",
		"SELECT bm25_dump_index('sessctl.record_words_by_word')",
		"SELECT bm25_summarize_index('sessctl.record_words_by_word')",
		"SELECT bm25_force_merge('sessctl.record_words_by_word')",
		"SELECT bm25_spill_index('sessctl.record_words_by_word')",
		"INSERT INTO record_words VALUES (1, 1, 'x')",
		"DELETE FROM record_words",
		"SELECT build_words(false)",
		"SELECT has_words()",
		"SELECT words_of('a')",
	} {
		if _, err := a.try(t, "mallory", statement, false); err == nil {
			t.Errorf("mallory: %s", statement)
		}
	}
	for role, want := range map[string]string{"mallory": "the index of terms (GIN)", "alice": "pg_textsearch 1.", "reader": "pg_textsearch 1."} {
		m := open(t, postgres.Options{URL: a.as(role)})
		if got := words(t, m); !strings.HasPrefix(got, want) {
			t.Errorf("%s: words by %s", role, got)
		}
		hits := ask(t, m, memory.Query{Text: "which crane lifts", Limit: 20}).Hits
		for _, h := range hits {
			if role == "mallory" && h.Host != "mallory" {
				t.Errorf("mallory finds %s", h.Host)
			}
		}
		if len(hits) == 0 {
			t.Errorf("%s finds nothing", role)
		}
	}
}
