//go:build unix

package scriptcmd

import (
	"context"
	"strconv"

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

// HasPostgres reports whether such a server can be started here.
func HasPostgres() bool { return postgres.Available() }
