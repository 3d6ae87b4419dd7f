package scriptcmd

import (
	"os"
	"path/filepath"
	"strconv"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/sessctl/sessctl/internal/fakestatedb"
)

// statedb FILE SCHEMA [live] [SQL] writes a database with Hermes' sessions; with
// live all of it is only in the write-ahead log beside it. SQL changes it then.
func stateDB(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: statedb FILE SCHEMA [live] [SQL]")
	}
	to := ts.MkAbs(args[0])
	schema, err := strconv.Atoi(args[1])
	ts.Check(err)
	work, err := os.MkdirTemp("", "statedb-")
	ts.Check(err)
	from, live := to, len(args) > 2 && args[2] == "live"
	if live {
		from = filepath.Join(work, "a.db")
	}
	d := fakestatedb.Told(from, schema)
	for _, query := range args[2:] {
		if query != "live" {
			d.Do(query)
		}
	}
	if live {
		err = d.Leave(from, to)
	} else {
		err = d.Close()
	}
	ts.Check(err)
	ts.Check(os.RemoveAll(work))
}
