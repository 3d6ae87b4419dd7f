package adapters_test

import (
	"bytes"
	"database/sql"
	"os"
	"path/filepath"
	"testing"

	"github.com/sessctl/sessctl/internal/storetest"
	"github.com/sessctl/sessctl/internal/tier"
	"github.com/sessctl/sessctl/pkg/session"
)

// pagedWith writes a database of many pages and runs statements on it.
func pagedWith(t *testing.T, runtime string, statements ...string) string {
	t.Helper()
	path, err := storetest.Paged{Sessions: 40, Messages: 4}.Write(runtime, t.TempDir())
	gooseMust(t, err)
	db, err := sql.Open("sqlite", path)
	gooseMust(t, err)
	for _, statement := range statements {
		_, err := db.ExecContext(t.Context(), statement)
		gooseMust(t, err)
	}
	gooseMust(t, db.Close())
	return path
}

// overwritten is a database with pages of a size overwritten.
func overwritten(sound []byte, size int, numbers ...int) []byte {
	damaged := bytes.Clone(sound)
	for _, number := range numbers {
		copy(damaged[(number-1)*size:number*size], bytes.Repeat([]byte{0xa5}, size))
	}
	return damaged
}

// TestInnerPages: a damaged inner page of messages hides what is below it and nothing
// else. Below that with which the table begins is everything.
func TestInnerPages(t *testing.T) {
	tier.SkipSmoke(t, "it reads many databases")
	for runtime, table := range map[string]string{session.RuntimeHermes: "messages", session.RuntimeOpenCode: "part", session.RuntimeGoose: "messages"} {
		const size = 512
		path := pagedWith(t, runtime, "PRAGMA journal_mode = DELETE", "PRAGMA page_size = 512", "VACUUM")
		sound, err := os.ReadFile(path)
		gooseMust(t, err)
		whole, _ := readPaged(t, runtime, path)
		inner := 0
		for _, p := range pagesOf(t, path) {
			if p.of != table || p.leaf {
				continue
			}
			gooseMust(t, os.WriteFile(path, overwritten(sound, size, p.number), 0o600))
			logs, told := readPaged(t, runtime, path)
			if len(logs) < len(whole) && !told {
				t.Errorf("%s: %+v: nobody is told", runtime, p)
			}
			if len(logs) > 0 && len(logs) < len(whole) {
				inner++
			}
		}
		if inner < 2 {
			t.Errorf("%s: %d inner pages hide some sessions and not all", runtime, inner)
		}
	}
}

// TestTwoPages overwrites two pages of a table.
func TestTwoPages(t *testing.T) {
	tier.SkipSmoke(t, "it reads many databases")
	for runtime, tables := range map[string][2]string{session.RuntimeHermes: {"sessions", "messages"}, session.RuntimeOpenCode: {"session", "message"}, session.RuntimeGoose: {"sessions", "messages"}} {
		path := pagedWith(t, runtime)
		sound, err := os.ReadFile(path)
		gooseMust(t, err)
		whole, _ := readPaged(t, runtime, path)
		leaves := map[string][]int{}
		for _, p := range pagesOf(t, path) {
			if p.leaf {
				leaves[p.of] = append(leaves[p.of], p.number)
			}
		}
		first, second := leaves[tables[0]], leaves[tables[1]]
		for _, numbers := range [][]int{{first[0], first[len(first)-1]}, {second[1], second[len(second)-2]}, {first[len(first)/2], second[len(second)/2]}} {
			gooseMust(t, os.WriteFile(path, overwritten(sound, 4096, numbers...), 0o600))
			logs, told := readPaged(t, runtime, path)
			if !told || len(logs) < len(whole)-16 {
				t.Errorf("%s: %v: %d of %d sessions are read, told %v", runtime, numbers, len(logs), len(whole), told)
			}
		}
	}
}

// TestDamagedLog: a page is damaged in a database that has a write-ahead log, or in that
// log. SQLite reads a log up to its first damaged page, and says nothing.
func TestDamagedLog(t *testing.T) {
	path := pagedWith(t, session.RuntimeHermes, "PRAGMA journal_mode = WAL")
	db, err := sql.Open("sqlite", path)
	gooseMust(t, err)
	for _, statement := range []string{"PRAGMA wal_autocheckpoint = 0", "UPDATE messages SET content = 'gull' WHERE id = 1", "UPDATE messages SET content = 'tern' WHERE id = 2", "UPDATE messages SET content = 'auk' WHERE id = 3"} {
		_, err := db.ExecContext(t.Context(), statement)
		gooseMust(t, err)
	}
	main, err := os.ReadFile(path)
	gooseMust(t, err)
	log, err := os.ReadFile(path + "-wal")
	gooseMust(t, err)
	gooseMust(t, db.Close())
	at := bytes.Index(main, []byte("heron20 message 01"))
	torn := bytes.Clone(log)
	torn[bytes.Index(log, []byte("tern"))] = 'T'
	for name, x := range map[string]struct {
		main, log []byte
		lost      int
		told      bool
	}{
		"sound":              {main, log, 0, false},
		"the database":       {overwritten(main, 4096, at/4096+1), log, 5, true},
		"the log":            {main, torn, 0, true},
		"the end of the log": {main, log[:len(log)-100], 0, false},
	} {
		copied := filepath.Join(t.TempDir(), ".hermes", "state.db")
		gooseMust(t, os.MkdirAll(filepath.Dir(copied), 0o700))
		gooseMust(t, os.WriteFile(copied, x.main, 0o600))
		gooseMust(t, os.WriteFile(copied+"-wal", x.log, 0o600))
		logs, told := readPaged(t, session.RuntimeHermes, copied)
		if told != x.told || len(logs) < 40-x.lost || x.lost > 0 && len(logs) == 40 {
			t.Errorf("%s: %d sessions are read, told %v", name, len(logs), told)
		}
	}
}
