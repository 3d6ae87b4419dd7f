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
