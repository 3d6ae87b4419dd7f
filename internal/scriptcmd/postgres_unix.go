//go:build unix

package scriptcmd

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/sessctl/sessctl/internal/postgres"
)

// postgres starts a PostgreSQL server with pgvector and sets PGHOST, PGPORT and PGUSER so
// that its superuser connects by its socket. A script that wants one begins with
// [!postgres] skip.
func postgresServer(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: postgres")
	}
	server, port, err := postgres.Listening(context.Background())
	ts.Check(err)
	ts.Defer(server.Stop)
	ts.Setenv("PGHOST", server.Directory())
	ts.Setenv("PGPORT", strconv.Itoa(port))
	ts.Setenv("PGUSER", "postgres")
}

// psql STATEMENT carries out a statement as the superuser, in the database PGDATABASE, else
// sessctl, of the server at PGHOST.
func psql(ts *testscript.TestScript, neg bool, args []string) {
	way := fmt.Sprintf("host=%s port=%s user=postgres dbname=%s", ts.Getenv("PGHOST"), ts.Getenv("PGPORT"), cmp.Or(ts.Getenv("PGDATABASE"), "sessctl"))
	if err := postgres.Exec(context.Background(), way, strings.Join(args, " ")); (err != nil) != neg {
		ts.Fatalf("%v: %v", args, err)
	}
}

// HasPostgres reports whether such a server can be started here.
func HasPostgres() bool { return postgres.Available() }
