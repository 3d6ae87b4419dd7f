package scriptcmd

import (
	"bytes"
	"database/sql"

	"github.com/rogpeppe/go-internal/testscript"
	_ "modernc.org/sqlite" // the driver
)

// execSQL carries out statements on an SQLite database, as damage or another
// program would: sql FILE STATEMENTS
func execSQL(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: sql FILE STATEMENTS")
	}
	db, err := sql.Open("sqlite", ts.MkAbs(args[0]))
	ts.Check(err)
	_, err = db.Exec(args[1])
	ts.Check(err)
	ts.Check(db.Close())
}

// damage FILE TABLE [TEXT] writes over the page that a table, or an index, of a database
// begins with, or over the first page with a text, as a fault of a disk would.
func damage(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 || len(args) > 3 {
		ts.Fatalf("usage: damage FILE TABLE [TEXT]")
	}
	path := ts.MkAbs(args[0])
	db, err := sql.Open("sqlite", path)
	ts.Check(err)
	var page, size int
	ts.Check(db.QueryRow("SELECT rootpage, (SELECT page_size FROM pragma_page_size) FROM sqlite_schema WHERE name = ?", args[1]).Scan(&page, &size))
	ts.Check(db.Close())
	change(ts, path, func(data []byte) []byte {
		if len(args) == 3 {
			page = bytes.Index(data, []byte(args[2]))/size + 1
		}
		copy(data[(page-1)*size:page*size], bytes.Repeat([]byte{0xa5}, size))
		return data
	})
}
