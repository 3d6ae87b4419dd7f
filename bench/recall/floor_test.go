package main

import (
	"os"
	"path/filepath"
	"testing"
)

// floor is below what was measured when it was set (docs/recall.md) by about
// what two of a hundred questions make. Whoever raises the quality raises it.
func floor() score {
	return score{at5: 0.80, at10: 0.86, reciprocal: 0.71, budget: 0.865, hard: 0.765}
}

// The program finds what it found when docs/recall.md was written.
func TestQualityFloor(t *testing.T) {
	if testing.Short() {
		t.Skip("compacts four long conversations")
	}
	dir := evaluation(t)
	conversations, err := loadLoCoMo(dir)
	if err != nil || len(conversations) == 0 {
		t.Fatalf("%d conversations in %s, %v", len(conversations), dir, err)
	}
	markHard(conversations)
	temporary := t.TempDir()
	path, err := build(t.Context(), temporary)
	if err != nil {
		t.Fatal(err)
	}
	homes, err := writeHomes(t.Context(), options{program: path}, temporary, conversations)
	if err != nil {
		t.Fatal(err)
	}
	table := &table{homes: homes}
	for _, rank := range []string{"text", "hybrid"} {
		if err := table.measure(t.Context(), options{library: true}, rank); err != nil {
			t.Fatal(err)
		}
	}
	if err := table.measureRandom(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := table.broken(); err != nil {
		t.Error(err)
	}
	if got, least := table.row("hybrid").total.mean(), floor(); below(got, least) {
		t.Errorf("hybrid is below the floor\n got %+v\nwant %+v", got, least)
	}
	for _, rank := range []string{"hybrid", "text", "vector"} {
		a, err := countAnswered(t.Context(), homes, rank)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s answers %.3f of the questions and %.3f of the nonsense", rank, a.ownShare(), a.nonsenseShare())
		if a.ownShare() < 0.98 || a.nonsenseShare() > 0.05 {
			t.Errorf("%s answers %.3f of the questions (want 0.98) and %.3f of the nonsense (want at most 0.05)", rank, a.ownShare(), a.nonsenseShare())
		}
	}
}

func below(got, least score) bool {
	return got.at5 < least.at5 || got.at10 < least.at10 || got.reciprocal < least.reciprocal || got.budget < least.budget || got.hard < least.hard
}

// evaluation is the directory of conversations beside the project, if there is
// one.
func evaluation(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
	}
	dir = filepath.Join(dir, "..", "shared", "eval", "locomo-dev")
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("no conversations to measure with: %v", err)
	}
	return dir
}
