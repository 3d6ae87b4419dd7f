package memory_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/sessctl/sessctl/pkg/memory"
)

// A kept summary is the last one of its record; one that memory does not have
// is not kept, and neither is one under a name that is no id.
func TestKeptSummary(t *testing.T) {
	s, dir := newStore(t)
	r := record(0, "the summary")
	r.ID = memory.RecordID("a", "s", -1, "summary", "")
	put(t, s, r)
	ctx := context.Background()
	for _, text := range []string{"first", "second"} {
		if err := s.KeepSummary(ctx, memory.KeptSummary{ID: r.ID, Archive: "x", Model: "ollama/m", Text: text}); err != nil {
			t.Fatal(err)
		}
	}
	if k, found := s.KeptSummary(r.ID); !found || k.Text != "second" || k.Model != "ollama/m" || k.Archive != "x" {
		t.Errorf("%+v, %v", k, found)
	}
	for _, id := range []string{memory.RecordID("a", "other", -1, "summary", ""), "../../etc/passwd", ""} {
		if err := s.KeepSummary(ctx, memory.KeptSummary{ID: id, Text: "x"}); err != nil {
			t.Error(err)
		}
		if _, found := s.KeptSummary(id); found {
			t.Errorf("%q was kept", id)
		}
	}
	files, err := os.ReadDir(memory.KeptDir(dir))
	if err != nil || len(files) != 1 {
		t.Errorf("%d files, %v", len(files), err)
	}
	path := filepath.Join(memory.KeptDir(dir), r.ID+".json")
	if err := os.WriteFile(path, []byte(`{"schema":1,"id":"other","text":"x"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if k, found := s.KeptSummary(r.ID); found {
		t.Errorf("the file of another record is taken: %+v", k)
	}
	if _, err := s.Forget(ctx, memory.Selection{ID: r.ID}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("the file of what was forgotten is there: %v", err)
	}
}

// The newest summaries of each runtime are listed, of sessions alone: neither an agent's
// own words nor history nor a session that is left out is among them.
func TestRecentSummaries(t *testing.T) {
	s, _ := newStore(t)
	add := func(at int64, runtime, session, category, branch string) {
		r := record(int(at), runtime+" "+session+" "+category+branch)
		r.ID = memory.RecordID(runtime, session, int(at), category, branch)
		r.CreatedAt, r.Runtime, r.Session, r.Category, r.Branch = at, runtime, session, category, branch
		put(t, s, r)
	}
	add(10, "pi", "old", memory.CategorySummary, "active")
	add(30, "pi", "new", memory.CategorySummary, "active")
	add(20, "pi", "middle", memory.CategorySummary, "active")
	add(40, "pi", "member", memory.CategorySummary, "active")
	add(50, "pi", "words", memory.CategorySummary, memory.BranchStored)
	add(60, "pi", "said", "session_history", "active")
	add(15, "codex", "only", memory.CategorySummary, "active")
	for _, c := range []struct {
		q    memory.Query
		want string
	}{
		{memory.Query{}, "only new middle "},
		{memory.Query{Runtime: "pi"}, "new middle "},
		{memory.Query{Session: "old"}, "old "},
		{memory.Query{Session: "words"}, ""},
	} {
		list, damaged, err := s.RecentSummaries(context.Background(), c.q, []string{"member"}, 2)
		got := ""
		for _, r := range list {
			got += r.Session + " "
		}
		if got != c.want || damaged != 0 || err != nil {
			t.Errorf("%+v: %q, want %q (%d damaged, %v)", c.q, got, c.want, damaged, err)
		}
	}
}
