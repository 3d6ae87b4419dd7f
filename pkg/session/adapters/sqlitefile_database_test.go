package adapters_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sessctl/sessctl/internal/fakeagentdb"
	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/sqlitefile"
)

// anything is the check of a database that may hold what it likes.
func anything(context.Context, *sqlitefile.Database) error { return nil }

func rowsOf(t *testing.T, d *sqlitefile.Database) (n int64) {
	t.Helper()
	if err := d.Conn().QueryRowContext(t.Context(), "SELECT count(*) FROM transcript_events").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// written makes a database of a test, two hours old.
func written(t *testing.T, c fakeagentdb.Content) sqlitefile.File {
	t.Helper()
	f := sqlitefile.File{Base: t.TempDir(), Name: "openclaw-agent.sqlite"}
	if err := fakeagentdb.Write(f.Path(), c); err != nil {
		t.Fatal(err)
	}
	sqlitefileAged(t, f)
	return f
}

func sqlitefileAged(t *testing.T, f sqlitefile.File) {
	t.Helper()
	when := time.Now().Add(-2 * time.Hour)
	for _, end := range []string{"", "-wal"} {
		if err := os.Chtimes(f.Path()+end, when, when); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
}

// What may happen to the files while they are copied, and whether the copy is
// of one moment all the same.
func TestSqlitefileCopiedBetween(t *testing.T) {
	for name, c := range map[string]struct {
		change func(path string) error
		good   bool
	}{
		"nothing":                  {func(string) error { return nil }, true},
		"a commit":                 {func(path string) error { return appendTo(path+"-wal", 4152) }, true},
		"a checkpoint":             {func(path string) error { return overwrite(path, 4096) }, false},
		"the log begun anew":       {func(path string) error { return overwrite(path+"-wal", 16) }, false},
		"the log cut short":        {func(path string) error { return os.Truncate(path+"-wal", 100) }, false},
		"the log gone":             {func(path string) error { return os.Remove(path + "-wal") }, false},
		"another file's turn":      {func(path string) error { return swap(path) }, false},
		"a rollback journal":       {func(path string) error { return appendTo(path+"-journal", 512) }, false},
		"the time of the database": {func(path string) error { return os.Chtimes(path, time.Now(), time.Now()) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			f := written(t, fakeagentdb.Story(true))
			whole, err := sqlitefile.Open(t.Context(), f, anything)
			if err != nil {
				t.Fatal(err)
			}
			all, copies := rowsOf(t, whole), 0
			if err := whole.Close(); err != nil {
				t.Fatal(err)
			}
			f.Copied = func(end string) {
				if end == "" {
					copies++
				}
				if end == "-wal" && copies == 1 {
					if err := c.change(f.Path()); err != nil {
						t.Error(err)
					}
				}
			}
			d, err := sqlitefile.Open(t.Context(), f, anything)
			if c.good && err != nil {
				t.Fatal(err)
			}
			again := copies > 1
			if err == nil {
				again = again || rowsOf(t, d) != all // without a log it is read where it lies
				if err := d.Close(); err != nil {
					t.Error(err)
				}
			}
			if again == c.good {
				t.Errorf("of one moment is %v, want %v: %d copies, %v", !again, c.good, copies, err)
			}
		})
	}
}

func appendTo(path string, n int) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.Write(make([]byte, n))
	return err
}

func overwrite(path string, offset int64) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteAt([]byte("salt"), offset)
	return err
}

// swap puts another file with the same content in the database's place.
func swap(path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := os.WriteFile(path+".new", data, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// Between the copies of the database and of its log the runtime moves the log
// into the database and begins it anew: what was in it would be in neither copy.
func TestSqlitefileCheckpointBetweenTheCopies(t *testing.T) {
	f := sqlitefile.File{Base: t.TempDir(), Name: "openclaw-agent.sqlite"}
	if err := fakeagentdb.Write(f.Path(), fakeagentdb.Content{Version: 23}); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", "file:"+filepath.ToSlash(f.Path()))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	seq := int64(0)
	commit := func(query string) {
		_, err := db.Exec(query+"; INSERT INTO transcript_events (session_id, seq, event_json, created_at) VALUES ('s', ?, ?, 0)", seq, "{}")
		if err != nil {
			t.Fatal(err)
		}
		seq++
	}
	for range 20 {
		commit("PRAGMA journal_mode=WAL; PRAGMA wal_autocheckpoint=0")
	}
	copies := 0
	f.Copied = func(end string) {
		if end == "" {
			copies++
		}
		if end == "" && copies < 3 {
			commit("PRAGMA wal_checkpoint(RESTART)")
			commit("PRAGMA wal_checkpoint(PASSIVE)")
		}
	}
	d, err := sqlitefile.Open(t.Context(), f, anything)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if got := rowsOf(t, d); got != seq || copies != 3 {
		t.Errorf("%d rows of %d after %d copies", got, seq, copies)
	}
}

// live is a database of many pages whose last commits are in its log alone,
// and of which pages were used and are free.
func live(t *testing.T) (f sqlitefile.File, db *sql.DB) {
	t.Helper()
	f = sqlitefile.File{Base: t.TempDir(), Name: "a.sqlite", CopyMost: 1}
	db, err := sql.Open("sqlite", "file:"+filepath.ToSlash(f.Path()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	db.SetMaxOpenConns(1)
	for _, query := range []string{
		"PRAGMA journal_mode=WAL; PRAGMA wal_autocheckpoint=0; CREATE TABLE transcript_events (session_id TEXT, seq INTEGER, event_json TEXT, PRIMARY KEY (session_id, seq))",
		numbered(0, 400), "PRAGMA wal_checkpoint(TRUNCATE)", numbered(400, 200), "PRAGMA wal_checkpoint(PASSIVE)",
		numbered(600, 100) + "; DELETE FROM transcript_events WHERE seq < 150",
	} {
		if _, err := db.Exec(query); err != nil {
			t.Fatal(err)
		}
	}
	sqlitefileAged(t, f)
	return f, db
}

func numbered(first, n int) string {
	return fmt.Sprintf("WITH RECURSIVE n(i) AS (SELECT %d UNION ALL SELECT i + 1 FROM n WHERE i < %d) INSERT INTO transcript_events SELECT 's', i, '%s' || i FROM n", first, first+n-1, strings.Repeat("x", 900))
}

// A database with a log that is too large to be copied is read where it lies,
// with every row that was committed, and nothing is left.
func TestSqlitefileReadTogetherWithItsLog(t *testing.T) {
	f, db := live(t)
	for name, spoil := range map[string]func(path string) error{
		"as it is":                     func(string) error { return nil },
		"a frame without its end":      func(path string) error { return appendTo(path+"-wal", 1000) },
		"frames that belong to no one": func(path string) error { return appendTo(path+"-wal", 3*(24+4096)) },
	} {
		if err := spoil(f.Path()); err != nil {
			t.Fatal(err)
		}
		sqlitefileAged(t, f)
		before := directory(t, f.Base)
		d, err := sqlitefile.Open(t.Context(), f, anything)
		if err != nil {
			t.Fatal(name, err)
		}
		var sum, want int64
		const query = "SELECT sum(seq) + sum(length(event_json)) FROM transcript_events"
		err = d.Conn().QueryRowContext(t.Context(), query).Scan(&sum)
		if err := errors.Join(err, d.Unchanged(), db.QueryRow(query).Scan(&want)); err != nil {
			t.Fatal(name, err)
		}
		if n := rowsOf(t, d); n != 550 || sum != want || want == 0 {
			t.Errorf("%s: %d rows, sum %d, want %d", name, n, sum, want)
		}
		var ok string
		if err := d.Conn().QueryRowContext(t.Context(), "PRAGMA integrity_check").Scan(&ok); err != nil || ok != "ok" {
			t.Error(name, ok, err)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
		if after := directory(t, f.Base); after != before {
			t.Errorf("%s: left %s, was %s", name, after, before)
		}
	}
}

// directory is what lies beside a database. The live connection's index of its
// log (-shm) is its own.
func directory(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(e.Name(), "-shm") {
			fmt.Fprintln(&b, e.Name(), info.Size(), info.ModTime().UnixNano())
		}
	}
	return b.String()
}

// What the runtime writes while a large database is read makes it busy as soon
// as a page could be another one: not while it only appends to its log.
func TestSqlitefileChangedWhileItIsReadTogetherWithItsLog(t *testing.T) {
	f, db := live(t)
	d, err := sqlitefile.Open(t.Context(), f, anything)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if _, err := db.Exec(numbered(700, 5)); err != nil {
		t.Fatal(err)
	}
	if err := d.Unchanged(); err != nil || rowsOf(t, d) != 550 {
		t.Error("a commit that it need not see:", err, rowsOf(t, d))
	}
	if _, err := db.Exec("PRAGMA wal_checkpoint(TRUNCATE)"); err != nil {
		t.Fatal(err)
	}
	if err := d.Unchanged(); !errors.Is(err, session.ErrBusy) {
		t.Error("a checkpoint:", err)
	}
}

// What is live, free and in the log, by the headers alone, as SQLite says it.
func TestSqlitefileMeasure(t *testing.T) {
	f, db := live(t)
	ask := func(pragma string) (n int64) {
		t.Helper()
		if err := db.QueryRow("PRAGMA " + pragma).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	for _, step := range []string{"SELECT 1", "PRAGMA wal_checkpoint(TRUNCATE)", "VACUUM; PRAGMA wal_checkpoint(TRUNCATE)"} {
		before, _ := sqlitefile.Measure(t.Context(), f)
		if _, err := db.Exec(step); err != nil {
			t.Fatal(err)
		}
		got, err := sqlitefile.Measure(t.Context(), f)
		if err != nil || got.Pages != ask("page_count") || got.Free != ask("freelist_count") || got.PageSize != 4096 {
			t.Errorf("%s: %+v, %v", step, got, err)
		}
		if freed := before.Disk() - got.Disk(); strings.HasPrefix(step, "VACUUM") && (freed < before.Reclaimable() || got.Reclaimable() != 0 || before.Free < 30) {
			t.Errorf("VACUUM gave back %d of %+v", freed, before)
		}
	}
	other := sqlitefile.File{Base: f.Base, Name: "other"}
	if _, err := sqlitefile.Measure(t.Context(), other); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if err := os.WriteFile(other.Path(), []byte("no database at all"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := sqlitefile.Measure(t.Context(), other); !errors.Is(err, sqlitefile.ErrNotDatabase) {
		t.Error(err)
	}
}
