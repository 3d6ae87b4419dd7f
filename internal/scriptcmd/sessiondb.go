package scriptcmd

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/sessctl/sessctl/internal/fakesessiondb"
)

// sessiondb FILE [live] [SQL] writes a database with OpenCode's sessions; with
// live all of it is only in the write-ahead log beside it. SQL changes it then.
func sessionDB(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: sessiondb FILE [live] [SQL]")
	}
	to := ts.MkAbs(args[0])
	work, err := os.MkdirTemp("", "sessiondb-")
	ts.Check(err)
	from := to
	live := slices.Contains(args[1:], "live")
	if live {
		from = filepath.Join(work, "a.db")
	}
	d := fakesessiondb.Create(from)
	fakesessiondb.Story(d)
	for _, query := range args[1:] {
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
