package adapters_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/sessctl/sessctl/internal/samples"
	"github.com/sessctl/sessctl/pkg/session/codex"
)

// callsOf reads what every call of a rollout among the samples cost, in tokens and
// in file order, repeated counts included: the context of a rollout that ends with
// the call's count.
func callsOf(t *testing.T, name ...string) (calls []int64) {
	t.Helper()
	log, err := os.ReadFile(filepath.Join(append([]string{samples.Beside(t, "samples")}, name...)...))
	if err != nil {
		t.Fatal(err)
	}
	end := 0
	for line := range bytes.Lines(log) {
		end += len(line)
		if !bytes.Contains(line, []byte(`"type":"token_count"`)) || !bytes.Contains(line, []byte(`"last_token_usage"`)) {
			continue
		}
		tail, err := codex.Tail(t.Context(), bytes.NewReader(log[:end]), int64(end), 0, time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		calls = append(calls, tail.Tokens)
	}
	return calls
}

// The figures are those of the ORACLE.md beside each family.
func TestCodexUsage(t *testing.T) {
	for _, c := range []struct {
		family, name string
		calls, total int64 // 0 is not given
	}{
		{"archived-fork-33ce-3869", "parent.jsonl", 135, 13_432_621},
		{"archived-fork-33ce-3869", "child.jsonl", 158, 15_352_834},
		{"live-fork-4d90-52bf", "parent.jsonl", 0, 25_129_283},
		{"live-fork-4d90-52bf", "child.jsonl", 0, 26_938_802},
		{"missing-parent-siblings", "sibling-a.jsonl", 158, 0},
		{"missing-parent-siblings", "sibling-b.jsonl", 138, 0},
	} {
		var total int64
		calls := callsOf(t, "codex", "codexbar", c.family, "codex-home", "archived_sessions", c.name)
		for _, tokens := range calls {
			total += tokens
		}
		if c.calls > 0 && int64(len(calls)) != c.calls || c.total > 0 && total != c.total {
			t.Errorf("%s/%s: %d calls, %d tokens; want %+v", c.family, c.name, len(calls), total, c)
		}
	}
}
