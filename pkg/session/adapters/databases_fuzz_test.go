package adapters_test

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sessctl/sessctl/internal/fakeagentdb"
	"github.com/sessctl/sessctl/internal/fakegoosedb"
	"github.com/sessctl/sessctl/internal/fakesessiondb"
	"github.com/sessctl/sessctl/internal/fakestatedb"
	"github.com/sessctl/sessctl/internal/tier"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/goose"
	"github.com/sessctl/sessctl/pkg/session/hermes"
	"github.com/sessctl/sessctl/pkg/session/openclaw"
	"github.com/sessctl/sessctl/pkg/session/opencode"
)

// column is a column of a table of a runtime's database.
type column struct{ table, name string }

// foreignDatabase is a database whose columns a fuzzer fills.
type foreignDatabase struct {
	path    string // of the database that the store reads
	open    func() session.Store
	content []byte // as the runtime left it
	columns []column
}

// FuzzDatabasesOfRuntimes: whatever stands in a column of a runtime's database, its
// sessions are listed or refused by name, each log is lines of JSON that say no
// more than the database holds, and is read as a log of its runtime.
func FuzzDatabasesOfRuntimes(f *testing.F) {
	databases := foreignDatabases(f)
	texts := []string{"", "{}", "[]", "null", "[null]", `[{"type":"text","text":"hi"}]`, "\xff", "{\x00}", `{"time":{"created":-1}}`, "9223372036854775807", "1e400", strings.Repeat("[", 300)}
	every := 4 // each column meets a share of the texts, the next column another one
	switch {
	case tier.Smoke():
		every = 8 * len(texts)
	case tier.Long():
		every = 1
	}
	for i, d := range databases {
		for j := range d.columns {
			for k, text := range texts {
				if (j+k)%every == 0 {
					f.Add(uint8(i), uint8(j), []byte(text), k%5 == 0)
				}
			}
		}
	}
	f.Fuzz(func(t *testing.T, which, where uint8, value []byte, blob bool) {
		d := databases[int(which)%len(databases)]
		c := d.columns[int(where)%len(d.columns)]
		if !d.fill(t, c, value, blob) {
			return // the schema itself refuses it
		}
		defer func() {
			if t.Failed() {
				t.Logf("%s.%s of %s is %q", c.table, c.name, filepath.Base(d.path), value)
			}
		}()
		store := d.open()
		readAll(t, store, int64(len(d.content)+64*len(value)))
		if closer := store.Capabilities().Closer; closer != nil {
			if err := closer.Close(); err != nil {
				t.Error(err)
			}
		}
	})
}

// readAll lists a store and reads each of its logs, which are at most so many bytes
// each.
func readAll(t *testing.T, store session.Store, most int64) {
	t.Helper()
	listing, err := store.List(t.Context())
	if err != nil && !strings.Contains(err.Error(), store.Root()) {
		t.Errorf("%s: the error names no place: %v", store.Runtime(), err)
	}
	for _, ref := range listing.Refs {
		if tail, err := store.Tail(t.Context(), ref); err == nil && (tail.Tokens < 0 || tail.Messages < 0) {
			t.Errorf("%s: %s: %+v", store.Runtime(), ref.ID, tail)
		}
		source := store.Capabilities().SourceOf(ref)
		if source == nil {
			continue
		}
		log, err := source.OpenLog(t.Context(), ref)
		if err != nil {
			continue
		}
		text, err := io.ReadAll(io.LimitReader(log, most+1))
		_ = log.Close() // it was only read
		if int64(len(text)) > most {
			t.Errorf("%s: %s: its log has more than %d bytes", store.Runtime(), ref.ID, most)
		}
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(text)) {
			if store.Runtime() == session.RuntimeOpenClaw {
				break // its rows are the records, and are written out as they are
			}
			if !json.Valid([]byte(line)) || !strings.HasSuffix(line, "\n") {
				t.Errorf("%s: %s: a line of its log is no JSON: %.300q", store.Runtime(), ref.ID, line)
			}
		}
		reads(t, store, text)
	}
}

// fill puts a value into every row of a column.
func (d foreignDatabase) fill(t *testing.T, c column, value []byte, blob bool) bool {
	t.Helper()
	for _, end := range []string{"-wal", "-shm", "-journal"} {
		_ = os.Remove(d.path + end) // there may be none
	}
	if err := os.WriteFile(d.path, d.content, 0o600); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", "file:"+filepath.ToSlash(d.path)+"?_pragma=synchronous(0)&_pragma=journal_mode(memory)")
	if err != nil {
		t.Fatal(err)
	}
	var x any = string(value)
	if blob {
		x = value
	}
	_, err = db.ExecContext(t.Context(), fmt.Sprintf("UPDATE OR FAIL %q SET %q = ?", c.table, c.name), x)
	if closed := db.Close(); closed != nil {
		t.Fatal(closed)
	}
	return err == nil
}

func foreignDatabases(f *testing.F) (all []foreignDatabase) {
	f.Helper()
	must := func(err error) {
		if err != nil {
			f.Fatal(err)
		}
	}
	rows, err := os.ReadFile(filepath.Join("..", "..", "..", "testdata", "goose", "sessions.sql"))
	must(err)
	add := func(below string, write func(path string) error, open func(root string) session.Store) {
		root := f.TempDir()
		path := filepath.Join(root, filepath.FromSlash(below))
		must(os.MkdirAll(filepath.Dir(path), 0o700))
		must(write(path))
		d := foreignDatabase{path: path, open: func() session.Store { return open(root) }}
		d.columns, err = settledColumns(path)
		must(err)
		d.content, err = os.ReadFile(path)
		must(err)
		all = append(all, d)
	}
	add("sessions.db", func(path string) error { return fakegoosedb.Write(path, 17, string(rows)) }, func(r string) session.Store { return goose.Open(r) })
	add("state.db", func(path string) error { return fakestatedb.Told(path, 30).Close() }, func(r string) session.Store { return hermes.Open(r) })
	add("opencode.db", func(path string) error {
		d := fakesessiondb.Create(path)
		fakesessiondb.Story(d)
		return d.Close()
	}, func(r string) session.Store { return opencode.Open(session.RuntimeOpenCode, r) })
	add("agents/a/agent/openclaw-agent.sqlite", func(path string) error { return fakeagentdb.Write(path, fakeagentdb.Story(false)) },
		func(r string) session.Store { return openclaw.Open(r, openclaw.Options{}) })
	return all
}

// settledColumns puts the log of a database into it, and returns the columns of its
// tables.
func settledColumns(path string) (all []column, err error) {
	db, err := sql.Open("sqlite", "file:"+filepath.ToSlash(path))
	if err != nil {
		return nil, err
	}
	defer db.Close()
	if _, err := db.Exec("PRAGMA journal_mode=DELETE"); err != nil {
		return nil, err
	}
	found, err := db.Query(`SELECT t.name, c.name FROM sqlite_master t, pragma_table_info(t.name) c WHERE t.type = 'table' AND t.sql NOT LIKE '%VIRTUAL%' ORDER BY 1, 2`)
	if err != nil {
		return nil, err
	}
	defer found.Close()
	for found.Next() {
		var c column
		if err := found.Scan(&c.table, &c.name); err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, found.Err()
}
