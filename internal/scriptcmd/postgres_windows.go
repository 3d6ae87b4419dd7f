package scriptcmd

import "github.com/rogpeppe/go-internal/testscript"

func postgresServer(ts *testscript.TestScript, _ bool, _ []string) {
	ts.Fatalf("no PostgreSQL is started on this system")
}

func psql(ts *testscript.TestScript, neg bool, args []string) { postgresServer(ts, neg, args) }

// HasPostgres reports whether a server can be started here.
func HasPostgres() bool { return false }
