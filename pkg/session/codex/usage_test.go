package codex

import (
	"context"
	"os"
	"path/filepath"
	"testing"
)

// usageOf reads the rollouts of one family of the samples.
func usageOf(t *testing.T, family string, names ...string) []ThreadUsage {
	t.Helper()
	var all []ThreadUsage
	for _, name := range names {
		f, err := os.Open(filepath.Join(samplesDir(t), "codex", "codexbar", family, "codex-home", "archived_sessions", name))
		if err != nil {
			t.Fatal(err)
		}
		u, err := ReadUsage(context.Background(), f)
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, u)
	}
	return all
}

// naive adds up all counts of one rollout.
func naive(u ThreadUsage) (sum Tokens) {
	for _, c := range u.Counts {
		sum.add(c.Last)
	}
	return sum
}

// units are what ORACLE.md calls scanner units.
func units(t Tokens) int64 { return t.Input + t.Cached + t.Output }

func wantTokens(t *testing.T, what string, got, want int64) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %d tokens, want %d", what, got, want)
	}
}

// The figures are those of the ORACLE.md beside each family.
func TestUsageOfAFork(t *testing.T) {
	family := usageOf(t, "archived-fork-33ce-3869", "parent.jsonl", "child.jsonl")
	wantTokens(t, "parent", naive(family[0]).Total, 13_432_621)
	wantTokens(t, "child", naive(family[1]).Total, 15_352_834)
	wantTokens(t, "rows of the parent", int64(len(family[0].Counts)), 135)
	wantTokens(t, "rows of the child", int64(len(family[1].Counts)), 158)
	wantTokens(t, "copied rows", int64(copied(family, 1)), 135)
	unique := family[1]
	unique.Counts = unique.Counts[copied(family, 1):]
	wantTokens(t, "family by rows", naive(family[0]).Total+naive(unique).Total, 15_352_834)
	// One row of the parent repeats the one before it and is no call: without
	// it the family is what the child's own last total says.
	last := family[1].Counts[len(family[1].Counts)-1].Sum
	wantTokens(t, "family", Usage(family).Total, last.Total)
	wantTokens(t, "family, child first", Usage([]ThreadUsage{family[1], family[0]}).Total, last.Total)
}

func TestUsageRepeatedCounts(t *testing.T) {
	family := usageOf(t, "live-fork-4d90-52bf", "parent.jsonl", "child.jsonl")
	wantTokens(t, "parent", naive(family[0]).Total, 25_129_283)
	wantTokens(t, "child", naive(family[1]).Total, 26_938_802)
	wantTokens(t, "units of the parent", units(Usage(family[:1])), 48_730_248)
	wantTokens(t, "units of the family", units(Usage(family)), 52_185_847)
}

func TestUsageOfSiblings(t *testing.T) {
	family := usageOf(t, "missing-parent-siblings", "sibling-a.jsonl", "sibling-b.jsonl")
	wantTokens(t, "naive", units(naive(family[0]))+units(naive(family[1])), 54_409_503)
	wantTokens(t, "family", units(Usage(family)), 28_862_270)
}

func TestUsageOfARealThread(t *testing.T) {
	f, err := os.Open(filepath.Join(samplesDir(t), "real", "codex", "rollout-2026-11-21T03-42-22-01a1fc32-ae0f-7cc0-b105-9609e89100ec.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	u, err := ReadUsage(context.Background(), f)
	if err != nil {
		t.Fatal(err)
	}
	if u.ID != "01a1fc32-ae0f-7cc0-b105-9609e89100ec" || u.ForkedFrom != "" {
		t.Errorf("thread %q, forked from %q", u.ID, u.ForkedFrom)
	}
	// the last thread_token_usage of the rollout
	wantTokens(t, "thread", Usage([]ThreadUsage{u}).Total, 1_663_176)
}
