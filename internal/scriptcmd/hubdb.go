package scriptcmd

import (
	"path/filepath"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/sessctl/sessctl/internal/fakehubdb"
)

// hubdb DIR [DATABASE SQL] writes the databases of Cline's hub into a directory, or
// changes one of them.
func hubDB(ts *testscript.TestScript, neg bool, args []string) {
	switch {
	case !neg && len(args) == 1:
		ts.Check(fakehubdb.Fill(ts.MkAbs(args[0])))
	case !neg && len(args) == 3:
		ts.Check(fakehubdb.Change(filepath.Join(ts.MkAbs(args[0]), args[1]), args[2]))
	default:
		ts.Fatalf("usage: hubdb DIR [DATABASE SQL]")
	}
}
