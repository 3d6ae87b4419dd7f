package memory_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sessctl/sessctl/pkg/memory"
)

// cut makes the records of a session of 1000 bytes, as a rule cuts it: pieces
// of size bytes that overlap by 10.
func cut(rule string, size int) []memory.Record {
	var records []memory.Record
	for at := 0; at < 1000; at += size {
		r := record(len(records), fmt.Sprintf("%s bytes %d", rule, at))
		r.ID = memory.RecordID("a", "s1", r.Position, rule, "")
		r.FirstByte, r.EndByte = int64(max(at-10, 0)), int64(at+size)
		records = append(records, r)
	}
	return records
}

func rebuild(t *testing.T, s *memory.Store, records ...memory.Record) memory.RebuildResult {
	t.Helper()
	if _, err := s.BeginRebuild(context.Background()); err != nil {
		t.Fatal(err)
	}
	b := memory.Rebuild{Source: memory.Source{Runtime: "pi", Agent: "a", Session: "s1"}, Archives: []string{"arc1"}, Category: "session_history", Mark: "m"}
	result, err := s.Rebuild(context.Background(), b, all(records...))
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// Another rule leaves no second set; a summary and what no archive has stay.
func TestRebuildByAnotherRule(t *testing.T) {
	s, _ := newStore(t)
	summary, bare := record(-1, "a summary that a model wrote"), record(77, "was only remembered")
	summary.Category, bare.Archive = "session_summary", ""
	put(t, s, append(cut("one", 100), summary, bare)...)
	extract := summary
	extract.Text = "an extract"
	if got, want := rebuild(t, s, append(cut("two", 150), extract)...), (memory.RebuildResult{PutResult: memory.PutResult{Stored: 7, Existing: 1}, Removed: 10}); got != want {
		t.Fatalf("%+v, want %+v", got, want)
	}
	if n, _ := s.CountRecords(context.Background(), "a"); n != 9 {
		t.Fatalf("%d records", n)
	}
	if hits := recall(t, s, memory.Query{Text: "summary model", Rank: memory.RankText}).Hits; len(hits) != 1 {
		t.Fatal("the summary was replaced")
	}
	verify(t, s)
}

// What was forgotten stays so: cut by the same rule, its neighbours are kept;
// cut by another, whatever holds a part of it is left out. Also in a memory
// that is made anew.
func TestRebuildKeepsForgotten(t *testing.T) {
	for name, c := range map[string]struct {
		rule string
		size int
		want int
	}{"same rule": {"one", 100, 9}, "another rule": {"two", 150, 5}} { // bytes 490 to 600 are in two pieces of 150
		t.Run(name, func(t *testing.T) {
			s, dir := newStore(t)
			put(t, s, cut("one", 100)...)
			if n, err := s.Forget(context.Background(), memory.Selection{ID: cut("one", 100)[5].ID}); n.Marked != 1 || err != nil {
				t.Fatal(n, err)
			}
			for _, made := range []string{"intact", "anew"} {
				if made == "anew" {
					s.Close()
					if err := os.RemoveAll(dir); err != nil {
						t.Fatal(err)
					}
					s = open(t, dir)
				}
				rebuild(t, s, cut(c.rule, c.size)...)
				if n, _ := s.CountRecords(context.Background(), "a"); n != c.want {
					t.Errorf("%s: %d records, want %d", made, n, c.want)
				}
				verify(t, s)
			}
			s.Close()
			raw, err := os.ReadFile(filepath.Join(dir, "memory.db"))
			if err != nil || strings.Contains(string(raw), "bytes 450") {
				t.Fatal("the file still has what was left out", err)
			}
		})
	}
}

// A backup from before something was forgotten does not bring it back.
func TestOldBackupDoesNotBringBack(t *testing.T) {
	s, dir := newStore(t)
	put(t, s, cut("one", 100)...)
	s.Close()
	backup, err := os.ReadFile(filepath.Join(dir, "memory.db"))
	if err != nil {
		t.Fatal(err)
	}
	s = open(t, dir)
	if _, err := s.Forget(context.Background(), memory.Selection{Session: "s1"}); err != nil {
		t.Fatal(err)
	}
	s.Close()
	if err := os.WriteFile(filepath.Join(dir, "memory.db"), backup, 0o600); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir)
	if n, err := s.BeginRebuild(context.Background()); n != 10 || err != nil {
		t.Fatal(n, err)
	}
}

// What cannot be read of what was forgotten is told, and blocks nothing.
func TestUnreadableForgottenFile(t *testing.T) {
	_, dir := newStore(t)
	dir = filepath.Join(filepath.Dir(dir), "other")
	forgotten := memory.ForgottenDir(dir)
	if err := os.MkdirAll(forgotten, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(forgotten, "1-x.json"), []byte(`{"schema":1,"rec`), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		s := open(t, dir)
		_, lost, err := s.RepairForgotten(context.Background())
		if err != nil || len(lost) != 1 || lost[0].Path != filepath.Join(forgotten, "1-x.json") {
			t.Errorf("%+v, %v", lost, err)
		}
		s.Close()
	}
}

// A mark says what a rebuild is done with, until it ends.
func TestRebuiltMarks(t *testing.T) {
	ctx := context.Background()
	s, _ := newStore(t)
	source := memory.Source{Runtime: "pi", Agent: "a", Session: "s1"}
	for _, step := range []struct {
		do   func() error
		want string
	}{
		{func() error { return nil }, ""},
		{func() error { rebuild(t, s, cut("one", 100)...); return nil }, "m"},
		{func() error { return s.EndRebuild(ctx) }, ""},
	} {
		if err := step.do(); err != nil {
			t.Fatal(err)
		}
		if got, err := s.Rebuilt(ctx, source); got != step.want || err != nil {
			t.Fatal(got, err)
		}
	}
}

// Only a memory that is damaged is set aside, whole, and never deleted.
func TestSetAsideDamaged(t *testing.T) {
	ctx := context.Background()
	s, dir := newStore(t)
	put(t, s, cut("one", 100)...)
	s.Close()
	if moved, _, err := memory.SetAsideDamaged(ctx, nil, dir, time.Now()); moved != "" || err != nil {
		t.Fatal(moved, err)
	}
	if moved, _, err := memory.SetAsideDamaged(ctx, nil, dir+"-none", time.Now()); moved != "" || err != nil {
		t.Fatal(moved, err)
	}
	path := filepath.Join(dir, "memory.db")
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := len(raw) / 2; i < len(raw); i++ {
		raw[i] ^= 0x5A
	}
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	moved, problems, err := memory.SetAsideDamaged(ctx, nil, dir, time.Now())
	if moved == "" || len(problems) == 0 || err != nil {
		t.Fatal(moved, problems, err)
	}
	if kept, err := os.ReadFile(filepath.Join(moved, "memory.db")); err != nil || string(kept) != string(raw) {
		t.Fatal("what was set aside is not what it was", err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
}

// A memory that is made to be filled from the archives says so until that is
// done, whoever opens it; one that was there is complete.
func TestIncomplete(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		o    memory.Options
		want bool
	}{{memory.Options{Rebuild: true}, true}, {memory.Options{}, true}, {memory.Options{ReadOnly: true}, true}} {
		s, err := memory.Open(t.Context(), dir, c.o)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if got, err := s.Incomplete(t.Context()); got != c.want || err != nil {
			t.Errorf("%+v: %v, %v", c.o, got, err)
		}
	}
	s := open(t, dir)
	if err := s.Complete(t.Context()); err != nil {
		t.Fatal(err)
	}
	again, err := memory.Open(t.Context(), dir, memory.Options{Rebuild: true})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if is, err := again.Incomplete(t.Context()); is || err != nil {
		t.Errorf("one that was there and is complete: %v, %v", is, err)
	}
}

// A piece of a log that got the label of its speaker is the same record: a rebuild
// gives it the label.
func TestRebuildLabelsPieces(t *testing.T) {
	s, _ := newStore(t)
	r := record(3, "went on printing herons")
	r.FirstByte, r.EndByte = 300, 400
	put(t, s, r)
	embedAll(t, s, "a")
	r.Text = "[Tool]: " + r.Text
	if got, want := rebuild(t, s, r), (memory.RebuildResult{PutResult: memory.PutResult{Existing: 1}}); got != want {
		t.Fatalf("%+v, want %+v", got, want)
	}
	embedAll(t, s, "a")
	hits := recall(t, s, memory.Query{Text: "herons"}).Hits
	if len(hits) != 1 || hits[0].Text != r.Text || hits[0].ID != r.ID {
		t.Fatalf("%+v", hits)
	}
	verify(t, s)
}

// What was forgotten of one log takes nothing from another log of the session that
// does not begin with it: the same bytes of that say something else.
func TestRebuildTakesNothingFromAnotherLog(t *testing.T) {
	ctx := context.Background()
	s, _ := newStore(t)
	a := command("make bread")
	done := memory.Record{ID: memory.NewActionIDs("a", "s").Next(a, 1), Category: memory.CategoryWork, Agent: "a", Session: "s", Archive: "another", FirstByte: 10, EndByte: 20, Action: &a}
	of := func(archive string, r memory.Record) memory.Record {
		r.Archive = archive
		return r
	}
	for _, r := range []memory.Record{of("forgotten", pieceAt("secret", 0, 0, 100)), of("another", pieceAt("kept", 0, 0, 150))} {
		if _, err := s.Put(ctx, memory.Source{Runtime: "r", Agent: "a", Session: "s", Archive: r.Archive}, all(r)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Forget(ctx, memory.Selection{ID: "secret"}); err != nil {
		t.Fatal(err)
	}
	b := memory.Rebuild{
		Source: memory.Source{Runtime: "r", Agent: "a", Session: "s"}, Archives: []string{"forgotten", "another", "longer"},
		Begun: map[string][]string{"longer": {"forgotten"}}, Category: "session_history",
	}
	again := []memory.Record{of("forgotten", pieceAt("part of secret", 0, 0, 120)), of("longer", pieceAt("part of it again", 0, 90, 190)), of("another", pieceAt("kept", 0, 0, 150)), done}
	result, err := s.Rebuild(ctx, b, all(again...))
	if err != nil || result.Buried != 2 || result.Removed != 0 {
		t.Errorf("%+v, %v", result, err)
	}
	if n, _ := s.CountRecords(ctx, "a"); n != 1 {
		t.Errorf("%d records", n)
	}
	if hits := work(t, s, memory.WorkQuery{Command: "make bread"}); len(hits) != 1 {
		t.Errorf("%+v", hits)
	}
	verify(t, s)
}
