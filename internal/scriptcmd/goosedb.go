package scriptcmd

import (
	"os"
	"strconv"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/sessctl/sessctl/internal/fakegoosedb"
)

// goosedb FILE SCHEMA SQL-FILE writes a database as Goose does, in which the
// statements of a file were run.
func gooseDB(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: goosedb FILE SCHEMA SQL-FILE")
	}
	schema, err := strconv.Atoi(args[1])
	ts.Check(err)
	statements, err := os.ReadFile(ts.MkAbs(args[2]))
	ts.Check(err)
	ts.Check(fakegoosedb.Write(ts.MkAbs(args[0]), schema, string(statements)))
}
