package scriptcmd

import "github.com/rogpeppe/go-internal/testscript"

func postgresServer(ts *testscript.TestScript, _ bool, _ []string) {
	ts.Fatalf("no PostgreSQL is started on this system")
}

// HasPostgres reports whether a server can be started here.
func HasPostgres() bool { return false }
