//go:build unix

package postgres_test

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// may is a row of the table "Who may do what" of docs/fleet.md: what a host and what a
// reader may do, and statements that do it. Each is tried as both.
type may struct {
	what         string
	host, reader bool
	statements   []string
}

// ofRecord is a statement that adds a record: of a host, with other columns too.
func ofRecord(host, length, columns, values string) string {
	return "INSERT INTO records (host, id, digest, category, importance, created_at, runtime, agent, session, routing_key, archive, archive_path, first_line, last_line, first_byte, end_byte, branch, position, text, terms, length, kind, successor" + columns +
		") VALUES ((SELECT host FROM hosts WHERE name='" + host + "'), 'new', 1, 'session_history', 0.5, 1772533800000, '', '', '', '', '', '', 0, 0, 0, 0, '', 0, 'text', '', " + length + ", '', ''" + values + ")"
}

func rights() []may {
	return []may{
		{"read the records of the hosts that its role registered", true, true, []string{"SELECT id FROM records WHERE host=(SELECT host FROM hosts WHERE name='mallory')"}},
		{"add and remove records of these hosts", true, false, []string{
			ofRecord("mallory", "1", "", ""), "DELETE FROM records WHERE host=(SELECT host FROM hosts WHERE name='mallory')", "UPDATE hosts SET last_push=last_push+1 WHERE name='mallory'",
			"SELECT add_quarters(ARRAY[1672531200000])", "SELECT tend_indexes(1, 100000)",
		}},
		{"read the records of other hosts, and which words they use", false, true, []string{"SELECT id FROM records WHERE host=(SELECT host FROM hosts WHERE name='alice')", "SELECT term FROM term_counts"}},
		{"read names and figures of all hosts, models, and which ids were forgotten", true, true, []string{"SELECT name, records, last_push FROM hosts", "SELECT name FROM models", "SELECT count(id) FROM tombstones"}},
		{"register a name that nobody has, or a model under its own fingerprint", true, false, []string{
			"INSERT INTO hosts (name) VALUES ('third')",
			"INSERT INTO models (fingerprint, name, dim) SELECT left(encode(sha256(convert_to(n, 'UTF8')), 'hex'), 16), n, 3 FROM (SELECT 'other;dim=3;'::text AS n) x",
		}},
		{"make all hosts forget a record whose id it knows, under its own name", true, false, []string{
			"SELECT bury('mallory', ARRAY['x'], ARRAY[0], ARRAY[''], ARRAY[0], ARRAY[0])", "SELECT remove_buried(ARRAY['x'])",
		}},
		{"make others wait with locks", true, true, []string{"SELECT pg_advisory_xact_lock(7310575183871968117)"}},
		{"change a record, or add or remove one of other hosts", false, false, []string{
			"UPDATE records SET text='x'", "TRUNCATE records", "DELETE FROM records WHERE host=(SELECT host FROM hosts WHERE name='alice')",
			ofRecord("alice", "1", "", ""), ofRecord("mallory", "1", ", key", ", 1"), ofRecord("mallory", "1", ", model, vector", ", 1, '[1,0,0]'"),
			ofRecord("mallory", "1", ", model, vector", ", 1, ('[' || repeat('9,', 1023) || '9]')::halfvec"), ofRecord("mallory", "1", ", model", ", 1"),
			ofRecord("mallory", "1000000", "", ""), ofRecord("mallory", "-5", "", ""), "SELECT setval('record_keys', 1)",
			"SELECT push(host, 'x', true, last_push, NULL, ARRAY(SELECT id FROM records), '{}', '[]', 1000) FROM hosts WHERE name='alice'",
		}},
		{"forget under the name of another host, or undo a forgetting", false, false, []string{
			"INSERT INTO tombstones (id, host, at, archive, first_byte, end_byte) VALUES ('x', 1, 0, '', 0, 0)", "DELETE FROM tombstones",
			"SELECT bury('alice', ARRAY['x'], ARRAY[0], ARRAY[''], ARRAY[0], ARRAY[0])",
		}},
		{"change or remove a host or a model, or register one for others", false, false, []string{
			"UPDATE hosts SET role='mallory' WHERE name='alice'", "UPDATE hosts SET records=0", "UPDATE hosts SET last_push=9999999999999 WHERE name='alice'", "UPDATE hosts SET memory='x' WHERE name='alice'",
			"UPDATE hosts SET name='x' WHERE name='mallory'", "DELETE FROM hosts", "INSERT INTO hosts (name, role) VALUES ('x', 'alice')", "INSERT INTO hosts (name, records) VALUES ('x', 1000000)",
			"SET ROLE sessctl_host; INSERT INTO hosts (name) VALUES ('squat')", "INSERT INTO hosts (name) VALUES ('-oProxyCommand=x')",
			"UPDATE models SET dim=3", "DELETE FROM models", "INSERT INTO models (fingerprint, name, dim) VALUES ('12ce4ab8aee050de', 'x', 3)",
			"UPDATE term_counts SET records=0", "INSERT INTO term_counts VALUES ('x', 1, 5)", "UPDATE state SET value='x'", "INSERT INTO migrations (version) VALUES (1000)",
		}},
		{"change tables, functions or rights, get another role, or reach files of the server", false, false, []string{
			"DROP TABLE records", "ALTER TABLE records DISABLE ROW LEVEL SECURITY", "DROP POLICY records_own ON records", "SET row_security = off; SELECT text FROM records", "SELECT set_storage('records')", "SELECT build_words(true)",
			"CREATE TEMP TABLE t (host integer, terms tsvector, length integer); CREATE TRIGGER x AFTER INSERT ON t REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION count_added()",
			"CREATE OR REPLACE FUNCTION sessctl.quarter_of(at bigint) RETURNS timestamp LANGUAGE sql AS 'SELECT now()::timestamp'", "ALTER FUNCTION add_quarters SET search_path = public",
			"CREATE TABLE sessctl.mine (x text)", "CREATE TABLE public.mine (x text)", "GRANT sessctl_reader TO mallory", "GRANT sessctl_host TO reader",
			"ALTER ROLE mallory SUPERUSER", "ALTER ROLE mallory CREATEROLE", "ALTER ROLE alice PASSWORD 'x'", "SET ROLE alice", "SET ROLE team", "SET SESSION AUTHORIZATION alice",
			"COPY records TO PROGRAM 'cat'", "SELECT pg_read_file('PG_VERSION')",
		}},
	}
}

// TestWhoMayDoWhat: a host and a reader may do what the table says and nothing else,
// whatever statement they write.
func TestWhoMayDoWhat(t *testing.T) {
	a := newAttacked(t)
	for _, right := range rights() {
		for role, allowed := range map[string]bool{"mallory": right.host, "reader": right.reader} {
			for _, statement := range right.statements {
				rows, err := a.try(t, role, statement, true)
				if did := err == nil && rows > 0; did != allowed || err != nil && !isRefusal(err) {
					t.Errorf("%s: %s: %d rows, %v", role, statement, rows, err)
				}
			}
		}
	}
	for _, role := range []string{"alice", "reader"} {
		if _, err := a.try(t, "mallory", "SET ROLE "+role, true); !isRefusal(err) {
			t.Errorf("mallory is %s: %v", role, err)
		}
	}
	if got := text(t, a.dsn, "SELECT count(*) || ' ' || (SELECT sum(records) FROM sessctl.hosts) || ' ' || (SELECT count(*) FROM sessctl.tombstones) FROM sessctl.records"); got != "10 10 0" {
		t.Errorf("afterwards there are %s", got)
	}
}

// isRefusal says whether the server refused something for want of a right, because it
// cannot be true, or because another host was pushed meanwhile: what it may not see.
func isRefusal(err error) bool {
	var refused *pgconn.PgError
	return errors.As(err, &refused) && slices.Contains([]string{"42501", "23514", "40001"}, refused.Code)
}

// TestTableOfRights: docs/fleet.md has that table.
func TestTableOfRights(t *testing.T) {
	page, err := os.ReadFile("../../../../docs/fleet.md")
	if err != nil {
		t.Fatal(err)
	}
	table := "| may it ... | a host (`sessctl_host`) | a reader (`sessctl_reader`) |\n|---|---|---|\n"
	said := map[bool]string{true: "yes", false: "no"}
	for _, right := range rights() {
		table += "| " + right.what + " | " + said[right.host] + " | " + said[right.reader] + " |\n"
	}
	if !strings.Contains(string(page), "\n\n"+table+"\n") {
		t.Errorf("its section \"Who may do what\" must have this table:\n%s", table)
	}
}
