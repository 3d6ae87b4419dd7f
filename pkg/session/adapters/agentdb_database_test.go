package adapters_test

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/sessctl/sessctl/internal/fakeagentdb"
	"github.com/sessctl/sessctl/pkg/session/openclaw/agentdb"
)

// A runtime that was killed inside a transaction leaves a journal that takes it
// back: the database alone is in the middle of it.
func TestAgentdbJournalOfAKilledWriter(t *testing.T) {
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
		do(fmt.Sprintf("INSERT INTO transcript_events (session_id, seq, event_json, created_at) VALUES ('s', %d, '%s', 0)", i, agentdbRecord(int64(i))))
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
		want += agentdbRecord(int64(i)) + "\n"
	}
	if got := text(t, opened(t, killed), "s"); got != want {
		t.Errorf("%.200q", got)
	}
	if trace(t, killed.Base) != before {
		t.Error("the files were changed")
	}
}
