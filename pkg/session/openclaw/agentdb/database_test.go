package agentdb_test

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/sessctl/sessctl/internal/fakeagentdb"
	"github.com/sessctl/sessctl/pkg/session/openclaw/agentdb"
)

// What may happen to the files while they are copied, and whether the copy is
// of one moment all the same.
func TestCopiedBetween(t *testing.T) {
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
			before, err := agentdb.Look(f)
			if err != nil {
				t.Fatal(err)
			}
			if err := c.change(f.Path()); err != nil {
				t.Fatal(err)
			}
			after, err := agentdb.Look(f)
			if err != nil {
				t.Fatal(err)
			}
			if got := agentdb.CopiedBetween(before, after); got != c.good {
				t.Errorf("of one moment is %v, want %v", got, c.good)
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

// A runtime that was killed inside a transaction leaves a journal that takes it
// back: the database alone is in the middle of it.
func TestJournalOfAKilledWriter(t *testing.T) {
	live := agentdb.File{Base: t.TempDir(), Name: "openclaw-agent.sqlite"}
	if err := fakeagentdb.Write(live.Path(), fakeagentdb.Content{Version: 23}); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", "file:"+filepath.ToSlash(live.Path()))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	do := func(query string) {
		t.Helper()
		if _, err := db.Exec(query); err != nil {
			t.Fatal(err)
		}
	}
	do("PRAGMA journal_mode=DELETE; PRAGMA cache_size=2; PRAGMA cache_spill=1")
	for i := range 50 {
		do(fmt.Sprintf("INSERT INTO transcript_events (session_id, seq, event_json, created_at) VALUES ('s', %d, '%s', 0)", i, record(int64(i))))
	}
	do("BEGIN IMMEDIATE; UPDATE transcript_events SET event_json = 'half done, and a good deal longer than before it was: ' || event_json")
	killed := agentdb.File{Base: t.TempDir(), Name: live.Name}
	for _, end := range []string{"", "-journal"} {
		data, err := os.ReadFile(live.Path() + end)
		if err != nil || len(data) == 0 {
			t.Fatal(len(data), err)
		}
		if err := os.WriteFile(killed.Path()+end, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	aged(t, killed.Base)
	before := trace(t, killed.Base)
	want := ""
	for i := range 50 {
		want += record(int64(i)) + "\n"
	}
	if got := text(t, opened(t, killed), "s"); got != want {
		t.Errorf("%.200q", got)
	}
	if trace(t, killed.Base) != before {
		t.Error("the files were changed")
	}
}
