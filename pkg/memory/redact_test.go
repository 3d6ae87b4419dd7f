package memory_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sessctl/sessctl/pkg/embed"
	"github.com/sessctl/sessctl/pkg/memory"
)

// laterRules find a value where the word password stands before it, and then anywhere.
type laterRules struct{ value string }

func (r *laterRules) Redact(text string) (string, int) {
	if _, told, found := strings.Cut(text, "password="); found && !strings.HasPrefix(told, "[") {
		r.value, _, _ = strings.Cut(told, " ")
	}
	if r.value == "" {
		return text, 0
	}
	return strings.ReplaceAll(text, r.value, "[redacted]"), strings.Count(text, r.value)
}

const oldSecret = "zebrafish77"

// leftBehind is a memory in which older rules have left a secret in every place.
func leftBehind(t *testing.T) (*memory.Store, string) {
	t.Helper()
	ctx := context.Background()
	s, dir := newStore(t)
	action := command("login --with " + oldSecret)
	action.Failed, action.Errors = true, "denied: "+oldSecret
	summary := record(-1, "They use "+oldSecret+" for the box.")
	summary.Category = memory.CategorySummary
	put(t, s, identified(record(0, "The box takes "+oldSecret+" since May."), record(1, "password="+oldSecret+" is set"), record(2, "Nothing of this is secret."), summary, deed(3, action))...)
	fact := storedFact("s1", "environment", "The box: "+oldSecret, 5)
	fact.Quote, fact.Value = "it is "+oldSecret, oldSecret
	putFacts(t, s, nil, fact)
	if err := s.KeepSummary(ctx, memory.KeptSummary{ID: summary.ID, Agent: "a", Session: "s", Text: summary.Text}); err != nil {
		t.Fatal(err)
	}
	mustStore(t, s, ownWords("Use "+oldSecret+" when the box asks for it, never the other one."))
	return s, dir
}

// holding lists what of a memory, and of the files beside it, has a text.
func holding(t *testing.T, s *memory.Store, dir, text string) (places []string) {
	t.Helper()
	_, err := s.Export(context.Background(), memory.ExportOptions{Work: true}, func(page []memory.Exported) error {
		for _, x := range page {
			all := x.Text
			if x.Action != nil {
				all += x.Action.Subject + x.Action.Errors
			}
			if strings.Contains(all, text) {
				places = append(places, x.Category)
			}
		}
		return nil
	})
	facts, factsErr := s.Facts(context.Background(), memory.FactFilter{})
	for _, f := range facts {
		if strings.Contains(f.Quote+f.Value, text) {
			places = append(places, "quote")
		}
	}
	if err := errors.Join(err, factsErr); err != nil {
		t.Fatal(err)
	}
	for _, kept := range []string{memory.KeptDir(dir), memory.StoredDir(dir)} {
		files, _ := filepath.Glob(filepath.Join(kept, "*.json"))
		for _, f := range files {
			if raw, err := os.ReadFile(f); err != nil || strings.Contains(string(raw), text) {
				places = append(places, filepath.Base(kept))
			}
		}
	}
	return places
}

func TestLaterRulesRedactAMemory(t *testing.T) {
	ctx := context.Background()
	s, dir := leftBehind(t)
	before := holding(t, s, dir, oldSecret)
	planned, err := s.PlanRedaction(ctx, &laterRules{})
	if err != nil || len(before) < 8 || planned.Records != 5 || planned.Actions != 1 || planned.Facts != 1 || planned.Files != 2 {
		t.Fatalf("planned %+v, %v; it is in %q", planned, err, before)
	}
	if after := holding(t, s, dir, oldSecret); len(after) != len(before) {
		t.Fatalf("the plan changed %q to %q", before, after)
	}
	done, err := s.RedactAll(ctx, &laterRules{})
	if err != nil || done.Records != planned.Records || done.Files != planned.Files {
		t.Fatalf("%+v, %v", done, err)
	}
	if left := holding(t, s, dir, oldSecret); len(left) > 0 {
		t.Errorf("still in %q", left)
	}
	if kept := holding(t, s, dir, "Nothing of this is secret."); len(kept) != 1 {
		t.Errorf("what is no secret is in %q", kept)
	}
	if problems, err := s.Verify(ctx); err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
	found, err := s.Recall(ctx, memory.Query{Text: oldSecret, Rank: memory.RankText, Limit: 10}, nil, embed.Model{})
	if err != nil || len(found.Hits) > 0 {
		t.Errorf("its words are found: %v, %v", found.Hits, err)
	}
	if again, err := s.RedactAll(ctx, &laterRules{}); err != nil || !again.Empty() {
		t.Errorf("a second time %+v, %v", again, err)
	}
}
