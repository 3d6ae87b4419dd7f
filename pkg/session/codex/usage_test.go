package codex

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/sessctl/sessctl/internal/samples"
	"github.com/sessctl/sessctl/pkg/jsonl"
	"github.com/sessctl/sessctl/pkg/session"
)

// callsOf reads what every call of a rollout among the samples cost, in file
// order, repeated counts included.
func callsOf(t *testing.T, name ...string) (calls []usage) {
	t.Helper()
	f, err := os.Open(filepath.Join(append([]string{samples.Beside(t, "samples")}, name...)...))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var d decoder
	var lines session.LineScan
	_, err = lines.Run(context.Background(), f, nil, func(r *jsonl.Record) (bool, error) {
		if err := d.decode(r.Raw); err != nil {
			return false, err
		}
		if d.record.kind == tokenCount {
			if last := lastUsage(&d.inner, d.record.item.info); last.context() > 0 {
				calls = append(calls, last)
			}
		}
		return d.record.kind != foreign, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return calls
}

// The figures are those of the ORACLE.md beside each family. What it calls
// units of the scanner are input, cached and output.
func TestUsage(t *testing.T) {
	for _, c := range []struct {
		family, name        string
		calls, total, units int64 // 0 is not given
	}{
		{"archived-fork-33ce-3869", "parent.jsonl", 135, 13_432_621, 0},
		{"archived-fork-33ce-3869", "child.jsonl", 158, 15_352_834, 0},
		{"live-fork-4d90-52bf", "parent.jsonl", 0, 25_129_283, 0},
		{"live-fork-4d90-52bf", "child.jsonl", 0, 26_938_802, 0},
		{"missing-parent-siblings", "sibling-a.jsonl", 158, 0, 28_858_874},
		{"missing-parent-siblings", "sibling-b.jsonl", 138, 0, 25_550_629},
	} {
		var total, units int64
		calls := callsOf(t, "codex", "codexbar", c.family, "codex-home", "archived_sessions", c.name)
		for _, u := range calls {
			total, units = total+u.total, units+u.input+u.cached+u.output
		}
		if c.calls > 0 && int64(len(calls)) != c.calls || c.total > 0 && total != c.total || c.units > 0 && units != c.units {
			t.Errorf("%s/%s: %d calls, %d tokens, %d units; want %+v", c.family, c.name, len(calls), total, units, c)
		}
	}
}
