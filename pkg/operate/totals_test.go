package operate

import (
	"os"
	"testing"
)

// TestTotals: what was counted stays counted when records are pruned, also if
// the prune was killed before it removed them.
func TestTotals(t *testing.T) {
	runs := OpenRuns(t.TempDir())
	idle := func(RunRecord) bool { return false }
	var all []RunRecord
	for i := range 6 {
		r := record(i, "nightly")
		r.Outcome, r.Finished = OK, r.Started.Add(1)
		if i == 1 {
			r.Outcome = Failed
		}
		if i == 5 {
			r.Outcome, r.Finished = Interrupted, record(0, "").Finished
		}
		if err := runs.Write(r); err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	want := func(when string, ok, failed, interrupted int64, atWork func(RunRecord) bool) {
		t.Helper()
		got, err := runs.Totals(t.Context(), atWork)
		if err != nil || got[OK] != ok || got[Failed] != failed || got[Interrupted] != interrupted {
			t.Errorf("%s: %v, %v", when, got, err)
		}
	}
	want("at first", 4, 1, 1, idle)
	want("one at work", 4, 1, 0, func(r RunRecord) bool { return !r.Ended() })
	if err := runs.countPruned(all[:2]); err != nil { // and killed
		t.Fatal(err)
	}
	want("counted, not removed", 4, 1, 1, idle)
	if err := runs.countPruned(all[:3]); err != nil {
		t.Fatal(err)
	}
	for _, r := range all[:3] {
		if err := os.Remove(runs.path(r.ID)); err != nil {
			t.Fatal(err)
		}
	}
	want("removed", 4, 1, 1, idle)
	if err := os.WriteFile(runs.prunedPath(), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := runs.Totals(t.Context(), idle); err == nil {
		t.Error("a damaged count is no error")
	}
}
