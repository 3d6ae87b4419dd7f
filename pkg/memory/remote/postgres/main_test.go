//go:build unix

package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	server "github.com/sessctl/sessctl/internal/postgres"
	"github.com/sessctl/sessctl/pkg/memory"
	"github.com/sessctl/sessctl/pkg/memory/remote"
	"github.com/sessctl/sessctl/pkg/memory/remote/conformance"
	"github.com/sessctl/sessctl/pkg/memory/remote/postgres"
)

// testServer is the server of all tests of this package, or why there is none.
type testServer struct {
	*server.Server
	reason error
}

// shared is started once: it takes seconds.
func shared(t *testing.T) *server.Server {
	t.Helper()
	if started.reason != nil {
		t.Skip(started.reason)
	}
	return started.Server
}

var started = startServer() //nolint:gochecknoglobals // one server for all tests, stopped by TestMain

func startServer() testServer {
	s, err := server.StartVector(context.Background(), server.TextSearch())
	if err != nil && !errors.Is(err, server.ErrUnavailable) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return testServer{s, err}
}

func TestMain(m *testing.M) {
	code := m.Run()
	if started.Server != nil {
		started.Stop()
	}
	os.Exit(code)
}

// database makes an empty database and returns how to connect to it.
func database(t *testing.T, s *server.Server) string {
	t.Helper()
	name := strings.ToLower(strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, t.Name()))
	name = name[max(0, len(name)-50):]
	name = pgx.Identifier{name}.Sanitize()
	run(t, s.DSN, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)", "CREATE DATABASE "+name) // -count runs a test again
	return strings.Replace(s.DSN, "dbname=postgres", "dbname="+strings.Trim(name, `"`), 1)
}

func connect(t *testing.T, dsn string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

func run(t *testing.T, dsn string, statements ...string) {
	t.Helper()
	conn := connect(t, dsn)
	defer conn.Close(context.Background())
	for _, statement := range statements {
		if _, err := conn.Exec(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

func open(t *testing.T, o postgres.Options) *postgres.Memory {
	t.Helper()
	m, err := postgres.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	return m
}

func store(t *testing.T) *memory.Store {
	t.Helper()
	s, err := memory.Open(t.Context(), t.TempDir(), memory.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// TestConformance: PostgreSQL is a shared memory.
func TestConformance(t *testing.T) {
	dsn := database(t, shared(t))
	open(t, postgres.Options{URL: dsn, SetUp: true})
	conform(t, dsn, dsn)
}

// TestFirstPushes: of memories that push under one name for the first time at one
// instant at most one gets it.
func TestFirstPushes(t *testing.T) {
	dsn := database(t, shared(t))
	open(t, postgres.Options{URL: dsn, SetUp: true})
	if err := conformance.FirstPushes(t.Context(), func(ctx context.Context) (remote.Memory, error) {
		return postgres.Open(ctx, postgres.Options{URL: dsn})
	}); err != nil {
		t.Error(err)
	}
}

// conform holds the shared memory of a database, as it is reached by a way to it, to
// what is required of each.
func conform(t *testing.T, dsn, way string) {
	t.Helper()
	for _, r := range conformance.Requirements(conformance.AsHosts) {
		t.Run(r.Name, func(t *testing.T) {
			run(t, dsn, "SET search_path = sessctl", "TRUNCATE records, hosts, models, term_counts, tombstones RESTART IDENTITY CASCADE",
				"DO $$ BEGIN IF to_regclass('record_words') IS NOT NULL THEN TRUNCATE record_words; END IF; END $$")
			if err := r.Check(t.Context(), open(t, postgres.Options{URL: way, Exact: true}), store(t)); err != nil {
				t.Error(err)
			}
		})
	}
}
