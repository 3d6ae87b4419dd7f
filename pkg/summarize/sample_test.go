package summarize_test

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sessctl/sessctl/pkg/session"
	"github.com/sessctl/sessctl/pkg/session/piformat"
	"github.com/sessctl/sessctl/pkg/summarize"
)

var update = flag.Bool("update", false, "write the golden files")

// summarizeFile reads a log as a compaction does: with its tree, if it forks.
func summarizeFile(t testing.TB, path string, o summarize.Options) summarize.Summary {
	t.Helper()
	tree := scanFile(t, path, nil, func(*session.Message) error { return nil }).Tree
	e := summarize.NewExtractive(o)
	scanFile(t, path, tree, e.Add)
	return e.Summary()
}

func scanFile(t testing.TB, path string, tree *session.Tree, emit func(*session.Message) error) session.Scan {
	t.Helper()
	log, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	scan, err := piformat.Scan(context.Background(), log, session.ScanOptions{Tree: tree}, emit)
	if err != nil {
		t.Fatal(err)
	}
	return scan
}

// sample returns the one file that a pattern below testdata names.
func sample(t testing.TB, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join("..", "..", "testdata", filepath.FromSlash(pattern)))
	if err != nil || len(found) != 1 {
		t.Fatalf("%s: %d files, %v", pattern, len(found), err)
	}
	return found[0]
}

const (
	coordinator = "sample/.openclaw/agents/coordinator/sessions/600fa7f5-*.jsonl"
	workOrders  = "sample/.pi/agent/sessions/--work-orders-api--/*.jsonl"
)

// TestGolden shows whole summaries to whoever changes a rule.
func TestGolden(t *testing.T) {
	for name, tt := range map[string]struct {
		log     string
		options summarize.Options
	}{
		"coordinator":       {coordinator, summarize.Options{}},
		"coordinator-focus": {coordinator, summarize.Options{Focus: "printer label", MaxRunes: 2500}},
		"work-orders":       {workOrders, summarize.Options{}},
		"tree":              {"sessions/pi-v3-tree.jsonl", summarize.Options{}},
	} {
		t.Run(name, func(t *testing.T) {
			got := summarizeFile(t, sample(t, tt.log), tt.options).Text + "\n"
			golden := filepath.Join("testdata", name+".md")
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("go test ./pkg/summarize -update writes it anew\n%s", diff)
			}
		})
	}
}
