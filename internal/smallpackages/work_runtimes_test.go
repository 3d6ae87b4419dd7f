package smallpackages_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sessctl/sessctl/pkg/session"
)

var update = flag.Bool("update", false, "write the golden files")

// TestWorkRuntimes: the tools of each runtime, as its logs have them. What is
// expected stands beside each log: a line for each action, and the counts.
func TestWorkRuntimes(t *testing.T) {
	logs, err := filepath.Glob("testdata/work/*.jsonl")
	if err != nil || len(logs) < 7 {
		t.Fatal(err, logs)
	}
	for _, path := range logs {
		t.Run(filepath.Base(path), func(t *testing.T) {
			log, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			name := path
			if filepath.Base(path) == "openclaw.jsonl" { // told from pi by where it lies
				name = "agents/main/sessions/x.jsonl"
			}
			all, counts := done(t, scanners()[session.Detect(name, log)], log)
			var got strings.Builder
			for _, a := range all {
				fmt.Fprintln(&got, line(a))
			}
			fmt.Fprintf(&got, "%+v\n", counts)
			golden := strings.TrimSuffix(path, ".jsonl") + ".txt"
			if *update {
				if err := os.WriteFile(golden, []byte(got.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got.String()); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}
