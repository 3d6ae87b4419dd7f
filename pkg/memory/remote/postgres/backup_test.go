//go:build unix

package postgres_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	server "github.com/sessctl/sessctl/internal/postgres"
	"github.com/sessctl/sessctl/internal/tier"
	"github.com/sessctl/sessctl/pkg/memory"
	"github.com/sessctl/sessctl/pkg/memory/remote"
	"github.com/sessctl/sessctl/pkg/memory/remote/conformance"
	"github.com/sessctl/sessctl/pkg/memory/remote/postgres"
)

// team is a shared memory with its roles, as docs/fleet.md sets it up, and the
// memories of its hosts.
type team struct {
	dsn    string // of a superuser
	stores map[string]*memory.Store
}

// newTeam makes the roles and an empty database of theirs.
func newTeam(t *testing.T, s *server.Server) *team {
	t.Helper()
	run(t, s.DSN, "CREATE ROLE team LOGIN CREATEROLE", "CREATE ROLE sessctl_host", "CREATE ROLE sessctl_reader", "GRANT sessctl_host, sessctl_reader TO team WITH ADMIN OPTION",
		"CREATE ROLE laptop LOGIN IN ROLE sessctl_host, sessctl_reader", "CREATE ROLE desktop LOGIN IN ROLE sessctl_host", "CREATE ROLE tablet LOGIN IN ROLE sessctl_host",
		"CREATE DATABASE team OWNER team")
	return &team{dsn: strings.Replace(s.DSN, "dbname=postgres", "dbname=team", 1), stores: map[string]*memory.Store{}}
}

func (x *team) as(role string) string {
	return strings.Replace(x.dsn, "user=postgres", "user="+role, 1)
}

// push lets a host push with the rights of its role.
func (x *team) push(t *testing.T, host string) remote.Report {
	t.Helper()
	return push(t, pusher(x.stores[host], open(t, postgres.Options{URL: x.as(host)}), host))
}

// forget forgets notes of the session that all hosts remember.
func (x *team) forget(t *testing.T, host string, notes ...int) {
	t.Helper()
	var ids []string
	for _, i := range notes {
		ids = append(ids, noteID(i))
	}
	if n, err := x.stores[host].Forget(t.Context(), memory.Selection{IDs: ids}); err != nil || n.Records != len(ids) {
		t.Fatal(n, err)
	}
}

const teamNotes = 40

func noteID(i int) string {
	return memory.RecordID(conformance.Agent, "shared", i, "test", conformance.NoteText("shared", i, teamNotes))
}

// has says how many records of the server are one of these notes.
func (x *team) has(t *testing.T, notes ...int) string {
	t.Helper()
	var ids []string
	for _, i := range notes {
		ids = append(ids, "'"+noteID(i)+"'")
	}
	return text(t, x.dsn, "SELECT count(*)::text FROM sessctl.records WHERE id IN ("+strings.Join(ids, ",")+")")
}

// TestRestoredFromBackup: the shared memory is dumped, goes on, and the dump is
// restored into another server, whose transactions have other numbers. Nothing
// of what the hosts have is missing there after their next push, nothing comes
// back that was forgotten, roles may do what they might, and whatever is
// forgotten from then on reaches every host.
func TestRestoredFromBackup(t *testing.T) {
	tier.SkipUnlessLong(t, "it starts servers of its own (make accept-postgres)")
	shared(t)
	var servers [2]*server.Server
	for i := range servers {
		s, err := server.StartVector(t.Context(), server.TextSearch())
		if err != nil {
			t.Fatal(err)
		}
		defer s.Stop()
		servers[i] = s
	}
	before := newTeam(t, servers[0])
	run(t, before.dsn, "CREATE EXTENSION vector")
	if server.TextSearch() != "" {
		run(t, before.dsn, "CREATE EXTENSION pg_textsearch")
	}
	open(t, postgres.Options{URL: before.as("team"), SetUp: true})
	for _, host := range []string{"laptop", "desktop", "tablet"} {
		before.stores[host] = store(t)
		said(t, before.stores[host], "shared", teamNotes)
		before.push(t, host)
	}
	said(t, before.stores["laptop"], "another", 3)
	before.forget(t, "laptop", 1, 2)
	before.push(t, "laptop")
	advance(t, before.dsn)
	for range 2 {
		before.push(t, "tablet") // its mark is far ahead of the other server's numbers
	}
	dump := dumped(t, servers[0])

	// What comes after the dump leaves as many records of laptop as it had.
	before.forget(t, "laptop", 3, 4, 5)
	said(t, before.stores["laptop"], "later", 3)
	for range 2 {
		before.push(t, "laptop")
	}
	before.push(t, "desktop")

	after := newTeam(t, servers[1])
	after.stores = before.stores
	if out, err := servers[1].Run(t.Context(), "pg_restore", "--exit-on-error", "-d", after.dsn, dump); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if got := after.has(t, 3, 4, 5); got != "9" {
		t.Fatalf("the dump has %s of the forgotten records", got)
	}
	if r := after.push(t, "laptop"); !r.SetBack || !r.Compared || r.ThereNow != teamNotes-5+3+3 || r.Stored != 3 {
		t.Errorf("laptop: %+v", r)
	}
	for _, host := range []string{"tablet", "desktop"} {
		if r := after.push(t, host); r.ThereNow != teamNotes-5 {
			t.Errorf("%s: %+v", host, r)
		}
		if left, err := after.stores[host].Containing(t.Context(), memory.Selection{Session: "shared"}, "note"); err != nil || len(left) != teamNotes-5 {
			t.Errorf("%s remembers %d records: %v", host, len(left), err)
		}
	}
	if got := after.has(t, 1, 2, 3, 4, 5); got != "0" {
		t.Errorf("%s forgotten records are there again", got)
	}
	after.forget(t, "laptop", 7)
	after.push(t, "laptop")
	for _, host := range []string{"laptop", "desktop", "tablet"} {
		if r := after.push(t, host); r.SetBack || r.Sent != 0 || host != "laptop" && r.Honoured != 1 {
			t.Errorf("%s afterwards: %+v", host, r)
		}
	}
	for role, want := range map[string]string{"laptop": fmt.Sprint(3*(teamNotes-6) + 6), "desktop": fmt.Sprint(teamNotes - 6)} {
		if got := text(t, after.as(role), "SELECT count(*)::text FROM sessctl.records"); got != want {
			t.Errorf("%s sees %s records, not %s", role, got, want)
		}
	}
	m := open(t, postgres.Options{URL: after.as("laptop")})
	if hits := ask(t, m, memory.Query{Text: "note 30 of the crane", Limit: 5}).Hits; len(hits) == 0 {
		t.Error("nothing is found")
	}
	if got := words(t, m); server.TextSearch() != "" && !strings.HasPrefix(got, "pg_textsearch 1.") {
		t.Errorf("words by %s", got)
	}
}

// dumped is a dump of the database of a team, as docs/fleet.md makes it.
func dumped(t *testing.T, s *server.Server) string {
	t.Helper()
	out, err := s.Run(t.Context(), "pg_dump", "-Fc", "-d", strings.Replace(s.DSN, "dbname=postgres", "dbname=team", 1))
	if errors.Is(err, server.ErrUnavailable) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "dump") // the server's user reads it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	path := filepath.Join(dir, "team.dump")
	if err := errors.Join(os.WriteFile(path, out, 0o644), os.Chmod(dir, 0o755)); err != nil { //nolint:gosec // made up, and read by another user
		t.Fatal(err)
	}
	return path
}

// advance lets a server number many transactions.
func advance(t *testing.T, dsn string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	for range 3000 {
		if _, err := conn.Exec(t.Context(), "SELECT pg_current_xact_id()"); err != nil {
			t.Fatal(err)
		}
	}
}
