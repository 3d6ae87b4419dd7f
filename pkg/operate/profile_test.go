package operate

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func step(name string, outcome Outcome, flags ...string) StepRecord {
	return StepRecord{
		Step: name, Outcome: outcome, Command: append(strings.Fields(name), flags...), Started: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC),
	}
}

// TestHold: what deletes never begins after a step that says it should not.
func TestHold(t *testing.T) {
	run := func(steps ...StepRecord) RunRecord { return RunRecord{Steps: steps} }
	read, look := step(StepArchiveVerify, OK), step(StepArchiveVerify, OK, "--quick")
	rotten, gone := step(StepArchiveVerify, Damaged), step(StepArchiveVerify, Damaged, "--quick")
	for name, c := range map[string]struct {
		before  []StepRecord
		earlier []RunRecord
		held    bool
	}{
		"nothing before":                     {},
		"all well":                           {before: []StepRecord{step(StepArchive, OK), read}},
		"compact failed":                     {before: []StepRecord{step(StepCompact, Failed)}},
		"one session was not archived":       {before: []StepRecord{step(StepArchive, Partial)}},
		"sessions are busy":                  {before: []StepRecord{step(StepArchive, Busy)}},
		"archive failed":                     {before: []StepRecord{step(StepArchive, Failed), look}, held: true},
		"archive was skipped":                {before: []StepRecord{step(StepArchive, Skipped)}, held: true},
		"verify failed":                      {before: []StepRecord{step(StepArchiveVerify, Failed)}, held: true},
		"compact found damage":               {before: []StepRecord{step(StepCompact, Damaged)}, held: true},
		"verify found damage":                {before: []StepRecord{gone}, held: true},
		"an earlier run found damage":        {earlier: []RunRecord{run(rotten)}, held: true},
		"a look does not take back a read":   {before: []StepRecord{look}, earlier: []RunRecord{run(look), run(rotten)}, held: true},
		"a read takes back":                  {before: []StepRecord{read}, earlier: []RunRecord{run(rotten)}},
		"a later read took back":             {earlier: []RunRecord{run(look), run(read), run(rotten)}},
		"a look after a read finds damage":   {earlier: []RunRecord{run(gone), run(read)}, held: true},
		"a verification that failed is none": {earlier: []RunRecord{run(step(StepArchiveVerify, Failed)), run(rotten)}, held: true},
		"within a run the last one counts":   {earlier: []RunRecord{run(rotten, read)}},
		"runs without a verification":        {earlier: []RunRecord{run(step(StepCompact, OK))}},
	} {
		for _, deleting := range []string{StepClean, StepArchivePrune} {
			if why := Hold(deleting, c.before, c.earlier); (why != "") != c.held {
				t.Errorf("%s: %s is held: %q", name, deleting, why)
			}
		}
		for _, other := range StepNames() {
			if why := Hold(other, c.before, c.earlier); why != "" && !deletes(other) {
				t.Errorf("%s: %s is held: %q", name, other, why)
			}
		}
	}
}

func TestLastRead(t *testing.T) {
	read, look, rotten := step(StepArchiveVerify, OK), step(StepArchiveVerify, OK, "--quick"), step(StepArchiveVerify, Damaged, "--quick")
	for name, c := range map[string]struct {
		steps []StepRecord // a run each, the newest first
		known bool
	}{
		"never":         {nil, false},
		"a look":        {[]StepRecord{look}, false},
		"before a look": {[]StepRecord{look, read}, true},
		"then damage":   {[]StepRecord{look, rotten, read}, false},
	} {
		var runs []RunRecord
		for _, s := range c.steps {
			runs = append(runs, RunRecord{Steps: []StepRecord{s}})
		}
		if at := LastRead(runs); at.IsZero() == c.known {
			t.Errorf("%s: %v", name, at)
		}
	}
}

func TestWorst(t *testing.T) {
	order := []struct{ step, run Outcome }{{OK, OK}, {Busy, Busy}, {Skipped, Partial}, {Partial, Partial}, {Failed, Failed}, {Damaged, Damaged}, {Interrupted, Interrupted}}
	if Worst(nil) != OK {
		t.Error("no steps are not ok")
	}
	var steps []StepRecord
	for _, o := range order {
		steps = append(steps, StepRecord{Outcome: o.step})
		if got := Worst(steps); got != o.run {
			t.Errorf("with %s: %s, want %s", o.step, got, o.run)
		}
		back := slices.Clone(steps)
		slices.Reverse(back)
		if got := Worst(back); got != o.run {
			t.Errorf("with %s first: %s, want %s", o.step, got, o.run)
		}
	}
}
