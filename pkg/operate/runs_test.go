package operate

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"
)

func record(n int, profile string) RunRecord {
	at := time.Date(2026, 3, 1, 0, 0, n, 0, time.UTC)
	return RunRecord{
		ID: ulid.MustNew(ulid.Timestamp(at), strings.NewReader(strings.Repeat("x", 16))).String(), Profile: profile, Started: at,
		Outcome: Interrupted, Steps: []StepRecord{},
	}
}

func TestRuns(t *testing.T) {
	runs := OpenRuns(filepath.Join(t.TempDir(), "runs"))
	if got, err := runs.List(t.Context()); err != nil || len(got) != 0 {
		t.Fatalf("no directory: %v, %v", got, err)
	}
	first, second := record(1, "nightly"), record(2, "hourly")
	first.Steps = []StepRecord{{Step: "compact", Changed: 2}}
	for _, r := range []RunRecord{first, second} {
		if err := runs.Write(r); err != nil {
			t.Fatal(err)
		}
	}
	first.Outcome, first.Finished, first.Seconds = OK, first.Started.Add(time.Minute), 60
	if err := runs.Write(first); err != nil {
		t.Fatal(err)
	}
	got, err := runs.List(t.Context())
	if err != nil || len(got) != 2 || got[0].ID != second.ID || got[1].ID != first.ID {
		t.Fatalf("not the newest first: %v, %v", got, err)
	}
	if got[0].Ended() || !got[1].Ended() || got[1].Outcome != OK || got[1].Steps[0].Changed != 2 {
		t.Errorf("read back: %+v", got)
	}
	if info, err := os.Stat(runs.path(first.ID)); runtime.GOOS != "windows" && (err != nil || info.Mode().Perm() != 0o600) {
		t.Errorf("not private: %v, %v", info.Mode(), err)
	}
}

// TestUnrecordedRuns: of a run whose record could not be written a name tells, until
// there is a record.
func TestUnrecordedRuns(t *testing.T) {
	runs := OpenRuns(t.TempDir())
	first, second := record(1, "nightly"), record(2, "a/b c.d")
	if err := runs.Write(first); err != nil {
		t.Fatal(err)
	}
	second.Process = 77
	for _, outcome := range []Outcome{Interrupted, Partial} {
		second.Outcome, second.Told = outcome, outcome == Partial
		if err := runs.Mark(second); err != nil {
			t.Fatal(err)
		}
		got, err := runs.List(t.Context())
		if err != nil || len(got) != 2 || got[1].ID != first.ID {
			t.Fatalf("%+v, %v", got, err)
		}
		marked := got[0]
		if marked.ID != second.ID || marked.Outcome != outcome || marked.Told != second.Told || marked.Process != 77 || marked.Profile != second.Profile || !marked.Started.Equal(second.Started) || marked.Reason != NoRoomForRecord || marked.Ended() {
			t.Errorf("%+v", marked)
		}
	}
	long := record(3, strings.Repeat("\u00e9", 17)+"x")
	if err := runs.Mark(long); err != nil {
		t.Fatal(err)
	}
	if got, err := runs.List(t.Context()); err != nil || len(got) != 3 || got[0].Profile != strings.Repeat("\u00e9", 16) {
		t.Fatalf("%+v, %v", got, err)
	}
	for _, name := range []string{"x.1.told.ok.nightly.unrecorded", ".gone.unrecorded", "01.unrecorded"} {
		if err := os.WriteFile(filepath.Join(runs.Dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	second.Reason = "written later"
	if err := errors.Join(runs.Write(second), runs.Prune(t.Context())); err != nil {
		t.Fatal(err)
	}
	got, err := runs.List(t.Context())
	if err != nil || len(got) != 3 || got[1].Reason != "written later" {
		t.Errorf("%+v, %v", got, err)
	}
	if names, err := filepath.Glob(filepath.Join(runs.Dir, second.ID+".*unrecorded")); err != nil || len(names) > 0 {
		t.Errorf("%v, %v", names, err)
	}
}

// TestRunsUnreadable: one record that cannot be read does not hide the others.
func TestRunsUnreadable(t *testing.T) {
	runs := OpenRuns(t.TempDir())
	if err := runs.Write(record(1, "nightly")); err != nil {
		t.Fatal(err)
	}
	newer := record(2, "nightly")
	for name, text := range map[string]string{
		record(3, "").ID: `{"schema":1,`, newer.ID: `{"schema":2,"id":"` + newer.ID + `"}`, record(4, "").ID: `{"schema":1,"id":"../other"}`,
	} {
		if err := os.WriteFile(runs.path(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(runs.Dir, ".half.json"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	good, bad, err := runs.Examine(t.Context())
	if err != nil || len(good) != 1 || len(bad) != 3 {
		t.Errorf("%d good, %v, %v", len(good), bad, err)
	}
}

// TestPrune: a profile that runs often does not push out another's records.
func TestPrune(t *testing.T) {
	runs := OpenRuns(t.TempDir())
	write := func(r RunRecord) {
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(runs.path(r.ID), []byte(strings.Replace(string(text), `"schema":0`, `"schema":1`, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for i := range keptOfAProfile + 5 {
		write(record(i, "nightly"))
	}
	for i := range keptRuns + 5 {
		write(record(1000+i, "often"))
	}
	if err := runs.Prune(t.Context()); err != nil {
		t.Fatal(err)
	}
	got, err := runs.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for _, r := range got {
		count[r.Profile]++
	}
	if want := fmt.Sprint(map[string]int{"nightly": keptOfAProfile, "often": keptRuns}); fmt.Sprint(count) != want {
		t.Errorf("kept %v, want %s", count, want)
	}
	if !slices.ContainsFunc(got, func(r RunRecord) bool { return r.ID == record(keptOfAProfile+4, "nightly").ID }) {
		t.Error("the newest of the rare profile is gone")
	}
}
