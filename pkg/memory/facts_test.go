package memory_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/sessctl/sessctl/pkg/embed"
	"github.com/sessctl/sessctl/pkg/memory"
)

func openNew(t *testing.T) *memory.Store {
	t.Helper()
	s, _ := newStore(t)
	return s
}

func expected(t *testing.T) embed.Model {
	t.Helper()
	_, model := builtin(t)
	return model
}

// filesWith are the files below a directory that have a text in them, in any
// case: the index has it in small letters.
func filesWith(t *testing.T, dir, text string) (found []string) {
	t.Helper()
	for path := range contents(t, dir) {
		if raw, err := os.ReadFile(path); err == nil && strings.Contains(strings.ToLower(string(raw)), strings.ToLower(text)) {
			found = append(found, path)
		}
	}
	return found
}

func storedFact(session, kind, text string, at int64) memory.Fact {
	return memory.Fact{
		Record: memory.Record{
			ID: memory.RecordID("a", session, -3, "fact "+kind, text), Text: text, Importance: 0.63, CreatedAt: at, Runtime: "pi", Agent: "a", Session: session,
			ArchivePath: "/logs/" + session, FirstLine: 4, LastLine: 4, FirstByte: 100, EndByte: 200, Branch: "active", Position: -3,
		},
		Kind: kind, Confidence: 0.9, Quote: "quote of " + text, Speaker: "user", Topic: "t", Value: "v", Instead: "i", MadeBy: "rules",
	}
}

func putFacts(t *testing.T, s *memory.Store, superseded map[string]string, facts ...memory.Fact) memory.PutResult {
	t.Helper()
	x := memory.Extraction{Runtime: "pi", Agent: "a", Session: "s", At: 9, Bytes: 500, Modified: 8, Last: 7, Said: 6, MadeBy: "m", Degraded: true}
	result, err := s.PutFacts(context.Background(), x, facts, superseded)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func listFacts(t *testing.T, s *memory.Store, o memory.FactFilter) (texts []string) {
	t.Helper()
	facts, err := s.Facts(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range facts {
		texts = append(texts, f.Text)
	}
	return texts
}

// TestFactsComeBack: as they were stored, once, with the extraction.
func TestFactsComeBack(t *testing.T) {
	ctx := context.Background()
	s := openNew(t)
	if facts, err := s.Facts(ctx, memory.FactFilter{}); err != nil || facts != nil {
		t.Fatalf("a memory without facts: %v, %v", facts, err)
	}
	if _, known, err := s.Extraction(ctx, memory.Source{Runtime: "pi", Agent: "a", Session: "s"}); err != nil || known {
		t.Fatalf("a memory without extractions: %v, %v", known, err)
	}
	want := storedFact("s", "contact", "The user's dog is Rex.", 5)
	if r := putFacts(t, s, nil, want); r.Stored != 1 {
		t.Errorf("%+v", r)
	}
	if r := putFacts(t, s, nil, want); r.Stored != 0 || r.Existing != 1 {
		t.Errorf("again: %+v", r)
	}
	want.Category = memory.CategoryFact
	got, err := s.Facts(ctx, memory.FactFilter{Runtime: "pi", Agent: "a", Session: "s", Kind: "contact", IDs: []string{want.ID}})
	if diff := gocmp.Diff([]memory.Fact{want}, got); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
	x, known, err := s.Extraction(ctx, memory.Source{Runtime: "pi", Agent: "a", Session: "s"})
	wantX := memory.Extraction{Runtime: "pi", Agent: "a", Session: "s", At: 9, Bytes: 500, Modified: 8, Last: 7, Said: 6, MadeBy: "m", Degraded: true}
	if diff := gocmp.Diff(wantX, x); diff != "" || !known || err != nil {
		t.Errorf("%v %v %s", known, err, diff)
	}
	for _, o := range []memory.FactFilter{{Runtime: "x"}, {Agent: "x"}, {Session: "x"}, {Kind: "x"}, {IDs: []string{"x"}}} {
		if got := listFacts(t, s, o); got != nil {
			t.Errorf("%+v: %q", o, got)
		}
	}
	if problems, err := s.Verify(ctx); err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
}

// TestSupersededFacts are kept, and neither listed nor found unless asked for.
// If what supersedes them is forgotten, they hold again.
func TestSupersededFacts(t *testing.T) {
	ctx := context.Background()
	s := openNew(t)
	oslo, bergen := storedFact("s", "background", "The user lives in Oslo.", 5), storedFact("s", "background", "The user lives in Bergen.", 6)
	putFacts(t, s, nil, oslo)
	putFacts(t, s, map[string]string{oslo.ID: bergen.ID}, bergen)
	recalled := func(q memory.Query) (texts []string) {
		q.Text, q.Rank = "where does the user live", memory.RankText
		result, err := s.Recall(ctx, q, nil, expected(t))
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range result.Hits {
			texts = append(texts, h.Text)
		}
		return texts
	}
	if diff := gocmp.Diff([]string{bergen.Text}, listFacts(t, s, memory.FactFilter{})); diff != "" {
		t.Error(diff)
	}
	if diff := gocmp.Diff([]string{bergen.Text}, recalled(memory.Query{})); diff != "" {
		t.Error(diff)
	}
	if got := recalled(memory.Query{Superseded: true}); len(got) != 2 {
		t.Errorf("superseded too: %q", got)
	}
	if got := recalled(memory.Query{Kind: "contact"}); got != nil {
		t.Errorf("another kind: %q", got)
	}
	all, err := s.Facts(ctx, memory.FactFilter{Superseded: true})
	if err != nil || len(all) != 2 || all[0].Successor != bergen.ID || all[1].Successor != "" {
		t.Errorf("%v %+v", err, all)
	}
	if _, err := s.Forget(ctx, memory.Selection{ID: bergen.ID}); err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff([]string{oslo.Text}, listFacts(t, s, memory.FactFilter{})); diff != "" {
		t.Error(diff)
	}
	if r := putFacts(t, s, nil, bergen); r.Buried != 1 || r.Stored != 0 {
		t.Errorf("what was forgotten came back: %+v", r)
	}
	if got := listFacts(t, s, memory.FactFilter{Superseded: true}); len(got) != 1 {
		t.Errorf("%q", got)
	}
}

// TestForgottenFactsLeaveNothing: neither text nor quotation is left in the
// files.
func TestForgottenFactsLeaveNothing(t *testing.T) {
	ctx := context.Background()
	dir := filepath.Join(t.TempDir(), "memory")
	s, err := memory.Open(ctx, dir, memory.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	putFacts(t, s, nil, storedFact("s", "contact", "The user's parrot is Aurelius.", 5), storedFact("u", "contact", "The user's dog is Rex.", 5))
	if _, err := s.Forget(ctx, memory.Selection{Session: "s"}); err != nil {
		t.Fatal(err)
	}
	if found := filesWith(t, dir, "Aurelius"); len(found) > 0 {
		t.Errorf("it is still in %q", found)
	}
	if found := filesWith(t, dir, "Rex"); len(found) == 0 {
		t.Error("what was not forgotten is gone: the check sees nothing")
	}
}

// TestLinkFacts: facts get the archive that their log is in, if its lines are
// still those.
func TestLinkFacts(t *testing.T) {
	ctx := context.Background()
	s := openNew(t)
	archived := memory.Source{Runtime: "pi", Agent: "a", Session: "s", Archive: "arc", ArchivePath: "/archive/s"}
	if n, err := s.LinkFacts(ctx, archived, "/logs/s", 500, true); n != 0 || err != nil {
		t.Errorf("without facts: %d, %v", n, err)
	}
	putFacts(t, s, nil, storedFact("s", "contact", "The user's dog is Rex.", 5), storedFact("u", "contact", "The user's cat is Tom.", 5))
	for _, tt := range []struct {
		log      string
		size     int64
		appended bool
		want     int
	}{
		{"/logs/s", 150, true, 0}, // the archive ends before the line does
		{"/logs/x", 500, true, 0},
		{"/logs/s", 501, false, 0}, // the log may have been written again
		{"/logs/s", 500, false, 1},
		{"/logs/s", 500, true, 0}, // linked already
	} {
		if n, err := s.LinkFacts(ctx, archived, tt.log, tt.size, tt.appended); n != tt.want || err != nil {
			t.Errorf("%+v: %d, %v", tt, n, err)
		}
	}
	facts, err := s.Facts(ctx, memory.FactFilter{Session: "s"})
	if err != nil || len(facts) != 1 || facts[0].Archive != "arc" || facts[0].ArchivePath != "/archive/s" {
		t.Errorf("%v %+v", err, facts)
	}
}

// TestFactsOfReadOnlyMemory: a memory without facts is read without any.
func TestFactsOfReadOnlyMemory(t *testing.T) {
	ctx := context.Background()
	dir := filepath.Join(t.TempDir(), "memory")
	if _, err := memory.Open(ctx, dir, memory.Options{ReadOnly: true}); !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	s, err := memory.Open(ctx, dir, memory.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s, err = memory.Open(ctx, dir, memory.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if facts, err := s.Facts(ctx, memory.FactFilter{Superseded: true}); err != nil || facts != nil {
		t.Errorf("%v %v", facts, err)
	}
	result, err := s.Recall(ctx, memory.Query{Text: "x", Kind: "contact", Rank: memory.RankText}, nil, expected(t))
	if err != nil || len(result.Hits) != 0 {
		t.Errorf("%v %+v", err, result)
	}
}

// An export says of each fact what a list of facts says of it, and nothing of
// other records; it works in a memory that never had a fact.
func TestExportFacts(t *testing.T) {
	s := openNew(t)
	exported := func() (facts []memory.Fact, others int) {
		_, err := s.Export(context.Background(), memory.ExportOptions{}, func(page []memory.Exported) error {
			for _, e := range page {
				if e.Fact == nil {
					others++
					continue
				}
				facts = append(facts, *e.Fact)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return facts, others
	}
	put(t, s, record(0, "no fact"))
	if facts, others := exported(); len(facts) != 0 || others != 1 {
		t.Fatalf("%v and %d others", facts, others)
	}
	older, newer := storedFact("s", "preference", "tea", 100), storedFact("s", "preference", "coffee", 200)
	putFacts(t, s, map[string]string{older.ID: newer.ID}, older, newer)
	got, others := exported()
	want, err := s.Facts(context.Background(), memory.FactFilter{Superseded: true})
	if err != nil || len(want) != 2 || want[0].Successor != newer.ID {
		t.Fatalf("%+v, %v", want, err)
	}
	if diff := gocmp.Diff(want, got); diff != "" || others != 1 {
		t.Errorf("%d others\n%s", others, diff)
	}
}
